//! Reads a log back: its lines, their chain, and where it breaks off (EXECUTION §11).
//!
//! Reading changes nothing. Whether a break is a torn tail, which a writer may cut, or damage, which
//! nobody touches, is decided here and nowhere else.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Read, Seek, SeekFrom};

use camino::Utf8PathBuf;
use memchr::{memchr, memrchr_iter};
use serde::Deserialize;

use super::{Error, RunDir, regular};
use crate::event::{self, Body, Event};
use crate::ir::Millis;
use crate::source::Text;

/// A log, read.
#[derive(Clone, Debug)]
pub struct Log {
    /// Its events, without gaps from 1.
    pub events: Vec<Event>,
    /// The digest of its last whole line; of `run.json` where it has none.
    pub head: Text,
    /// How many bytes its whole lines have.
    pub bytes: u64,
    /// What comes after them.
    pub torn: Option<Torn>,
}

/// A tail that a crash left: never known to be on disk, and not readable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Torn {
    /// How many bytes.
    pub bytes: u64,
    /// Whether it is the start of one line and nothing else, as in a log that is being written.
    pub unfinished: bool,
}

/// How a log cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Break {
    /// It is not what was written.
    Damaged { line: u64, why: String },
    /// It says something that this version does not know.
    Unknown { why: String },
}

/// What every line has besides what its kind says.
#[derive(Deserialize)]
struct Frame<'a> {
    seq: u64,
    #[serde(borrow)]
    at: Cow<'a, str>,
    t: Millis,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    disk: u64,
    #[serde(borrow)]
    prev: Cow<'a, str>,
}

/// Reads the log of `run`, whose `run.json` has the digest `first`.
///
/// # Errors
/// If it is damaged, naming the line, or says something unknown.
pub fn log(run: &RunDir, first: &str) -> Result<Log, Error> {
    let path = run.log();
    let bytes = regular::read(&path).map_err(Error::io("read", &path))?;
    parse(&bytes, first).map_err(|found| refuse(path, found))
}

/// The first and the last event of a log, without a look at what is between them: enough for a list.
///
/// # Errors
/// If the log cannot be read.
pub fn ends(run: &RunDir) -> Result<(Option<Event>, Option<Event>), Error> {
    let path = run.log();
    let read = || -> io::Result<(Vec<u8>, Vec<u8>)> {
        let mut file = regular::open(&path)?;
        let length = file.metadata()?.len();
        let (mut head, mut tail, mut size) = (Vec::new(), Vec::new(), 8 * 1024);
        (&mut file).take(size).read_to_end(&mut head)?;
        // The last whole line is between the last two line ends.
        while memrchr_iter(b'\n', &tail).count() < 2 && (tail.len() as u64) < length {
            size *= 8;
            file.seek(SeekFrom::Start(length.saturating_sub(size)))?;
            tail.clear();
            (&mut file).take(size).read_to_end(&mut tail)?;
        }
        Ok((head, tail))
    };
    let (head, tail) = read().map_err(Error::io("read", &path))?;
    let first = head.split(|&b| b == b'\n').next().and_then(whole);
    let end = memrchr_iter(b'\n', &tail).next();
    let last = end.and_then(|end| whole(tail[..end].rsplit(|&b| b == b'\n').next()?));
    Ok((first, last))
}

/// The event of a line that can be read.
fn whole(line: &[u8]) -> Option<Event> {
    let frame = frame(line)?;
    event(&frame, line, frame.seq).ok()
}

fn refuse(path: Utf8PathBuf, found: Break) -> Error {
    match found {
        Break::Damaged { line, why } => Error::Damaged { path, line, why },
        Break::Unknown { why } => Error::Unreadable { path, why },
    }
}

