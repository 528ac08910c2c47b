//! Values of options: durations as the language writes them, sizes, money.

use crate::ir::{Millis, Usd};

/// Reads `1h30m`, `90s`, `250ms`, `2d`: whole numbers with falling units (LANGUAGE §2).
pub(super) fn duration(text: &str) -> Result<Millis, String> {
    const UNITS: [(&str, u64); 5] =
        [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];
    let wrong = || "write it as `90s`, `1h30m` or `250ms`".to_owned();
    let (mut rest, mut total, mut next) = (text, 0u64, 0);
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let letters = rest[digits..].bytes().take_while(u8::is_ascii_lowercase).count();
        let (number, unit) = (&rest[..digits], &rest[digits..digits + letters]);
        let place = UNITS.iter().position(|(name, _)| *name == unit).filter(|&place| place >= next);
        let place = place.ok_or_else(wrong)?;
        let number: u64 = number.parse().map_err(|_| wrong())?;
        let amount = number.checked_mul(UNITS[place].1).and_then(|amount| total.checked_add(amount));
        total = amount.ok_or("it is too long")?;
        next = place + 1;
        rest = &rest[digits + letters..];
    }
    if next == 0 { Err(wrong()) } else { Ok(Millis(total)) }
}

/// Reads `65536`, `64KiB`, `1GiB`, `10MB`: bytes.
pub(super) fn size(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 10] = [
        ("", 1),
        ("B", 1),
        ("KB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("KIB", 1 << 10),
        ("MIB", 1 << 20),
        ("GIB", 1 << 30),
        ("TIB", 1 << 40),
    ];
    let wrong = || "write it as `65536`, `64KiB` or `1GiB`".to_owned();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let unit = text[digits..].trim_start().to_ascii_uppercase();
    let factor = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?.1;
    let number: u64 = text[..digits].parse().map_err(|_| wrong())?;
    number.checked_mul(factor).ok_or_else(|| "it is too large".to_owned())
}

/// Reads an amount of US dollars.
pub(super) fn money(text: &str) -> Result<Usd, String> {
    Usd::parse(text.strip_prefix('$').unwrap_or(text))
        .ok_or_else(|| "write it as `2.50`, in US dollars".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_in_a_plan() {
        assert_eq!(duration("1h30m"), Ok(Millis(5_400_000)));
        assert_eq!(duration("250ms"), Ok(Millis(250)));
        assert_eq!(duration("2d1ms"), Ok(Millis(172_800_001)));
        for wrong in ["", "5", "m", "1m1h", "1m1m", "1.5h", "-1s", "1 h", "99999999999999999999s", "s5"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_have_units_of_both_kinds() {
        assert_eq!(size("65536"), Ok(65_536));
        assert_eq!(size("64KiB"), Ok(65_536));
        assert_eq!(size("10 MB"), Ok(10_000_000));
        assert_eq!(size("1gib"), Ok(1 << 30));
        for wrong in ["", "KiB", "1.5KiB", "-1", "1XB", "99999999TiB"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn money_may_have_a_sign() {
        assert_eq!(money("$2.50"), Ok(Usd::parse("2.5").unwrap()));
        assert!(money("two").is_err());
    }
}
