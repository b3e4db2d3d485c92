//! Quantities, such as the size of a disk.

use crate::json::{Field, Json, Kind};

/// Quantities are stored in parts of this size.
const NANOS: i128 = 1_000_000_000;

/// A quantity, exact to nine decimal places. A value of more than 128 bits becomes the largest one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantity {
    nanos: i128,
}

impl Quantity {
    /// Reads a quantity: a string, or a number. Go reads null as zero.
    pub fn read(json: Json<'_>) -> Option<Self> {
        match json.kind() {
            Kind::Null => Some(Self { nanos: 0 }),
            Kind::String => Self::parse(&Field::root(json).string().ok()??),
            Kind::Number => Self::parse(json.text()),
            Kind::Boolean | Kind::List | Kind::Object => None,
        }
    }

    /// Parses a quantity; `None` if Kubernetes cannot read it.
    ///
    /// MIRRORS: k8s.io/apimachinery pkg/api/resource/quantity.go, `ParseQuantity`: a value is rounded away from zero to
    /// nine decimal places, and one with a binary suffix is at most the largest 64-bit integer.
    pub fn parse(text: &str) -> Option<Self> {
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(text) => (true, text),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (number, suffix) = text.split_at_checked(end.unwrap_or(text.len()))?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if fraction.contains('.') || whole.len() + fraction.len() == 0 {
            return None;
        }
        let nanos = nanos(whole, fraction, Suffix::parse(suffix)?);
        Some(Self {
            nanos: if is_negative { -nanos } else { nanos },
        })
    }

    /// The value as an integer, rounded away from zero; `None` if it does not fit into 64 bits.
    ///
    /// MIRRORS: k8s.io/apimachinery pkg/api/resource/quantity.go, `Value`.
    pub fn value(self) -> Option<i64> {
        let rest = self.nanos % NANOS;
        i64::try_from(self.nanos / NANOS + rest.signum()).ok()
    }

    /// The value in thousandths, rounded away from zero; `None` if it does not fit into 64 bits.
    ///
    /// MIRRORS: k8s.io/apimachinery pkg/api/resource/quantity.go, `MilliValue`.
    pub fn milli_value(self) -> Option<i64> {
        const MILLI: i128 = NANOS / 1000;
        let rest = self.nanos % MILLI;
        i64::try_from(self.nanos / MILLI + rest.signum()).ok()
    }
}

/// The factor that a suffix stands for.
#[derive(Debug, Clone, Copy)]
enum Suffix {
    /// A power of ten.
    Decimal(i64),
    /// A power of two.
    Binary(u32),
}

impl Suffix {
    /// MIRRORS: k8s.io/apimachinery pkg/api/resource/suffix.go, interpret.
    fn parse(suffix: &str) -> Option<Self> {
        Some(match suffix {
            "n" => Self::Decimal(-9),
            "u" => Self::Decimal(-6),
            "m" => Self::Decimal(-3),
            "" => Self::Decimal(0),
            "k" => Self::Decimal(3),
            "M" => Self::Decimal(6),
            "G" => Self::Decimal(9),
            "T" => Self::Decimal(12),
            "P" => Self::Decimal(15),
            "E" => Self::Decimal(18),
            "Ki" => Self::Binary(10),
            "Mi" => Self::Binary(20),
            "Gi" => Self::Binary(30),
            "Ti" => Self::Binary(40),
            "Pi" => Self::Binary(50),
            "Ei" => Self::Binary(60),
            _ => {
                let exponent = suffix.strip_prefix(['e', 'E'])?;
                Self::Decimal(i64::from(exponent.parse::<i32>().ok()?))
            }
        })
    }
}

