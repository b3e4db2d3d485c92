//! The effects of a change on DataSources.

use std::collections::BTreeMap;

use cluster::field::text;
use cluster::foreign::Foreign;
use engine::Import;
use operator_models::ssp::data_sources::Key;

use super::Plan;
use super::boot_sources::{BootSource, BootSources, is_of_bundle};
use crate::rows::{Command, Effect, Row, words};

type What = (Effect, String);

/// The rows of each DataSource.
pub(super) fn rows(sources: &BootSources<'_>) -> BTreeMap<Key, Vec<Row>> {
    let rows = |source| rows_of(sources, source);
    let all = sources.all.iter();
    all.map(|(key, source)| (key.clone(), rows(source)))
        .collect()
}

fn rows_of(sources: &BootSources<'_>, source: &BootSource<'_>) -> Vec<Row> {
    let is_updated = sources.not_updated_because(source).is_none();
    let is_empty = sources.changes.empty_meanwhile.contains(&source.key);
    let keeps_none = source.changes_cron() && source.runs() && source.keeps_none();
    let whats = [
        retargeted(sources, source),
        created(sources, source).filter(|_| is_updated),
        rejected(source),
        recreated(sources, source).filter(|_| is_updated && !is_empty),
        is_empty.then(|| (Effect::EmptyMeanwhile, empty(sources, source))),
        keeps_none.then(|| (Effect::NeverImported, words::KEEPS_NO_IMPORT.to_owned())),
        lost(sources, source).map(|what| (Effect::Lost, what)),
    ];
    let path = source.cron.and_then(|cron| cron.rejected_path.as_deref());
    let row = |(effect, what): What| {
        let row = Row::new(effect, "DataSource", &source.key, &what);
        row.about("path", path.filter(|_| effect == Effect::Rejected))
    };
    let mut rows: Vec<Row> = whats.into_iter().flatten().map(row).collect();
    rows.extend(not_updated(sources, source));
    if rows.is_empty() {
        rows.extend(other_change(sources, source).map(row));
    }
    rows
}

/// The change of a DataSource whose disk does not change, or that has none.
fn other_change(sources: &BootSources<'_>, source: &BootSource<'_>) -> Option<What> {
    let changes = &sources.changes.data_sources;
    let is_deleted = changes.deleted.contains(&source.key);
    if let Some(target) = sources
        .retarget(&source.key)
        .and_then(|target| target.to.as_ref())
    {
        return Some((Effect::Changed, words::now_points_to(target)));
    }
    let has_disk = source.before.as_ref().is_some_and(|before| before.has_disk);
    if sources.is_left(source) && has_disk && !is_deleted {
        return Some((Effect::Changed, words::NO_LONGER_UPDATED.to_owned()));
    }
    // A DataSource that no template names belongs to SSP's VM templates.
    let (effect, what) = match (source.expected, source.pointed_to()) {
        (None, _) if changes.created.contains(&source.key) && sources.is_uploaded(&source.key) => {
            (Effect::Created, words::UPLOADED.to_owned())
        }
        (None, _) if changes.created.contains(&source.key) => {
            (Effect::TemplateSourceCreated, words::CREATED.to_owned())
        }
        (Some((expected, is_after)), _) if changes.created.contains(&source.key) => {
            match &expected.points_to {
                Some(other) if is_after && expected.filled == Some(false) => {
                    (Effect::NeverImported, words::points_to_missing_disk(other))
                }
                Some(other) => (Effect::Created, words::points_to(other)),
                None if sources.is_uploaded(&source.key) => {
                    (Effect::Created, words::UPLOADED.to_owned())
                }
                None => (Effect::Created, words::CREATED_WITHOUT_DISK.to_owned()),
            }
        }
        _ if !is_deleted => return None,
        (None, _) if is_of_bundle(&source.key) => {
            (Effect::TemplateSourceDeleted, words::DELETED.to_owned())
        }
        (_, Some(other)) => (Effect::Deleted, words::deleted_pointer(other)),
        (_, None) => (Effect::Deleted, words::DELETED_WITHOUT_DISK.to_owned()),
    };
    Some((effect, what))
}

