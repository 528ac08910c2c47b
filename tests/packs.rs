//! `plan test packs/*`: every pack does what its cases say, quickly, and stays as it is.
//!
//! A binary of its own, so that nothing else runs beside it: the time is held to a bound.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const MOST: Duration = Duration::from_secs(10);

fn packs() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("packs");
    let mut packs: Vec<PathBuf> =
        std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    // Gate tasks do not run yet.
    packs.retain(|pack| !pack.ends_with("release-notes"));
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
