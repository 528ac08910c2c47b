//! What plans mean: every `tests/lower/*.plan` beside the document that it compiles to.
//!
//! A fixture compiles without a finding, unless its header says which: `# expect: plan::area::problem`.

use camino::Utf8Path;
use plan::compile::{Bindings, compile};
use plan::ir::dump;
use plan::load::Pack;

#[test]
fn lower() {
    insta::glob!("lower/*.plan", |path| {
        let path = Utf8Path::from_path(path).unwrap();
        let (mut pack, entry) = Pack::around(path);
        let compiled = compile(&mut pack, &entry, &Bindings::check());
        let text = std::fs::read_to_string(path).unwrap();
        let expected: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# expect: ")).collect();
        let found: Vec<&str> = compiled.diagnostics.iter().map(|found| found.code.id).collect();
        assert_eq!(found, expected, "{path}: {:#?}", compiled.diagnostics);
        let document = dump::document(&compiled.plan.expect("no error was found"));
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(path.parent().unwrap());
        settings.set_prepend_module_to_snapshot(false);
        settings.remove_snapshot_suffix();
        settings.remove_input_file();
        settings.set_omit_expression(true);
        settings.bind(|| {
            let json = serde_json::to_string_pretty(&document).unwrap();
            insta::assert_snapshot!(path.file_stem().unwrap(), json);
        });
    });
}
