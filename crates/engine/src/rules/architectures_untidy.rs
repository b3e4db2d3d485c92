//! See `architectures-untidy.md`.

use kube_objects::sorted::Set;
use kube_objects::text::quote;

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;

pub(crate) fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    for (template, value) in facts.annotations() {
        // `architectures-missing` reports an empty annotation.
        if value.0.is_empty() {
            continue;
        }
        let (mut seen, mut reported) = (Set::new(), Set::new());
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
