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
    let text = fs::read_to_string(register(pack)).unwrap_or_default();
    text.lines().filter_map(|line| Some(PathBuf::from(line.splitn(3, ' ').nth(2)?))).collect()
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
    // So named, a link is none of ours either.
    let link = left[0].file_name().unwrap().to_str().unwrap().replace("-1", "-7");
    let link = pack.path().canonicalize().unwrap().join(link);
    std::os::unix::fs::symlink(&others, &link).unwrap();
    let mut lines = fs::read_to_string(&file).unwrap();
    for path in [&others, &outer, &link] {
        lines.push_str(&format!("{} 1 {}\n", i32::MAX, path.display()));
    }
    fs::write(&file, lines).unwrap();
    pack.write("go", "");
    let came = pack.plan(&["run", "--resume"]);
    assert_eq!(came.code, 0, "{came:?}");
    assert_eq!(processes_with("30.0642"), [""; 0]);
    assert!(!left[0].exists() && groups(&pack) == [link], "{:?}", groups(&pack));
    assert!(came.err.contains("-7` cannot be ended: it is none\n"), "{came:?}");
    assert!(came.err.contains("2 of its lines name no control group of this run\n"), "{came:?}");
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

#[test]
fn a_copy_of_a_run_leaves_the_run_alone() {
    let pack = Pack::new(
        "command a { run = \"touch started; until [ -e go ]; do sleep 0.02; done\" }\ncommand b { depends_on = [a], run = \"true\" }",
    );
    let mut child = pack.command(&["run", "--plan", "p.plan", "--quiet"]).spawn().unwrap();
    pack.wait_for("started");
    let copied = Command::new("cp").args(["-a", ".plan", "copy"]).current_dir(pack.path()).status();
    assert!(copied.unwrap().success());
    let stopped = pack.plan(&["stop", "--state-dir", "copy"]);
    assert_eq!(stopped.code, 0, "{stopped:?}");
    pack.write("go", "");
    let status = child.wait().unwrap();
    assert_ne!(status.code(), None, "nobody killed it");
    let copy = pack.plan(&["gc", "--keep", "0", "--unfinished", "--state-dir", "copy"]);
    assert_eq!(copy.code, 0, "{copy:?}");
}

#[test]
fn what_outlives_the_end_of_its_run_ends_with_a_stop_or_when_it_goes() {
    let Some(outer) = divisible() else { return };
    for (arguments, code) in [(&["stop"][..], 1), (&["gc", "--keep", "0"], 0)] {
        let pack = Pack::new("command a { run = \"true\" }");
        assert_eq!(pack.run(&[]).code, 0);
        // As if it had been killed between its last event and the end of its group.
        let mark = fs::read_to_string(pack.path().join(".plan/latest/run.json")).unwrap();
        let mark: serde_json::Value = serde_json::from_str(&mark).unwrap();
        let group = outer.join(format!("plan-{}-1", &mark["random"].as_str().unwrap()[..16]));
        fs::create_dir(&group).unwrap();
        let mut left = Command::new("sleep").arg("30.0646").spawn().unwrap();
        fs::write(group.join("cgroup.procs"), left.id().to_string()).unwrap();
        fs::write(register(&pack), format!("{} 1 {}\n", i32::MAX, group.display())).unwrap();
        let came = pack.plan(arguments);
        assert_eq!(came.code, code, "{came:?}");
        assert_eq!(left.wait().unwrap().code(), None, "it was killed");
        assert!(!group.exists());
    }
}
