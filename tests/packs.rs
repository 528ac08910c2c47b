//! `plan test packs/*`: every pack does what its cases say, quickly, and stays as it is.
//!
//! A binary of its own, so that nothing else runs beside it: the time is held to a bound.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const MOST: Duration = Duration::from_secs(10);

fn packs() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("packs");
    let mut packs: Vec<PathBuf> =
        std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    packs.sort();
    packs
}

/// Every file below a directory and when it was changed.
fn files(directory: &Path, into: &mut BTreeMap<PathBuf, std::time::SystemTime>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            files(&entry.path(), into);
        } else {
            into.insert(entry.path(), entry.metadata().unwrap().modified().unwrap());
        }
    }
}

#[test]
fn every_pack_does_what_its_cases_say() {
    let packs = packs();
    let state = || {
        let mut found = BTreeMap::new();
        packs.iter().for_each(|pack| files(pack, &mut found));
        found
    };
    let before = state();
    let temporary = tempfile::tempdir().unwrap();
    let begun = Instant::now();
    let output = Command::new(env!("CARGO_BIN_EXE_plan"))
        .arg("test")
        .args(&packs)
        .env("TMPDIR", temporary.path())
        .output()
        .unwrap();
    let took = begun.elapsed();
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{text}");
    let passed = text.lines().filter(|line| line.starts_with("ok ")).count();
    assert!(passed > 30, "{text}");
    for pack in &packs {
        assert!(text.contains(&format!("ok      {}", pack.display())), "{} has no case", pack.display());
    }
    assert!(took < MOST, "{passed} cases took {took:?}");
    assert_eq!(before, state(), "a pack was touched");
    let left: Vec<_> =
        std::fs::read_dir(temporary.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.is_empty(), "left behind: {left:?}");
}

/// The blocks of this language in a page.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<String> = None;
    for line in page.lines() {
        match &mut open {
            Some(_) if line == "```" => blocks.extend(open.take()),
            Some(text) => writeln!(text, "{line}").unwrap(),
            None if line.strip_prefix("```") == Some(language) => open = Some(String::new()),
            None => {}
        }
    }
    blocks
}

#[test]
fn the_page_has_every_key_and_its_cases_hold() {
    use plan::cases::read;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/testing-packs.md");
    let page = std::fs::read_to_string(path).unwrap();
    let rows: String = page.lines().filter(|line| line.starts_with("| `")).collect();
    let keys = read::CASE.iter().map(|key| key.name);
    let keys =
        keys.chain(read::EXPECT.iter().map(|key| key.name)).chain(read::TASK.iter().map(|key| key.name));
    for key in keys.chain(plan::runner::stub::KEYS.iter().copied()) {
        assert!(rows.contains(&format!("`{key}`")), "no table of the page has `{key}`");
    }
    let pack = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = pack.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    write("nightly.plan", &blocks(&page, "plan")[0]);
    for script in ["hosts.sh", "backup.sh", "restore.sh"] {
        write(script, "#!/bin/sh\nexit 0\n");
    }
    write("report.sh", "#!/bin/sh\ncat \"$PLAN_INPUTS_FILE\" > REPORT.md\n");
    let cases = blocks(&page, "toml");
    assert!(cases.len() > 2);
    for (text, number) in cases.iter().zip(1..) {
        write(&format!("tests/{number}.toml"), text);
    }
    let output = Command::new(env!("CARGO_BIN_EXE_plan")).arg("test").arg(pack.path()).output().unwrap();
    assert!(output.status.success(), "{output:#?}");
}
