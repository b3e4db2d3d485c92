//! The effects of a change on DataSources.

use std::collections::BTreeMap;

use cluster::field::text;
use cluster::foreign::{Foreign, one_line};
use engine::Import;
use operator_models::ssp::data_sources::Key;

use super::Plan;
use super::boot_sources::{BootSource, BootSources, is_of_bundle};
use crate::report::{listed, some};
use crate::rows::{Command, Effect, Row};

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
        keeps_none.then(|| {
            let what = "importsToKeep is 0, so CDI deletes the disk after each import, and imports it again";
            (Effect::NeverImported, what.to_owned())
        }),
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
    if sources.is_left(source) && source.before.is_some() && !is_deleted {
        let what = "keeps its disk; not updated any more";
        return Some((Effect::Changed, what.to_owned()));
    }
    // A DataSource that no template names belongs to SSP's VM templates.
    let (effect, what) = match (source.expected, source.pointed_to()) {
        (None, _) if changes.created.contains(&source.key) && sources.is_uploaded(&source.key) => {
            (Effect::Created, UPLOADED.to_owned())
        }
        (None, _) if changes.created.contains(&source.key) => {
            (Effect::TemplateSourceCreated, "created".to_owned())
        }
        (Some((expected, is_after)), _) if changes.created.contains(&source.key) => {
            match &expected.points_to {
                Some(other) if is_after && expected.filled == Some(false) => (
                    Effect::NeverImported,
                    format!("points to {other}, which will have no disk"),
                ),
                Some(other) => (Effect::Created, format!("points to {other}")),
                None if sources.is_uploaded(&source.key) => (Effect::Created, UPLOADED.to_owned()),
                None => (Effect::Created, "created without a disk".to_owned()),
            }
        }
        _ if !is_deleted => return None,
        (None, _) if is_of_bundle(&source.key) => {
            (Effect::TemplateSourceDeleted, "deleted".to_owned())
        }
        (_, Some(other)) => (Effect::Deleted, format!("deleted; it pointed to {other}")),
        (_, None) => (Effect::Deleted, "deleted; it had no disk".to_owned()),
    };
    Some((effect, what))
}

/// The text for a DataSource that has no disk until an import is done.
fn empty(sources: &BootSources<'_>, source: &BootSource<'_>) -> String {
    if let Some(fields) = &source.recreated {
        let because = because(fields);
        return format!("deleted and imported again{because}: no disk until the import is done");
    }
    match source.expected.map(|(expected, _)| &expected.points_to) {
        Some(Some(target)) if sources.retarget(&source.key).is_none() => {
            format!("points to {target}, which has no disk until its import is done")
        }
        _ => "no disk until the import is done".to_owned(),
    }
}

/// The change of a DataSource that points to another one than before. A DataSource that does not belong to a template
/// has no disk, whatever it points to.
fn retargeted(sources: &BootSources<'_>, source: &BootSource<'_>) -> Option<What> {
    source.expected?;
    let retarget = sources.retarget(&source.key)?;
    match (&retarget.from, &retarget.to) {
        (_, Some(to)) => Some((Effect::Changed, format!("points to {to} from now on"))),
        // If a DataSource of SSP's VM templates has a DataImportCron, SSP leaves its spec to CDI; SSP deletes any other
        // DataSource. MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go, reconcileDataSource.
        (Some(from), None) if is_of_bundle(&source.key) && source.cron.is_some() => {
            let target = source.key.beside(from.raw());
            let exists = sources
                .all
                .get(&target)
                .is_some_and(|target| target.before.is_some());
            let is_deleted = sources.changes.data_sources.deleted.contains(&target);
            let (effect, deleted) = if is_deleted || !exists {
                (Effect::EmptyMeanwhile, "the deleted ")
            } else {
                (Effect::Changed, "")
            };
            let what = format!("keeps pointing to {deleted}{from} until its own import is done");
            Some((effect, what))
        }
        (Some(from), None) => Some((Effect::Changed, format!("no longer points to {from}"))),
        (None, None) => None,
    }
}

fn created(sources: &BootSources<'_>, source: &BootSource<'_>) -> Option<What> {
    let cron = source.cron.filter(|_| source.has_new_cron)?;
    if let Some(why) = &cron.never_runs {
        return Some((Effect::NeverImported, format!("never imported: {why}")));
    }
    let Some((replaced, _)) = sources.replaced(source) else {
        let origin = origin(sources, source);
        return Some((Effect::Created, format!("imported{origin}")));
    };
    let disk = if sources.finds_disk(source) {
        SAME_IMAGE
    } else {
        OTHER_IMAGE
    };
    let what = format!(
        "its DataImportCron {} is replaced by {}; {disk}",
        one_line(&replaced.name),
        cron.name
    );
    Some((Effect::Changed, what))
}

