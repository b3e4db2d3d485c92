//! See `boot-source-empty.md`.

use kubernetes::text::quote;
use operators::forecast::{Forecast, HandedOver};
use operators::ssp::architecture::Architecture;

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;

/// MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go, getDefaultDataSourceArch: the DataSource of a name
/// that SSP's VM templates use points to the first architecture of the control plane, whether it has an image or not.
pub(crate) fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    let Some(forecast) = facts.forecast else {
        return;
    };
    for template in &forecast.templates {
        let name = &template.spec.managed_data_source;
        let Some(source) = forecast.source(forecast.golden_namespace, name) else {
            continue;
        };
        let (Some(target), Some(false)) = (&source.points_to, source.filled) else {
            continue;
        };
        findings.add(Identity::template(template.name), || {
            let path = facts.path_of_index(template.index);
            Finding {
                path: match template.index {
                    Some(_) => path.keys(&["spec", "managedDataSource"]),
                    None => path,
                },
                fact: format!(
                    "VMs that use the boot source {} do not get a disk, unless a PVC of its name exists: it points to {}, for which no image is imported.",
                    quote(name),
                    quote(target)
                ),
                fixes: fixes(facts, forecast, template, target),
            }
        });
    }
}

/// The boot source that has a disk, or one more architecture for the template.
fn fixes<'a>(
    facts: &Facts<'a>,
    forecast: &Forecast<'a>,
    template: &HandedOver<'a>,
    target: &str,
) -> Vec<Fix<'a>> {
    let managed = &template.spec.managed_data_source;
    let name_of = |architecture: Architecture| format!("{managed}-{}", architecture.name());
    let mut names = Architecture::ALL.into_iter().map(name_of);
    let filled = names.find(|name| {
        let source = forecast.source(forecast.golden_namespace, name);
        source.is_some_and(|source| source.filled == Some(true))
    });
    let mut fixes = vec![Fix::advice(match filled {
        Some(name) => format!("in VMs, use the boot source {}", quote(&name)),
        None => "in VMs, use another boot source".to_owned(),
    })];
    let mut all = Architecture::ALL.into_iter();
    let missing = all.find(|architecture| name_of(*architecture) == target);
    let is_workload = |architecture: &Architecture| {
        let census = facts.census_if_read();
        census.is_some_and(|census| census.workload.contains_key(architecture.name()))
    };
    let missing = missing.filter(|it| template.index.is_some() && is_workload(it));
    if let Some(missing) = missing {
        fixes.push(Fix::advice(format!(
            "if the image supports {0}, add {0} to the architectures annotation",
            missing.name()
        )));
    }
    fixes
}
