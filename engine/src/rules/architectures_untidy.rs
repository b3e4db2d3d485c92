//! See `architectures-untidy.md`.

#![expect(
    clippy::disallowed_types,
    reason = "nothing depends on the order of these sets, and an annotation can have a hundred thousand entries"
)]

use std::collections::HashSet;

use kubernetes::text::quote;

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;

pub(crate) fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    // Once for all templates: an object can have thousands of them, and most have a few entries. To empty a large set
    // costs as much as its capacity, so it becomes small again.
    const USUAL: usize = 64;
    let (mut seen, mut reported) = (HashSet::new(), HashSet::new());
    for (template, value) in facts.annotations() {
        // `architectures-missing` reports an empty annotation.
        if value.0.is_empty() {
            continue;
        }
        for set in [&mut seen, &mut reported] {
            set.clear();
            set.shrink_to(USUAL);
        }
        let mut reported_last = None;
        for entry in value.entries() {
            if reported_last == Some(entry) {
                continue;
            }
            let is_empty = entry.is_empty() || entry.trim().is_empty();
            let is_fine = !is_empty && seen.insert(entry);
            if is_fine || !reported.insert(entry) {
                continue;
            }
            reported_last = Some(entry);
            findings.add(Identity::template(&template.name).with_value(entry), || {
                let name = quote(&template.name);
                Finding {
                    path: facts.architectures_path(template),
                    fact: if is_empty {
                        format!("The architectures annotation of template {name} has an empty entry, which HCO ignores.")
                    } else {
                        format!(
                            "The architectures annotation of template {name} lists {} more than once, which has no effect.",
                            quote(entry)
                        )
                    },
                    fixes: vec![Fix::Correct(template)],
                }
            });
        }
    }
}
