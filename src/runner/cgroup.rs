//! A control group for all that a run starts, where the system lets us make one.
//!
//! Processes are born in the group of whoever starts them, and leave it only if somebody moves them. So what has
//! dropped its token and its parents is still known by it, and `cgroup.kill` ends all at once, however fast it
//! forks. That is for the end of a run, and for what a crashed one left: which attempt a process belongs to is
//! said by its token, its group or its ancestry alone (`super::tree`).

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use super::local::GONE;
use super::proc::{self, Id};

/// What the names of our groups begin with.
const PREFIX: &str = "plan-";

/// The kind of file system that groups are on.
const CGROUP2: rustix::fs::FsWord = 0x6367_7270;

/// How much of a register is read: more than anybody has sittings.
const MOST: u64 = 1 << 20;

/// How long between two looks at a group that was killed.
const PAUSE: Duration = Duration::from_millis(1);

/// The group that this process is in for as long as a run lasts.
#[derive(Debug)]
pub(super) struct Cgroup {
    path: PathBuf,
    /// The list of the group that we came from: a process that writes to it goes there.
    home: File,
    register: Register,
}

impl Cgroup {
    /// Makes a group and moves this process into it. None where the system has no such groups, or where they are
    /// not ours to make.
    ///
    /// It is written down in `register` first, so that a resume finds what a crash has left.
    pub(super) fn enter(register: Register) -> Option<Self> {
        let outer = ours_to_divide()?;
        // Opened now, since whoever may not go back must not leave.
        let home = for_writing(&outer.join("cgroup.procs")).ok()?;
        let path = register.add(&outer).ok()?;
        let made = fs::create_dir(&path).and_then(|()| {
            fs::metadata(path.join("cgroup.kill"))?;
            // How long its tasks wait is accounted for at every switch between two of them, and nobody asks.
            let _ = set(&path, "cgroup.pressure", "0");
            set(&path, "cgroup.procs", "0")
        });
        let entered = Self { path, home, register };
        match made {
            Ok(()) => Some(entered),
            Err(_) => {
                let _ = entered.forget();
                None
            }
        }
    }

    /// Leaves the group, and ends all that is in it.
    ///
    /// # Errors
    /// If something may be left: a clause.
    pub(super) fn end(mut self) -> Result<(), String> {
        // Whoever cannot leave would end itself.
        let left = self.home.write_all(b"0").and_then(|()| end(&self.path));
        left.and_then(|()| self.forget()).map_err(|error| not_ended(&self.path, &error))
    }

    fn forget(&self) -> io::Result<()> {
        // What is still in use stays written down.
        remove(&self.path)?;
        self.register.remove(&self.path)
    }
}

/// A file that says which groups a run has, one a line: the number and the start of the process that made it, and
/// where it is.
#[derive(Clone, Debug)]
pub(super) struct Register {
    file: PathBuf,
    mark: String,
}

/// A line of it.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    maker: Id,
    path: PathBuf,
}

impl Entry {
    fn line(&self) -> String {
        format!("{} {} {}\n", self.maker.pid, self.maker.start, self.path.display())
    }
}

impl Register {
    /// The register `file` of the run that is marked by `mark`.
    pub(super) fn new(file: &Path, mark: &str) -> Self {
        Self { file: file.to_owned(), mark: mark.to_owned() }
    }

    /// What is written down, and how many lines say nothing that we would have written. Those are left out: the file
    /// may have been changed, and nobody else's group is ever ended.
    fn all(&self) -> io::Result<(Vec<Entry>, usize)> {
        let mut bytes = Vec::new();
        match self.open(OpenOptions::new().read(true)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => drop(opened?.take(MOST).read_to_end(&mut bytes)?),
        }
        let lines = bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        let read: Vec<_> = lines.map(|line| self.entry(std::str::from_utf8(line).ok()?)).collect();
        let strange = read.iter().filter(|entry| entry.is_none()).count();
        Ok((read.into_iter().flatten().collect(), strange))
    }

    fn entry(&self, line: &str) -> Option<Entry> {
        let mut fields = line.splitn(3, ' ');
        let maker = Id { pid: fields.next()?.parse().ok()?, start: fields.next()?.parse().ok()? };
        let path = PathBuf::from(fields.next()?);
        let number = path.file_name()?.to_str()?.strip_prefix(PREFIX)?.strip_prefix(&*self.mark)?;
        let is_ours = path.is_absolute() && number.strip_prefix('-')?.parse::<u32>().is_ok();
        is_ours.then_some(Entry { maker, path })
    }

    /// The file, which has to be one, and no link.
    fn open(&self, options: &mut OpenOptions) -> io::Result<File> {
        let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
        let file = options.custom_flags(flags.bits().cast_signed()).open(&self.file)?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no file")) }
    }

