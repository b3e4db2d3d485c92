//! See `architectures-malformed.md`.

use kube_objects::sorted::Set;
use kube_objects::text::quote;
use operator_models::ssp::architecture::knows_all;

use crate::architecture::{Mistake, is_mistake};
use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;

/// HCO silently drops an entry that is not equal to a workload architecture (see `Architectures::supported`). SSP trims
/// entries (ssp-operator internal/operands/data-sources/reconcile.go, parseArchsAnnotation), HCO does not.
pub(crate) fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    for (template, value) in facts.annotations() {
        let mut mistakes = value.entries().filter(|entry| is_mistake(entry)).peekable();
        // The nodes are needed only if there is an entry to compare with them.
        if mistakes.peek().is_none() || !findings.wants(&template.name) {
            continue;
        }
        let Some(census) = facts.workload() else {
            return;
        };
        // An annotation can have a hundred thousand entries, so they are compared only where it matters.
        let has_odd_nodes = !knows_all(census);
        let mut seen = Set::new();
        for entry in mistakes {
            let is_of_node = has_odd_nodes && census.workload.contains_key(entry);
            if is_of_node || (findings.counts() && !seen.insert(entry)) {
                continue;
            }
            findings.add(Identity::template(&template.name).with_value(entry), || {
                Finding {
                    path: facts.architectures_path(template),
                    fact: format!(
                        "The entry {} of template {} is not valid ({}): HCO ignores it.",
                        quote(entry),
                        quote(&template.name),
                        reason(Mistake::of(entry))
                    ),
                    fixes: vec![Fix::Correct(template)],
                }
            });
        }
    }
}

fn reason(mistake: Mistake) -> String {
    match mistake {
        Mistake::Blanks(_) => "leading or trailing whitespace".to_owned(),
        Mistake::Case(name) => format!("names of architectures are lowercase: {name}"),
        Mistake::Alias(name) => format!("Kubernetes calls this architecture {name}"),
        Mistake::Typo(name) => {
            format!("there is no architecture with this name; did you mean {name}?")
        }
        Mistake::Unknown => "there is no architecture with this name".to_owned(),
    }
}
