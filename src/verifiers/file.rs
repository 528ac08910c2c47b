//! `file`: a file exists, or not; holds a text, a pattern, a schema, a digest (LANGUAGE §9).
//!
//! Only a regular file beneath the workspace counts. Content is read in pieces where that will do.

use std::fs;
use std::io::{self, Read};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::exec::attempt::{Schemas, json};
use crate::exec::note;
use crate::exec::ports::{Boxed, Call, Outcome, Unopened, Verifier};
use crate::ir::types::Schema;
use crate::source::Text;

/// How much of a file is in memory at once, where it need not be there whole.
const CHUNK: usize = 256 * 1024;

/// The largest file that a pattern or a schema is held against.
const LARGEST: u64 = 256 * 1024 * 1024;

/// A file, and what has to be true of it: all that is written.
#[derive(Clone, Debug, Default)]
pub(super) struct File {
    pub(super) path: Text,
    pub(super) exists: Option<bool>,
    pub(super) contains: Option<Text>,
    pub(super) matches: Option<Text>,
    pub(super) schema: Option<Schema>,
    pub(super) sha256: Option<Text>,
    pub(super) schemas: Arc<Schemas>,
}

/// Why a file does not do.
enum No {
    /// It was looked at: a clause that goes after its path.
    Rejected(String),
    /// It could not be looked at.
    Error(String),
}

impl From<io::Error> for No {
    fn from(error: io::Error) -> Self {
        Self::Error(format!("cannot be read: {error}"))
    }
}

impl Verifier for File {
    fn identity(&self) -> Text {
        "file".into()
    }

    fn verify<'a>(&'a self, call: &'a Call) -> Boxed<'a, Outcome> {
        Box::pin(std::future::ready(self.look(call)))
    }
}

impl File {
    fn look(&self, call: &Call) -> Outcome {
        let path = &self.path;
        let mut file = match (call.open(path), self.exists) {
            (Ok(_), Some(false)) | (Err(Unopened::Refused(_)), Some(false)) => {
                return Outcome::rejected(format!("`{path}` is there"));
            }
            (Err(Unopened::Missing), Some(false)) => return Outcome::pass(""),
            (Ok(file), Some(true) | None) => file,
            (Err(Unopened::Missing), Some(true) | None) => {
                return Outcome::missing(format!("`{path}` is missing"));
            }
            (Err(Unopened::Refused(why)), Some(true) | None) => {
                return Outcome::rejected(format!("`{path}` {why}"));
            }
            (Err(Unopened::Failed(why)), _) => return Outcome::error(format!("`{path}` {why}")),
        };
        match self.hold(&mut file) {
            Ok(()) => Outcome::pass(""),
            Err(No::Rejected(why)) => Outcome::rejected(format!("`{path}` {why}")),
            Err(No::Error(why)) => Outcome::error(format!("`{path}` {why}")),
        }
    }

    /// Holds the file against everything, the cheapest first.
    fn hold(&self, file: &mut fs::File) -> Result<(), No> {
        if let Some(wanted) = &self.contains {
            contains(file, wanted)?;
        }
        if let Some(wanted) = &self.sha256 {
            digest(file, wanted)?;
        }
        if let Some(pattern) = &self.matches {
            matches(file, pattern)?;
        }
        if let Some(schema) = &self.schema {
            keeps(file, schema, &self.schemas)?;
        }
        Ok(())
    }
}

fn contains(file: &mut fs::File, wanted: &str) -> Result<(), No> {
    let finder = memchr::memmem::Finder::new(wanted);
    let mut buffer = Vec::with_capacity(CHUNK + wanted.len());
    each_chunk(file, |chunk| {
        buffer.extend_from_slice(chunk);
        if finder.find(&buffer).is_some() {
            return true;
        }
        // Its beginning may be at the end of what was read so far.
        let keep = buffer.len().min(wanted.len().saturating_sub(1));
        buffer.drain(..buffer.len() - keep);
        false
    })
    .map_err(No::from)
    .and_then(|found| match found || wanted.is_empty() {
        true => Ok(()),
        false => Err(No::Rejected(format!("does not contain {}", note::line(wanted)))),
    })
}

fn digest(file: &mut fs::File, wanted: &str) -> Result<(), No> {
    let mut hasher = Sha256::new();
    each_chunk(file, |chunk| {
        hasher.update(chunk);
        false
    })?;
    let found: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    if found.eq_ignore_ascii_case(wanted) {
        Ok(())
    } else {
        Err(No::Rejected(format!("has the digest {found}")))
    }
}

