//! Finds the result of an attempt: the result file first, else the last line (EXECUTION §5).
//!
//! Unaware of what the result has to hold; that is for `grade` and `promises`.

use std::io;

use super::json::{self, Object, Refusal};
use super::stream::{self, Line};
use crate::exec::note;
use crate::exec::ports::AttemptPaths;
use crate::source::Text;

/// Streams above this are read on another thread.
const LARGE: u64 = 1 << 16;

/// What an attempt left to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Collected {
    /// Its result.
    pub found: Found,
    /// The last line of standard output that is not blank.
    pub last_line: Text,
}

/// The result of an attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing was written.
    #[default]
    Nothing,
    /// An object.
    Object(Object),
    /// Something else was printed last, which is fine unless a result is owed: a clause that shows it.
    Other(String),
    /// Something was meant to be the result and is refused: a clause that shows it.
    Refused(String),
}

/// Reads what the attempt left; its standard output has this size.
pub(super) async fn collect(paths: AttemptPaths, stdout: u64) -> Collected {
    if stdout <= LARGE {
        return read(&paths, stdout);
    }
    match tokio::task::spawn_blocking(move || read(&paths, stdout)).await {
        Ok(collected) => collected,
        Err(error) => refused(format!("standard output cannot be read: {error}")),
    }
}

fn refused(clause: String) -> Collected {
    Collected { found: Found::Refused(clause), last_line: Text::default() }
}

fn read(paths: &AttemptPaths, stdout: u64) -> Collected {
    // Most tasks print nothing: then nothing is opened.
    let line = match if stdout == 0 { Ok(None) } else { stream::last_line(&paths.stdout) } {
        Ok(line) => line,
        Err(error) => return refused(format!("standard output cannot be read: {error}")),
    };
    let last_line = line.as_ref().map_or_else(Text::default, |line| Text::from(line.text()));
    let found = match result_file(paths) {
        Ok(Some(found)) => found,
        Ok(None) => line.as_ref().map_or(Found::Nothing, |line| result_line(paths, line)),
        Err(error) => Found::Refused(format!("the result file cannot be read: {error}")),
    };
    Collected { found, last_line }
}

/// The result file's content; none where nothing was written to it.
fn result_file(paths: &AttemptPaths) -> io::Result<Option<Found>> {
    let bytes = match stream::small_file(&paths.result)? {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Ok(None),
        Err(_) => {
            let limit = note::bytes(stream::LONGEST as u64);
            return Ok(Some(Found::Refused(format!("the result file is larger than {limit}"))));
        }
    };
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(None);
    }
    let shown = String::from_utf8_lossy(&bytes);
    let shown = note::line(shown.trim());
    Ok(Some(match read_object(&bytes) {
        Ok(Some(object)) => Found::Object(object),
        Ok(None) => Found::Refused(format!("the result file holds no JSON object: {shown}")),
        Err(refusal) => {
            Found::Refused(format!("the result file holds no JSON object ({}): {shown}", refusal.clause()))
        }
    }))
}

fn result_line(paths: &AttemptPaths, line: &Line) -> Found {
    let meant = line.bytes.trim_ascii_start().starts_with(b"{");
    let shown = note::line(line.text().trim());
    let (clause, refused) = if line.long {
        let limit = note::bytes(stream::LONGEST as u64);
        (format!("the last line is longer than {limit}: {shown}"), meant)
    } else {
        match read_object(&line.bytes) {
            Ok(Some(object)) => return Found::Object(object),
            Ok(None) => (format!("the last line is no JSON object: {shown}"), false),
            Err(Refusal::Syntax(_)) if !meant => (format!("the last line is no JSON object: {shown}"), false),
            Err(Refusal::Syntax(at)) => (format!("the last line is no JSON object ({at}): {shown}"), false),
            Err(Refusal::Unsound(what)) => {
                (format!("the last line is no strict JSON object ({what}): {shown}"), meant)
            }
        }
    };
    let object = |line: &[u8]| matches!(read_object(line), Ok(Some(_)));
    // That it cannot be read is not worth a second clause.
    let earlier = stream::earlier(&paths.stdout, line, object).unwrap_or_default();
    let clause = match earlier {
        Some(number) => format!("{clause}; line {number} is one"),
        None => clause,
    };
    if refused { Found::Refused(clause) } else { Found::Other(clause) }
}

