//! The effects of a change on DataSources.

use std::collections::BTreeMap;

use cluster::field::text;
use cluster::foreign::Foreign;
use engine::Import;
use operator_models::ssp::data_sources::Key;

use super::Plan;
use super::boot_sources::{BootSource, BootSources, is_of_bundle};
use crate::report::{DataSource, Report};
use crate::rows::{Command, Effect, Row, words};

type What = (Effect, String);

pub(super) fn rows(sources: &BootSources<'_>) -> BTreeMap<Key, Vec<Row>> {
    let all = sources.all.iter();
    all.map(|(key, source)| (key.clone(), rows_of(sources, source)))
        .collect()
}

fn rows_of(sources: &BootSources<'_>, source: &BootSource<'_>) -> Vec<Row> {
    let not_updated = source.not_updated_because();
    let is_updated = not_updated.is_none();
    let is_empty = source.is_empty_meanwhile;
    let keeps_none = source.changes_cron() && source.runs() && source.deletes_imported_disks();
    let whats = [
        retargeted(sources, source),
        rejected(source),
        changed_cron(sources, source).filter(|_| is_updated && (source.has_new_cron || !is_empty)),
        is_empty.then(|| (Effect::EmptyMeanwhile, empty(source))),
        keeps_none.then(|| (Effect::NeverImported, words::KEEPS_NO_IMPORT.to_owned())),
        source.is_lost.then(|| (Effect::Lost, lost(source))),
    ];
    let path = source.cron.and_then(|cron| cron.rejected_path.as_deref());
    let row = |(effect, what): What| {
        let row = Row::new(effect, "DataSource", &source.key, &what);
        row.about("path", path.filter(|_| effect == Effect::Rejected))
    };
    let mut rows: Vec<Row> = whats.into_iter().flatten().map(row).collect();
    if let (Some(why), Some(cron)) = (not_updated, source.cron)
        && (source.has_new_cron || source.has_old_cron)
    {
        let (name, kubectl) = (&cron.name, &sources.situation.kubectl);
        let line = kubectl.hand_over(&cron.namespace, &cron.managed_data_source, name);
        let created = Some(name).filter(|_| source.changes_cron());
        let when = words::fix_after_creation(created);
        rows.push(Row {
            command: line.map(|line| Command { when, line }),
            ..row((Effect::NotUpdated, words::not_updated(name, &why)))
        });
    }
    if rows.is_empty() {
        rows.extend(other_change(sources, source).map(row));
    }
    rows
}

fn pointer(effect: Effect, target: &Foreign) -> What {
    (effect, words::pointer(effect, target))
}

fn other_change(sources: &BootSources<'_>, source: &BootSource<'_>) -> Option<What> {
    let (effect, what) = match source.expected {
        _ if source.is_left && source.has_disk() && !source.is_deleted => {
            (Effect::Changed, words::NO_LONGER_UPDATED.to_owned())
        }
        Some(DataSource {
            points_to: Some(other),
            filled,
            ..
        }) if source.is_created => match filled {
            Some(false) => pointer(Effect::NeverImported, other),
            _ => pointer(Effect::Created, other),
        },
        _ if source.is_created && sources.is_uploaded(&source.key) => {
            (Effect::Created, words::UPLOADED.to_owned())
        }
        Some(_) if source.is_created => (Effect::Created, words::CREATED_WITHOUT_DISK.to_owned()),
        // A DataSource that no template names belongs to SSP's VM templates.
        None if source.is_created => (Effect::TemplateSourceCreated, words::CREATED.to_owned()),
        _ if !source.is_deleted => return None,
        None if is_of_bundle(&source.key) => {
            (Effect::TemplateSourceDeleted, words::DELETED.to_owned())
        }
        _ => match source.pointed_to() {
            Some(other) => pointer(Effect::Deleted, other),
            None => (Effect::Deleted, words::DELETED_WITHOUT_DISK.to_owned()),
        },
    };
    Some((effect, what))
}

fn empty(source: &BootSource<'_>) -> String {
    match (&source.recreated, source.target()) {
        (Some(fields), _) => words::imported_again(fields),
        (None, Some(target)) if source.retarget.is_none() => {
            words::pointer(Effect::EmptyMeanwhile, target)
        }
        _ => words::EMPTY_MEANWHILE.to_owned(),
    }
}