fn parse(bytes: &[u8], first: &str) -> Result<Log, Break> {
    let mut log = Log { events: Vec::new(), head: first.into(), bytes: 0, torn: None };
    let mut at = 0;
    while at < bytes.len() {
        let number = log.events.len() as u64 + 1;
        let length = memchr(b'\n', &bytes[at..]);
        let line = length.map(|length| &bytes[at..at + length]);
        let Some((line, frame)) = line.and_then(|line| Some((line, frame(line)?))) else {
            return torn(log, &bytes[at..], number);
        };
        if frame.prev != log.head.as_str() {
            // Neither of the two lines is torn, so one was edited; most likely the one before.
            let (line, why) = match number {
                1 => (1, "does not go with `run.json`".to_owned()),
                _ => (number - 1, format!("is not the line that line {number} was written after")),
            };
            return Err(Break::Damaged { line, why });
        }
        if frame.seq != number {
            let why = format!("has the number {}", frame.seq);
            return Err(Break::Damaged { line: number, why });
        }
        log.events.push(event(&frame, line, number)?);
        log.head = digest(line);
        at += line.len() + 1;
        log.bytes = at as u64;
    }
    Ok(log)
}

/// The log up to a line that cannot be read, unless a later line knew that line to be on disk.
fn torn(log: Log, rest: &[u8], number: u64) -> Result<Log, Break> {
    let mut lines = rest.split(|&b| b == b'\n').skip(1);
    if lines.any(|line| frame(line).is_some_and(|frame| frame.disk >= number)) {
        let why = "cannot be read, although it was on disk".to_owned();
        return Err(Break::Damaged { line: number, why });
    }
    let unfinished = memchr(b'\n', rest).is_none();
    Ok(Log { torn: Some(Torn { bytes: rest.len() as u64, unfinished }), ..log })
}

fn frame(line: &[u8]) -> Option<Frame<'_>> {
    serde_json::from_str(std::str::from_utf8(line).ok()?).ok()
}

fn event(frame: &Frame<'_>, line: &[u8], number: u64) -> Result<Event, Break> {
    let text = std::str::from_utf8(line).expect("its frame was read from it");
    let body = match Body::from_json(&frame.kind, text) {
        Ok(Some(body)) => body,
        Ok(None) => {
            let why = format!("line {number} is an event of the unknown kind `{}`", frame.kind);
            return Err(Break::Unknown { why });
        }
        Err(error) => {
            let why = format!("line {number}, `{}`, cannot be read: {error}", frame.kind);
            return Err(Break::Unknown { why });
        }
    };
    if let Body::RunStarted(started) = &body
        && started.log != event::VERSION
    {
        let why = format!("it is of version {}, and this program knows {}", started.log, event::VERSION);
        return Err(Break::Unknown { why });
    }
    let Some(at) = event::parse_utc(&frame.at) else {
        return Err(Break::Damaged { line: number, why: format!("has no time: `{}`", frame.at) });
    };
    Ok(Event { seq: number, at, t: frame.t, body })
}

/// The digest of a line, without its end.
pub(super) fn digest(line: &[u8]) -> Text {
    blake3::hash(line).to_hex().as_str().into()
}

