//! A control group for all that a run starts, where the system lets us make one.
//!
//! Processes are born in the group of whoever starts them, and leave it only if somebody moves them. So what has
//! dropped its token and its parents is still known by it, and `cgroup.kill` ends all at once, however fast it
//! forks. That is for the end of a run, and for what a crashed one left: which attempt a process belongs to is
//! said by its token, its group or its ancestry alone (`super::tree`).

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::local::GONE;

/// What the names of our groups begin with.
const PREFIX: &str = "plan-";

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
        let home = OpenOptions::new().write(true).open(outer.join("cgroup.procs")).ok()?;
        let path = register.add(&outer).ok()?;
        let made = fs::create_dir(&path).and_then(|()| {
            fs::metadata(path.join("cgroup.kill"))?;
            // How long its tasks wait is accounted for at every switch between two of them, and nobody asks.
            let _ = fs::write(path.join("cgroup.pressure"), "0");
            fs::write(path.join("cgroup.procs"), "0")
        });
        let entered = Self { path, home, register };
        match made {
            Ok(()) => Some(entered),
            Err(_) => {
                entered.forget();
                None
            }
        }
    }

    /// Leaves the group, and ends all that is in it.
    pub(super) fn end(mut self) {
        // Whoever cannot leave would end itself.
        if self.home.write_all(b"0").is_ok() {
            kill(&self.path);
            self.forget();
        }
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn forget(&self) {
        // What is still in use stays written down.
        if remove(&self.path).is_ok() {
            self.register.remove(&self.path);
        }
    }
}

/// A file that says which groups a run has, one a line.
#[derive(Clone, Debug)]
pub(super) struct Register {
    file: PathBuf,
    mark: String,
}

impl Register {
    /// The register `file` of the run that is marked by `mark`.
    pub(super) fn new(file: &Path, mark: &str) -> Self {
        Self { file: file.to_owned(), mark: mark.to_owned() }
    }

    /// The groups that are written down. Any that is not named as ours are is left out: the file may have been
    /// changed, and nobody else's group is ever ended.
    fn all(&self) -> Vec<PathBuf> {
        let text = fs::read_to_string(&self.file).unwrap_or_default();
        text.lines().map(PathBuf::from).filter(|path| path.is_absolute() && self.names(path)).collect()
    }

    fn names(&self, path: &Path) -> bool {
        let name = path.file_name().and_then(|name| name.to_str());
        let rest =
            name.and_then(|name| name.strip_prefix(PREFIX)?.strip_prefix(&*self.mark)?.strip_prefix('-'));
        rest.is_some_and(|number| number.parse::<u32>().is_ok())
    }

    /// Writes down one more in `outer`: the first that is neither there nor written down.
    fn add(&self, outer: &Path) -> io::Result<PathBuf> {
        let all = self.all();
        let mut paths = (1u32..).map(|number| outer.join(format!("{PREFIX}{}-{number}", self.mark)));
        let free = paths.find(|path| !path.exists() && !all.contains(path));
        let free = free.ok_or_else(|| io::Error::other("no number is left"))?;
        let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.file)?;
        writeln!(file, "{}", free.display())?;
        Ok(free)
    }

    fn remove(&self, gone: &Path) {
        let left: String = self
            .all()
            .iter()
            .filter(|path| *path != gone)
            .map(|path| format!("{}\n", path.display()))
            .collect();
        // A line too much names a group that is not there, which is all the same.
        let _ = if left.is_empty() { fs::remove_file(&self.file) } else { fs::write(&self.file, left) };
    }

    /// Ends all that is in these groups but for one that this process is in.
    pub(super) fn end_all_but(&self, own: Option<&Path>) {
        for path in self.all() {
            // A run can be gone on with from inside of a group that it has left.
            let inside = own_group().is_some_and(|own| own.starts_with(&path));
            if own != Some(&path) && !inside {
                kill(&path);
                if remove(&path).is_ok() {
                    self.remove(&path);
                }
            }
        }
    }
}

/// Kills all that is in the group and below it, and waits until it is gone; what the kernel holds on to is given up.
fn kill(group: &Path) {
    let begun = Instant::now();
    while fs::write(group.join("cgroup.kill"), "1").is_ok() && is_populated(group) && begun.elapsed() < GONE {
        std::thread::sleep(PAUSE);
    }
}

fn is_populated(group: &Path) -> bool {
    let events = fs::read_to_string(group.join("cgroup.events")).unwrap_or_default();
    events.lines().any(|line| line == "populated 1")
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
        assert_eq!(register.add(directory.path()).unwrap(), named(1));
        fs::create_dir(named(2)).unwrap();
        assert_eq!(register.add(directory.path()).unwrap(), named(3));
        let mut text = fs::read_to_string(&file).unwrap();
        text.push_str("/sys/fs/cgroup\nplan-abc-4\n/x/plan-abd-1\n/x/plan-abc-1/..\n/x/plan-abc-x\n");
        fs::write(&file, text).unwrap();
        assert_eq!(register.all(), [named(1), named(3)]);
        register.remove(&named(1));
        assert_eq!(register.all(), [named(3)]);
        register.end_all_but(None);
        assert!(!file.exists(), "what is not there has ended");
    }
}