    /// Writes down one more in `outer`: the first that is neither there nor written down.
    fn add(&self, outer: &Path) -> io::Result<PathBuf> {
        let (all, _) = self.all()?;
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let maker = proc::stat(own).ok_or_else(|| io::Error::other("nothing tells when we started"))?.id;
        let outer = outer.to_str().ok_or_else(|| io::Error::other("its name is no text"))?;
        let mut paths =
            (1u32..).map(|number| PathBuf::from(format!("{outer}/{PREFIX}{}-{number}", self.mark)));
        let free = paths.find(|path| !path.exists() && all.iter().all(|entry| entry.path != *path));
        let path = free.ok_or_else(|| io::Error::other("no number is left"))?;
        let mut file = self.open(OpenOptions::new().append(true).create(true).mode(0o600))?;
        // A line that was cut short stays one of its own.
        file.write_all(format!("\n{}", Entry { maker, path: path.clone() }.line()).as_bytes())?;
        Ok(path)
    }

    fn remove(&self, gone: &Path) -> io::Result<()> {
        let (all, _) = self.all()?;
        let left: String = all.iter().filter(|entry| entry.path != gone).map(Entry::line).collect();
        if left.is_empty() {
            // It may have gone with its run.
            return match fs::remove_file(&self.file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                Ok(()) | Err(_) => Ok(()),
            };
        }
        let beside = self.file.with_extension("new");
        let _ = fs::remove_file(&beside);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
        file.write_all(left.as_bytes())?;
        fs::rename(&beside, &self.file)
    }

    /// Ends all that is in these groups, but for one that this process is in, and those whose makers are at work.
    /// Returns what could not be done, as clauses.
    pub(super) fn end_left(&self) -> Vec<String> {
        let cannot_read =
            |error| format!("what earlier sittings left is not known: `{}`: {error}", self.file.display());
        let (all, strange) = match self.all() {
            Ok(all) => all,
            Err(error) => return vec![cannot_read(error)],
        };
        let mut problems = Vec::new();
        if strange > 0 {
            let what = format!("{strange} of its lines name no control group of this run");
            problems.push(cannot_read(io::Error::other(what)));
        }
        let own = own_group();
        for Entry { maker, path } in &all {
            // A run can be gone on with from inside of a group that it has left, and a copy of it beside it.
            let inside = own.as_ref().is_some_and(|own| own.starts_with(path));
            let at_work = proc::stat(maker.pid).is_some_and(|stat| stat.id == *maker && !stat.zombie);
            if inside || at_work {
                continue;
            }
            let ended = end(path).and_then(|()| remove(path)).and_then(|()| self.remove(path));
            problems.extend(ended.err().map(|error| not_ended(path, &error)));
        }
        problems
    }
}

fn not_ended(group: &Path, error: &io::Error) -> String {
    format!("the control group `{}` cannot be ended: {error}", group.display())
}

/// Kills all that is in the group and below it, and waits until it is gone. One that is not there has ended.
fn end(group: &Path) -> io::Result<()> {
    if !group.exists() {
        return Ok(());
    }
    // What leads elsewhere, or was put in the place of one, is not touched.
    let is_group = rustix::fs::statfs(group)?.f_type == CGROUP2 && fs::canonicalize(group)? == group;
    if !is_group {
        return Err(io::Error::other("it is none"));
    }
    let begun = Instant::now();
    loop {
        set(group, "cgroup.kill", "1")?;
        let events = fs::read_to_string(group.join("cgroup.events"))?;
        if !events.lines().any(|line| line == "populated 1") {
            return Ok(());
        }
        if begun.elapsed() >= GONE {
            return Err(io::Error::other("something in it does not end"));
        }
        std::thread::sleep(PAUSE);
    }
}

fn set(group: &Path, file: &str, value: &str) -> io::Result<()> {
    for_writing(&group.join(file))?.write_all(value.as_bytes())
}

/// Opens what is there already.
fn for_writing(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).open(path)
}

/// Removes a group, and what runs inside of it have left there.
fn remove(group: &Path) -> io::Result<()> {
    match fs::remove_dir(group) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(_) => {
            for entry in fs::read_dir(group)?.flatten() {
                if entry.file_type()?.is_dir() {
                    remove(&entry.path())?;
                }
            }
            fs::remove_dir(group)
        }
        Ok(()) => Ok(()),
    }
}

/// The group of this process, if we may make others in it. Where systemd keeps the groups, only what it has
/// delegated is anybody else's to divide.
fn ours_to_divide() -> Option<PathBuf> {
    let own = own_group()?;
    let is_own = own.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(PREFIX));
    let ours = is_own || !Path::new("/run/systemd/system").exists() || is_delegated(&own);
    ours.then_some(own)
}

fn is_delegated(group: &Path) -> bool {
    let says_so = |name: &str| {
        let mut value = [0; 8];
        matches!(rustix::fs::getxattr(group, name, &mut value[..]), Ok(1) if value[0] == b'1')
    };
    says_so("user.delegate") || says_so("trusted.delegate")
}

