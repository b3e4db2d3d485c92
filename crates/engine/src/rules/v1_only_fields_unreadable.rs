//! See `v1-only-fields-unreadable.md`.

use kube_objects::edit::Edits;
use kube_objects::text::escape;
use operator_models::hco::import::UnreadableV1Only;

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;

pub(crate) fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    // Earlier versions do not read the annotation.
    if !facts.version.hco.reads_v1_only_fields() {
        return;
    }
    let Err(error) = &facts.hco.import.v1_only else {
        return;
    };
    let path = &facts.hco.fields.v1_only.path();
    findings.add(Identity::only(), || {
        let why = match error {
            UnreadableV1Only::Json => "it is not valid JSON",
            UnreadableV1Only::Type(why) => why,
        };
        let removed = Edits::default().remove(path.clone()).finish();
        Finding {
            path: path.clone(),
            fact: format!(
                "The annotation is not valid ({}): HCO cannot convert the object to v1.",
                escape(why, 120)
            ),
            // The values in the annotation are lost.
            fixes: vec![Fix::edits(
                "move its values to the regular fields, then remove the annotation",
                removed,
            )],
        }
    });
}
