//! Words for notes: one short clause for people, the first cause first.

use crate::source::Text;

/// The longest note (EXECUTION §6).
const LONGEST: usize = 2_000;

/// A note, cut where it is too long; it then says how long it was.
pub(crate) fn note(text: &str) -> Text {
    let text = text.trim();
    let count = text.chars().count();
    if count <= LONGEST {
        return one_line(text).into();
    }
    let kept: String = text.chars().take(LONGEST).collect();
    format!("{}… ({count} characters)", one_line(&kept)).into()
}

/// `text` on one line: a note is one. Other control characters go as well, since it reaches terminals.
fn one_line(text: &str) -> String {
    if !text.contains(char::is_control) {
        return text.to_owned();
    }
    let words = text.split(|c: char| c.is_control()).map(str::trim).filter(|part| !part.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// `text`, cut after `most` characters.
pub(crate) fn shown(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", one_line(&text[..at])),
        None => one_line(text),
    }
}

/// `` `text` ``, cut.
pub(crate) fn line(text: &str) -> String {
    format!("`{}`", shown(text, 160))
}

/// A character, so that it can be seen.
pub(crate) fn character(found: char) -> String {
    if found.is_control() || found == '\u{feff}' {
        format!("U+{:04X}", u32::from(found))
    } else {
        format!("`{found}`")
    }
}

/// A signal's name.
pub(crate) fn signal(number: i32) -> String {
    const NAMES: [&str; 31] = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE",
        "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ",
        "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
    ];
    let name = usize::try_from(number).ok().and_then(|n| NAMES.get(n.checked_sub(1)?));
    name.map_or_else(|| format!("signal {number}"), |name| format!("SIG{name}"))
}

/// `a`, `a and b`, `a, b and c`, each in backticks.
pub(crate) fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut quoted: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match quoted.pop() {
        Some(last) if !quoted.is_empty() => format!("{} and {last}", quoted.join(", ")),
        last => last.unwrap_or_default(),
    }
}

/// A frozen file was changed, and is as it was again.
pub(crate) fn restored(path: &str, when: &str) -> Text {
    compact_str::format_compact!("`{path}` is frozen and was changed {when}: restored")
}

/// A size as the command line writes it: `64KiB`.
pub(crate) fn bytes(count: u64) -> String {
    let mut size = count;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if size < 1024 || !size.is_multiple_of(1024) || unit == "GiB" {
            return format!("{size}{unit}");
        }
        size /= 1024;
    }
    format!("{count}B")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_one_line_and_bounded() {
        assert_eq!(note(" a\n\tb \r\n c\u{1b}[31m "), "a b c [31m");
        assert_eq!(note(&"x".repeat(2_000)).len(), 2_000);
        let long = note(&"é".repeat(2_001));
        assert!(long.ends_with("… (2001 characters)"), "{long}");
    }

    #[test]
    fn words() {
        assert_eq!(signal(9), "SIGKILL");
        assert_eq!(signal(40), "signal 40");
        assert_eq!(names(["a"]), "`a`");
        assert_eq!(names(["a", "b", "c"]), "`a`, `b` and `c`");
        assert_eq!(bytes(65_536), "64KiB");
        assert_eq!(bytes(1 << 30), "1GiB");
        assert_eq!(bytes(1_500), "1500B");
        assert_eq!(shown("abc", 2), "ab…");
    }
}