/// The row of a DataSource that CDI does not update for its DataImportCron, with a command that corrects it.
fn not_updated(sources: &BootSources<'_>, source: &BootSource<'_>) -> Option<Row> {
    let why = sources.no_longer_updated_because(source)?;
    let cron = source.cron?;
    let name = &cron.name;
    let what = format!("never updated for {name}: {why}");
    let kubectl = &sources.situation.kubectl;
    let line = kubectl.hand_over(&cron.namespace, &cron.managed_data_source, name);
    Some(Row {
        command: line.map(|line| Command {
            when: format!("fix, after {name} is created"),
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
            return Some((Effect::NeverImported, format!("never imported: {why}")));
        }
        Some(why) => {
            format!("its disk, if it has one, stays in use, and no image is imported: {why}")
        }
        None if is_other => {
            let origin = origin(sources, source);
            return Some((Effect::Created, format!("imported{origin}")));
        }
        None => kept_disk(sources, source),
    };
    let what = format!(
        "its DataImportCron {} is deleted and created again{}; {disk}",
        cron.name,
        because(fields),
    );
    Some((Effect::Changed, what))
}

fn rejected(source: &BootSource<'_>) -> Option<What> {
    let cron = source.cron?;
    let why = cron.rejected.as_ref()?;
    let path = cron
        .rejected_path
        .as_ref()
        .map_or_else(String::new, |path| format!(", {path}"));
    let disk = match &source.before {
        Some(before) if before.keeps_disk => "; its disk stays, and is not updated any more",
        _ => "",
    };
    let what = format!(
        "not imported: its DataImportCron {} is rejected: {why} (template {}{path}){disk}",
        cron.name, cron.template
    );
    Some((Effect::Rejected, what))
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
        (Some(other), true) => format!("deleted; it pointed to {other}"),
        (Some(other), false) => format!("has no disk any more: it points to {other}"),
        (None, false) => "has no disk any more".to_owned(),
        (None, true) if before.is_some_and(|before| before.keeps_disk) => "deleted; its disk stays".to_owned(),
        (None, true) if before.is_some_and(|before| before.is_reimported) => {
            "deleted; its disk is deleted and imported again, and stays until you delete its DataVolume".to_owned()
        }
        (None, true) => "deleted with its disk".to_owned(),
    })
}

const UPLOADED: &str = "created for the uploaded PersistentVolumeClaim with its name, not imported";

/// The texts about the disk, if the DataSource gets another image and if it does not.
const OTHER_IMAGE: &str = "until the new image is imported, its disk, if it has one, stays in use";
const SAME_IMAGE: &str =
    "its disk, if it has one, stays in use, and the same image is not imported again";

/// The text about the disk of a recreated DataImportCron, if the disk stays.
fn kept_disk(sources: &BootSources<'_>, source: &BootSource<'_>) -> String {
    if !sources.has_imported(source) {
        return "its image is imported, because it was not imported before".to_owned();
    }
    let (disk, when) = if source.imports_again() {
        (OTHER_IMAGE, "then ")
    } else {
        (SAME_IMAGE, "")
    };
    let mut fields = source.recreated.iter().flatten();
    if fields.any(|field| field == "importsToKeep") {
        format!("{disk}; {when}CDI deletes older disks, if there are more than importsToKeep")
    } else {
        disk.to_owned()
    }
}

/// The source of a DataImportCron's image, and its architecture.
fn origin(sources: &BootSources<'_>, source: &BootSource<'_>) -> String {
    let architecture = source.cron.map(|cron| &cron.architecture);
    let own = architecture.filter(|own| !own.raw().is_empty());
    let field = |path| {
        let registry = source.spec?.pointer("/template/spec/source/registry")?;
        text(registry, path).map(Foreign::from)
    };
    let Some(url) = field("/url") else {
        return own.map_or_else(String::new, |architecture| format!(" for {architecture}"));
    };
    // Without a platform, CDI imports the image for the architecture of its importer, a pod on a workload node.
    let stated = own.cloned().or_else(|| field("/platform/architecture"));
    let architecture = match (stated, sources.architectures) {
        (Some(stated), _) => stated.to_string(),
        (None, [one]) => one.to_string(),
        (None, several) => format!(
            "one architecture: that of the image, or for a multi-architecture image, that of the importer's node ({})",
            listed(several)
        ),
    };
    // SSP sets the default architecture in the label of its DataSource, which can differ from the image's architecture.
    let label = source
        .expected
        .filter(|(_, is_after)| *is_after)
        .map(|(expected, _)| &expected.architecture_label)
        .filter(|label| !label.raw().is_empty() && architecture != label.to_string())
        .map_or_else(String::new, |label| {
            format!("; its label says {label} in any case")
        });
    format!(" from {url} for {architecture}{label}")
}

/// The changed fields as a reason.
fn because(fields: &[String]) -> String {
    match fields {
        [] => String::new(),
        [field] => format!(", because {} changes", one_line(field)),
        fields => format!(", because {} change", listed(fields)),
    }
}

/// Advice that is not about a single object.
pub(super) fn cautions(plan: &Plan<'_>) -> Vec<String> {
    let (sources, situation) = (&plan.sources, plan.situation);
    let mut cautions = Vec::new();
    for namespace in &sources.new_namespaces() {
        cautions.push(format!(
            "The namespace {namespace} has to exist before the change: HCO and SSP do not create it, and without it SSP stops."
        ));
    }
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
        cautions.push(format!(
            "Boot sources that are imported without the multi-architecture import are not labelled with the architecture of their image: new VMs that are made from them get the architecture that they set, that of an older label, or {default}, whatever the architecture of the image, and may not boot."
        ));
    }
    if situation.is_sent && !is_on && number_before > 1 && number == 1 {
        cautions.push("The placement imports nothing again: disks that were imported on a node of another architecture stay as they are. To import such a disk again, delete it.".to_owned());
    }
    if situation.after.object.pointer(PATCH).is_some() {
        cautions.push("The plan ignores the jsonpatch annotation for SSP, except for a literal value of the import: HCO applies it, and denies the object if it cannot be applied.".to_owned());
    }
    let missed = sources.often_missed();
    if !missed.is_empty() {
        cautions.push(format!(
            "CDI often misses a new DataImportCron that takes over the DataSource of another one ({}): then it imports nothing, and with retentionPolicy None, the boot source is lost. If that happens, run the command that `check` of the cluster prints.",
            some(&missed)
        ));
    }
    cautions
}

/// The annotation with the patch that HCO applies to SSP.
const PATCH: &str = "/metadata/annotations/ssp.kubevirt.io~1jsonpatch";
