//! Runs on disk: where they are, what they are called, and what can go wrong there (EXECUTION §11).
//!
//! Unaware of how a run is decided or shown: `cli` wires this to the ports of `exec`.

pub mod about;
pub mod calls;
pub mod capture;
pub mod confine;
pub mod control;
pub mod frozen;
pub mod inputs;
pub mod lock;
pub mod log;
pub mod mask;
pub mod named;
pub mod prune;
pub mod read;
pub mod regular;
pub mod reports;
pub mod resume;
pub mod staging;

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};

use camino::{Utf8Path, Utf8PathBuf};

use self::calls::CALLS;
use crate::source::Text;

/// The name under which `.plan/latest` can be asked for.
pub const LATEST: &str = "latest";

/// `.plan`, or what `--state-dir` names.
#[derive(Clone, Debug)]
pub struct StateDir {
    path: Utf8PathBuf,
}

/// The directory of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDir {
    /// The run's name.
    pub name: Text,
    /// Its directory.
    pub path: Utf8PathBuf,
}

/// What can go wrong with a run on disk.
#[derive(Debug)]
pub enum Error {
    /// A file could not be worked with.
    Io {
        /// What was tried: `read`, `write`, …
        what: &'static str,
        /// Which file.
        path: Utf8PathBuf,
        /// Why not.
        cause: io::Error,
    },
    /// There is no run at all.
    NoRuns {
        /// Where one was looked for.
        path: Utf8PathBuf,
    },
    /// No run has such a name.
    UnknownRun {
        /// What was asked for.
        name: String,
    },
    /// Several runs begin so.
    Ambiguous {
        /// What was asked for.
        name: String,
        /// Whom it could mean.
        runs: Vec<Text>,
    },
    /// Another process works on the run.
    Held {
        /// The run.
        run: Text,
        /// Who holds it, where the system tells.
        holder: Option<lock::Holder>,
    },
    /// The log is not what was written.
    Damaged {
        /// The log.
        path: Utf8PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        why: String,
    },
    /// Something that this version does not know, or a file that is none of ours.
    Unreadable {
        /// Which file.
        path: Utf8PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { what, path, cause } => write!(f, "cannot {what} `{path}`: {cause}"),
            Self::NoRuns { path } => write!(f, "there is no run in `{path}`"),
            Self::UnknownRun { name } => write!(f, "no run is called `{name}`"),
            Self::Ambiguous { name, runs } => {
                write!(f, "`{name}` could be {} runs: {}", runs.len(), runs.join(", "))
            }
            Self::Held { run, holder } => {
                write!(f, "another process is running `{run}`")?;
                match holder {
                    Some(holder) => write!(f, ": {holder}"),
                    None => Ok(()),
                }
            }
            Self::Damaged { path, line, why } => write!(f, "`{path}` is damaged: line {line} {why}"),
            Self::Unreadable { path, why } => write!(f, "cannot use `{path}`: {why}"),
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    /// What makes an I/O error say what was tried on which file.
    pub(crate) fn io(what: &'static str, path: &Utf8Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |cause| Self::Io { what, path, cause }
    }
}

impl StateDir {
    /// The state directory at `path`; it need not exist.
    #[must_use]
    pub fn new(path: impl Into<Utf8PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Utf8Path {
        &self.path
    }

    fn runs_path(&self) -> Utf8PathBuf {
        self.path.join("runs")
    }

    fn latest_path(&self) -> Utf8PathBuf {
        self.path.join(LATEST)
    }

    /// The run called `name`, whether it is there or not.
    #[must_use]
    fn run(&self, name: &str) -> RunDir {
        RunDir { name: name.into(), path: self.runs_path().join(name) }
    }

    /// Every run, oldest first.
    ///
    /// # Errors
    /// If the directory is there and cannot be read.
    pub fn runs(&self) -> Result<Vec<RunDir>, Error> {
        let path = self.runs_path();
        let entries = match path.read_dir_utf8() {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::io("read", &path)(error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(Error::io("read", &path))?;
            // One that begins with a dot is being made, or was when its maker died.
            if !entry.file_name().starts_with('.') && entry.path().is_dir() {
                names.push(entry.file_name().to_owned());
            }
        }
        names.sort();
        let mut runs: Vec<RunDir> = names.iter().map(|name| self.run(name)).collect();
        // A name says when, to the second: of those of one second, their logs know more.
        for together in runs.chunk_by_mut(|one, other| second(&one.name) == second(&other.name)) {
            if together.len() > 1 {
                together.sort_by_cached_key(started);
            }
        }
        Ok(runs)
    }

    /// The run that `latest` points to, if it is there.
    #[must_use]
    pub fn latest(&self) -> Option<RunDir> {
        let target = self.latest_path().read_link_utf8().ok()?;
        let run = self.run(target.file_name()?);
        run.path.is_dir().then_some(run)
    }

    /// The run that `wanted` means: a run's name, a unique prefix of one, or `latest`.
    ///
    /// # Errors
    /// If it means none, or several.
    pub fn resolve(&self, wanted: &str) -> Result<RunDir, Error> {
        let runs = self.runs()?;
        if wanted == LATEST {
            let newest = || runs.last().cloned();
            return self.latest().or_else(newest).ok_or_else(|| Error::NoRuns { path: self.path.clone() });
        }
        let mut fitting: Vec<RunDir> = Vec::new();
        for run in runs {
            if run.name == wanted {
                return Ok(run);
            }
            if run.name.starts_with(wanted) {
                fitting.push(run);
            }
        }
        match (fitting.pop(), fitting.is_empty()) {
            (Some(run), true) => Ok(run),
            (Some(run), false) => {
                fitting.push(run);
                let runs = fitting.into_iter().map(|run| run.name).collect();
                Err(Error::Ambiguous { name: wanted.to_owned(), runs })
            }
            (None, _) => Err(Error::UnknownRun { name: wanted.to_owned() }),
        }
    }

    /// The run that `wanted` means, or the run `RUN/calls/N` of a plan that was called in it; `N` is the name
    /// of its directory, or that of the task or instance as people see it. For who only looks: a called plan
    /// is worked on by its caller's run.
    ///
    /// # Errors
    /// If there is no such run, or several.
    pub fn resolve_called(&self, wanted: &str) -> Result<RunDir, Error> {
        let Some((run, calls)) = wanted.split_once(CALLS) else { return self.resolve(wanted) };
        let unknown = || Error::UnknownRun { name: wanted.to_owned() };
        self.resolve(run)?.find_called(calls).ok_or_else(unknown)
    }

    /// Makes a run: `run.json` and `plan.json` are on disk before anything else is there, and the run
    /// appears under its name only then. The lock comes back held, on an empty log.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn create(
        &self,
        utc: i64,
        mut about: about::About,
        plan: &[u8],
    ) -> Result<(RunDir, about::About, lock::Lock), Error> {
        let runs = self.runs_path();
        make_directories(&runs)?;
        let (name, making) = loop {
            let name = run_name(utc)?;
            let making = runs.join(format!(".new-{name}"));
            match private_directory(&making) {
                Ok(()) if !runs.join(&name).exists() => break (name, making),
                Ok(()) => fs::remove_dir(&making).map_err(Error::io("remove", &making))?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io("make", &making)(error)),
            }
        };
        about.run = name.as_str().into();
        let lock = write_whole(&making, &mut about, plan, &name).inspect_err(|_| {
            // What cannot be removed now, `plan gc` removes.
            let _ = fs::remove_dir_all(&making);
        })?;
        let run = self.run(&name);
        fs::rename(&making, &run.path).map_err(Error::io("make", &run.path))?;
        sync_directory(&runs)?;
        self.point_latest(&run)?;
        Ok((run, about, lock))
    }

