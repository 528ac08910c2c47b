//! The files that a task's commands name, to tell whether what they read is what it was (EXECUTION §12).
//!
//! Pure, and on the safe side: most of these words are no files at all, and a command that may name any file is
//! said to. What the files hold is asked elsewhere.

use camino::{Utf8Path, Utf8PathBuf};
use rustc_hash::FxHashSet;

use super::scan::{self, GIVEN, Known, OWN, SECRET};
use crate::ir::kind::{Arg, Kind, Run};
use crate::ir::{Check, Task};
use crate::source::Text;

/// What stands for the pack's directory in the path of a file that a command names.
const PACK: &str = "$PLAN_PACK";

/// The longest path that a system takes.
const LONGEST: usize = 4096;

const SHELLS: [&str; 5] = ["sh", "bash", "dash", "zsh", "ksh"];

/// What a task's commands may name: paths relative to the workspace, below [`PACK`], or absolute ones.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// What its own commands name.
    pub inputs: Vec<Text>,
    /// What the commands of its verifiers name, which look again at whatever is taken over.
    pub checks: Vec<Text>,
    /// What of its own commands is known only when they run.
    pub unknown: Option<Text>,
}

/// What the commands of `task`, or of its instance of `element`, name.
pub(super) fn named(task: &Task, element: Option<&str>) -> Named {
    let mut own = Found::default();
    commands(task, element, &mut own);
    let mut checks = Found::default();
    for check in &task.verify {
        if let Check::Run(of) = &check.check {
            let look = |name: &str| variable(task, element, name);
            checks.run(&of.value, Utf8Path::new(""), &look);
        }
    }
    let declared = |word: &Text| task.emits_files.iter().any(|file| file.path.value == *word);
    let mut seen = FxHashSet::default();
    own.files.retain(|word| !declared(word) && seen.insert(word.clone()));
    checks.files.retain(|word| !declared(word) && seen.insert(word.clone()));
    Named { inputs: own.files, checks: checks.files, unknown: own.unknown }
}

fn commands(task: &Task, element: Option<&str>, found: &mut Found) {
    let cwd = task.cwd.as_ref().map_or(Utf8Path::new(""), |cwd| Utf8Path::new(cwd.value.as_str()));
    let look = |name: &str| variable(task, element, name);
    match &task.kind {
        Kind::Command(of) => found.run(&of.value, cwd, &look),
        Kind::Evaluate(evaluate) => found.run(&evaluate.run.value, cwd, &look),
        Kind::Route(route) => route.run.iter().for_each(|of| found.run(&of.value, cwd, &look)),
        Kind::Call(call) => {
            let tasks = call.child.iter().flat_map(|child| &child.tasks);
            tasks.for_each(|task| commands(task, None, found));
        }
        Kind::Machine(machine) => machine.nodes.iter().for_each(|node| commands(&node.task, None, found)),
        Kind::Agent(_) | Kind::Gate(_) | Kind::TopK(_) | Kind::Report(_) => {}
    }
    for (_, value) in &task.env {
        found.candidates(cwd, value);
    }
}

/// What is known of a variable of a task's command before it runs.
fn variable(task: &Task, element: Option<&str>, name: &str) -> Known {
    match name {
        "PLAN_PACK" => Known::Text(PACK.to_owned()),
        "PLAN_TASK" => Known::Text(task.name.value.to_string()),
        "PLAN_ITEM" => element.map_or(Known::No, |element| Known::Text(element.to_owned())),
        "PLAN_INPUTS_FILE" | "PLAN_RESULT_FILE" | "PLAN_FILES" => Known::Given,
        "PLAN_INPUTS" | "PLAN_ATTEMPT" | "PLAN_ROUND" | "PLAN_RUN" => Known::Own,
        "PWD" => Known::Here,
        name if task.secrets.iter().any(|secret| secret.value == name) => Known::Secret,
        name => {
            let own = task.env.iter().find(|(own, _)| own == name);
            own.map_or(Known::No, |(_, value)| Known::Text(value.to_string()))
        }
    }
}

#[derive(Debug, Default)]
struct Found {
    files: Vec<Text>,
    unknown: Option<Text>,
}

type Look<'a> = &'a dyn Fn(&str) -> Known;

impl Found {
    fn unknown(&mut self, what: &str) {
        self.unknown.get_or_insert_with(|| what.into());
    }

    fn run(&mut self, run: &Run, cwd: &Utf8Path, look: Look<'_>) {
        match run {
            Run::Shell(text) => self.shell(text, text, cwd, look),
            Run::List(arguments) => {
                let texts = arguments.iter().filter_map(|argument| match argument {
                    Arg::Text(text) => Some(text.as_str()),
                    Arg::Pack(_) => None,
                });
                let whole = texts.collect::<Vec<_>>().join("\n");
                let mut before: Vec<&str> = Vec::new();
                for argument in arguments {
                    match argument {
                        Arg::Pack(path) => self.files.push(compact_str::format_compact!("{PACK}/{path}")),
                        Arg::Text(text) => {
                            if is_script(&before) {
                                self.shell(text, &whole, cwd, look);
                            }
                            // A program without a slash is looked for elsewhere.
                            if !before.is_empty() || text.contains('/') {
                                self.candidates(cwd, text);
                            }
                            before.push(text);
                        }
                    }
                    if matches!(argument, Arg::Pack(_)) {
                        before.push("");
                    }
                }
            }
        }
    }

