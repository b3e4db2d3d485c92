//! See `boot-source-removed.md`.

use std::collections::BTreeSet;

use operators::ssp::data_sources::Key;

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;
use crate::words::boot_sources;

pub(crate) fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    let Some(changes) = facts.changes else {
        return;
    };
    let removed: BTreeSet<&Key> = changes.lost_image.iter().collect();
    if removed.is_empty() {
        return;
    }
    findings.add(Identity::only(), || Finding {
        path: facts.hco.fields.templates.path(),
        fact: format!(
            "After the update, {} have no disk any more: no VM can be created from them, unless a PVC of that name exists.",
            boot_sources(&removed)
        ),
        fixes: vec![Fix::advice(
            "before the update, move VM templates and manifests that name these boot sources to others",
        )],
    });
}
