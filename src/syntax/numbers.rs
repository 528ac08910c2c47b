//! Numbers and durations: where they end, which of the two they are, and what they are worth.
//!
//! Unaware of ranges and units of what they are for.

use crate::source::Text;

use super::ast::Number;
use super::tokens::kind;

/// The units of a duration, falling, with their milliseconds.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Why something that begins like a number is none.
pub(super) struct Problem {
    /// What it was probably meant to be, as a token.
    pub kind: u8,
    pub message: String,
    pub help: Option<String>,
}

/// Where the number that starts at `start` ends: with the last letter, digit, `_` or `.`, and a sign only
/// in an exponent.
pub(super) fn end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + usize::from(bytes[start] == b'-');
    let mut digits = true;
    while let Some(&byte) = bytes.get(at) {
        let next = bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
        match byte {
            b'0'..=b'9' | b'_' | b'.' => {}
            b'-' | b'+' if digits && matches!(bytes[at - 1], b'e' | b'E') && next => digits = false,
            b'e' | b'E' if digits => {}
            b'a'..=b'z' | b'A'..=b'Z' => digits = false,
            _ => break,
        }
        at += 1;
    }
    at
}

/// Which token `text` is.
pub(super) fn classify(text: &str) -> Result<u8, Problem> {
    if is_number(text) {
        return match number(text) {
            Some(number) if number.value.is_finite() => Ok(kind::NUMBER),
            _ => Err(problem(kind::NUMBER, format!("`{}` is too large", shown(text)), None)),
        };
    }
    if !text.bytes().any(|b| b.is_ascii_alphabetic()) {
        let plain = text.trim_start_matches('0');
        let help = if plain.len() < text.len() && is_number(plain) {
            format!("write `{}`", shown(plain))
        } else if text.matches('.').count() > 1 {
            format!("a version goes in quotes: `\"{}\"`", shown(text))
        } else {
            "numbers are written `3`, `1_000`, `-0.5` or `1e-3`".to_owned()
        };
        return Err(problem(kind::NUMBER, format!("`{}` is no number", shown(text)), Some(help)));
    }
    read_duration(text).map(|_| kind::DURATION)
}

/// `[-] digits [. digits] [e [sign] digits]`, digits with a `_` between any two.
fn is_number(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let leading_zero = whole.len() > 1 && whole.starts_with('0');
    digits(whole)
        && !leading_zero
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|exponent| digits(exponent.strip_prefix(['-', '+']).unwrap_or(exponent)))
}

/// Digits, with a `_` between any two.
fn digits(text: &str) -> bool {
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    plain && !text.is_empty() && !text.starts_with('_') && !text.ends_with('_') && !text.contains("__")
}

fn read_duration(text: &str) -> Result<u64, Problem> {
    let fail = |message: String, help: String| Err(problem(kind::DURATION, message, Some(help)));
    let name = shown(text);
    let form = || "durations are whole numbers with `d h m s ms`, as in `1h30m` or `250ms`".to_owned();
    if text.starts_with('-') {
        return fail(format!("`{name}` is a negative duration"), form());
    }
    let (mut total, mut rest, mut next) = (0u64, text, 0);
    while !rest.is_empty() {
        let length = rest.bytes().take_while(|b| b.is_ascii_digit() || *b == b'_').count();
        let (count, behind) = rest.split_at(length);
        let letters = behind.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (unit, after) = behind.split_at(letters);
        if behind.starts_with('.') {
            return fail(format!("`{name}` is no duration: its numbers are whole"), form());
        }
        if unit.is_empty() || !digits(count) {
            return fail(format!("`{name}` is neither a number nor a duration"), form());
        }
        let Some(position) = UNITS.iter().position(|(known, _)| *known == unit) else {
            let near = UNITS.iter().find(|(known, _)| unit.to_ascii_lowercase().starts_with(known));
            let help = match near {
                Some((known, _)) if length + letters == text.len() => {
                    format!("did you mean `{count}{known}`? units are `d h m s ms`")
                }
                _ => form(),
            };
            return fail(format!("`{}` is no unit of time", shown(unit)), help);
        };
        if position < next {
            return fail(format!("the units of `{name}` do not fall"), form());
        }
        next = position + 1;
        let value = count.replace('_', "").parse::<u64>().ok().and_then(|n| n.checked_mul(UNITS[position].1));
        let Some(sum) = value.and_then(|value| total.checked_add(value)) else {
            return Err(problem(kind::DURATION, format!("`{name}` is too long a time"), None));
        };
        total = sum;
        rest = after;
    }
    Ok(total)
}

/// The value of a number token; `None` if it has a finding.
pub(super) fn number(text: &str) -> Option<Number> {
    let plain: Text = text.chars().filter(|&c| c != '_').collect();
    let value = plain.parse().ok()?;
    let integer = plain.parse().ok();
    Some(Number { text: plain, value, integer })
}

/// The milliseconds of a duration token; `None` if it has a finding.
pub(super) fn duration(text: &str) -> Option<u64> {
    read_duration(text).ok()
}

fn problem(kind: u8, message: String, help: Option<String>) -> Problem {
    Problem { kind, message, help }
}

/// `text`, cut where it is longer than a message should be.
fn shown(text: &str) -> String {
    super::stray::cut(text, 30)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_worth_what_they_say() {
        let read = |text| number(text).map(|number| (number.text.to_string(), number.value, number.integer));
        assert_eq!(read("1_000"), Some(("1000".to_owned(), 1000.0, Some(1000))));
        assert_eq!(read("-0.5"), Some(("-0.5".to_owned(), -0.5, None)));
        assert_eq!(read("1e3"), Some(("1e3".to_owned(), 1000.0, None)));
        assert_eq!(read("99999999999999999999").unwrap().2, None);
    }

    #[test]
    fn durations_are_milliseconds() {
        for (text, milliseconds) in [
            ("250ms", Some(250)),
            ("90s", Some(90_000)),
            ("1h30m", Some(5_400_000)),
            ("2d", Some(172_800_000)),
            ("1d2h3m4s5ms", Some(93_784_005)),
            ("0s", Some(0)),
            ("99999999999999999999d", None),
            ("213503982335d", None),
            ("1m1h", None),
            ("1s1s", None),
            ("1.5h", None),
            ("1", None),
        ] {
            assert_eq!(duration(text), milliseconds, "{text}");
        }
    }
}
