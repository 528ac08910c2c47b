//! Opens what is ours in a run directory: regular files and nothing else.
//!
//! Tasks can put anything there. A pipe in the place of a file would keep its reader waiting for ever, and
//! a link would lead it elsewhere. What a file means is its reader's business.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;

use camino::Utf8Path;
use rustix::fs::OFlags;

/// Opens the regular file at `path` for reading.
///
/// # Errors
/// If there is none, or it cannot be read.
pub fn open(path: &Utf8Path) -> io::Result<File> {
    open_as(OpenOptions::new().read(true), path)
}

/// Opens the regular file at `path` as `options` have it.
pub(super) fn open_as(options: &mut OpenOptions, path: &Utf8Path) -> io::Result<File> {
    // Neither flag changes how a regular file is read.
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).expect("flags of the system fit their own type");
    match options.custom_flags(flags).open(path) {
        Ok(file) if file.metadata()?.is_file() => Ok(file),
        Ok(_) => Err(io::Error::other("it is not a regular file")),
        // A link, a socket.
        Err(error) => match path.symlink_metadata() {
            Ok(found) if !found.is_file() => Err(io::Error::other("it is not a regular file")),
            Ok(_) | Err(_) => Err(error),
        },
    }
}

/// What the regular file at `path` holds.
pub(super) fn read(path: &Utf8Path) -> io::Result<Vec<u8>> {
    let mut file = open(path)?;
    let mut bytes = Vec::with_capacity(usize::try_from(file.metadata()?.len()).unwrap_or(0));
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_regular_files_is_opened() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| Utf8Path::from_path(directory.path()).unwrap().join(name);
        std::fs::write(at("file"), "text").unwrap();
        assert_eq!(read(&at("file")).unwrap(), b"text");
        assert_eq!(read(&at("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe").as_std_path(), mode).unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        for name in ["pipe", "link", "socket", ""] {
            let error = read(&at(name)).unwrap_err();
            assert_eq!(error.to_string(), "it is not a regular file", "{name}");
        }
    }
}
