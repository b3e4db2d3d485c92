//! The audit annotations: an interface for programs.

use std::collections::BTreeMap;
use std::ptr;

use kube_objects::text::{Foreign, percent_encode};
use operator_models::hco::import::Import;

use crate::evaluate::{Detection, Outcome};
use crate::object_name::MAX_NAME_LENGTH;
use crate::repair::Step;
use crate::report::Report;
use crate::rule::Rule;

const LIMIT: usize = 16 * 1024;

pub(super) fn annotations(
    report: &Report,
    detections: &[Detection<'_>],
    repairs: &[Step],
) -> BTreeMap<String, String> {
    let default = report
        .default_architecture
        .as_ref()
        .map(|name| percent_encode(name.raw(), MAX_NAME_LENGTH));
    let import = report.multi_arch_import.as_ref().map(Import::into_str);
    let pairs = [
        ("findings", findings(detections)),
        ("repairs", made(repairs)),
        (
            "workload-architectures",
            architectures(report.workload_architectures.as_deref()),
        ),
        (
            "control-plane-architectures",
            architectures(report.control_plane_architectures.as_deref()),
        ),
        ("nodes-from", report.nodes_from.map(str::to_owned)),
        ("hco-version", report.hco_version.clone()),
        ("default-architecture", default),
        ("multi-arch-import", import.map(str::to_owned)),
    ];
    pairs
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)))
        .collect()
}

fn architectures(names: Option<&[Foreign]>) -> Option<String> {
    let names = names?
        .iter()
        .map(|name| percent_encode(name.raw(), MAX_NAME_LENGTH));
    bounded(names, ',').or_else(|| Some("none".to_owned()))
}

/// `rule-id/template=deny rule-id=warn`: sorted, one word for each rule and template, with its most severe outcome.
fn findings(detections: &[Detection<'_>]) -> Option<String> {
    let mut words: BTreeMap<String, Outcome> = BTreeMap::new();
    // A template can have a hundred thousand violations of a rule.
    for same in detections.chunk_by(|one, other| {
        ptr::eq(one.rule, other.rule) && one.violation.template == other.violation.template
    }) {
        let outcomes = same.iter().map(|detection| detection.outcome);
        if let Some((first, worst)) = same.first().zip(outcomes.min()) {
            let template = first.violation.template.unwrap_or_default();
            words
                .entry(word(first.rule, template))
                .and_modify(|known| *known = worst.min(*known))
                .or_insert(worst);
        }
    }
    let words = words
        .into_iter()
        .map(|(word, outcome)| word + outcome.into_str());
    bounded(words, ' ')
}

/// `rule-id/template=normalise rule-id=enable-import`, in the same format as the findings.
fn made(repairs: &[Step]) -> Option<String> {
    let mut words = BTreeMap::new();
    for step in repairs {
        let template = step.template.as_deref().unwrap_or_default();
        words.insert(word(step.rule, template), step.repair.into_str());
    }
    bounded(words.into_iter().map(|(word, name)| word + name), ' ')
}

/// `rule-id/template=`. The equals sign is part of the sort key, so that whole words are in order.
fn word(rule: &Rule, template: &str) -> String {
    let slash = if template.is_empty() { "" } else { "/" };
    let name = percent_encode(template, MAX_NAME_LENGTH);
    [rule.id, slash, &name, "="].concat()
}

/// The words up to the limit, then the number of omitted words.
fn bounded(words: impl ExactSizeIterator<Item = String>, separator: char) -> Option<String> {
    /// Enough space for `truncated=` and any number.
    const REST: usize = 32;
    let all = words.len();
    let mut text = String::new();
    // The length after the last word that leaves space for the number of omitted words.
    let mut fitting = (0, 0);
    for (count, word) in words.enumerate() {
        if text.len() + REST <= LIMIT {
            fitting = (text.len(), count);
        } else if text.len() > LIMIT {
            break;
        }
        if count > 0 {
            text.push(separator);
        }
        text.push_str(&word);
    }
    if text.len() > LIMIT {
        let (length, count) = fitting;
        text.truncate(length);
        text.push(separator);
        text.extend(["truncated=", &(all - count).to_string()]);
    }
    Some(text).filter(|text| !text.is_empty())
}