/// The text for a DataSource that has no disk until an import is done.
fn empty(sources: &BootSources<'_>, source: &BootSource<'_>) -> String {
    if let Some(fields) = &source.recreated {
        return words::imported_again(fields);
    }
    match source.expected.map(|(expected, _)| &expected.points_to) {
        Some(Some(target)) if sources.retarget(&source.key).is_none() => {
            words::points_to_import(target)
        }
        _ => words::EMPTY_MEANWHILE.to_owned(),
    }
}

/// The change of a DataSource that points to another one than before. A DataSource that does not belong to a template
/// has no disk, whatever it points to.
fn retargeted(sources: &BootSources<'_>, source: &BootSource<'_>) -> Option<What> {
    source.expected?;
    let retarget = sources.retarget(&source.key)?;
    match (&retarget.from, &retarget.to) {
        (_, Some(to)) => Some((Effect::Changed, words::now_points_to(to))),
        // If a DataSource of SSP's VM templates has a DataImportCron, SSP leaves its spec to CDI; SSP deletes any other
        // DataSource. MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go, reconcileDataSource.
        (Some(from), None) if is_of_bundle(&source.key) && source.cron.is_some() => {
            let target = source.key.beside(from.raw());
            let exists = sources
                .all
                .get(&target)
                .is_some_and(|target| target.before.is_some());
            let is_deleted = !exists || sources.changes.data_sources.deleted.contains(&target);
            let effect = if is_deleted {
                Effect::EmptyMeanwhile
            } else {
                Effect::Changed
            };
            Some((effect, words::keeps_pointing_to(from, is_deleted)))
        }
        (Some(from), None) => Some((Effect::Changed, words::no_longer_points_to(from))),
        (None, None) => None,
    }
}

fn created(sources: &BootSources<'_>, source: &BootSource<'_>) -> Option<What> {
    let cron = source.cron.filter(|_| source.has_new_cron)?;
    if let Some(why) = &cron.never_runs {
        return Some((Effect::NeverImported, words::never_imported(why)));
    }
    let Some((replaced, _)) = sources.replaced(source) else {
        return Some((Effect::Created, imported(sources, source)));
    };
    let disk = if sources.finds_disk(source) {
        words::SAME_IMAGE
    } else {
        words::OTHER_IMAGE
    };
    let what = words::replaced(&replaced.name, &cron.name, disk);
    Some((Effect::Changed, what))
}

/// The row of a DataSource that CDI does not update for its DataImportCron, with a command that corrects it.
fn not_updated(sources: &BootSources<'_>, source: &BootSource<'_>) -> Option<Row> {
    let why = sources.no_longer_updated_because(source)?;
    let cron = source.cron?;
    let name = &cron.name;
    let what = words::not_updated(name, &why);
    let kubectl = &sources.situation.kubectl;
    let line = kubectl.hand_over(&cron.namespace, &cron.managed_data_source, name);
    Some(Row {
        command: line.map(|line| Command {
            when: words::fix_after_creation(name),
            line,
        }),
        ..Row::new(Effect::NotUpdated, "DataSource", &source.key, &what)
    })
}

/// The change of a recreated DataImportCron's DataSource, if the DataSource always has a disk.
fn recreated(sources: &BootSources<'_>, source: &BootSource<'_>) -> Option<What> {
    let (cron, fields) = source.cron.zip(source.recreated.as_ref())?;
    let is_lost = sources.changes.lost_image.contains(&source.key);
    let before = source.cron_before.as_ref();
    let is_other = before.is_some_and(|before| before.source != source.key);
    let disk = match &cron.never_runs {
        Some(why) if is_lost || is_other => {
            return Some((Effect::NeverImported, words::never_imported(why)));
        }
        Some(why) => words::no_import(why),
        None if is_other => return Some((Effect::Created, imported(sources, source))),
        None => kept_disk(sources, source),
    };
    let what = words::recreated(&cron.name, fields, &disk);
    Some((Effect::Changed, what))
}

fn rejected(source: &BootSource<'_>) -> Option<What> {
    let cron = source.cron?;
    let why = cron.rejected.as_ref()?;
    let before = source.before.as_ref();
    let keeps_disk = before.is_some_and(|before| before.keeps_disk);
    Some((Effect::Rejected, words::rejected(cron, why, keeps_disk)))
}

