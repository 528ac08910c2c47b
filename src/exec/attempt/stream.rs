//! Reads streams backwards from their ends: last lines of files that may be large.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};

use camino::Utf8Path;

/// The longest line that is read whole: that of the largest result.
pub(super) const LONGEST: usize = 1 << 20;

/// How much of a longer line is read.
const START: usize = 4_096;

/// How far back an earlier line is looked for.
const BACK: u64 = 1 << 20;

const CHUNK: usize = 1 << 16;

/// A line of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Its bytes without the line end and blanks before it; only the start of one that is too long.
    pub bytes: Vec<u8>,
    /// Whether it is longer than [`LONGEST`].
    pub long: bool,
    /// Where it starts.
    start: u64,
}

impl Line {
    /// Its text, with what is not UTF-8 replaced.
    pub(super) fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes)
    }
}

/// Opens a stream that may have been replaced by anything.
fn open(path: &Utf8Path) -> io::Result<Option<(File, u64)>> {
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW;
    let flags = i32::try_from(flags.bits()).unwrap_or(0);
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is no regular file any more"));
    }
    Ok(Some((file, metadata.len())))
}

/// The size of a stream; 0 where there is none.
pub(super) fn size(path: &Utf8Path) -> u64 {
    std::fs::symlink_metadata(path).map_or(0, |metadata| metadata.len())
}

/// The last line that is not blank. None where there is no such line.
pub(super) fn last_line(path: &Utf8Path) -> io::Result<Option<Line>> {
    match open(path)? {
        Some((file, size)) if size > 0 => line_before(&file, size),
        _ => Ok(None),
    }
}

/// The number, from 1, of the latest line before `line` that could be an object, from brace to brace, and
/// that `wanted` takes. Looks only so far back, and reads that once.
pub(super) fn earlier(
    path: &Utf8Path,
    line: &Line,
    mut wanted: impl FnMut(&[u8]) -> bool,
) -> io::Result<Option<u64>> {
    let Some((file, _)) = open(path)? else { return Ok(None) };
    let floor = line.start.saturating_sub(BACK);
    let mut bytes = vec![0; usize::try_from(line.start - floor).unwrap_or(0)];
    file.read_exact_at(&mut bytes, floor)?;
    let mut end = bytes.len();
    while end > 0 {
        let start = match memchr::memrchr(b'\n', &bytes[..end - 1]) {
            Some(at) => at + 1,
            None if floor == 0 => 0,
            // It starts further back than we look.
            None => return Ok(None),
        };
        let text = bytes[start..end].trim_ascii();
        if text.starts_with(b"{") && text.ends_with(b"}") && wanted(text) {
            return Ok(Some(number(&file, floor + start as u64)?));
        }
        end = start;
    }
    Ok(None)
}

/// The end of a stream: all that is looked back at. Starts with a line where something is left out.
pub(super) fn tail(path: &Utf8Path) -> io::Result<Vec<u8>> {
    let Some((file, size)) = open(path)? else { return Ok(Vec::new()) };
    let floor = size.saturating_sub(BACK);
    let mut bytes = vec![0; usize::try_from(size - floor).unwrap_or(0)];
    file.read_exact_at(&mut bytes, floor)?;
    if floor > 0 {
        let first = memchr::memchr(b'\n', &bytes).map_or(bytes.len(), |at| at + 1);
        bytes.drain(..first);
    }
    Ok(bytes)
}

/// The whole text of a small file; `Ok(Err(size))` for a large one, `Ok(Ok(None))` for none.
pub(super) fn small_file(path: &Utf8Path) -> io::Result<Result<Option<Vec<u8>>, u64>> {
    let Some((file, size)) = open(path)? else { return Ok(Ok(None)) };
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(file, LONGEST as u64 + 1), &mut bytes)?;
    Ok(if bytes.len() > LONGEST { Err(size) } else { Ok(Some(bytes)) })
}

/// The last line before `end` that is not blank.
fn line_before(file: &File, end: u64) -> io::Result<Option<Line>> {
    let Some(last) = find_back(file, end, |bytes| bytes.iter().rposition(|b| !b.is_ascii_whitespace()))?
    else {
        return Ok(None);
    };
    let start = find_back(file, last, |bytes| memchr::memrchr(b'\n', bytes))?.map_or(0, |at| at + 1);
    let length = usize::try_from(last + 1 - start).unwrap_or(usize::MAX);
    let long = length > LONGEST;
    let mut bytes = vec![0; if long { START } else { length }];
    file.read_exact_at(&mut bytes, start)?;
    Ok(Some(Line { bytes, long, start }))
}

