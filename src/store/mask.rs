//! Keeps secrets out of what a run keeps and shows (EXECUTION §6): raw, and as JSON writes them.
//!
//! A mask knows values, not where they come from. Results stay as their task wrote them in the log, since
//! consumers need them; whoever shows one masks it first.

use std::fmt;
use std::fs;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};
use camino::Utf8Path;
use serde_json::value::RawValue;

use super::{private_file, regular};
use crate::event::{Body, Raw};
use crate::source::Text;

/// What stands for a secret.
pub const STAND_IN: &str = "***";

/// A secret of fewer characters would mask too much of everything else.
pub const SHORTEST: usize = 4;

/// How much of a stream is in memory at once.
const CHUNK: usize = 256 * 1024;

/// The secrets of a plan.
#[derive(Clone, Default)]
pub struct Mask {
    /// None where there is nothing to mask. Of several at one place the longest, so that one that contains
    /// another is masked whole.
    needles: Option<Needles>,
}

#[derive(Clone)]
struct Needles {
    search: AhoCorasick,
    longest: usize,
    all: Arc<[String]>,
}

/// What ends, or begins, a text that was cut.
const CUT: char = '…';

impl Needles {
    /// `text` without the parts of secrets that were cut off in it: whoever cuts marks the place. None where it has
    /// none.
    fn without_parts(&self, text: &str) -> Option<String> {
        let pieces: Vec<&str> = text.split(CUT).collect();
        let last = pieces.len() - 1;
        let mut changed = false;
        let mask = |(at, piece): (usize, &&str)| {
            let (mut from, mut to) = (0, piece.len());
            for needle in self.all.iter() {
                if at < last {
                    to = to.min(piece.len() - overlap(needle, piece));
                }
                if at > 0 {
                    from = from.max(overlap_at_start(needle, piece));
                }
                if 0 < at && at < last && piece.chars().count() >= SHORTEST && needle.contains(*piece) {
                    to = 0;
                }
            }
            changed |= from > 0 || to < piece.len();
            let kept = piece.get(from..to).unwrap_or_default();
            format!(
                "{}{kept}{}",
                if from > 0 { STAND_IN } else { "" },
                if to < piece.len() { STAND_IN } else { "" }
            )
        };
        let masked: Vec<String> = pieces.iter().enumerate().map(mask).collect();
        changed.then(|| masked.join(CUT.encode_utf8(&mut [0; 4])))
    }
}

/// How many bytes at the end of `text` are the start of `needle`, and at least [`SHORTEST`] characters.
fn overlap(needle: &str, text: &str) -> usize {
    let starts = needle.char_indices().map(|(at, _)| at).skip(SHORTEST);
    starts.filter(|&length| text.ends_with(&needle[..length])).max().unwrap_or(0)
}

/// How many bytes at the start of `text` are the end of `needle`, and at least [`SHORTEST`] characters.
fn overlap_at_start(needle: &str, text: &str) -> usize {
    let starts = needle.char_indices().map(|(at, _)| at).skip(1);
    let ends = starts.map(|at| &needle[at..]).filter(|end| end.chars().nth(SHORTEST - 1).is_some());
    ends.map(|end| if text.starts_with(end) { end.len() } else { 0 }).max().unwrap_or(0)
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mask of {}", self.needles.as_ref().map_or(0, |needles| needles.search.patterns_len()))
    }
}

/// A secret that is too short to be masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooShort {
    /// The variable.
    pub name: String,
}

impl fmt::Display for TooShort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the secret `{}` has fewer than {SHORTEST} characters and cannot be masked", self.name)
    }
}