/// Appends the line of `event` to `out`, without its end.
pub(super) fn write_line(out: &mut String, event: &Event, disk: u64, prev: &str) {
    out.push('{');
    event.write_fields(out);
    // Writing to a string cannot fail.
    let _ = write!(out, r#","disk":{disk},"prev":"{prev}"}}"#);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{RunStarted, TaskSettled, Warning};

    const FIRST: &str = "d0";

    /// A log of `count` lines of which each knows those before it but the last `lag` to be on disk.
    fn written(count: u64, lag: u64) -> (Vec<u8>, Vec<usize>) {
        let (mut bytes, mut ends, mut prev) = (Vec::new(), Vec::new(), Text::from(FIRST));
        for seq in 1..=count {
            let body = match seq {
                1 => {
                    RunStarted { run: "r".into(), plan: "p".into(), log: event::VERSION, version: "0".into() }
                        .into()
                }
                2 => Warning { task: None, message: "a café \"quoted\"".into() }.into(),
                _ => Body::from(TaskSettled {
                    task: "t".into(),
                    status: event::Status::Pass,
                    note: None,
                    blocked: None,
                    output: None,
                }),
            };
            let event = Event { seq, at: 1_793_000_000_000, t: Millis(seq), body };
            let mut line = String::new();
            write_line(&mut line, &event, seq.saturating_sub(1 + lag), &prev);
            prev = digest(line.as_bytes());
            bytes.extend_from_slice(line.as_bytes());
            bytes.push(b'\n');
            ends.push(bytes.len());
        }
        (bytes, ends)
    }

    #[test]
    fn every_cut_of_every_line_is_a_torn_tail() {
        let (bytes, ends) = written(5, 0);
        for cut in 0..=bytes.len() {
            let log = parse(&bytes[..cut], FIRST).unwrap();
            let whole = ends.iter().filter(|&&end| end <= cut).count();
            assert_eq!(log.events.len(), whole, "cut at {cut}");
            let rest = (cut - whole.checked_sub(1).map_or(0, |last| ends[last])) as u64;
            assert_eq!(log.bytes + rest, cut as u64);
            let torn = (rest > 0).then_some(Torn { bytes: rest, unfinished: true });
            assert_eq!(log.torn, torn, "cut at {cut}");
        }
    }

    #[test]
    fn a_hole_is_torn_or_damage_as_later_lines_know() {
        for (lag, damaged) in [(0, true), (1, false)] {
            let (mut bytes, ends) = written(5, lag);
            // The fourth line is lost; the fifth knew all lines up to 4 - lag to be on disk.
            bytes[ends[2]..ends[3] - 1].fill(0);
            match parse(&bytes, FIRST) {
                Ok(log) => {
                    assert!(!damaged);
                    assert_eq!(log.events.len(), 3);
                    let bytes = (bytes.len() - ends[2]) as u64;
                    assert_eq!(log.torn, Some(Torn { bytes, unfinished: false }));
                }
                Err(found) => {
                    assert!(damaged);
                    assert!(matches!(found, Break::Damaged { line: 4, .. }), "{found:?}");
                }
            }
        }
    }

    #[test]
    fn every_edit_of_a_line_shows() {
        let (bytes, ends) = written(4, 3);
        for at in 0..ends[2] {
            let mut edited = bytes.clone();
            edited[at] = if edited[at] == b'7' { b'6' } else { b'7' };
            let line = ends.iter().filter(|&&end| end <= at).count() as u64 + 1;
            match parse(&edited, FIRST) {
                // Not readable any more, and nobody had known it to be on disk: it counts as torn.
                Ok(log) => assert!(log.torn.is_some() && log.events.len() as u64 == line - 1, "byte {at}"),
                Err(Break::Damaged { line: found, .. }) => {
                    assert!(found == line || found + 1 == line, "byte {at}: {found} {line}");
                }
                Err(Break::Unknown { why }) => assert!(why.contains("line") || why.contains("version")),
            }
        }
        assert!(matches!(parse(&bytes, "d1"), Err(Break::Damaged { line: 1, .. })));
    }

    #[test]
    fn unknown_kinds_and_versions_are_refused() {
        let (bytes, _) = written(2, 0);
        let text = String::from_utf8(bytes).unwrap();
        let newer = text.replace(r#""log":1"#, r#""log":2"#);
        assert!(matches!(parse(newer.as_bytes(), FIRST), Err(Break::Unknown { .. })));
        let first = text.lines().next().unwrap().replace("run_started", "run_dreamt") + "\n";
        match parse(first.as_bytes(), FIRST) {
            Err(Break::Unknown { why }) => assert!(why.contains("run_dreamt"), "{why}"),
            other => panic!("{other:?}"),
        }
    }
}
