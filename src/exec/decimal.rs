//! JSON numbers compared as they are written, digit for digit, whatever their size.
//!
//! Unaware of what the numbers mean.

use std::cmp::Ordering;

/// A JSON number: `sign 0.digits * 10^point`, the digits without zeros at either end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    point: i64,
}

impl Decimal {
    /// Reads a JSON number. None for other text.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match rest.find(['e', 'E']) {
            Some(at) => (&rest[..at], exponent(&rest[at + 1..])?),
            None => (rest, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = || whole.bytes().chain(fraction.bytes());
        if whole.is_empty() || !all().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let leading = all().take_while(|&byte| byte == b'0').count();
        let mut digits: Vec<u8> = all().skip(leading).collect();
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        if digits.is_empty() {
            return Some(Self { negative: false, digits, point: 0 });
        }
        let point = i64::try_from(whole.len()).ok()? - i64::try_from(leading).ok()?;
        Some(Self { negative, digits, point: point.saturating_add(exponent) })
    }

    fn magnitude(&self, other: &Self) -> Ordering {
        match (self.digits.is_empty(), other.digits.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => self.point.cmp(&other.point).then_with(|| self.digits.cmp(&other.digits)),
        }
    }
}

/// An exponent; one beyond all sense counts as the greatest there is.
fn exponent(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let value: i64 = digits.parse().unwrap_or(i64::MAX / 4).min(i64::MAX / 4);
    Some(if negative { -value } else { value })
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.magnitude(other),
            (true, true) => other.magnitude(self),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_that_of_the_written_numbers() {
        let ordered = [
            "-1e400",
            "-2",
            "-1.5",
            "-1e-400",
            "0",
            "1e-400",
            "0.1",
            "0.10000000000000000001",
            "1",
            "9007199254740992",
            "9007199254740993",
            "1e400",
        ];
        for (at, left) in ordered.iter().enumerate() {
            for (to, right) in ordered.iter().enumerate() {
                let compared = Decimal::parse(left).cmp(&Decimal::parse(right));
                assert_eq!(compared, at.cmp(&to), "{left} and {right}");
            }
        }
    }

    #[test]
    fn spellings_of_one_number_are_equal() {
        for (left, right) in [("1", "1.0"), ("1e2", "100"), ("0.5E+1", "5"), ("-0", "0"), ("120", "1.2e2")] {
            assert_eq!(Decimal::parse(left), Decimal::parse(right), "{left} and {right}");
        }
        for wrong in ["", "-", "x", "1e", "1,5", ".5", "\"1\""] {
            assert_eq!(Decimal::parse(wrong), None, "{wrong}");
        }
    }
}
