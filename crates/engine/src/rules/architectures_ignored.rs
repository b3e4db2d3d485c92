//! See `architectures-ignored.md`.

use kube_objects::text::quote;
use operator_models::hco::golden_image::{Annotation, invalid};
use operator_models::hco::import::Import;

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;

pub(crate) fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    match facts.import {
        Import::Disabled => without_import(facts, findings),
        Import::Enabled => overridden(facts, findings),
    }
}

/// While the import is off, HCO removes the annotation before it passes the template to the SSP operator.
///
/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
/// hcoDictToSSP.
fn without_import<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    for template in &facts.hco.templates {
        let Some(value) = &template.architectures else {
            continue;
        };
        if !template.is_enabled() || invalid(template, facts.hco, facts.common).is_some() {
            continue;
        }
        findings.add(Identity::template(&template.name).with_value(value), || {
            Finding {
                path: facts.architectures_path(template),
                fact: format!(
                    "The architectures annotation of template {} has no effect while the multi-architecture import is off.",
                    quote(&template.name)
                ),
                fixes: vec![
                    // If no other finding needs the import, the user has to choose one of the two.
                    Fix::EnableImportIfNeeded,
                    Fix::RemoveAnnotation { template, complete: false },
                ],
            }
        });
    }
}

/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
/// adoptOrigCommonDictAnnotation.
fn overridden<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    for image in facts.golden_images.iter() {
        let Some((template, Annotation::Shipped(shipped))) =
            image.template.zip(Some(image.annotation))
        else {
            continue;
        };
        let Some(value) = template.architectures.as_deref() else {
            continue;
        };
        if shipped == Some(value) {
            continue;
        }
        findings.add(Identity::template(&template.name).with_value(value), || {
            Finding {
                path: facts.architectures_path(template),
                fact: format!(
                    "Common template {} keeps HCO's registry: HCO ignores {} and {}.",
                    quote(&template.name),
                    quote(value),
                    shipped.map_or_else(
                        || "removes the annotation".to_owned(),
                        |shipped| format!("uses {}", quote(shipped))
                    )
                ),
                fixes: vec![Fix::RemoveAnnotation {
                    template,
                    complete: true,
                }],
            }
        });
    }
}