impl Mask {
    /// The mask of these variables and their values.
    ///
    /// # Errors
    /// If a value is too short.
    pub fn new<'a>(secrets: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, TooShort> {
        let mut needles = Vec::new();
        for (name, value) in secrets {
            if value.chars().count() < SHORTEST {
                return Err(TooShort { name: name.to_owned() });
            }
            let escaped = serde_json::to_string(value).expect("text can be written");
            needles.push(escaped[1..escaped.len() - 1].to_owned());
            // Some writers escape all that is not ASCII, and some the slash.
            needles.push(ascii_escaped(value));
            needles.push(escaped[1..escaped.len() - 1].replace('/', "\\/"));
            needles.push(value.to_owned());
            // Of a secret of several lines one may stand alone, and a note is put on one line.
            let lines = value.split(char::is_control).map(str::trim);
            needles.extend(lines.filter(|line| line.chars().count() >= SHORTEST).map(str::to_owned));
        }
        needles.sort();
        needles.dedup();
        let Some(longest) = needles.iter().map(String::len).max() else { return Ok(Self::default()) };
        let search = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&needles);
        let search = search.expect("secrets fit into an environment, and so into an automaton");
        Ok(Self { needles: Some(Needles { search, longest, all: needles.into() }) })
    }

    /// Whether there is nothing to mask.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.needles.is_none()
    }

    /// `text` without secrets. None where it has none.
    #[must_use]
    pub fn text(&self, text: &str) -> Option<String> {
        let needles = self.needles.as_ref()?;
        let search = &needles.search;
        let whole = search.is_match(text).then(|| {
            let mut masked = String::with_capacity(text.len());
            search.replace_all_with(text, &mut masked, |_, _, masked| {
                masked.push_str(STAND_IN);
                true
            });
            masked
        });
        let seen = whole.as_deref().unwrap_or(text);
        let cut = if seen.contains(CUT) { needles.without_parts(seen) } else { None };
        cut.or(whole)
    }

    /// A JSON value without secrets: in its strings, and in numbers that hold one.
    #[must_use]
    pub fn json(&self, value: &Raw) -> Raw {
        let text = value.get();
        if !self.needles.as_ref().is_some_and(|needles| needles.search.is_match(text)) {
            return value.clone();
        }
        let mut masked = String::with_capacity(text.len());
        for token in tokens(text) {
            match (token.starts_with('"'), self.text(token)) {
                (_, None) => masked.push_str(token),
                (true, Some(token)) => masked.push_str(&token),
                (false, Some(_)) => masked.push_str(&format!("\"{STAND_IN}\"")),
            }
        }
        match RawValue::from_string(masked) {
            Ok(value) => value.into(),
            // Half an escape was cut: better nothing than a secret.
            Err(_) => {
                let all = serde_json::value::to_raw_value(STAND_IN);
                all.expect("text can be written").into()
            }
        }
    }

    /// Masks what people read in an event. Results stay as they are, and so do names.
    pub fn body(&self, body: &mut Body) {
        if self.is_empty() {
            return;
        }
        let text = |text: &mut Text| {
            if let Some(masked) = self.text(text) {
                *text = masked.into();
            }
        };
        let maybe = |optional: &mut Option<Text>| optional.as_mut().map_or((), text);
        match body {
            Body::AttemptEnded(body) => {
                maybe(&mut body.note);
                text(&mut body.last_line);
            }
            Body::VerifierEnded(body) => maybe(&mut body.detail),
            Body::TaskSettled(body) => maybe(&mut body.note),
            Body::GateAsked(body) => text(&mut body.ask),
            Body::Warning(body) => text(&mut body.message),
            Body::ReuseDecided(body) => maybe(&mut body.why),
            Body::Halted(body) => maybe(&mut body.note),
            Body::Interrupted(body) => text(&mut body.by),
            Body::GateAnswered(_)
            | Body::RunStarted(_)
            | Body::PlanAdmitted(_)
            | Body::InstancesNamed(_)
            | Body::AttemptStarted(_)
            | Body::RetryScheduled(_)
            | Body::TimerFired(_)
            | Body::RoundStarted(_)
            | Body::NodeEntered(_)
            | Body::StopRequested(_)
            | Body::Alive(_)
            | Body::RunResumed(_)
            | Body::RunEnded(_) => {}
        }
    }

    /// The results in an event that is about to be shown.
    pub fn results(&self, body: &mut Body) {
        if self.is_empty() {
            return;
        }
        let result = |raw: &mut Option<Raw>| {
            if let Some(value) = raw {
                *value = self.json(value);
            }
        };
        match body {
            Body::AttemptEnded(body) => result(&mut body.output),
            Body::TaskSettled(body) => result(&mut body.output),
            Body::GateAnswered(body) => result(&mut body.result),
            Body::VerifierEnded(_)
            | Body::ReuseDecided(_)
            | Body::GateAsked(_)
            | Body::Warning(_)
            | Body::Halted(_)
            | Body::Interrupted(_)
            | Body::RunStarted(_)
            | Body::PlanAdmitted(_)
            | Body::InstancesNamed(_)
            | Body::AttemptStarted(_)
            | Body::RetryScheduled(_)
            | Body::TimerFired(_)
            | Body::RoundStarted(_)
            | Body::NodeEntered(_)
            | Body::StopRequested(_)
            | Body::Alive(_)
            | Body::RunResumed(_)
            | Body::RunEnded(_) => {}
        }
    }

    /// Copies a stream without its secrets.
    ///
    /// # Errors
    /// If reading or writing fails. Whether anything was masked, otherwise.
    pub fn copy(&self, from: &mut impl Read, to: &mut impl Write) -> io::Result<bool> {
        let Some(needles) = &self.needles else { return io::copy(from, to).map(|_| false) };
        let (mut held, mut chunk, mut found) = (Vec::new(), vec![0; CHUNK], false);
        loop {
            let count = match from.read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            held.extend_from_slice(&chunk[..count]);
            let end = count == 0;
            // A secret that begins before the border is held whole; one after it may go on in what comes.
            let border = if end { held.len() } else { held.len().saturating_sub(needles.longest - 1) };
            let mut at = 0;
            for secret in needles.search.find_iter(&held).take_while(|secret| secret.start() < border) {
                to.write_all(&held[at..secret.start()])?;
                to.write_all(STAND_IN.as_bytes())?;
                at = secret.end();
                found = true;
            }
            let through = border.max(at);
            to.write_all(&held[at..through])?;
            held.drain(..through);
            if end {
                return Ok(found);
            }
        }
    }

    /// Rewrites a stored stream without its secrets. Nothing is read where there are none, and nothing
    /// written where the stream has none.
    ///
    /// # Errors
    /// If that fails; the stream is as it was then.
    pub fn stream(&self, path: &Utf8Path) -> io::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let mut from = match regular::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        if !self.copy(&mut from, &mut io::sink())? {
            return Ok(());
        }
        let beside = path.with_extension(format!("{}.masked", path.extension().unwrap_or_default()));
        match fs::remove_file(&beside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut to = BufWriter::new(private_file(&beside)?);
        let mut from = regular::open(path)?;
        self.copy(&mut from, &mut to)?;
        to.flush()?;
        fs::set_permissions(&beside, fs::Permissions::from_mode(0o600))?;
        fs::rename(&beside, path)
    }
}

