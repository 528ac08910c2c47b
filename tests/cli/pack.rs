//! A pack in a temporary directory, and `plan` run in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::schemas;

/// A pack with a plan `p.plan`.
pub struct Pack {
    directory: tempfile::TempDir,
}

/// What a command came to.
#[derive(Debug)]
pub struct Came {
    /// The exit code; minus the signal where one ended it.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Pack {
    /// A pack with this plan.
    pub fn new(plan: &str) -> Self {
        let pack = Self { directory: tempfile::tempdir().unwrap() };
        pack.write("p.plan", plan);
        pack
    }

    /// A pack in memory, where a disk's syncs would only cost time.
    pub fn in_memory(plan: &str) -> Self {
        let Ok(directory) = tempfile::tempdir_in("/dev/shm") else { return Self::new(plan) };
        let pack = Self { directory };
        pack.write("p.plan", plan);
        pack
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a file.
    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.file(name), text).unwrap();
    }

    /// The text of a file.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The program, to be run here.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plan"));
        command.args(arguments).current_dir(self.path()).env("NO_COLOR", "1").stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PLAN_") {
                command.env_remove(name);
            }
        }
        command
    }

    /// Runs the program.
    pub fn plan(&self, arguments: &[&str]) -> Came {
        came(self.command(arguments).output().unwrap())
    }

    /// Runs the plan, with more arguments.
    pub fn run(&self, arguments: &[&str]) -> Came {
        self.plan(&[&["run", "--plan", "p.plan"], arguments].concat())
    }

    /// The status document of the newest run.
    pub fn status(&self) -> Value {
        let came = self.plan(&["status", "--format", "json"]);
        assert_eq!(came.code, 0, "{came:?}");
        let status = serde_json::from_str(&came.out).unwrap();
        schemas::status(&status).unwrap();
        status
    }

    /// The events in the log of the newest run.
    pub fn events(&self) -> Vec<Value> {
        let lines = self.read(".plan/latest/events.jsonl");
        let events: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        events.iter().for_each(|event| schemas::event(event).unwrap());
        events
    }

    /// The names in a directory, sorted; none where it is not there.
    pub fn names(&self, directory: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.file(directory)) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Waits until a file is there.
    pub fn wait_for(&self, name: &str) {
        let since = Instant::now();
        while !self.file(name).exists() {
            assert!(since.elapsed() < Duration::from_secs(30), "{name} never appeared");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// How a process came out.
pub fn came(output: Output) -> Came {
    use std::os::unix::process::ExitStatusExt;
    let code = output.status.code().unwrap_or_else(|| -output.status.signal().unwrap_or(0));
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    Came { code, out: text(&output.stdout), err: text(&output.stderr) }
}

/// The processes whose environment or command line has `mark`.
pub fn processes_with(mark: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let pid = entry.file_name().to_string_lossy().into_owned();
        if !pid.bytes().all(|b| b.is_ascii_digit()) || pid == std::process::id().to_string() {
            continue;
        }
        for file in ["environ", "cmdline"] {
            let text = std::fs::read(entry.path().join(file)).unwrap_or_default();
            if String::from_utf8_lossy(&text).contains(mark) {
                found.push(pid.clone());
                break;
            }
        }
    }
    found
}

/// What settled, in order: `task`, and `task#2` in its second round.
pub fn settled(events: impl IntoIterator<Item = Value>) -> Vec<String> {
    let mut rounds: std::collections::BTreeMap<String, u32> = std::collections::BTreeMap::new();
    let mut settled = Vec::new();
    for event in events {
        let name = |value: &Value| value.as_str().unwrap().to_owned();
        match event["kind"].as_str().unwrap() {
            "round_started" => {
                let reviewer = event.get("reviewer").into_iter();
                for task in event["tasks"].as_array().unwrap().iter().chain(reviewer) {
                    *rounds.entry(name(task)).or_insert(1) += 1;
                }
            }
            "task_settled" => {
                let task = name(&event["task"]);
                settled.push(match rounds.get(&task) {
                    Some(round) => format!("{task}#{round}"),
                    None => task,
                });
            }
            _ => {}
        }
    }
    settled
}

/// Copies a directory, but for what earlier runs left in it.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (name, target) = (entry.file_name(), to.join(entry.file_name()));
        if name == "out" || name == ".plan" {
            continue;
        } else if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The status document without what an interruption may change (EXECUTION §12).
pub fn comparable(mut status: Value) -> Value {
    for field in ["run", "elapsed_s", "steps", "warnings"] {
        assert!(status.as_object_mut().unwrap().shift_remove(field).is_some(), "{field}");
    }
    status
}
