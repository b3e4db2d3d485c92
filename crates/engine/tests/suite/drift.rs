//! Differences between HCO and the engine, grouped by the column that differs.
//!
//! `make chain-drift` sets `HCO_ROWS`, the directory with the rows that HCO's code in the checkout `HCO` computed.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value;

/// The difference between HCO and the engine in a row.
#[derive(Debug)]
pub(super) struct Difference {
    /// The column that differs.
    pub(super) column: &'static str,
    pub(super) fact: String,
}

impl Difference {
    pub(super) fn new(column: &'static str, fact: impl Into<String>) -> Self {
        Self {
            column,
            fact: fact.into(),
        }
    }
}

/// A difference that only concerns the engine.
impl From<String> for Difference {
    fn from(fact: String) -> Self {
        Self::new("none", fact)
    }
}

/// Describes the rows that differ, column by column.
pub(super) fn describe(differences: &[(Value, Difference)], count: usize) -> String {
    let mut columns: BTreeMap<&str, Vec<&(Value, Difference)>> = BTreeMap::new();
    for different in differences {
        columns
            .entry(different.1.column)
            .or_default()
            .push(different);
    }
    let mut text = format!("{} of {count} rows differ\n", differences.len());
    for (column, rows) in columns {
        _ = writeln!(text, "{column}: {} rows", rows.len());
        for (row, difference) in rows.iter().take(8) {
            _ = writeln!(text, "  {}: {}", row["id"], difference.fact);
        }
    }
    text
}
