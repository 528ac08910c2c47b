//! Control groups: what has shed every mark ends with the run, where the system lets us make a group.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::pack::{Pack, processes_with};

/// Leaves a process that carries no token, is nobody's descendant and leads its own group.
fn leaving(seconds: &str) -> String {
    format!("env -i /usr/bin/setsid /bin/sh -c '/bin/sleep {seconds} &'")
}

/// The group of this process, if anybody here may make groups in it.
fn divisible() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap();
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mount = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
    let group = PathBuf::from(mount.split(' ').nth(4)?).join(own);
    let probe = group.join(format!("probe-{}", std::process::id()));
    let may = !PathBuf::from("/run/systemd/system").exists() && fs::create_dir(&probe).is_ok();
    if may {
        fs::remove_dir(probe).unwrap();
    }
    may.then_some(group)
}

fn groups(pack: &Pack) -> Vec<PathBuf> {
    fs::read_to_string(register(pack)).unwrap_or_default().lines().map(PathBuf::from).collect()
}

fn register(pack: &Pack) -> PathBuf {
    pack.path().join(".plan/latest/cgroups")
}

fn kill(pid: &str) {
    assert!(Command::new("kill").args(["-KILL", pid]).status().unwrap().success());
}

#[test]
fn what_shed_every_mark_ends_with_the_run() {
    let plan = format!("command a {{ run = \"cat /proc/self/cgroup; {}\" }}", leaving("30.0641"));
    let pack = Pack::new(&plan);
    let came = pack.run(&[]);
    assert_eq!(came.code, 0, "{came:?}");
    assert!(groups(&pack).is_empty(), "it is gone with the run");
    let left = processes_with("30.0641");
    let own = pack.plan(&["logs", "latest", "a"]).out;
    let own =
        own.lines().find_map(|line| line.trim_start().strip_prefix("0::")).unwrap_or_default().to_owned();
    if divisible().is_some() {
        assert!(own.ends_with("-1") && own.contains("/plan-"), "{own}");
        assert_eq!(left, [""; 0]);
    } else {
        left.iter().for_each(|pid| kill(pid));
    }
}

#[test]
fn what_a_crashed_run_left_ends_with_its_resume() {
    let Some(outer) = divisible() else { return };
    let plan = format!(
        "command a {{ run = \"[ -e go ] || {{ {}; touch started; sleep 30.0643; }}\" }}",
        leaving("30.0642")
    );
    let pack = Pack::new(&plan);
    let mut child = pack
        .command(&["run", "--plan", "p.plan"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    pack.wait_for("started");
    child.kill().unwrap();
    child.wait().unwrap();
    let left = groups(&pack);
    assert!(left.len() == 1 && left[0].starts_with(&outer), "{left:?}");
    assert_ne!(processes_with("30.0642"), [""; 0]);
    // Whatever else is written there, nobody else's group is touched.
    let others = outer.join(format!("others-{}", std::process::id()));
    fs::create_dir(&others).unwrap();
    let mut other = Command::new("sleep").arg("30.0644").spawn().unwrap();
    fs::write(others.join("cgroup.procs"), other.id().to_string()).unwrap();
    let file = register(&pack);
    let lines = format!("{}{}\n{}\n", fs::read_to_string(&file).unwrap(), others.display(), outer.display());
    fs::write(&file, lines).unwrap();
    pack.write("go", "");
    let came = pack.plan(&["run", "--resume"]);
    assert_eq!(came.code, 0, "{came:?}");
    assert_eq!(processes_with("30.0642"), [""; 0]);
    assert!(!left[0].exists() && groups(&pack).is_empty());
    assert!(other.try_wait().unwrap().is_none(), "it is none of ours");
    other.kill().unwrap();
    other.wait().unwrap();
    fs::remove_dir(others).unwrap();
}

#[test]
fn a_run_inside_a_run_has_a_group_inside() {
    let plan = env!("CARGO_BIN_EXE_plan");
    let pack = Pack::new(&format!(
        "command a {{ run = \"'{plan}' run --plan inner.plan --state-dir in --quiet\" }}"
    ));
    pack.write(
        "inner.plan",
        &format!("command b {{ run = \"cat /proc/self/cgroup > own; {}\" }}", leaving("30.0645")),
    );
    let came = pack.run(&[]);
    assert_eq!(came.code, 0, "{came:?}");
    let left = processes_with("30.0645");
    if divisible().is_some() {
        let own = pack.read("own");
        let own = own.lines().find_map(|line| line.strip_prefix("0::")).unwrap();
        assert_eq!(own.matches("/plan-").count(), 2, "{own}");
        assert_eq!(left, [""; 0]);
    } else {
        left.iter().for_each(|pid| kill(pid));
    }
}