/// The group of this process in the unified hierarchy.
fn own_group() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    place(&groups, &mounts)
}

/// Where the group is that `/proc/self/cgroup` tells, seen through the mounts of `/proc/self/mountinfo`.
fn place(groups: &str, mounts: &str) -> Option<PathBuf> {
    let group = Path::new(groups.lines().find_map(|line| line.strip_prefix("0::"))?);
    mounts.lines().find_map(|line| {
        let (mount, system) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        // Blanks and the like are escaped; nobody mounts it there.
        let plain = system.starts_with("cgroup2 ") && !line.contains('\\');
        let below = group.strip_prefix(root).ok().filter(|_| plain)?;
        // What joining nothing adds would make it another path.
        Some(if below.as_os_str().is_empty() { PathBuf::from(point) } else { Path::new(point).join(below) })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_seen_through_its_mount() {
        let mounts = "31 1 0:29 / / rw - ext4 /dev/vda rw\n41 31 0:38 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";
        let at = |groups: &str, mounts: &str| place(groups, mounts).map(|path| path.display().to_string());
        assert_eq!(at("0::/\n", mounts).as_deref(), Some("/sys/fs/cgroup"));
        assert_eq!(at("4:memory:/x\n0::/user/a\n", mounts).as_deref(), Some("/sys/fs/cgroup/user/a"));
        assert_eq!(at("4:memory:/x\n", mounts), None, "only the old hierarchies");
        let part = "41 31 0:38 /user /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        assert_eq!(at("0::/user/a\n", part).as_deref(), Some("/sys/fs/cgroup/a"));
        assert_eq!(at("0::/other\n", part), None, "not to be seen from here");
        assert_eq!(at("0::/\n", "31 1 0:29 / / rw - ext4 /dev/vda rw\n"), None);
    }

    #[test]
    fn a_register_knows_its_own_alone() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("cgroups");
        let register = Register::new(&file, "abc");
        let named = |number: u32| directory.path().join(format!("plan-abc-{number}"));
        let paths = || register.all().unwrap().0.into_iter().map(|entry| entry.path).collect::<Vec<_>>();
        assert_eq!(register.add(directory.path()).unwrap(), named(1));
        fs::create_dir(named(2)).unwrap();
        // A line that was cut short takes none with it.
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.trim_end()).unwrap();
        assert_eq!(register.add(directory.path()).unwrap(), named(3));
        assert_eq!(paths(), [named(1), named(3)]);
        let mut bytes = fs::read(&file).unwrap();
        let strange = b"1 2 /sys/fs/cgroup\n1 2 plan-abc-4\n1 2 /x/plan-abd-1\n1 2 /x/plan-abc-1/..\n/x/plan-abc-1\n\xff\n";
        bytes.extend_from_slice(strange);
        fs::write(&file, bytes).unwrap();
        assert_eq!((paths(), register.all().unwrap().1), (vec![named(1), named(3)], 6));
        // Their maker, this process, is at work.
        assert_eq!(register.end_left().len(), 1);
        assert_eq!(paths(), [named(1), named(3)]);
        register.remove(&named(1)).unwrap();
        assert_eq!((paths(), register.all().unwrap().1), (vec![named(3)], 0));
    }

    #[test]
    fn what_is_no_group_is_not_touched() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let file = root.join("cgroups");
        let register = Register::new(&file, "abc");
        let group = root.join("plan-abc-1");
        fs::create_dir_all(group.join("kept")).unwrap();
        fs::write(root.join("victim"), "precious").unwrap();
        std::os::unix::fs::symlink(root.join("victim"), group.join("cgroup.kill")).unwrap();
        // Nobody has that number.
        fs::write(&file, format!("{} 1 {}\n", i32::MAX, group.display())).unwrap();
        let problems = register.end_left();
        assert!(problems.len() == 1 && problems[0].ends_with("cannot be ended: it is none"), "{problems:?}");
        assert!(group.join("kept").exists() && fs::read(root.join("victim")).unwrap() == b"precious");
        fs::remove_dir_all(&group).unwrap();
        assert_eq!(register.end_left(), [""; 0], "what is not there has ended");
        assert!(!file.exists());
    }

    #[test]
    fn a_register_that_is_no_file_is_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("cgroups");
        let register = Register::new(&file, "abc");
        for make in ["mkfifo", "mkdir", "ln -s /dev/zero"] {
            let script = format!("rm -rf cgroups; {make} cgroups");
            let made =
                std::process::Command::new("sh").args(["-c", &script]).current_dir(directory.path()).status();
            assert!(made.unwrap().success());
            assert!(register.add(directory.path()).is_err(), "{make}");
            assert_eq!(register.end_left().len(), 1, "{make}");
        }
    }
}
