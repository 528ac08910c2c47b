//! Text for people, in lines of a readable length.

use std::fmt::Write;

/// The longest line of prose.
const WIDTH: usize = 88;

/// Wraps each line of `text` at blanks. A line that begins with blanks stays as it is.
pub(super) fn wrapped(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        if line.starts_with(' ') {
            out.push_str(line);
            out.push('\n');
            continue;
        }
        let mut length = 0;
        for word in line.split(' ') {
            let width = word.chars().count();
            if length > 0 && length + 1 + width > WIDTH {
                out.push('\n');
                length = 0;
            }
            if length > 0 {
                out.push(' ');
                length += 1;
            }
            out.push_str(word);
            length += width;
        }
        out.push('\n');
    }
    out
}

/// Rows with their first columns as wide as the widest cell, the last one wrapped below itself.
pub(super) fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let indent: usize = widths.iter().take(N.saturating_sub(1)).map(|width| width + 2).sum::<usize>() + 2;
    let mut out = String::new();
    for row in rows {
        let Some((last, first)) = row.split_last() else { continue };
        let mut line = String::from("  ");
        for (cell, width) in first.iter().zip(widths) {
            let _ = write!(line, "{cell:width$}  ");
        }
        let mut length = indent;
        for (index, word) in last.split(' ').enumerate() {
            let width = word.chars().count();
            if index > 0 && length + 1 + width > indent.max(WIDTH - 30) + 40 {
                out.push_str(line.trim_end());
                out.push('\n');
                line = " ".repeat(indent);
                length = indent;
            } else if index > 0 {
                line.push(' ');
                length += 1;
            }
            line.push_str(word);
            length += width;
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_wrapped_and_code_is_not() {
        let long = "word ".repeat(30);
        let text = format!("{}\n\n    {}\n", long.trim(), long.trim());
        let wrapped = wrapped(&text);
        assert!(wrapped.lines().filter(|line| !line.starts_with(' ')).all(|line| line.len() <= WIDTH));
        assert!(wrapped.ends_with(&format!("\n\n    {}\n", long.trim())));
    }

    #[test]
    fn columns_line_up() {
        let rows = [["a".to_owned(), "one two".to_owned()], ["long".to_owned(), "x".to_owned()]];
        assert_eq!(columns(&rows), "  a     one two\n  long  x\n");
    }
}
