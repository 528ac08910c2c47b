//! Opens files that tasks name, beneath a root, with symbolic links refused in every component
//! (EXECUTION §7). Only regular files count, and a pipe does not block.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use camino::Utf8Path;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// A directory that files are opened beneath.
#[derive(Debug)]
pub struct Root {
    directory: OwnedFd,
}

/// Why a path does not count.
#[derive(Debug)]
pub enum Refused {
    /// Nothing is there.
    Missing,
    /// A component is a symbolic link.
    Link,
    /// It leaves the root.
    Leaves,
    /// It is there and is no regular file.
    NotAFile,
    /// It cannot be opened.
    Io(io::Error),
}

impl fmt::Display for Refused {
    /// A clause that goes after the path: `` `a.txt` is missing ``.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("is missing"),
            Self::Link => f.write_str("is a symbolic link, or is behind one"),
            Self::Leaves => f.write_str("leaves the workspace"),
            Self::NotAFile => f.write_str("is no regular file"),
            Self::Io(error) => write!(f, "cannot be read: {error}"),
        }
    }
}

/// Whether the system lacks `openat2`, once that is known.
static NO_OPENAT2: AtomicBool = AtomicBool::new(false);

const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

impl Root {
    /// The directory at `path`, which the operator named: here links are followed.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(path: &Utf8Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { directory: rustix::fs::open(path.as_std_path(), flags, Mode::empty())? })
    }

    /// Opens the regular file at `path`, relative to the root, for reading.
    ///
    /// # Errors
    /// If there is none that counts.
    pub fn file(&self, path: &str) -> Result<File, Refused> {
        let opened = if NO_OPENAT2.load(Ordering::Relaxed) {
            self.walk(path)
        } else {
            match self.resolve(path) {
                Err(Errno::NOSYS | Errno::PERM) => {
                    // Too old a kernel, or a sandbox that does not know the call.
                    NO_OPENAT2.store(true, Ordering::Relaxed);
                    self.walk(path)
                }
                other => other,
            }
        };
        let file = File::from(opened.map_err(refuse)?);
        match file.metadata() {
            Ok(metadata) if metadata.is_file() => Ok(file),
            Ok(_) => Err(Refused::NotAFile),
            Err(error) => Err(Refused::Io(error)),
        }
    }

    fn resolve(&self, path: &str) -> Result<OwnedFd, Errno> {
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        loop {
            match rustix::fs::openat2(&self.directory, path, READ, Mode::empty(), beneath) {
                // The kernel could not rule out a race with a rename elsewhere.
                Err(Errno::AGAIN | Errno::INTR) => {}
                other => return other,
            }
        }
    }

    /// As [`Root::resolve`], one component after the other.
    fn walk(&self, path: &str) -> Result<OwnedFd, Errno> {
        let mut components = Utf8Path::new(path).components().peekable();
        let mut directory: Option<OwnedFd> = None;
        while let Some(component) = components.next() {
            let name = match component {
                camino::Utf8Component::Normal(name) => name,
                camino::Utf8Component::CurDir => continue,
                camino::Utf8Component::ParentDir
                | camino::Utf8Component::RootDir
                | camino::Utf8Component::Prefix(_) => return Err(Errno::XDEV),
            };
            let last = components.peek().is_none();
            let flags = if last { READ } else { OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC };
            let parent = directory.as_ref().unwrap_or(&self.directory);
            match rustix::fs::openat(parent, name, flags | OFlags::NOFOLLOW, Mode::empty()) {
                Ok(opened) if last => return Ok(opened),
                Ok(opened) => directory = Some(opened),
                // A link that is no directory is refused with this name for it.
                Err(Errno::NOTDIR) => {
                    let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
                    let stat = rustix::fs::statat(parent, name, flags)?;
                    let link = FileType::from_raw_mode(stat.st_mode) == FileType::Symlink;
                    return Err(if link { Errno::LOOP } else { Errno::NOTDIR });
                }
                Err(error) => return Err(error),
            }
        }
        Err(Errno::ISDIR)
    }
}

fn refuse(error: Errno) -> Refused {
    match error {
        Errno::NOENT | Errno::NOTDIR => Refused::Missing,
        Errno::LOOP => Refused::Link,
        Errno::XDEV => Refused::Leaves,
        // A socket cannot be opened, nor a device without a driver.
        Errno::NXIO | Errno::NODEV | Errno::ISDIR => Refused::NotAFile,
        other => Refused::Io(other.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_regular_files_beneath_the_root_count() {
        let directory = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(directory.path()).unwrap();
        std::fs::create_dir_all(root.join("real/deep")).unwrap();
        std::fs::write(root.join("real/deep/a.txt"), "A").unwrap();
        symlink("real", root.join("hop")).unwrap();
        symlink("real/deep/a.txt", root.join("link")).unwrap();
        symlink("/etc/passwd", root.join("out")).unwrap();
        symlink("nowhere", root.join("dangling")).unwrap();
        let pipe = rustix::fs::mknodat(
            rustix::fs::CWD,
            root.join("pipe").as_std_path(),
            FileType::Fifo,
            Mode::RUSR | Mode::WUSR,
            0,
        );
        pipe.unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();

        let opened = Root::open(root).unwrap();
        type Open = fn(&Root, &str) -> Result<OwnedFd, Errno>;
        let ways: [(&str, Open); 2] = [("openat2", Root::resolve), ("walk", Root::walk)];
        for (way, open) in ways {
            let found = |path| open(&opened, path).map_err(refuse);
            let mut text = String::new();
            File::from(found("real/deep/a.txt").unwrap()).read_to_string(&mut text).unwrap();
            assert_eq!(text, "A", "{way}");
            assert!(found("./real/./deep/a.txt").is_ok(), "{way}");
            for path in ["hop/deep/a.txt", "link", "out", "dangling"] {
                assert!(matches!(found(path), Err(Refused::Link)), "{way} {path}: {:?}", found(path));
            }
            for path in ["none", "real/none", "real/deep/a.txt/b"] {
                assert!(matches!(found(path), Err(Refused::Missing)), "{way} {path}: {:?}", found(path));
            }
            for path in ["../a", "/etc/passwd", "real/../../a"] {
                assert!(matches!(found(path), Err(Refused::Leaves)), "{way} {path}: {:?}", found(path));
            }
            assert!(matches!(found("socket"), Err(Refused::NotAFile)), "{way}");
        }
        for path in ["pipe", "real", "real/deep", "socket", "."] {
            assert!(matches!(opened.file(path), Err(Refused::NotAFile)), "{path}");
        }
    }
}