    fn shell(&mut self, text: &str, whole: &str, cwd: &Utf8Path, look: Look<'_>) {
        let words = match scan::words(text, whole, look) {
            Ok(words) => words,
            Err(what) => return self.unknown(&what),
        };
        let is = |names: &[&str]| words.iter().any(|word| names.contains(&word.text.as_str()));
        let moves =
            is(&["cd", "pushd"]) || (text != whole && (whole.contains("cd ") || whole.contains("pushd ")));
        if moves && (whole.contains("..") || whole.contains("PWD")) {
            self.unknown("a path that depends on `cd`");
        }
        let eval = is(&["eval", "trap"]);
        let mut before: Vec<&str> = Vec::new();
        for word in &words {
            if word.first {
                before.clear();
            }
            // What may be another program's name and is not quoted is no file here.
            let program = word.first && !word.quoted && !word.text.contains(['/', '.', GIVEN, SECRET, OWN]);
            let sourced = word.first && word.text == ".";
            if is_script(&before) || (eval && word.quoted) {
                self.shell(&word.text, whole, cwd, look);
            }
            if !(word.output || program || sourced) {
                self.candidates(cwd, &word.text);
            }
            before.push(&word.text);
        }
    }

    /// What of a word may be a path: all of it, and the plain parts of it.
    fn candidates(&mut self, cwd: &Utf8Path, word: &str) {
        let marked = |c: char| [OWN, SECRET].contains(&c);
        let part = |c: char| c.is_alphanumeric() || "_.-/+@%*?$".contains(c) || c == GIVEN || marked(c);
        let plain = word.chars().all(part);
        let parts = word.split(|c| !part(c)).filter(|part| !part.is_empty());
        if !plain && !word.contains(|c| marked(c) || c == GIVEN) {
            self.candidate(cwd, word);
        }
        for part in parts {
            if part.contains(marked) && part.chars().count() > 1 && (plain || part.contains(['/', '.'])) {
                self.unknown("a path with a part that is another one in every run");
            } else {
                self.candidate(cwd, part);
            }
        }
    }

    fn candidate(&mut self, cwd: &Utf8Path, word: &str) {
        self.files.extend(below(cwd, word));
        let option = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        let mut rest = option.unwrap_or_default().chars();
        if rest.next().is_some() {
            self.files.extend(below(cwd, rest.as_str()));
        }
        self.files.extend(word.strip_prefix('@').and_then(|file| below(cwd, file)));
    }
}

/// Whether what comes after these words of a command is the text of a script.
fn is_script(before: &[&str]) -> bool {
    let shell = |word: &&str| {
        let name = word.rsplit('/').next().unwrap_or_default();
        SHELLS.contains(&name)
    };
    let flag = |word: &&str| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
    before.last().is_some_and(flag) && before.iter().any(shell)
}

/// `word` as a path: below the pack, an absolute one, or one below the workspace. None where it is no path.
fn below(cwd: &Utf8Path, word: &str) -> Option<Text> {
    if let Some(inside) = word.strip_prefix(PACK) {
        let whole = inside.is_empty() || inside.starts_with('/');
        return whole.then(|| word.into());
    }
    if word.is_empty() || word.len() > LONGEST || word.contains([OWN, GIVEN, SECRET]) {
        return None;
    }
    let path: Utf8PathBuf =
        cwd.join(word).components().filter(|part| part.as_str() != ".").map(|part| part.as_str()).collect();
    Some(if path.as_str().is_empty() { Text::const_new(".") } else { path.as_str().into() })
}

/// Where a named file is.
pub(super) fn place(word: &str, root: &Utf8Path, pack: &Utf8Path) -> Utf8PathBuf {
    match word.strip_prefix(PACK) {
        Some(inside) => pack.join(inside.trim_start_matches('/')),
        None => root.join(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(name: &str) -> Known {
        match name {
            "PLAN_PACK" => Known::Text(PACK.to_owned()),
            "PLAN_FILES" => Known::Given,
            "PLAN_RUN" => Known::Own,
            "TOKEN" => Known::Secret,
            "PWD" => Known::Here,
            _ => Known::No,
        }
    }

    fn found(text: &str) -> Vec<String> {
        let mut found = Found::default();
        found.shell(text, text, Utf8Path::new("sub"), &look);
        match found.unknown {
            Some(what) => vec![format!("unknown: {what}")],
            None => found.files.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn a_command_names_files() {
        assert_eq!(
            found("./scan.sh --to=out.json < in.txt > seen"),
            ["sub/scan.sh", "sub/--to=out.json", "sub/--to", "sub/out.json", "sub/in.txt"]
        );
        assert_eq!(found("x \"$PLAN_PACK/a.py\" ${PLAN_PACK}/b"), ["$PLAN_PACK/a.py", "$PLAN_PACK/b"]);
        assert_eq!(
            found("cat /etc/hosts 'my file' $PWD/x ."),
            ["/etc/hosts", "sub/my file", "sub/my", "sub/file", "sub/x", "sub"]
        );
        assert_eq!(
            found("sh -c 'cat in.txt'"),
            ["sub/-c", "sub/in.txt", "sub/cat in.txt", "sub/cat", "sub/in.txt"]
        );
        assert_eq!(found("cat $PLAN_FILES/a \"run $PLAN_RUN\" \"Bearer $TOKEN\""), ["sub/run", "sub/Bearer"]);
        assert_eq!(found(". ./env"), ["sub/env"]);
    }

    #[test]
    fn what_may_name_any_file_is_said() {
        assert_eq!(found("sh -c 'cat $1' x in.txt"), ["unknown: `$1`"]);
        assert_eq!(found("cd deep && cat ../in.txt"), ["unknown: a path that depends on `cd`"]);
        let varies = ["unknown: a path with a part that is another one in every run"];
        assert_eq!(found("cat conf/$PLAN_RUN.json"), varies);
        assert_eq!(found("cat $TOKEN/x"), varies);
    }
}
