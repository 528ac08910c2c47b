//! Starts a process: `posix_spawn`, so that nothing of ours runs between fork and exec.
//!
//! The environment is kept as the system wants it, and only what differs is made for each process. The
//! standard library would copy all of it, sorted, every time. It is still asked where the working directory
//! is another than ours, which it alone can set on the way.

use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn};
use nix::sys::signal::{SigSet, Signal};
use rustix::process::Pid;

use super::signals::ignored;

/// What processes inherit, and how they are started.
#[derive(Debug)]
pub(super) struct Spawner {
    /// The variables that all inherit, each as its name and as the system wants it.
    base: Vec<(OsString, CString)>,
    /// Standard input.
    nothing: File,
    attributes: PosixSpawnAttr,
    /// The working directory of this process. Nothing else can be it, as long as it is.
    here: Option<Place>,
}

/// Device and inode.
type Place = (u64, u64);

/// A process to start, the leader of a group of its own.
pub(super) struct Wanted<'a> {
    /// The file, with a slash in its name.
    pub program: &'a Path,
    /// Its name and its arguments.
    pub argv: &'a [String],
    /// Variables on top of those that are inherited; of two with one name the later counts.
    pub env: &'a [(&'a str, &'a str)],
    /// Variables that it does not inherit.
    pub withheld: &'a [&'a str],
    /// Where it runs.
    pub cwd: &'a Path,
    /// Standard output.
    pub stdout: File,
    /// Standard error.
    pub stderr: File,
}

impl Spawner {
    /// Starts processes that inherit `base`.
    ///
    /// # Errors
    /// If there is no `/dev/null`, or no memory: a clause.
    pub(super) fn new(base: impl IntoIterator<Item = (OsString, OsString)>) -> Result<Self, String> {
        let nothing = File::open("/dev/null").map_err(|error| format!("cannot open `/dev/null`: {error}"))?;
        let attributes = attributes().map_err(|error| error.to_string())?;
        let base = base.into_iter().filter_map(|(name, value)| {
            // What came from the system holds no NUL.
            let both = variable(&name, &value).ok()?;
            Some((name, both))
        });
        Ok(Self { base: base.collect(), nothing, attributes, here: place(Path::new(".")) })
    }

    /// Starts `wanted`.
    ///
    /// # Errors
    /// What the system says, or that an argument or a variable holds a NUL.
    pub(super) fn spawn(&self, wanted: Wanted<'_>) -> io::Result<Pid> {
        let is_here = self.here.is_some() && place(wanted.cwd) == self.here;
        let pid = if is_here { self.here(&wanted)? } else { self.elsewhere(wanted)? };
        Pid::from_raw(pid).ok_or_else(|| io::Error::other("it has no process number"))
    }

    fn here(&self, wanted: &Wanted<'_>) -> io::Result<i32> {
        let argv =
            wanted.argv.iter().map(|word| CString::new(word.as_str())).collect::<Result<Vec<_>, _>>()?;
        let own = self.own(wanted).map(|(name, value)| variable(OsStr::new(name), OsStr::new(value)));
        let own = own.collect::<io::Result<Vec<_>>>()?;
        let mut env: Vec<&CString> = Vec::with_capacity(self.base.len() + own.len());
        env.extend(self.inherited(wanted).map(|(_, both)| both).chain(&own));
        let mut actions = PosixSpawnFileActions::init()?;
        for (to, from) in [&self.nothing, &wanted.stdout, &wanted.stderr].into_iter().enumerate() {
            actions.add_dup2(from.as_raw_fd(), i32::try_from(to).unwrap_or_default())?;
        }
        Ok(posix_spawn(wanted.program, &actions, &self.attributes, &argv, &env)?.as_raw())
    }

    fn elsewhere(&self, wanted: Wanted<'_>) -> io::Result<i32> {
        let mut command = Command::new(wanted.program);
        let (name, arguments) = wanted.argv.split_first().map_or(("", &[][..]), |(name, rest)| (name, rest));
        command.arg0(name).args(arguments).current_dir(wanted.cwd).process_group(0).env_clear();
        for (name, both) in self.inherited(&wanted) {
            command.env(name, OsStr::from_bytes(&both.as_bytes()[name.len() + 1..]));
        }
        command.envs(self.own(&wanted));
        command.stdin(self.nothing.try_clone().map(Stdio::from)?).stdout(wanted.stdout).stderr(wanted.stderr);
        let pid = command.spawn()?.id();
        Ok(i32::try_from(pid).unwrap_or_default())
    }

    fn inherited<'a>(&'a self, wanted: &Wanted<'a>) -> impl Iterator<Item = (&'a OsString, &'a CString)> {
        let (env, withheld) = (wanted.env, wanted.withheld);
        let differs = move |name: &OsString| {
            env.iter().any(|(own, _)| name == own) || withheld.iter().any(|withheld| name == withheld)
        };
        self.base.iter().filter(move |(name, _)| !differs(name)).map(|(name, both)| (name, both))
    }

    fn own<'a>(&self, wanted: &Wanted<'a>) -> impl Iterator<Item = (&'a str, &'a str)> {
        let env = wanted.env;
        let last = move |at: usize| env[at + 1..].iter().all(|(later, _)| *later != env[at].0);
        (0..env.len()).filter(move |at| last(*at)).map(|at| env[at])
    }
}

