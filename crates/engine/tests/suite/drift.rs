//! Differences between HCO and the engine, grouped by the column that differs.
//!
//! `make chain-drift` sets `HCO_ROWS`, the directory with the rows that HCO's code in the checkout `HCO` computed.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::Command;

use serde_json::Value;

/// What HCO and the engine disagree about in a row.
#[derive(Debug)]
pub(super) struct Difference {
    /// The column of the row that the engine does not agree with.
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

/// A fact about the engine alone.
impl From<String> for Difference {
    fn from(fact: String) -> Self {
        Self::new("none", fact)
    }
}

/// Where HCO decides about a column: file and function.
const DECIDED_IN: [(&str, &str, &str); 21] = [
    (
        "webhookAffinityError",
        "pkg/webhooks/validator/validator.go",
        "validateAffinity",
    ),
    (
        "webhookDictError",
        "pkg/webhooks/validator/validator.go",
        "validateDataImportCronTemplates",
    ),
    ("panic", GOLDEN_IMAGES, "customizeCommonDictAnnotations"),
    ("panic", GOLDEN_IMAGES, "validateMultiArchDict"),
    ("dictError", GOLDEN_IMAGES, "getDicMapFromCr"),
    (
        "conversionError",
        "api/v1beta1/conversion.go",
        "restoreV1OnlyFields",
    ),
    ("mutatorDenied", MUTATOR, "mutateFieldAndFGOnCreate"),
    ("multiArchEnabled", GOLDEN_IMAGES, "IsMultiArchEnabled"),
    ("multiArchEnabled", FEATURE_GATES, "IsEnabled"),
    (
        "multiArchEnabled",
        "api/v1beta1/conversion.go",
        "restoreV1OnlyFields",
    ),
    (
        "workloadsArchitectures",
        "pkg/internal/nodeinfo/nodeinfo.go",
        "processNodeInfo",
    ),
    (
        "controlPlaneArchitectures",
        "pkg/internal/nodeinfo/nodeinfo.go",
        "processNodeInfo",
    ),
    (
        "defaultArchitecture",
        "pkg/internal/nodeinfo/nodeinfo.go",
        "processNodeInfo",
    ),
    (
        "alerts.HCOMultiArchGoldenImagesDisabled",
        "pkg/monitoring/hyperconverged/collectors/operator_collectors.go",
        "getMultiArchBootImagesStatusCallback",
    ),
    (
        "alerts.HCOGoldenImageWithNoArchitectureAnnotation",
        GOLDEN_IMAGES,
        "customizeCommonDictAnnotations",
    ),
    (
        "alerts.HCOGoldenImageWithNoSupportedArchitecture",
        GOLDEN_IMAGES,
        "removeUnsupportedArchs",
    ),
    ("dicts", GOLDEN_IMAGES, "removeUnsupportedArchs"),
    ("hco.mutator", MUTATOR, "mutateFieldAndFGOnUpdate"),
    (
        "hco.validator",
        "pkg/webhooks/validator/validator.go",
        "validateHyperConverged",
    ),
    ("hco.import", MUTATOR, "mutateFieldAndFGOnUpdate"),
    ("hco.import", GOLDEN_IMAGES, "IsMultiArchEnabled"),
];

const GOLDEN_IMAGES: &str = "controllers/handlers/golden-images/golden_images.go";
const MUTATOR: &str = "pkg/webhooks/mutator/hyperConvergedMutator.go";
const FEATURE_GATES: &str = "api/v1/featuregates/feature_gates.go";

/// How many rows have a tag, by tag.
#[derive(Debug, Default)]
pub(super) struct Tags(BTreeMap<String, usize>);

impl Tags {
    pub(super) fn count<'r>(rows: impl IntoIterator<Item = &'r Value>) -> Self {
        let mut tags = Self::default();
        rows.into_iter().for_each(|row| tags.add(row));
        tags
    }

    pub(super) fn add(&mut self, row: &Value) {
        for tag in row["tags"].as_array().into_iter().flatten() {
            *self.0.entry(string(tag).to_owned()).or_default() += 1;
        }
    }

    /// The tags that best tell these rows from all rows.
    fn telling(&self, all: &Self) -> Vec<String> {
        let mut tags: Vec<_> = self
            .0
            .iter()
            .map(|(tag, &here)| {
                (
                    here * 100 / all.0.get(tag).copied().unwrap_or(here),
                    here,
                    tag,
                )
            })
            .filter(|&(_, here, _)| here > 1)
            .collect();
        tags.sort_by(|a, b| b.cmp(a));
        let tags = tags.into_iter().take(5);
        tags.map(|(percent, here, tag)| format!("{tag} ({here}, {percent} %)"))
            .collect()
    }
}

/// Describes the rows that differ, column by column.
pub(super) fn describe(differences: &[(Value, Difference)], count: usize, all: &Tags) -> String {
    let mut columns: BTreeMap<&str, Vec<&(Value, Difference)>> = BTreeMap::new();
    for different in differences {
        columns
            .entry(different.1.column)
            .or_default()
            .push(different);
    }
    let mut text = format!(
        "{} of {count} rows differ, grouped by column\n",
        differences.len()
    );
    for (column, rows) in columns {
        let ids: Vec<_> = rows
            .iter()
            .take(8)
            .map(|(row, _)| string(&row["id"]))
            .collect();
        let more = if rows.len() > ids.len() { ", …" } else { "" };
        _ = writeln!(
            text,
            "\n{column}: {} rows: {}{more}",
            rows.len(),
            ids.join(", ")
        );
        for (row, difference) in rows.iter().take(3) {
            _ = writeln!(text, "  {}: {}", string(&row["id"]), difference.fact);
        }
        let telling = Tags::count(rows.iter().map(|(row, _)| row)).telling(all);
        if !telling.is_empty() {
            let telling = telling.join(", ");
            _ = writeln!(
                text,
                "  tags (rows here, share of all rows with the tag): {telling}"
            );
        }
        for (_, file, function) in DECIDED_IN.iter().filter(|(of, ..)| *of == column) {
            _ = writeln!(
                text,
                "  HCO: {file}, {function}{}",
                last_change(file, function)
            );
        }
    }
    text
}

fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The commit that last changed a function in the checkout, if there is one.
fn last_change(file: &str, function: &str) -> String {
    let Ok(checkout) = std::env::var("HCO") else {
        return String::new();
    };
    let range = format!("-L:{function}:{file}");
    let log = Command::new("git")
        .args(["-C", &checkout, "log", "-1", "-s", "--format=%h %cs %s"])
        .arg(range)
        .output();
    match log {
        Ok(log) if log.status.success() => format!(
            "\n       last changed by {}",
            String::from_utf8_lossy(&log.stdout).trim()
        ),
        _ => ": not in this version of HCO".to_owned(),
    }
}
