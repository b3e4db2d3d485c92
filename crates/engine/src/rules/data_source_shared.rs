use operator_models::forecast::Conflict;

use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_templates("data-source-shared", Level::Deny).about_golden_images();

/// Two templates manage one DataSource, or create DataImportCrons with the same name.
///
/// MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go, getCronsByDataSourceMultiArch,
/// getCronsByDataSource, and addDataSourceReferenceForCrons: SSP stores crons by the DataSource that they manage, so
/// the template whose name sorts last wins. SSP drops a cron whose DataSource has the name of a pointer.
pub(crate) fn check<'f>(side: &'f Side<'f>) -> impl Iterator<Item = Violation<'f>> {
    side.forecast
        .iter()
        .flat_map(Forecast::conflicts)
        .map(|conflict| violation(&side.configuration, conflict))
}

fn violation<'f>(
    configuration: &'f Configuration<'f>,
    Conflict {
        loser,
        winner,
        is_about_crons,
        name,
        names: objects,
        architectures,
    }: Conflict<'f>,
) -> Violation<'f> {
    // A common template that is not in a status may not exist, and HCO maintains common templates.
    let is_unlisted = |template: &SspTemplate<'_>| {
        let stored = configuration.installation.stored.into_iter();
        let mut listed = stored.flat_map(|stored| &stored.status_templates);
        template.index.is_none() && !listed.any(|(listed, _)| listed == template.name)
    };
    let describe = move || {
        let template = quote(loser.name);
        let other = match winner {
            Some(winner) => format!("template {}", quote(winner.name)),
            None => "SSP".to_owned(),
        };
        let part = if architectures.is_empty() {
            String::new()
        } else {
            format!(" for {}", names(&architectures))
        };
        let (field, fact, advice) = if is_about_crons {
            (
                ["metadata", "name"],
                format!(
                    "Only one of the images of template {template} and {other} is imported: both create the DataImportCron {}, and which one wins is not determined.",
                    quote(name)
                ),
                "rename the template; names with the suffix of an architecture must differ, too",
            )
        } else {
            (
                ["spec", "managedDataSource"],
                format!(
                    "The image of template {template} is not imported{part}: {other} uses the same DataSource {}.",
                    quote(name)
                ),
                match loser.index {
                    Some(_) => {
                        "use another managedDataSource; names with the suffix of an architecture must differ, too"
                    }
                    None => {
                        "use another managedDataSource; to replace the image of a common template, use its name"
                    }
                },
            )
        };
        // Users cannot correct a template that HCO adds.
        let index = loser.index.or_else(|| winner?.index);
        Description {
            path: configuration.path_of_index(index, &field),
            fact,
            fixes: vec![Proposal::advice(advice)],
        }
    };
    Violation {
        // The same template can lose a DataSource before an update, and a DataImportCron after it.
        value: if is_about_crons {
            "DataImportCron".into()
        } else {
            "DataSource".into()
        },
        parts: objects,
        is_doubtful: is_unlisted(loser) || winner.is_some_and(is_unlisted),
        ..Violation::of(loser.name, describe)
    }
}
