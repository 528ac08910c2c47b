//! Amounts that are added and compared exactly: [`Millis`] and [`Usd`].

use std::fmt;

/// Milliseconds.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Millis(pub u64);

impl fmt::Display for Millis {
    /// As the language writes durations: `1h30m`, `90s` as `1m30s`, `250ms`, `0s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        if rest == 0 {
            return f.write_str("0s");
        }
        for (unit, size) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)] {
            if rest >= size {
                write!(f, "{}{unit}", rest / size)?;
                rest %= size;
            }
        }
        Ok(())
    }
}

/// US dollars, as whole billionths, so that `0.1 + 0.2` is `0.3`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Usd(i64);

const PLACES: usize = 9;
const UNIT: i64 = 1_000_000_000;

impl Usd {
    /// No money.
    pub const ZERO: Self = Self(0);

    /// Reads a JSON number's text. Digits past the ninth decimal are dropped. None where it is no
    /// finite number, is negative, or is above nine billion.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.find(['e', 'E']) {
            Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if whole.is_empty() || !whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit()) {
            return None;
        }
        let digits: String = [whole, fraction].concat();
        let significant = digits.trim_start_matches('0');
        // The value is digits * 10^(exponent - fraction.len()); we want it in units of 10^-9.
        let shift = i64::from(exponent) - i64::try_from(fraction.len()).ok()? + PLACES as i64;
        let mut value: i128 = 0;
        let keep = i64::try_from(significant.len()).ok()? + shift.min(0);
        for byte in significant.bytes().take(usize::try_from(keep.max(0)).ok()?) {
            value = value.checked_mul(10)?.checked_add(i128::from(byte - b'0'))?;
        }
        for _ in 0..shift.max(0) {
            if value == 0 {
                break;
            }
            value = value.checked_mul(10)?;
            if value > i128::from(i64::MAX) {
                return None;
            }
        }
        i64::try_from(value).ok().map(Self)
    }

    /// The sum; stays at the greatest amount instead of overflowing.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, or zero.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0).max(0))
    }

    /// Whether it is nothing.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for Usd {
    /// The shortest decimal form, with one decimal at least: `1.0`, `0.25`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fraction = format!("{:09}", self.0 % UNIT);
        let fraction = fraction.trim_end_matches('0');
        write!(f, "{}.{}", self.0 / UNIT, if fraction.is_empty() { "0" } else { fraction })
    }
}

impl serde::Serialize for Usd {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let number = serde_json::value::RawValue::from_string(self.to_string());
        number.map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl schemars::JsonSchema for Usd {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Usd".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "number", "minimum": 0 })
    }
}

impl<'de> serde::Deserialize<'de> for Usd {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&serde_json::value::RawValue>::deserialize(deserializer)?;
        Self::parse(raw.get()).ok_or_else(|| serde::de::Error::custom("not an amount of money"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_exact() {
        let usd = |text| Usd::parse(text).unwrap();
        assert_eq!(usd("0.1").plus(usd("0.2")), usd("0.3"));
        assert_eq!(usd("1e-3"), usd("0.001"));
        assert_eq!(usd("2.5E1"), usd("25"));
        assert_eq!(usd("0.0000000001"), Usd::ZERO);
        assert_eq!(usd("0e99"), Usd::ZERO);
        for wrong in ["-1", "1e40", "x", "", ".", "1e", "NaN", "9300000000"] {
            assert_eq!(Usd::parse(wrong), None, "{wrong}");
        }
        assert_eq!(usd("1").to_string(), "1.0");
        assert_eq!(serde_json::to_string(&usd("0.30")).unwrap(), "0.3");
    }

    #[test]
    fn durations_read_as_they_are_written() {
        for (ms, text) in
            [(0, "0s"), (1_000, "1s"), (90_000, "1m30s"), (5_400_000, "1h30m"), (1_250, "1s250ms")]
        {
            assert_eq!(Millis(ms).to_string(), text);
        }
    }
}