fn read_object(bytes: &[u8]) -> Result<Option<Object>, Refusal> {
    match std::str::from_utf8(bytes) {
        Ok(text) => json::parse_object(text),
        Err(_) => Err(Refusal::Syntax("it is not UTF-8".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collected(stdout: &[u8], result: Option<&[u8]>) -> Collected {
        let directory = tempfile::tempdir().unwrap();
        let root = camino::Utf8Path::from_path(directory.path()).unwrap();
        let paths =
            AttemptPaths { stdout: root.join("out"), stderr: root.join("err"), result: root.join("result") };
        std::fs::write(&paths.stdout, stdout).unwrap();
        if let Some(result) = result {
            std::fs::write(&paths.result, result).unwrap();
        }
        read(&paths, stdout.len() as u64)
    }

    fn shown(stdout: &[u8], result: Option<&[u8]>) -> String {
        match collected(stdout, result).found {
            Found::Nothing => "nothing".to_owned(),
            Found::Object(object) => object.text().to_owned(),
            Found::Other(clause) => format!("other: {clause}"),
            Found::Refused(clause) => format!("refused: {clause}"),
        }
    }

    #[test]
    fn the_result_file_comes_first() {
        assert_eq!(shown(b"{\"n\":2}\n", Some(b"{\n \"n\": 1\n}\n")), "{\"n\":1}");
        assert_eq!(shown(b"{\"n\":2}\n", Some(b" \n")), "{\"n\":2}");
        assert_eq!(collected(b"{\"n\":2}\n", Some(b"{}")).last_line, "{\"n\":2}");
        let no = "refused: the result file holds no JSON object";
        assert_eq!(shown(b"{\"n\":2}\n", Some(b"[1]")), format!("{no}: `[1]`"));
        assert_eq!(shown(b"", Some(b"{\"a\":1,}")), format!("{no} (`}}` at column 8): `{{\"a\":1,}}`"));
        let large = "refused: the result file is larger than 1MiB";
        assert_eq!(shown(b"", Some(&vec![b'x'; (1 << 20) + 1])), large);
    }

    #[test]
    fn else_the_last_line_is_the_result() {
        assert_eq!(shown(b"", None), "nothing");
        assert_eq!(shown(b"banner\n{not json\n{\"n\": 3}\n", None), "{\"n\":3}");
        assert_eq!(shown(b"{\"ok\": true}\r\n\r\n", None), "{\"ok\":true}");
        assert_eq!(shown(b"oops\n", None), "other: the last line is no JSON object: `oops`");
        assert_eq!(
            shown(b"x\n{\"n\":3}\nDone.\n", None),
            "other: the last line is no JSON object: `Done.`; line 2 is one"
        );
        assert_eq!(
            shown(b"{\"score\": 4,5}\n", None),
            "other: the last line is no JSON object (`5` at column 13): `{\"score\": 4,5}`"
        );
        assert_eq!(
            shown(b"{\"a\":1}\n{\"a\":1,\"a\":2}\n", None),
            "refused: the last line is no strict JSON object (the name \"a\" twice in one object): \
             `{\"a\":1,\"a\":2}`; line 1 is one"
        );
    }

    #[test]
    fn a_line_over_the_limit_is_refused_if_it_was_meant() {
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(1 << 20));
        assert!(
            shown(long.as_bytes(), None)
                .starts_with("refused: the last line is longer than 1MiB: `{\"a\":\"x")
        );
        let long = "x".repeat(1 << 21);
        assert!(shown(long.as_bytes(), None).starts_with("other: the last line is longer than 1MiB"));
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        let found = collected(b"{\"a\":\"\xff\"}\n", None);
        assert_eq!(found.last_line, "{\"a\":\"\u{fffd}\"}");
        assert!(matches!(found.found, Found::Other(_)));
    }
}
