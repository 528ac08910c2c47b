//! Verifiers that work side by side: what one of them does to what the others stand on, and what is known of
//! them when the run is cut off.

use std::process::Stdio;

use serde_json::Value;

use super::pack::{Pack, came};

/// Of each verdict its verifier, whether it accepted, how it failed and what it said.
fn verdicts(pack: &Pack) -> Vec<(String, bool, String)> {
    let events = pack.events();
    let verdicts = events.iter().filter(|event| event["kind"] == "verifier_ended");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    verdicts
        .map(|said| {
            let how = format!("{} {}", text(&said["mode"]), text(&said["detail"]));
            (text(&said["verifier"]), said["pass"] == true, how.trim().to_owned())
        })
        .collect()
}

/// What the runs were warned about.
fn warnings(pack: &Pack) -> Vec<String> {
    let events = pack.events();
    let warnings = events.iter().filter(|event| event["kind"] == "warning");
    warnings.map(|warning| warning["message"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn nobody_accepts_with_a_frozen_file_that_was_changed_meanwhile() {
    let pack = Pack::new(
        "plan \"p\" { frozen = [\"chk.sh\"] }\n\
         command w { run = \"true\" }\n\
         verify check { run = \"touch looks; until [ -e forged ]; do sleep 0.02; done; bash ./chk.sh\" }\n\
         verify evil { run = \"until [ -e looks ]; do sleep 0.02; done; echo 'exit 0' > chk.sh; touch forged\" }\n",
    );
    pack.write("chk.sh", "exit 1\n");
    let came = pack.run(&[]);
    assert_eq!(came.code, 3, "{came:?}");
    let all = verdicts(&pack);
    let of = |name: &str| all.iter().find(|(verifier, ..)| verifier == name).unwrap();
    assert!(!of("check").1, "{all:?}");
    assert_eq!(of("evil").2, "error `chk.sh` was changed while it looked");
    assert_eq!(pack.read("chk.sh"), "exit 1\n");
    assert!(
        warnings(&pack).contains(&"`chk.sh` is frozen and was changed while it was checked: restored".into())
    );
}

#[test]
fn nobody_accepts_with_a_frozen_file_that_a_task_beside_it_changes() {
    let pack = Pack::new(
        "plan \"p\" { frozen = [\"chk.sh\"] }\n\
         command w { run = \"true\", verify check { run = \"touch looks; until [ -e forged ]; do sleep 0.02; done; \
         bash ./chk.sh; touch done\" } }\n\
         command e { run = \"until [ -e looks ]; do sleep 0.02; done; echo 'exit 0' > chk.sh; touch forged; \
         until [ -e done ]; do sleep 0.02; done\" }\n",
    );
    pack.write("chk.sh", "exit 1\n");
    assert_eq!(pack.run(&[]).code, 3);
    let expected = ("check".to_owned(), false, "error `chk.sh` was changed while it looked".to_owned());
    assert_eq!(verdicts(&pack), [expected]);
}

#[test]
fn a_stream_that_somebody_removes_says_nothing_good() {
    let pack = Pack::new(
        "command w { run = \"true\" }\n\
         verify no { run = \"echo '{\\\"pass\\\": false}'; touch said; until [ -e gone ]; do sleep 0.02; done\" }\n\
         verify evil { run = \"until [ -e said ]; do sleep 0.02; done; rm -f .plan/latest/logs/*; touch gone\" }\n",
    );
    assert_eq!(pack.run(&[]).code, 3);
    for (verifier, accepts, how) in verdicts(&pack) {
        assert!(!accepts && how == "error its standard output was removed while it ran", "{verifier}: {how}");
    }
}

#[test]
fn a_rejection_is_kept_although_another_verifier_is_still_at_work() {
    let pack = Pack::new(
        "command w { run = \"true\" }\n\
         verify slow { run = \"until [ -e go ]; do sleep 0.02; done\" }\n\
         verify once { run = \"[ -e asked ] || { touch asked; exit 1; }\" }\n",
    );
    let mut run = pack.command(&["run", "--plan", "p.plan"]).stdout(Stdio::null()).spawn().unwrap();
    pack.wait_for("asked");
    let since = std::time::Instant::now();
    while verdicts(&pack).is_empty() {
        assert!(since.elapsed() < std::time::Duration::from_secs(30), "no verdict");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    run.kill().unwrap();
    run.wait().unwrap();
    pack.write("go", "");
    let again = pack.run(&["--resume"]);
    assert_eq!(again.code, 3, "{again:?}");
    let said: Vec<_> =
        verdicts(&pack).into_iter().map(|(verifier, accepts, _)| (verifier, accepts)).collect();
    assert_eq!(said, [("once".to_owned(), false), ("slow".to_owned(), true)]);
}

/// Stops a run as soon as `once` has rejected, and goes on with it.
fn stopped_and_resumed(plan: &str) -> Pack {
    let pack = Pack::new(plan);
    let run = pack.command(&["run", "--plan", "p.plan"]).stdout(Stdio::piped()).spawn().unwrap();
    pack.wait_for("asked");
    let since = std::time::Instant::now();
    while verdicts(&pack).is_empty() {
        assert!(since.elapsed() < std::time::Duration::from_secs(30), "no verdict");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(pack.plan(&["stop"]).code, 0);
    assert_eq!(came(run.wait_with_output().unwrap()).code, 3);
    pack.write("go", "");
    let again = pack.run(&["--resume"]);
    assert_eq!(again.code, 3, "{again:?}");
    pack
}

#[test]
fn a_stop_takes_no_rejection_back() {
    const CHECKS: &str = "verify slow { run = \"until [ -e go ]; do sleep 0.02; done\" }\n\
         verify once { run = \"[ -e asked ] || { touch asked; exit 1; }\" }\n";
    let last: [(String, bool, String); 3] = [
        ("once".into(), false, "rejected exit 1".into()),
        ("slow".into(), false, "timeout ended by `plan stop`".into()),
        ("slow".into(), true, String::new()),
    ];
    let pack = stopped_and_resumed(&format!("command w {{ run = \"echo x >> w.n\" }}\n{CHECKS}"));
    assert_eq!(pack.status()["exit"], "unaccepted");
    assert_eq!(verdicts(&pack), last);
    assert_eq!(pack.read("w.n"), "x\n");

    let task = format!(
        "command w {{ run = \"echo x >> w.n\"\n{CHECKS} }}\ncommand b {{ depends_on = [w], run = \"true\" }}\n"
    );
    let pack = stopped_and_resumed(&task);
    assert_eq!(pack.status()["exit"], "failed");
    assert_eq!(verdicts(&pack), last);
    assert_eq!(pack.read("w.n"), "x\n", "what has ended is never run again");
}
