//! Quantities, such as the size of a disk.

use crate::json::{Json, Kind};

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
            Kind::String => Self::parse(&json.string()?),
            Kind::Number => Self::parse(json.text()),
            Kind::Boolean | Kind::List | Kind::Object => None,
        }
    }

    /// Parses a quantity; `None` if Kubernetes cannot read it.
    ///
    /// MIRRORS: k8s.io/apimachinery pkg/api/resource/quantity.go, `ParseQuantity`: a value is rounded away from zero to
    /// nine decimal places, and one with a binary suffix is at most the largest 64-bit integer.
    ///
    /// DIVERGES: a number whose digits have more than 128 bits counts as the largest one.
    pub fn parse(text: &str) -> Option<Self> {
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (number, suffix) = unsigned.split_at_checked(end.unwrap_or(unsigned.len()))?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = [whole, fraction].concat();
        let (factor, exponent) = scale(suffix)?;
        if digits.is_empty() || digits.contains('.') {
            return None;
        }
        let shift = exponent + 9 - i64::try_from(fraction.len()).ok()?;
        let power = 10_i128.saturating_pow(shift.unsigned_abs().try_into().unwrap_or(u32::MAX));
        let nanos = digits.parse().map_or(i128::MAX, |digits: i128| {
            let product = digits.saturating_mul(factor);
            if shift < 0 {
                product / power + (product % power).signum()
            } else {
                product.saturating_mul(power)
            }
        });
        let nanos = match factor {
            1 => nanos,
            _ => nanos.min(i128::from(i64::MAX) * NANOS),
        };
        Some(Self {
            nanos: if text.starts_with('-') { -nanos } else { nanos },
        })
    }

    /// The value as an integer, rounded away from zero; `None` if it does not fit into 64 bits.
    ///
    /// MIRRORS: k8s.io/apimachinery pkg/api/resource/quantity.go, `Value`.
    pub fn value(self) -> Option<i64> {
        let rest = self.nanos % NANOS;
        i64::try_from(self.nanos / NANOS + rest.signum()).ok()
    }
}

/// The factor and the power of ten that a suffix stands for.
///
/// MIRRORS: k8s.io/apimachinery pkg/api/resource/suffix.go, interpret.
fn scale(suffix: &str) -> Option<(i128, i64)> {
    const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
    if let Some((power, _)) = (1..).zip(BINARY).find(|(_, known)| *known == suffix) {
        return Some((1024_i128.pow(power), 0));
    }
    let mut decimal = (-9..).step_by(3).zip(DECIMAL);
    let exponent = match decimal.find(|(_, known)| *known == suffix) {
        Some((exponent, _)) => exponent,
        None => suffix.strip_prefix(['e', 'E'])?.parse::<i32>().ok()?.into(),
    };
    Some((1, exponent))
}