/// Where `find` finds something last before `end`.
fn find_back(file: &File, mut end: u64, find: impl Fn(&[u8]) -> Option<usize>) -> io::Result<Option<u64>> {
    let mut buffer = vec![0; CHUNK.min(usize::try_from(end).unwrap_or(CHUNK))];
    while end > 0 {
        let length = usize::try_from(end).unwrap_or(CHUNK).min(CHUNK);
        let start = end - length as u64;
        let bytes = &mut buffer[..length];
        file.read_exact_at(bytes, start)?;
        if let Some(at) = find(bytes) {
            return Ok(Some(start + at as u64));
        }
        end = start;
    }
    Ok(None)
}

/// The number of the line that starts at `start`.
fn number(file: &File, start: u64) -> io::Result<u64> {
    let mut buffer = vec![0; CHUNK];
    let (mut at, mut breaks) = (0, 0);
    while at < start {
        let length = usize::try_from(start - at).unwrap_or(CHUNK).min(CHUNK);
        file.read_exact_at(&mut buffer[..length], at)?;
        breaks += memchr::memchr_iter(b'\n', &buffer[..length]).count() as u64;
        at += length as u64;
    }
    Ok(breaks + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(content: &[u8]) -> (tempfile::TempDir, camino::Utf8PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = camino::Utf8PathBuf::from_path_buf(directory.path().join("out")).unwrap();
        std::fs::write(&path, content).unwrap();
        (directory, path)
    }

    fn last(content: &[u8]) -> Option<String> {
        let (_directory, path) = file(content);
        last_line(&path).unwrap().map(|line| line.text().into_owned())
    }

    #[test]
    fn last_lines() {
        for (content, line) in [
            (&b""[..], None),
            (b"\n \r\n\t\n", None),
            (b"a", Some("a")),
            (b"a\nb\n", Some("b")),
            (b"a\n  b c \r\n\r\n\n", Some("  b c")),
            (b"x\ny\xff\n", Some("y\u{fffd}")),
        ] {
            assert_eq!(last(content).as_deref(), line, "{content:?}");
        }
        let mut long = vec![b'x'; 300_000];
        long.extend(b"\nlast\n");
        long.extend(vec![b'\n'; 200_000]);
        assert_eq!(last(&long).as_deref(), Some("last"));
        let whole = "y".repeat(LONGEST);
        assert_eq!(last(format!("a\n{whole}\n").as_bytes()).map(|line| line.len()), Some(LONGEST));
        let (_directory, path) = file(format!("a\n{whole}y\n").as_bytes());
        let line = last_line(&path).unwrap().unwrap();
        assert!(line.long && line.bytes.len() == START);
    }

    #[test]
    fn earlier_lines_by_number() {
        let (_directory, path) = file(b"no\n{1}\nno\n{2}\n\nno\n\nend\n");
        let line = last_line(&path).unwrap().unwrap();
        assert_eq!(line.text(), "end");
        assert_eq!(earlier(&path, &line, |_| true).unwrap(), Some(4));
        assert_eq!(earlier(&path, &line, |line| line == b"{1}").unwrap(), Some(2));
        assert_eq!(earlier(&path, &line, |_| false).unwrap(), None);
    }

    #[test]
    fn the_end_starts_with_a_line() {
        let (_directory, path) = file(b"a\nb\n");
        assert_eq!(tail(&path).unwrap(), b"a\nb\n");
        let (_directory, path) = file(&[vec![b'x'; 1 << 20], b"\nlast\n".to_vec()].concat());
        assert_eq!(tail(&path).unwrap(), b"last\n");
    }

    #[test]
    fn many_short_lines_cost_one_look() {
        let (_directory, path) = file(&b"y\n".repeat(2_000_000));
        let line = last_line(&path).unwrap().unwrap();
        let since = std::time::Instant::now();
        assert_eq!(earlier(&path, &line, |_| true).unwrap(), None);
        assert!(since.elapsed() < std::time::Duration::from_secs(2), "{:?}", since.elapsed());
    }

    #[test]
    fn what_is_missing_or_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = camino::Utf8PathBuf::from_path_buf(directory.path().to_owned()).unwrap();
        assert!(last_line(&path).is_err());
        assert_eq!(last_line(&path.join("none")).unwrap(), None);
        assert_eq!(small_file(&path.join("none")).unwrap(), Ok(None));
        let (_directory, big) = file(&vec![b' '; LONGEST + 5]);
        assert_eq!(small_file(&big).unwrap(), Err(LONGEST as u64 + 5));
    }
}
