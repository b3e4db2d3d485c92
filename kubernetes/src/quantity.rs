//! Quantities, such as the size of a disk.

use crate::json::{Field, Json, Kind};

/// A quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantity {
    nano: i128,
}

impl Quantity {
    /// Reads a quantity: a string, or a number.
    pub fn read(json: Json<'_>) -> Option<Self> {
        match json.kind() {
            Kind::String => Self::parse(&Field::root(json).string().ok()??),
            _ => Self::parse(json.text()),
        }
    }

    /// Parses a quantity.
    pub fn parse(text: &str) -> Option<Self> {
        let end = text
            .find(|character: char| !character.is_ascii_digit() && character != '-')
            .unwrap_or(text.len());
        let (number, suffix) = text.split_at_checked(end)?;
        let factor: i128 = match suffix {
            "" => 1,
            "Ki" => 1 << 10,
            "Mi" => 1 << 20,
            "Gi" => 1 << 30,
            "Ti" => 1 << 40,
            "k" => 1_000,
            "M" => 1_000_000,
            "G" => 1_000_000_000,
            _ => return None,
        };
        let nano = i128::from(number.parse::<i64>().ok()?)
            .checked_mul(factor)?
            .checked_mul(1_000_000_000)?;
        Some(Self { nano })
    }

    /// The value, rounded away from zero.
    pub fn value(self) -> Option<i64> {
        i64::try_from(self.nano / 1_000_000_000).ok()
    }
}
