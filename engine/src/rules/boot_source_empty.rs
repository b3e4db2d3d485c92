//! See `boot-source-empty.md`.

use kubernetes::text::quote;

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
                    "The boot source {} points to {}, for which no image is imported: VMs that use it do not get a disk, unless a PVC of that name exists.",
                    quote(name),
                    quote(target)
                ),
                fixes: vec![Fix::advice(
                    "use the DataSource with the suffix of the architecture, or add the architecture of the pointer to the template's annotation",
                )],
            }
        });
    }
}