    /// Makes `latest` point to the newest run, where its maker died before it could, and where its run is
    /// gone; to nothing where no run is left.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn mend_latest(&self) -> Result<(), Error> {
        if self.latest_path().exists() {
            return Ok(());
        }
        match self.runs()?.last() {
            Some(newest) => self.point_latest(newest),
            None => match fs::remove_file(self.latest_path()) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(Error::io("remove", &self.latest_path())(error))
                }
                Ok(()) | Err(_) => Ok(()),
            },
        }
    }

    /// Makes `latest` point to `run`.
    fn point_latest(&self, run: &RunDir) -> Result<(), Error> {
        let latest = self.latest_path();
        let making = self.path.join(format!(".latest-{}", run.name));
        match fs::remove_file(&making) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::io("remove", &making)(error));
            }
            Ok(()) | Err(_) => {}
        }
        let made = std::os::unix::fs::symlink(Utf8Path::new("runs").join(run.name.as_str()), &making);
        made.and_then(|()| fs::rename(&making, &latest)).map_err(Error::io("make", &latest))
    }
}

impl RunDir {
    /// The log.
    #[must_use]
    pub fn log(&self) -> Utf8PathBuf {
        self.path.join("events.jsonl")
    }

    /// What the run was launched with.
    #[must_use]
    pub fn about(&self) -> Utf8PathBuf {
        self.path.join("run.json")
    }

