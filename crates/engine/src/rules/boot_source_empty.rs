//! See `boot-source-empty.md`.

use kube_objects::text::quote;
use operator_models::forecast::{Forecast, HandedOver, Stopped};
use operator_models::ssp::architecture::Architecture;
use operator_models::ssp::data_sources::Key;

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;
use crate::words::{UNLESS_PVC, is_of_bundle};

/// MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go, getDefaultDataSourceArch: the DataSource of a name
/// that SSP's VM templates use points to the first architecture of the control plane, whether it has an image or not.
/// containerized-data-importer pkg/controller/common/util.go, `ResolveDataSourceChain`: CDI follows one pointer.
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
        if keeps_disk(facts, &Key::new(forecast.golden_namespace, name)) {
            continue;
        }
        let next = forecast.source(forecast.golden_namespace, target);
        let is_chain = next.is_some_and(|source| source.points_to.is_some());
        findings.add(Identity::template(template.name), || {
            let path = facts.path_of_index(template.index);
            let why = if is_chain {
                "which points to another one, but CDI follows only one pointer"
            } else {
                "for which no image is imported"
            };
            // SSP uses such a PVC only for the DataSources of its VM templates.
            let unless = if is_of_bundle(target) && !is_chain {
                UNLESS_PVC
            } else {
                ""
            };
            Finding {
                path: match template.index {
                    Some(_) => path.keys(&["spec", "managedDataSource"]),
                    None => path,
                },
                fact: format!(
                    "VMs that use the boot source {} do not get a disk: it points to {}, {why}{unless}.",
                    quote(name),
                    quote(target)
                ),
                fixes: fixes(facts, forecast, template, target, is_chain),
            }
        });
    }
}

/// Whether a boot source keeps the disk that it had before the update: CDI deletes none with the retention policy `All`.
fn keeps_disk(facts: &Facts<'_>, key: &Key) -> bool {
    let before = facts.old.and_then(|old| old.forecast);
    let source = before.and_then(|before| before.data_sources.get(key));
    let was_filled = source.is_some_and(|source| source.filled == Some(true));
    was_filled
        && facts
            .changes
            .is_some_and(|changes| !changes.lost_image.contains(key))
}

/// The boot source that has a disk, or one more architecture for the template.
fn fixes<'a>(
    facts: &Facts<'a>,
    forecast: &Forecast<'a>,
    template: &HandedOver<'a>,
    target: &str,
    is_chain: bool,
) -> Vec<Fix<'a>> {
    let managed = template.spec.managed_data_source.as_str();
    let mut all = Architecture::ALL.into_iter();
    // The one behind the second pointer can be used.
    let first = if is_chain { target } else { managed };
    let mut names = all.clone().map(|it| it.suffixed(first));
    // If SSP stops before the DataImportCrons, none of them has a disk.
    let filled = names.find(|name| {
        let source = forecast.source(forecast.golden_namespace, name);
        source.is_some_and(|source| source.filled == Some(true))
            && forecast.stopped != Some(Stopped::DataSource)
    });
    let mut fixes = vec![Fix::advice(match filled {
        Some(name) => format!("in VMs, use the boot source {}", quote(&name)),
        None => "in VMs, use another boot source".to_owned(),
    })];
    let listed = template.architectures.as_deref().unwrap_or_default();
    let missing = all.find(|it| it.suffixed(managed) == target && !listed.contains(it));
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