/// The text for a DataSource that permanently loses its disk.
fn lost(sources: &BootSources<'_>, source: &BootSource<'_>) -> Option<String> {
    let changes = &sources.changes;
    if !changes.lost_image.contains(&source.key) {
        return None;
    }
    let is_deleted = changes.data_sources.deleted.contains(&source.key);
    // The previous target is irrelevant if the DataSource now points to another one.
    let pointed_to = source
        .pointed_to()
        .filter(|_| sources.retarget(&source.key).is_none());
    let before = source.before.as_ref();
    Some(match (pointed_to, is_deleted) {
        (Some(other), true) => words::deleted_pointer(other),
        (Some(other), false) => words::points_to_nothing(other),
        (None, false) => words::NO_DISK_ANY_MORE.to_owned(),
        (None, true) if before.is_some_and(|before| before.keeps_disk) => {
            words::DELETED_DISK_STAYS.to_owned()
        }
        (None, true) if before.is_some_and(|before| before.is_reimported) => {
            words::DELETED_DISK_AGAIN.to_owned()
        }
        (None, true) => words::DELETED_WITH_DISK.to_owned(),
    })
}

/// The text about the disk of a recreated DataImportCron, if the disk stays.
fn kept_disk(sources: &BootSources<'_>, source: &BootSource<'_>) -> String {
    if !sources.has_imported(source) {
        return words::FIRST_IMPORT.to_owned();
    }
    let is_imported = source.imports_again();
    let disk = if is_imported {
        words::OTHER_IMAGE
    } else {
        words::SAME_IMAGE
    };
    let mut fields = source.recreated.iter().flatten();
    if fields.any(|field| field == "importsToKeep") {
        words::collected(disk, is_imported)
    } else {
        disk.to_owned()
    }
}

/// The image of a DataImportCron and its architecture.
fn imported(sources: &BootSources<'_>, source: &BootSource<'_>) -> String {
    let own = source
        .cron
        .map(|cron| &cron.architecture)
        .filter(|own| !own.is_empty());
    let field = |path| {
        let registry = source.spec?.pointer("/template/spec/source/registry")?;
        text(registry, path).map(Foreign::from)
    };
    let importers = sources.architectures;
    let Some(url) = field("/url") else {
        return words::imported(None, own, importers, None);
    };
    // Without a platform, CDI imports the image for the architecture of its importer, a pod on a workload node.
    let of_platform = field("/platform/architecture");
    let architecture = own.or(of_platform.as_ref()).or(match importers {
        [one] => Some(one),
        _ => None,
    });
    // SSP sets the default architecture in the label of its DataSource, which can differ from the image's architecture.
    let label = source
        .expected
        .filter(|(_, is_after)| *is_after)
        .map(|(expected, _)| &expected.architecture_label)
        .filter(|label| !label.is_empty() && architecture != Some(label));
    words::imported(Some(&url), architecture, importers, label)
}

/// Advice that is not about a single object.
pub(super) fn cautions(plan: &Plan<'_>) -> Vec<String> {
    let (sources, situation) = (&plan.sources, plan.situation);
    let namespaces = sources.new_namespaces();
    let mut cautions: Vec<String> = namespaces.iter().map(words::missing_namespace).collect();
    let [before, after] = plan.reports;
    let [was_on, is_on] =
        [before, after].map(|report| report.multi_arch_import == Some(Import::Enabled));
    let [number_before, number] =
        [before, after].map(|report| report.nodes.as_ref().map_or(0, BTreeMap::len));
    let default = after
        .default_architecture
        .as_ref()
        .or(before.default_architecture.as_ref());
    if was_on
        && !is_on
        && number > 1
        && let Some(default) = default
    {
        cautions.push(words::no_labels(default));
    }
    if situation.is_sent && !is_on && number_before > 1 && number == 1 {
        cautions.push(words::NOTHING_IMPORTED_AGAIN.to_owned());
    }
    if situation.after.object.pointer(PATCH).is_some() {
        cautions.push(words::PATCH_IGNORED.to_owned());
    }
    let missed = sources.often_missed();
    if !missed.is_empty() {
        cautions.push(words::often_missed(&missed));
    }
    cautions
}

/// The annotation with the patch that HCO applies to SSP.
const PATCH: &str = "/metadata/annotations/ssp.kubevirt.io~1jsonpatch";