/// The value of the digits before and after the point, in billionths.
///
/// DIVERGES: Go keeps all digits. Here, only the first twenty count, and whether one of the others is not zero.
fn nanos(whole: &str, fraction: &str, suffix: Suffix) -> i128 {
    /// With twenty digits, a product with the largest suffix has 128 bits.
    const DIGITS: usize = 20;
    let (factor, exponent) = match suffix {
        Suffix::Decimal(exponent) => (1, exponent),
        Suffix::Binary(power) => (1 << power, 0),
    };
    let digits: String = whole
        .chars()
        .chain(fraction.chars())
        .skip_while(|digit| *digit == '0')
        .collect();
    let (digits, dropped) = digits.split_at_checked(DIGITS).unwrap_or((&digits, ""));
    let product = digits.parse().unwrap_or(0_u128).saturating_mul(factor);
    // The billionths are nine more digits.
    let shift = 9 + dropped.len().cast_signed() - fraction.len().cast_signed();
    let exponent = i64::try_from(shift).unwrap_or_default() + exponent;
    let power = 10_u128.saturating_pow(exponent.unsigned_abs().try_into().unwrap_or(u32::MAX));
    let (nanos, rest) = if exponent < 0 {
        (product / power, product % power)
    } else {
        (product.saturating_mul(power), 0)
    };
    let has_rest = rest > 0 || dropped.contains(|digit| digit != '0');
    let rounded = i128::try_from(nanos.saturating_add(u128::from(has_rest))).unwrap_or(i128::MAX);
    match suffix {
        Suffix::Binary(_) => rounded.min(i128::from(i64::MAX) * NANOS),
        Suffix::Decimal(_) => rounded,
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn value(text: &str) -> Option<i64> {
        Quantity::parse(text).unwrap().value()
    }

    #[test]
    fn every_suffix_has_its_factor() {
        let mut factor = 1;
        for suffix in ["k", "M", "G", "T", "P", "E"] {
            factor *= 1_000;
            assert_eq!(value(&format!("1{suffix}")), Some(factor), "{suffix}");
        }
        let mut factor = 1;
        for suffix in ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"] {
            factor <<= 10;
            assert_eq!(value(&format!("1{suffix}")), Some(factor), "{suffix}");
        }
        for (text, expected) in [
            ("+7", 7),
            ("-7", -7),
            ("007.", 7),
            ("0.5Mi", 1 << 19),
            ("1e3", 1_000),
            ("1E+3", 1_000),
            ("5000e-3", 5),
            ("5000m", 5),
            ("5000000u", 5),
            ("5000000000n", 5),
        ] {
            assert_eq!(value(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn a_fraction_is_rounded_away_from_zero() {
        for (text, expected) in [
            (".5", 1),
            ("-.5", -1),
            ("1048575.5", 1_048_576),
            ("0.1n", 1),
            ("-1e-2147483648", -1),
            ("0.00000000000000000000000000000000000000001", 1),
            ("0.00000000000000000000000000000000000000000", 0),
            ("1.0000000000000000000000000000000000000", 1),
            ("1.0000000000000000000000000000000000001", 2),
        ] {
            assert_eq!(value(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn a_value_that_does_not_fit_is_none_or_the_largest() {
        for (text, expected) in [
            ("9223372036854775807", Some(i64::MAX)),
            ("99999999999999999999Ei", Some(i64::MAX)),
            ("9223372036854775808", None),
            ("1e2147483647", None),
            (&"9".repeat(99), None),
            ("0e2147483647", Some(0)),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn a_text_that_is_not_a_quantity_is_rejected() {
        let short = [
            "", "-", ".", "Gi", "1.2.3", "1Zi", "1gi", "1 Gi", " 1", "1e", "1e1.5", "1ee3", "--1",
            "0x10", "1_0",
        ];
        for text in short.into_iter().chain(["1e99999999999"]) {
            assert_eq!(Quantity::parse(text), None, "{text}");
        }
        let read = |text: &str| Quantity::read(Json::parse(text.as_bytes()).unwrap());
        assert_eq!(read(r#""1Mi""#), Quantity::parse("1Mi"));
        assert_eq!(read("1048576"), Quantity::parse("1Mi"));
        assert_eq!(read("null"), Quantity::parse("0"));
        for text in ["true", "[]", "{}", r#""x""#] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