    /// The compiled plan.
    #[must_use]
    pub fn plan(&self) -> Utf8PathBuf {
        self.path.join("plan.json")
    }

    /// Which control groups the sittings had that did not end them.
    #[must_use]
    pub fn cgroups(&self) -> Utf8PathBuf {
        self.path.join("cgroups")
    }

    /// Streams and results of attempts.
    #[must_use]
    pub fn logs(&self) -> Utf8PathBuf {
        self.path.join("logs")
    }

    /// Standard output of an attempt.
    #[must_use]
    pub fn stdout(&self, attempt: u32) -> Utf8PathBuf {
        self.logs().join(format!("{attempt}.out"))
    }

    /// Standard error of an attempt.
    #[must_use]
    pub fn stderr(&self, attempt: u32) -> Utf8PathBuf {
        self.logs().join(format!("{attempt}.err"))
    }

    /// Where an attempt may write its result.
    #[must_use]
    pub fn result(&self, attempt: u32) -> Utf8PathBuf {
        self.logs().join(format!("{attempt}.result.json"))
    }

    /// The streams of all verifiers.
    #[must_use]
    pub fn verifications(&self) -> Vec<Utf8PathBuf> {
        let entries = self.logs().read_dir_utf8().into_iter().flatten().filter_map(Result::ok);
        let paths = entries.map(camino::Utf8DirEntry::into_path);
        let stream = |path: &Utf8PathBuf| {
            let (stem, end) = (path.file_stem().unwrap_or_default(), path.extension());
            stem.contains('.') && matches!(end, Some("out" | "err"))
        };
        paths.filter(stream).collect()
    }

    /// Removes what attempts with a number above `last` left. The log does not know them: its end was lost
    /// with the power, and their numbers are given again, to attempts that must not find it.
    ///
    /// # Errors
    /// If one cannot be removed.
    pub fn forget_attempts_after(&self, last: u32) -> Result<(), Error> {
        let logs = self.logs();
        let entries = match logs.read_dir_utf8() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            read => read.map_err(Error::io("read", &logs))?,
        };
        for entry in entries {
            let entry = entry.map_err(Error::io("read", &logs))?;
            let number = entry.file_name().split('.').next().and_then(|number| number.parse::<u32>().ok());
            if number.is_some_and(|number| number > last) {
                let path = entry.path();
                let removed = match fs::remove_file(path) {
                    // A task may have made a directory where its result goes.
                    Err(_) if path.is_dir() => staging::remove_tree(path),
                    removed => removed,
                };
                removed.map_err(Error::io("remove", path))?;
            }
        }
        Ok(())
    }

    /// Makes the directory of streams, unless it is there.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn make_logs(&self) -> io::Result<()> {
        ensure_directory(&self.logs())
    }

    /// Standard output, standard error and result of a verifier that has this name.
    #[must_use]
    pub fn verification(&self, name: &str) -> [Utf8PathBuf; 3] {
        let logs = self.logs();
        ["out", "err", "result.json"].map(|end| logs.join(format!("{name}.{end}")))
    }

    /// The compiled plan, read back.
    ///
    /// # Errors
    /// If it cannot be read, or is not the one that `run.json` names.
    pub fn read_plan(&self, about: &about::About) -> Result<Vec<u8>, Error> {
        let path = self.plan();
        let bytes = regular::read(&path).map_err(Error::io("read", &path))?;
        if blake3::hash(&bytes).to_hex().as_str() != about.plan_json {
            return Err(Error::Unreadable { path, why: "it is not what the run was made with".to_owned() });
        }
        Ok(bytes)
    }
}

/// Writes what a run begins with into its directory, and has it on disk.
fn write_whole(
    making: &Utf8Path,
    about: &mut about::About,
    plan: &[u8],
    name: &str,
) -> Result<lock::Lock, Error> {
    about.plan_json = blake3::hash(plan).to_hex().as_str().into();
    write_synced(&making.join("plan.json"), plan)?;
    write_synced(&making.join("run.json"), about.to_json().as_bytes())?;
    let lock = lock::Lock::create(&making.join("events.jsonl"), name)?;
    sync_directory(making)?;
    Ok(lock)
}

/// The part of a run's name that says when it began, to the second.
fn second(name: &str) -> &str {
    name.rsplit_once('-').map_or(name, |(stamp, _)| stamp)
}

