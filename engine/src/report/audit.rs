//! The audit annotations: a contract with machines, DESIGN.md section 5.

use std::collections::BTreeMap;

use super::{NAME, Report};
use crate::findings::{Judged, Outcome};
use crate::sorted;
use crate::text::{cut, percent_encode};

/// The most that one annotation holds.
const LIMIT: usize = 16 * 1024;

pub(super) fn annotations(report: &Report, judged: &[Judged<'_>]) -> BTreeMap<String, String> {
    let pairs = [
        ("findings", findings(judged)),
        (
            "workload-architectures",
            architectures(report.workload_architectures.as_deref()),
        ),
        (
            "control-plane-architectures",
            architectures(report.control_plane_architectures.as_deref()),
        ),
        (
            "multi-arch-import",
            report
                .multi_arch_import
                .map(|import| import.name().to_owned()),
        ),
    ];
    let given = pairs
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)));
    sorted::map(given)
}

fn architectures(names: Option<&[String]>) -> Option<String> {
    let names: Vec<String> = names?
        .iter()
        .map(|name| percent_encode(name, NAME))
        .collect();
    Some(match names.as_slice() {
        [] => "none".to_owned(),
        names => cut(names.join(","), LIMIT),
    })
}

/// `rule-id/template=deny rule-id=warn`: sorted, one word for a rule and template, the worst outcome of them.
fn findings(judged: &[Judged<'_>]) -> Option<String> {
    let mut words: BTreeMap<String, Outcome> = BTreeMap::new();
    for judged in judged {
        for (template, outcome) in &judged.worst {
            let mut word = judged.rule.id.to_owned();
            if !template.is_empty() {
                word.push('/');
                word.push_str(&percent_encode(template, NAME));
            }
            // The equals sign belongs to what is sorted, so that the words are in order as a whole. Two names can be
            // one when they are cut.
            word.push('=');
            words
                .entry(word)
                .and_modify(|worst| *worst = (*outcome).min(*worst))
                .or_insert(*outcome);
        }
    }
    if words.is_empty() {
        return None;
    }
    Some(bounded(&words))
}

fn bounded(words: &BTreeMap<String, Outcome>) -> String {
    /// Enough for `truncated=` and any number.
    const REST: usize = 32;
    let mut text = String::new();
    // The length at which the last word fits that leaves room for the number of the others.
    let mut fitting = (0, 0);
    for (count, (word, outcome)) in words.iter().enumerate() {
        if text.len() + REST <= LIMIT {
            fitting = (text.len(), count);
        } else if text.len() > LIMIT {
            break;
        }
        if count > 0 {
            text.push(' ');
        }
        text.push_str(word);
        text.push_str(outcome.name());
    }
    if text.len() > LIMIT {
        let (length, count) = fitting;
        text.truncate(length);
        text.extend([" truncated=", &(words.len() - count).to_string()]);
    }
    text
}
