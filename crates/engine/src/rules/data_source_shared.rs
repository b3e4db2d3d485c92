//! See `data-source-shared.md`.

use kube_objects::sorted::Map;

use kube_objects::text::quote;
use operator_models::forecast::{Forecast, HandedOver};

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;

/// MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go, getCronsByDataSourceMultiArch,
/// getCronsByDataSource, and addDataSourceReferenceForCrons: crons are kept by the DataSource that they manage, so that
/// the template whose name sorts last wins; a cron whose DataSource is a pointer's name is dropped.
pub(crate) fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    let Some(forecast) = facts.forecast else {
        return;
    };
    let pointers = by_pointer(forecast);
    let mut last = None;
    for lost in &forecast.lost {
        if last.replace(lost.template) == Some(lost.template) {
            continue;
        }
        let name = &*lost.source.name;
        let winner = lost.to.or_else(|| pointers.get(name).copied());
        add(
            facts,
            findings,
            forecast,
            lost.template,
            winner,
            name,
            false,
        );
    }
    // Crons of the same name: SSP deletes and creates the object in turn.
    let mut first = Map::new();
    for cron in &forecast.crons {
        if !forecast.same_name.contains(&cron.key) {
            continue;
        }
        let winner = *first.or_insert_with(&cron.key, || cron.template);
        if winner != cron.template {
            let name = &*cron.key.name;
            add(
                facts,
                findings,
                forecast,
                cron.template,
                Some(winner),
                name,
                true,
            );
        }
    }
}

/// The templates with pointers, by the name of the pointer.
fn by_pointer<'f>(forecast: &'f Forecast<'_>) -> Map<&'f str, usize> {
    let mut pointers = Map::new();
    for (index, template) in forecast.templates.iter().enumerate() {
        if template.architectures.is_some() {
            pointers.insert(template.spec.managed_data_source.as_str(), index);
        }
    }
    pointers
}

fn add<'a>(
    facts: &Facts<'a>,
    findings: &mut Findings<'a, '_>,
    forecast: &Forecast<'a>,
    loser: usize,
    winner: Option<usize>,
    name: &str,
    is_same_name: bool,
) {
    let Some(loser) = forecast.templates.get(loser) else {
        return;
    };
    let winner = winner.and_then(|winner| forecast.templates.get(winner));
    // A common template that no status lists may not be there; HCO maintains a common one.
    let is_doubtful = loser.index.is_none() || winner.is_some_and(|it| is_unlisted(facts, it));
    let path = match loser.index {
        Some(_) if is_same_name => {
            let path = facts.path_of_index(loser.index);
            path.keys(&["metadata", "name"])
        }
        Some(_) => {
            let path = facts.path_of_index(loser.index);
            path.keys(&["spec", "managedDataSource"])
        }
        None => facts.path_of_index(None),
    };
    let describe = || {
        let name = quote(name);
        let loser = quote(loser.name);
        let other = winner.map_or_else(
            || "SSP".to_owned(),
            |winner| format!("template {}", quote(winner.name)),
        );
        Finding {
            path,
            fact: if is_same_name {
                format!(
                    "The images of template {loser} and {other} are not imported reliably: both create the DataImportCron {name}, which SSP deletes and creates in turn."
                )
            } else {
                format!(
                    "The image of template {loser} is not imported: {other} uses the same DataSource {name}."
                )
            },
            fixes: vec![Fix::advice(if is_same_name {
                "rename the template; names with the suffix of an architecture must differ, too"
            } else {
                "use another managedDataSource; names with the suffix of an architecture must differ, too"
            })],
        }
    };
    let identity = Identity::template(loser.name);
    if is_doubtful {
        findings.add_doubt(identity, describe);
    } else {
        findings.add(identity, describe);
    }
}

/// Whether a template is a common one that HCO adds, and no status lists it.
fn is_unlisted(facts: &Facts<'_>, template: &HandedOver<'_>) -> bool {
    let mut listed = facts.hco.status_templates.iter();
    template.index.is_none() && !listed.any(|it| it.name == template.name)
}
