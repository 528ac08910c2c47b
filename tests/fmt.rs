//! The one style: every `tests/fmt/*.plan` beside what it is formatted to.

use plan::source::Sources;

#[test]
fn fmt() {
    insta::glob!("fmt/*.plan", |path| {
        let text = std::fs::read_to_string(path).unwrap();
        let mut sources = Sources::new();
        let file = sources.add("case.plan", text);
        let formatted = plan::fmt::format(&sources, file).expect("the fixture is a plan");
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(path.parent().unwrap());
        settings.set_prepend_module_to_snapshot(false);
        settings.remove_snapshot_suffix();
        settings.remove_input_file();
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(path.file_stem().unwrap().to_str().unwrap(), formatted));
    });
}