/// A DataSource that does not belong to a template has no disk, whatever it points to.
fn retargeted(sources: &BootSources<'_>, source: &BootSource<'_>) -> Option<What> {
    let retarget = source.retarget.as_ref()?;
    match (&retarget.from, &retarget.to) {
        (_, Some(to)) => Some(pointer(Effect::Changed, to)),
        _ if source.expected.is_none() => None,
        // If a DataSource of SSP's VM templates has a DataImportCron, SSP leaves its spec to CDI; SSP deletes any other
        // DataSource. MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go, reconcileDataSource.
        (Some(from), None) if is_of_bundle(&source.key) && source.cron.is_some() => {
            let target = sources.all.get(&source.key.beside(from.raw()));
            let is_deleted =
                target.is_none_or(|target| target.before.is_none() || target.is_deleted);
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

fn changed_cron(sources: &BootSources<'_>, source: &BootSource<'_>) -> Option<What> {
    let cron = source.cron.filter(|_| source.changes_cron())?;
    let fields = source.recreated.as_deref().unwrap_or_default();
    let has_changed = |name: &str| fields.iter().any(|field| field.starts_with(name));
    let replaced = source.replaced().filter(|_| source.has_new_cron);
    let is_first = source.has_new_cron && replaced.is_none() || has_changed("managedDataSource");
    let has_new_image =
        source.has_new_cron || has_changed("template.spec.source") && source.has_disk();
    let disk = match &cron.never_runs {
        Some(why) if source.has_new_cron || is_first || source.is_lost => {
            return Some((Effect::NeverImported, words::never_imported(why)));
        }
        Some(why) => words::no_import(why),
        None if is_first => return Some((Effect::Created, imported(sources, source))),
        None if source.is_imported && !has_new_image => words::FIRST_IMPORT.to_owned(),
        None if source.is_imported => words::OTHER_IMAGE.to_owned(),
        None => words::SAME_IMAGE.to_owned(),
    };
    let what = match replaced {
        Some(old) => words::replaced(old, &cron.name, &disk),
        None => words::recreated(&cron.name, fields, &disk),
    };
    Some((Effect::Changed, what))
}

fn rejected(source: &BootSource<'_>) -> Option<What> {
    let cron = source.cron?;
    let why = cron.rejected.as_ref()?;
    let keeps_disk = source.disk_stays() == Some(true);
    Some((Effect::Rejected, words::rejected(cron, why, keeps_disk)))
}

fn lost(source: &BootSource<'_>) -> String {
    // The previous target is irrelevant if the DataSource now points to another one.
    let pointed_to = source.pointed_to().filter(|_| source.retarget.is_none());
    match (pointed_to, source.is_deleted, source.disk_stays()) {
        (Some(other), true, _) => words::pointer(Effect::Deleted, other),
        (Some(other), false, _) => words::pointer(Effect::Lost, other),
        (None, false, _) => words::NO_DISK_ANY_MORE.to_owned(),
        (None, true, Some(true)) => words::DELETED_DISK_STAYS.to_owned(),
        (None, true, _) => words::DELETED_WITH_DISK.to_owned(),
    }
}

fn imported(sources: &BootSources<'_>, source: &BootSource<'_>) -> String {
    let own = (source.cron.map(|cron| &cron.architecture)).filter(|own| !own.is_empty());
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
        .map(|expected| &expected.architecture_label)
        .filter(|label| !label.is_empty() && architecture != Some(label));
    words::imported(Some(&url), architecture, importers, label)
}

pub(super) fn cautions(plan: &Plan<'_>) -> Vec<String> {
    const PATCH: &str = "/metadata/annotations/ssp.kubevirt.io~1jsonpatch";
    let situation = plan.situation;
    let mut cautions = Vec::new();
    let [before, after] = plan.reports;
    let is_on = |report: &Report| report.multi_arch_import == Some(Import::Enabled);
    let number = |report: &Report| report.nodes.as_ref().map_or(0, BTreeMap::len);
    let defaults = [after, before].map(|report| report.default_architecture.as_ref());
    if let Some(default) = defaults.into_iter().flatten().next()
        && is_on(before)
        && !is_on(after)
        && number(after) > 1
    {
        cautions.push(words::no_labels(default));
    }
    if situation.is_sent && !is_on(after) && number(before) > 1 && number(after) == 1 {
        cautions.push(words::NOTHING_IMPORTED_AGAIN.to_owned());
    }
    if situation.after.object.pointer(PATCH).is_some() {
        cautions.push(words::PATCH_IGNORED.to_owned());
    }
    cautions
}
