//! See `architectures-partial.md`.

use kubernetes::text::quote;

use super::remedies;
use crate::facts::Facts;
use crate::findings::{Finding, Findings, Identity};
use crate::rule::{Level, Rule};

pub(crate) static RULE: Rule = Rule::about_templates("architectures-partial", Level::Warn, check);

fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    for (template, value) in facts.annotations() {
        if value.0.is_empty() || !findings.wants(&template.name) {
            continue;
        }
        let Some(census) = facts.workload() else {
            return;
        };
        let supported = value.supported(&census.workload);
        if supported.is_empty() || supported.len() == census.workload.len() {
            continue;
        }
        findings.add(
            Identity::template(&template.name).with_value(value.0),
            || {
                let all = census.workload.keys();
                let missing = all.filter(|name| !supported.contains(name.as_str()));
                Finding {
                    path: facts.architectures_path(template),
                    fact: format!(
                        "The golden image of template {} is not imported for {} nodes: VMs on these nodes cannot boot from it.",
                        quote(&template.name),
                        remedies::names(missing.clone())
                    ),
                    remedies: vec![remedies::add_architectures(facts, template, census, missing)],
                }
            },
        );
    }
}