fn matches(file: &mut fs::File, pattern: &str) -> Result<(), No> {
    // Of lines, as whoever writes a pattern for a file means it; `\A` and `\z` are its ends.
    let pattern_of = regex::bytes::RegexBuilder::new(pattern).multi_line(true).crlf(true).build();
    let regex =
        pattern_of.map_err(|error| No::Error(format!("cannot be held against a pattern: {error}")))?;
    if regex.is_match(&whole(file)?) {
        Ok(())
    } else {
        Err(No::Rejected(format!("matches {} nowhere", note::line(pattern))))
    }
}

fn keeps(file: &mut fs::File, schema: &Schema, schemas: &Schemas) -> Result<(), No> {
    let content = whole(file)?;
    let Ok(text) = std::str::from_utf8(&content) else {
        return Err(No::Rejected("is no JSON: it is not UTF-8".to_owned()));
    };
    json::parse(text).map_err(|refusal| No::Rejected(format!("is no JSON: {}", refusal.clause())))?;
    schemas.check(schema, text).map_err(No::Rejected)
}

/// The whole file.
fn whole(file: &mut fs::File) -> Result<Vec<u8>, No> {
    let mut content = Vec::new();
    rewound(file)?.take(LARGEST + 1).read_to_end(&mut content)?;
    if content.len() as u64 > LARGEST {
        return Err(No::Error(format!("is larger than {LARGEST} bytes")));
    }
    Ok(content)
}

/// Gives the file to `each` in pieces, until it has seen enough. Whether it has.
fn each_chunk(file: &mut fs::File, mut each: impl FnMut(&[u8]) -> bool) -> io::Result<bool> {
    let file = rewound(file)?;
    let mut buffer = vec![0; CHUNK];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(false),
            Ok(count) => {
                if each(&buffer[..count]) {
                    return Ok(true);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn rewound(file: &mut fs::File) -> io::Result<&mut fs::File> {
    io::Seek::rewind(file)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn file(content: &[u8]) -> fs::File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        file
    }

    fn held(check: File, content: &[u8]) -> String {
        match check.hold(&mut file(content)) {
            Ok(()) => "holds".to_owned(),
            Err(No::Rejected(why)) => why,
            Err(No::Error(why)) => format!("error: {why}"),
        }
    }

    #[test]
    fn a_text_is_found_across_pieces() {
        let contains = |text: &str| File { contains: Some(text.into()), ..File::default() };
        let mut content = vec![b'x'; CHUNK - 3];
        content.extend(b"needle and more");
        assert_eq!(held(contains("needle"), &content), "holds");
        assert_eq!(held(contains("xneedle and more"), &content), "holds");
        assert_eq!(held(contains("needles"), &content), "does not contain `needles`");
        assert_eq!(held(contains(""), b""), "holds");
        assert_eq!(held(contains("a"), b""), "does not contain `a`");
    }

    #[test]
    fn patterns_are_of_lines() {
        let matches = |text: &str| File { matches: Some(text.into()), ..File::default() };
        assert_eq!(held(matches("^ok$"), b"a\nok\nb\n"), "holds");
        assert_eq!(held(matches("^ok$"), b"a\r\nok\r\n"), "holds");
        assert_eq!(held(matches(r"\Aok$"), b"a\nok\n"), r"matches `\Aok$` nowhere");
        assert_eq!(held(matches("w[aeiou]rld"), b"\xff w\xffrld"), "matches `w[aeiou]rld` nowhere");
        assert!(held(matches("("), b"").starts_with("error: cannot be held against a pattern"));
    }

    #[test]
    fn digests_and_schemas() {
        let digest = "2CF24DBA5FB0A30E26E83B2AC5B9E29E1B161E5C1FA7425E73043362938B9824";
        let check = File { sha256: Some(digest.into()), ..File::default() };
        assert_eq!(held(check.clone(), b"hello"), "holds");
        assert!(held(check, b"hello\n").starts_with("has the digest 5891b5b522d5df086d0ff0b110fbd9d2"));
        let schema = |text: &str| File {
            schema: Some(Schema { path: "s.json".into(), text: text.into() }),
            ..File::default()
        };
        let check = schema(r#"{"required": ["n"], "properties": {"n": {"type": "integer"}}}"#);
        assert_eq!(held(check.clone(), b"{\"n\": 3}"), "holds");
        assert_eq!(
            held(check.clone(), b"{\"n\": \"3\"}"),
            "breaks `s.json`: `/n`: \"3\" is not of type \"integer\""
        );
        assert!(held(check.clone(), b"{\"n\": 3, \"n\": 4}").starts_with("is no JSON: "));
        assert!(held(check, b"{n: 3}").starts_with("is no JSON: "));
    }

    #[test]
    fn everything_has_to_hold() {
        let both = File { contains: Some("a".into()), matches: Some("b".into()), ..File::default() };
        assert_eq!(held(both.clone(), b"ab"), "holds");
        assert_eq!(held(both.clone(), b"a"), "matches `b` nowhere");
        assert_eq!(held(both, b"b"), "does not contain `a`");
    }
}
