//! Standard output as it is: a terminal or not, how large, with colours or without.

use std::io::IsTerminal;

use crate::report::frame::Size;
use crate::report::text::Paint;

/// Whether standard output is a terminal that wants to be drawn on.
pub(super) fn is_terminal() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Whether words on standard output are coloured: on a terminal, unless `NO_COLOR` is set.
pub(super) fn paint() -> Paint {
    Paint(is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()))
}

/// The size of the terminal at standard output.
pub(super) fn size() -> Option<Size> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    // Some terminals do not know.
    let or = |value: u16, other| if value == 0 { other } else { usize::from(value) };
    Some(Size { width: or(size.ws_col, 80), height: or(size.ws_row, 24) })
}
