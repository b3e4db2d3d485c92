use std::sync::Arc;

use operator_models::forecast::Stopped;
use operator_models::hco::architectures::lists;
use operator_models::ssp::architecture::Architecture;

use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_templates("boot-source-empty", Level::Warn).about_golden_images();

/// The DataSource of a template points to one without a disk.
///
/// MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go, getDefaultDataSourceArch: the DataSource with a
/// name that SSP's VM templates use points to the first architecture of the control plane, whether it has an image or
/// not. containerized-data-importer pkg/controller/common/util.go, `ResolveDataSourceChain`: CDI follows one pointer.
pub(crate) fn check<'f>(
    side: &'f Side<'f>,
    changes: Option<&'f Changes>,
) -> impl Iterator<Item = Violation<'f>> {
    side.forecast.iter().flat_map(move |forecast| {
        // `data-import-cron-rejected` says why nothing is imported.
        let is_rejected = |cron: &&Cron| {
            cron.rejected()
                .is_some_and(|reason| reason.invalid_name().is_none())
        };
        let rejected = forecast.crons.iter().filter(is_rejected);
        let rejected: BTreeSet<usize> = rejected.map(|cron| cron.template).collect();
        forecast
            .templates
            .iter()
            .enumerate()
            .filter_map(move |(index, template)| {
                let golden = forecast.golden_namespace;
                let name = &template.spec.managed_data_source;
                let source = forecast.source(name)?;
                let target = source.points_to.as_deref()?;
                // With the retention policy `All`, CDI does not delete disks.
                let is_kept = |changes: &Changes| {
                    changes
                        .kept_disks
                        .contains(&Key::new(Arc::clone(golden), name.as_str()))
                };
                if rejected.contains(&index)
                    || source.filled != Some(false)
                    || changes.is_some_and(is_kept)
                {
                    return None;
                }
                Some(Violation::of(template.name, move || {
                    describe(side, forecast, template, target)
                }))
            })
    })
}

/// The first boot source with a disk among those with this name and the suffix of an architecture.
fn filled(forecast: &Forecast<'_>, first: &str) -> Option<String> {
    // If SSP stops before the DataImportCrons, none of them has a disk.
    if forecast.stopped == Some(Stopped::DataSource) {
        return None;
    }
    let mut names = Architecture::ALL
        .into_iter()
        .map(|architecture| architecture.suffixed(first));
    names.find(|name| {
        let source = forecast.source(name);
        source.is_some_and(|source| source.filled == Some(true))
    })
}

/// The architecture of nodes that the annotation of the template lacks.
fn missing(side: &Side<'_>, template: &SspTemplate<'_>, target: &str) -> Option<Architecture> {
    let (managed, name) = (&template.spec.managed_data_source, template.name);
    let mut annotations = side.configuration.annotations();
    let (_, annotation) = annotations.find(|(template, _)| template.name == name)?;
    let is_missing = |architecture: &Architecture| {
        architecture.suffixed(managed) == target
            && side.workload().contains_key(architecture.name())
            && !lists(annotation, architecture.name())
    };
    Architecture::ALL.into_iter().find(is_missing)
}

fn describe<'p>(
    side: &Side<'_>,
    forecast: &Forecast<'_>,
    template: &SspTemplate<'_>,
    target: &str,
) -> Description<'p> {
    let managed = &template.spec.managed_data_source;
    let next = forecast.source(target);
    let is_chain = next.is_some_and(|source| source.points_to.is_some());
    let why = if is_chain {
        "which points to another one, but CDI follows only one pointer"
    } else {
        "for which no image is imported"
    };
    // The target of the second pointer can be used.
    let first = if is_chain { target } else { managed };
    let mut fixes = vec![Proposal::advice(match filled(forecast, first) {
        Some(name) => format!("in VMs, use the boot source {}", quote(&name)),
        None => "in VMs, use another boot source".to_owned(),
    })];
    if let Some(missing) = missing(side, template, target) {
        fixes.push(Proposal::advice(format!(
            "if the image supports {0}, add {0} to the architectures annotation",
            missing.name()
        )));
    }
    Description {
        path: side
            .configuration
            .path_of_index(template.index, &["spec", "managedDataSource"]),
        fact: format!(
            "VMs that use the boot source {} do not get a disk: it points to {}, {why}{}.",
            quote(managed),
            quote(target),
            unless_pvc(Some(target).filter(|_| !is_chain))
        ),
        fixes,
    }
}