/// When `run` began, in milliseconds since 1970: as its log says, else as its directory was made.
fn started(run: &RunDir) -> i64 {
    if let Ok((Some(first), _)) = read::ends(run) {
        return first.at;
    }
    let made = run.about().symlink_metadata().and_then(|metadata| metadata.modified()).ok();
    let since = made.and_then(|made| made.duration_since(std::time::UNIX_EPOCH).ok()).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// A name for a run made at `utc`: the time in UTC, and four hex digits.
fn run_name(utc: i64) -> Result<String, Error> {
    let stamp = jiff::Timestamp::from_millisecond(utc).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    let random = random::<2>()?;
    Ok(format!("{}-{:02x}{:02x}", stamp.strftime("%Y%m%dT%H%M%SZ"), random[0], random[1]))
}

/// Random bytes from the system.
///
/// # Errors
/// If the system has none.
pub fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        let flags = rustix::rand::GetRandomFlags::empty();
        match rustix::rand::getrandom(&mut bytes[filled..], flags) {
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Error::io("read", "the system's random bytes".into())(error.into())),
        }
    }
    Ok(bytes)
}

/// Makes a directory that only its owner reads.
fn private_directory(path: &Utf8Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

/// As [`private_directory`], with what is above it, and without a word where it is there.
fn make_directories(path: &Utf8Path) -> Result<(), Error> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(Error::io("make", path))
}

/// Makes a directory below the run directory unless it is there.
fn ensure_directory(path: &Utf8Path) -> io::Result<()> {
    match private_directory(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

/// Makes a file that only its owner reads, and that is not there yet.
fn private_file(path: &Utf8Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Writes a new file and has it on disk.
fn write_synced(path: &Utf8Path, content: &[u8]) -> Result<(), Error> {
    let write = || {
        let mut file = private_file(path)?;
        file.write_all(content)?;
        file.sync_data()
    };
    write().map_err(Error::io("write", path))
}

/// Has a directory's entries on disk.
fn sync_directory(path: &Utf8Path) -> Result<(), Error> {
    File::open(path).and_then(|directory| directory.sync_all()).map_err(Error::io("sync", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(directory: &tempfile::TempDir) -> StateDir {
        StateDir::new(Utf8Path::from_path(directory.path()).unwrap().join(".plan"))
    }

    #[test]
    fn runs_are_found_by_name_prefix_and_latest() {
        let directory = tempfile::tempdir().unwrap();
        let state = state(&directory);
        assert!(matches!(state.resolve(LATEST), Err(Error::NoRuns { .. })));
        let make = |utc| state.create(utc, about::About::default(), b"{}").unwrap().0;
        let first = make(1_793_000_000_000);
        let second = make(1_793_000_001_000);
        assert_eq!(state.runs().unwrap(), [first.clone(), second.clone()]);
        assert_eq!(state.resolve(LATEST).unwrap(), second);
        assert_eq!(state.resolve(&first.name).unwrap(), first);
        assert_eq!(state.resolve(&second.name[..second.name.len() - 2]).unwrap(), second);
        assert!(matches!(state.resolve("2026"), Err(Error::Ambiguous { runs, .. }) if runs.len() == 2));
        assert!(matches!(state.resolve("1999"), Err(Error::UnknownRun { .. })));
        fs::remove_dir_all(&second.path).unwrap();
        assert_eq!(state.resolve(LATEST).unwrap(), first, "of those that are left, the newest");
        assert!(!state.latest_path().exists());
        state.mend_latest().unwrap();
        assert_eq!(state.latest_path().canonicalize().unwrap(), first.path.canonicalize().unwrap());
    }

    #[test]
    fn a_run_is_private_and_whole_from_the_start() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let (run, about, _lock) =
            state(&directory).create(1_793_000_000_000, about::About::default(), b"{\"a\":1}").unwrap();
        let mode = |path: &Utf8Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&run.path), 0o700);
        assert_eq!(mode(&run.about()), 0o600);
        assert_eq!(mode(&run.log()), 0o600);
        assert_eq!(about::About::read(&run).unwrap().0, about);
        assert_eq!(run.read_plan(&about).unwrap(), b"{\"a\":1}");
        fs::write(run.plan(), "{\"a\":2}").unwrap();
        assert!(matches!(run.read_plan(&about), Err(Error::Unreadable { .. })));
        let mut names: Vec<_> = fs::read_dir(&run.path).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["events.jsonl", "plan.json", "run.json"], "nothing that has no content yet");
    }
}
