//! What playing a plan finds: every `tests/explore/*.plan` beside its findings and how much was looked at.
//!
//! The header of a fixture names the codes that it raises, in order: `# expect: plan::explore::problem`.

use camino::Utf8Path;
use plan::compile::{Bindings, compile};
use plan::diag::render::{self, Look};
use plan::explore::explore;
use plan::load::Pack;

/// Enough for every fixture but `many.plan`, which shows what is said of the rest.
const WAYS: usize = 2_000;

#[test]
fn what_a_plan_can_come_to() {
    insta::glob!("explore/*.plan", |path| {
        let path = Utf8Path::from_path(path).unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        let (mut pack, entry) = Pack::around(path);
        let mut compiled = compile(&mut pack, &entry, &Bindings::check());
        let look = Look { colour: false, width: None };
        let drawn = |compiled: &plan::compile::Compiled| {
            render::text(&compiled.sources, compiled.diagnostics.iter(), look)
        };
        let plan = compiled.plan.as_ref().unwrap_or_else(|| panic!("{path}: {}", drawn(&compiled)));
        let mut found = std::mem::take(&mut compiled.diagnostics);
        let explored = explore(plan, WAYS, &mut found);
        compiled.diagnostics = found.finish();
        let expected: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# expect: ")).collect();
        let codes: Vec<&str> = compiled.diagnostics.iter().map(|finding| finding.code.id).collect();
        assert_eq!(codes, expected, "{path}: {}", drawn(&compiled));
        let said = format!("{}{}\n", drawn(&compiled), explored.sentence())
            .replace(&format!("{}/", path.parent().unwrap()), "");
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(path.parent().unwrap());
        settings.set_prepend_module_to_snapshot(false);
        settings.remove_snapshot_suffix();
        settings.remove_input_file();
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(path.file_stem().unwrap(), said));
    });
}

/// The number of ways of a plan of `tasks` tasks in a row is known.
#[test]
fn every_way_is_played_once() {
    for tasks in 1..6 {
        let mut text = String::from("plan \"row\" { on_failure = \"continue\" }\n");
        for at in 0..tasks {
            text.push_str(&format!("command t{at} {{ required = false, run = \"true\" }}\n"));
        }
        let mut pack = Pack::in_memory();
        pack.set("row.plan", text);
        let compiled = compile(&mut pack, "row.plan".into(), &Bindings::check());
        let plan = compiled.plan.unwrap();
        let explored = explore(&plan, 1_000, &mut plan::diag::Diagnostics::default());
        assert_eq!((explored.ways, explored.complete), (1 << tasks, true));
        let part = explore(&plan, 1 << (tasks - 1), &mut plan::diag::Diagnostics::default());
        assert_eq!((part.ways, part.complete), (1 << (tasks - 1), false), "{}", part.sentence());
    }
}