/// As JSON with nothing but ASCII in it.
fn ascii_escaped(value: &str) -> String {
    let escaped = serde_json::to_string(value).expect("text can be written");
    let mut out = String::with_capacity(escaped.len());
    for character in escaped[1..escaped.len() - 1].chars() {
        if character.is_ascii() {
            out.push(character);
        } else {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out
}

/// The tokens of valid JSON: a string with its quotes, or everything up to the next string, comma,
/// colon or bracket.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let bytes = rest.as_bytes();
        let length = match bytes.first()? {
            b'"' => {
                let mut at = 1;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                (at + 1).min(bytes.len())
            }
            b',' | b':' | b'[' | b']' | b'{' | b'}' | b' ' | b'\n' | b'\r' | b'\t' => 1,
            _ => bytes.iter().position(|b| b"\",:[]{} \n\r\t".contains(b)).unwrap_or(bytes.len()),
        };
        let (token, after) = rest.split_at(length);
        rest = after;
        Some(token)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Warning;

    fn mask() -> Mask {
        Mask::new([("A", "s3cret"), ("B", "s3cret-longer"), ("C", "quo\"te\n/é"), ("D", "9876")]).unwrap()
    }

    #[test]
    fn secrets_are_masked_raw_and_as_json() {
        let mask = mask();
        assert_eq!(mask.text("a s3cret-longer b s3cretx").unwrap(), "a *** b ***x");
        assert_eq!(mask.text("quo\"te\n/é!").unwrap(), "***!");
        assert_eq!(mask.text(r#"{"x":"quo\"te\n/é"}"#).unwrap(), r#"{"x":"***"}"#);
        assert_eq!(mask.text(r#""quo\"te\n/\u00e9""#).unwrap(), "\"***\"");
        assert_eq!(mask.text(r#""quo\"te\n\/é""#).unwrap(), "\"***\"");
        assert_eq!(mask.text("nothing of it"), None);
        let mut body = Body::from(Warning { task: None, message: "has s3cret".into() });
        mask.body(&mut body);
        assert!(matches!(&body, Body::Warning(body) if body.message == "has ***"));
    }

    #[test]
    fn json_stays_json() {
        let raw = |text: &str| Raw::from(RawValue::from_string(text.to_owned()).unwrap());
        let mask = mask();
        let shown = mask.json(&raw(r#"{"pin": 98765, "s3cret": ["s3cret", 1.50, true, "\"9876"]}"#));
        assert_eq!(shown.get(), r#"{"pin": "***", "***": ["***", 1.50, true, "\"***"]}"#);
        let same = raw(r#"{"a": 1}"#);
        assert!(std::ptr::eq(mask.json(&same).get(), same.get()));
    }

    #[test]
    fn short_ones_are_refused() {
        assert_eq!(Mask::new([("PIN", "abc")]).unwrap_err(), TooShort { name: "PIN".to_owned() });
        assert!(Mask::new([("PIN", "äöüß")]).is_ok());
    }

    /// Gives at most `size` bytes at a time.
    struct Drip<'a>(&'a [u8], usize);

    impl Read for Drip<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = self.0.len().min(self.1).min(into.len());
            into[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    #[test]
    fn streams_are_masked_across_any_border() {
        let mask = mask();
        let text =
            "s3cret x s3cret-longer s3cret-long s3creS3CRETs3crets3cret\u{1f600} quo\"te\n/é 98769876 s3cre";
        let expected = mask.text(text).unwrap();
        for size in 1..text.len() {
            let mut out = Vec::new();
            assert!(mask.copy(&mut Drip(text.as_bytes(), size), &mut out).unwrap());
            assert_eq!(String::from_utf8(out).unwrap(), expected, "{size} bytes at a time");
        }
    }

    #[test]
    fn a_stored_stream_is_rewritten_only_where_it_must_be() {
        let directory = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(directory.path()).unwrap().join("1.out");
        fs::write(&path, b"all good \xff").unwrap();
        let before = fs::metadata(&path).unwrap().modified().unwrap();
        mask().stream(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), before);
        fs::write(&path, b"\xff s3cret \xfe").unwrap();
        mask().stream(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"\xff *** \xfe");
        mask().stream(Utf8Path::new("/nonexistent/1.out")).unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_was_cut_off_from_a_secret_is_masked() {
        let secret = "github_pat_11ABCDEFG0abcdefghijklmnopqrstuvwxyz0123456789";
        let mask = Mask::new([("GH", secret)]).unwrap();
        let masked = |text: &str| mask.text(text).unwrap_or_else(|| text.to_owned());
        assert_eq!(masked("is the string \"github_pat_11ABCDE…\""), "is the string \"***…\"");
        assert_eq!(masked(&format!("{secret} and git… (2001 characters)")), "*** and git… (2001 characters)");
        assert_eq!(masked("…vwxyz0123456789 is odd"), "…*** is odd");
        assert_eq!(masked("a …mnopqrstuv… b"), "a …***… b");
        assert_eq!(masked("it goes … on, and … on"), "it goes … on, and … on");
        // What JSON makes of it is cut as well.
        let mask = Mask::new([("KEY", "quo\"te/and more")]).unwrap();
        assert_eq!(mask.text("\"quo\\\"te…\"").unwrap(), "\"***…\"");
    }

    #[test]
    fn lines_of_a_secret_are_secrets() {
        let key = "-----BEGIN KEY-----\nAAAABBBBCCCC1111\n  DDDDEEEEFFFF2222\n}\n-----END KEY-----\n";
        let mask = Mask::new([("KEY", key)]).unwrap();
        let note = "cannot use key -----BEGIN KEY----- AAAABBBBCCCC1111 DDDDEEEEFFFF2222 } -----END KEY-----";
        assert_eq!(mask.text(note).unwrap(), "cannot use key *** *** *** } ***");
        assert_eq!(mask.text("exit 1: DDDDEEEEFFFF2222").unwrap(), "exit 1: ***");
        assert_eq!(mask.text(key.trim_end()).unwrap(), "***\n***\n  ***\n}\n***");
        assert_eq!(mask.text(key).unwrap(), "***");
    }
}
