//! See `template-duplicated.md`.

use kube_objects::sorted::{Map, Set};

use kube_objects::text::quote;

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;
use crate::words::HCO_FAILS;

/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go, getDicMapFromCr:
/// names are compared regardless of whether a template is enabled.
pub(crate) fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    let mut first = Map::new();
    let mut reported = Set::new();
    for template in &facts.hco.templates {
        let name = template.name.as_str();
        let index = *first.or_insert_with(name, || template.index);
        // A name that occurs three times is one problem.
        if index == template.index || !reported.insert(name) {
            continue;
        }
        findings.add(Identity::template(name), || Finding {
            path: facts.path_of(template).keys(&["metadata", "name"]),
            fact: format!(
                "Duplicate template name {}; entry [{index}] already uses it: {HCO_FAILS}",
                quote(name)
            ),
            fixes: vec![Fix::advice(
                "rename or remove one of the templates; disabled templates also count",
            )],
        });
    }
}