/// A group of its own; as the standard library has it, nothing blocked and `PIPE` not ignored.
fn attributes() -> nix::Result<PosixSpawnAttr> {
    let mut attributes = PosixSpawnAttr::init()?;
    attributes.set_flags(
        PosixSpawnFlags::POSIX_SPAWN_SETPGROUP
            | PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF
            | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK,
    )?;
    attributes.set_pgroup(nix::unistd::Pid::from_raw(0))?;
    attributes.set_sigmask(&SigSet::empty())?;
    attributes.set_sigdefault(&defaults(ignored()))?;
    Ok(attributes)
}

/// What is to have its default: `PIPE`, and all that is not `ignored`, which stays so. What has a handler would get
/// it anyway, but the C library first asks what each signal has that is not named here, for every process.
fn defaults(ignored: Option<u64>) -> SigSet {
    let is_ignored = |number: u32| ignored.is_none_or(|ignored| ignored >> (number - 1) & 1 == 1);
    // Those that have no name are taken all together.
    let nameless = Signal::iterator().map(|signal| signal as u32).max().unwrap_or_default() + 1..=u64::BITS;
    let mut defaults = if nameless.into_iter().any(is_ignored) { SigSet::empty() } else { SigSet::all() };
    for signal in Signal::iterator() {
        if is_ignored(signal as u32) {
            defaults.remove(signal);
        } else {
            defaults.add(signal);
        }
    }
    defaults.add(Signal::SIGPIPE);
    defaults
}

/// A variable as the system wants it.
fn variable(name: &OsStr, value: &OsStr) -> io::Result<CString> {
    // With room for its NUL, so that it need not grow.
    let mut both = Vec::with_capacity(name.len() + value.len() + 2);
    both.extend_from_slice(name.as_bytes());
    both.push(b'=');
    both.extend_from_slice(value.as_bytes());
    Ok(CString::new(both)?)
}

/// Where `directory` is.
fn place(directory: &Path) -> Option<Place> {
    std::fs::metadata(directory).map(|found| (found.dev(), found.ino())).ok()
}

#[cfg(test)]
mod tests {
    use rustix::process::{WaitId, WaitIdOptions, waitid};

    use super::*;

    /// What `script` prints with these variables, run in `cwd`, and how it ended.
    fn says(cwd: &Path, script: &str, env: &[(&str, &str)]) -> io::Result<(String, Option<i32>)> {
        let base = [("KEPT", "base"), ("CHANGED", "base"), ("SECRET", "base"), ("PATH", "/usr/bin:/bin")];
        let spawner = Spawner::new(base.map(|(name, value)| (name.into(), value.into()))).unwrap();
        let directory = tempfile::tempdir()?;
        let out = directory.path().join("out");
        let pid = spawner.spawn(Wanted {
            program: Path::new("/bin/sh"),
            argv: &["shell".to_owned(), "-c".to_owned(), script.to_owned()],
            env,
            withheld: &["SECRET"],
            cwd,
            stdout: File::create(&out)?,
            stderr: File::create(directory.path().join("err"))?,
        })?;
        let status = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED)?.unwrap();
        Ok((std::fs::read_to_string(out)?, status.exit_status()))
    }

    #[test]
    fn here_and_elsewhere_are_alike() {
        let here = std::env::current_dir().unwrap();
        let script = r#"echo "$0 $KEPT $CHANGED ${SECRET-none} $(pwd) $(cat)"; test -t 0 && exit 9; exit 3"#;
        for cwd in [here.as_path(), Path::new("/")] {
            let said = says(cwd, script, &[("CHANGED", "first"), ("CHANGED", "last")]).unwrap();
            assert_eq!(said, (format!("shell base last none {} \n", cwd.display()), Some(3)));
        }
    }

    #[test]
    fn a_process_leads_its_group_and_nothing_is_blocked() {
        let script = r#"grep -E "^Sig(Blk|Ign):" /proc/$$/status | tr -d "\n\t"; set -- $(cat /proc/$$/stat); test $5 = $$"#;
        for cwd in [std::env::current_dir().unwrap().as_path(), Path::new("/")] {
            let (said, code) = says(cwd, script, &[]).unwrap();
            let ignored = said.strip_prefix("SigBlk:0000000000000000SigIgn:").expect(&said);
            let pipe = 1 << (Signal::SIGPIPE as u32 - 1);
            assert_eq!(u64::from_str_radix(ignored, 16).unwrap() & pipe, 0, "{said}");
            assert_eq!(code, Some(0));
        }
    }

    #[test]
    fn what_is_ignored_stays_so() {
        let bit = |signal: Signal| 1 << (signal as u32 - 1);
        let found = defaults(Some(bit(Signal::SIGHUP) | bit(Signal::SIGPIPE)));
        let left_out: Vec<_> = Signal::iterator().filter(|&signal| !found.contains(signal)).collect();
        assert_eq!(left_out, [Signal::SIGHUP]);
        for unknown in [None, Some(1 << 40)] {
            let found = defaults(unknown);
            assert!(found.contains(Signal::SIGPIPE) && unknown.is_some() == found.contains(Signal::SIGHUP));
        }
    }

    #[test]
    fn what_no_system_takes_is_an_error() {
        for cwd in [std::env::current_dir().unwrap().as_path(), Path::new("/"), Path::new("/nowhere")] {
            let error = says(cwd, ":", &[("A", "\0")]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{error}");
        }
        let error = says(Path::new("/nowhere"), ":", &[]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
