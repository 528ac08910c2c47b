//! Texts by path, and places in them: [`Sources`], [`FileId`], [`Span`], [`Spanned`].
//!
//! Columns count Unicode scalar values and start at 1, as editors do; spans count bytes (EXECUTION §14).
//! Unaware of the language: whoever adds a text says what it is.

use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

/// A short piece of text owned by its holder; up to 24 bytes need no allocation.
pub type Text = compact_str::CompactString;

/// A text that [`Sources`] holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// A range of bytes in one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The file that the range lies in.
    pub file: FileId,
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The range `start..end` of `file`, in bytes.
    #[must_use]
    pub fn new(file: FileId, start: usize, end: usize) -> Self {
        let at = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self { file, start: at(start), end: at(end) }
    }

    /// The range from the start of `self` to the end of `other`, which lies in the same file.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self { end: other.end.max(self.end), ..self }
    }

    /// The empty range at the end of `self`.
    #[must_use]
    pub fn after(self) -> Self {
        Self { start: self.end, ..self }
    }

    /// The range as indices into the file's text.
    #[must_use]
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A value and the place that it was written at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Spanned<T> {
    /// What was written.
    pub value: T,
    /// Where it was written.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// `value`, written at `span`.
    pub fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }

    /// The same place with another value.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Spanned<U> {
        Spanned { value: f(self.value), span: self.span }
    }
}

/// One text: its path as a person named it, and what it says.
#[derive(Clone, Debug)]
pub struct Source {
    path: Utf8PathBuf,
    text: Arc<str>,
    /// Byte offsets at which lines start; the first is 0.
    lines: Vec<u32>,
}

/// A place as people count: both from 1, the column in Unicode scalar values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
}

impl Source {
    fn new(path: Utf8PathBuf, text: Arc<str>) -> Self {
        let breaks = memchr::memchr_iter(b'\n', text.as_bytes());
        let lines =
            std::iter::once(0).chain(breaks.map(|at| u32::try_from(at + 1).unwrap_or(u32::MAX))).collect();
        Self { path, text, lines }
    }

    /// The path, as shown to people.
    #[must_use]
    pub fn path(&self) -> &Utf8Path {
        &self.path
    }

    /// The whole text, a byte-order mark included.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text, shared.
    #[must_use]
    pub fn shared(&self) -> Arc<str> {
        Arc::clone(&self.text)
    }

    /// How many lines the text has; an empty text has one.
    #[must_use]
    pub fn line_count(&self) -> usize {
        self.lines.len()
    }

    /// The byte offset at which `line` (from 1) starts.
    #[must_use]
    pub fn line_start(&self, line: usize) -> usize {
        self.lines.get(line.saturating_sub(1)).map_or(self.text.len(), |&at| at as usize)
    }

    /// The line (from 1) that holds the byte at `offset`.
    #[must_use]
    pub fn line_of(&self, offset: usize) -> usize {
        self.lines.partition_point(|&start| start as usize <= offset)
    }

    /// Where the byte at `offset` stands. A byte-order mark counts for nothing.
    #[must_use]
    pub fn place(&self, offset: usize) -> Place {
        let offset = floor_char_boundary(&self.text, offset);
        let line = self.line_of(offset);
        let start = self.line_start(line);
        let before = &self.text[start..offset];
        let mark = usize::from(start == 0 && before.starts_with('\u{feff}'));
        Place { line, column: before.chars().count() + 1 - mark }
    }
}

fn floor_char_boundary(text: &str, offset: usize) -> usize {
    let mut at = offset.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Every text of a compilation, by [`FileId`] in the order they were added.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: Vec<Source>,
}

impl Sources {
    /// No texts.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a text under the path that people should read in messages.
    pub fn add(&mut self, path: impl Into<Utf8PathBuf>, text: impl Into<Arc<str>>) -> FileId {
        let id = FileId(u32::try_from(self.files.len()).unwrap_or(u32::MAX));
        self.files.push(Source::new(path.into(), text.into()));
        id
    }

    /// The text `file`.
    ///
    /// # Panics
    /// If `file` is of another `Sources`.
    #[must_use]
    pub fn get(&self, file: FileId) -> &Source {
        &self.files[file.0 as usize]
    }

    /// The part of its file that `span` covers.
    #[must_use]
    pub fn slice(&self, span: Span) -> &str {
        self.get(span.file).text().get(span.range()).unwrap_or("")
    }

    /// Every text with its id.
    pub fn iter(&self) -> impl Iterator<Item = (FileId, &Source)> {
        self.files.iter().zip(0..).map(|(source, id)| (FileId(id), source))
    }
}

/// Why bytes are no UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// They are UTF-16.
    Utf16,
    /// One of them does not belong where it stands.
    Byte {
        /// Where the replacement character stands in the text that [`decode`] made.
        at: usize,
        /// The byte.
        byte: u8,
    },
}

/// The text that `bytes` are, and what is wrong with them if they are not UTF-8: the text is then made so
/// that the place can be shown.
#[must_use]
pub fn decode(bytes: Vec<u8>) -> (String, Option<Malformed>) {
    let half = |first: usize| matches!(bytes[..], [a, b, c, d, ..] if [[a, c], [b, d]][first] == [0; 2]);
    let little = bytes.starts_with(&[0xff, 0xfe]) || half(1);
    let big = bytes.starts_with(&[0xfe, 0xff]) || half(0);
    if little || big {
        let unit = |pair: &[u8]| match *pair {
            [a, b] if little => u16::from_le_bytes([a, b]),
            [a, b] => u16::from_be_bytes([a, b]),
            _ => u16::from(u8::MAX),
        };
        let units: Vec<u16> = bytes.chunks(2).map(unit).collect();
        return (String::from_utf16_lossy(&units), Some(Malformed::Utf16));
    }
    match String::from_utf8(bytes) {
        Ok(text) => (text, None),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let bytes = error.into_bytes();
            let malformed = Malformed::Byte { at, byte: bytes[at] };
            (String::from_utf8_lossy(&bytes).into_owned(), Some(malformed))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_not_utf_8_are_named() {
        assert_eq!(decode(b"a = 1".to_vec()), ("a = 1".to_owned(), None));
        assert_eq!(
            decode(b"a\n\xffb".to_vec()),
            ("a\n\u{fffd}b".to_owned(), Some(Malformed::Byte { at: 2, byte: 0xff }))
        );
        for bytes in [&b"\xff\xfea\0b\0"[..], b"\xfe\xff\0a\0b", b"a\0b\0", b"\0a\0b"] {
            let (text, malformed) = decode(bytes.to_vec());
            assert_eq!((text.trim_start_matches('\u{feff}'), malformed), ("ab", Some(Malformed::Utf16)));
        }
    }

    #[test]
    fn places_count_scalars_and_skip_the_mark() {
        let mut sources = Sources::new();
        let id = sources.add("a.plan", "\u{feff}é=x\r\ny");
        let source = sources.get(id);
        assert_eq!(source.place(3), Place { line: 1, column: 1 });
        assert_eq!(source.place(5), Place { line: 1, column: 2 });
        assert_eq!(source.place(source.text().len() - 1), Place { line: 2, column: 1 });
        assert_eq!(source.place(usize::MAX).line, 2);
    }
}
