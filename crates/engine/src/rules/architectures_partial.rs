//! See `architectures-partial.md`.

use kube_objects::text::quote;
use operator_models::hco::architectures::Coverage;

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;
use crate::words::names;

pub(crate) fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    for (template, value) in facts.annotations() {
        if value.0.is_empty() || !findings.wants(&template.name) {
            continue;
        }
        let Some(census) = facts.workload() else {
            return;
        };
        if value.coverage(&census.workload) != Coverage::Some {
            continue;
        }
        findings.add(
            Identity::template(&template.name).with_value(value.0),
            || {
                let supported = value.supported(&census.workload);
                let all = census.workload.keys();
                let missing = all.filter(|name| !supported.contains(name.as_str()));
                Finding {
                    path: facts.architectures_path(template),
                    fact: format!(
                        "The golden image of template {} is not imported for {}: VMs from it run on the other nodes only.",
                        quote(&template.name),
                        names(missing)
                    ),
                    fixes: vec![Fix::AddMissing(template)],
                }
            },
        );
    }
}
