//! The effects of a change on DataSources.

use std::collections::BTreeMap;

use cluster::field::text;
use cluster::foreign::{Foreign, one_line};
use engine::Import;
use operator_models::ssp::data_sources::Key;

use super::Plan;
use super::boot_sources::{BootSources, is_of_bundle, runs};
use crate::report::{Cron, Retarget, listed, some};
use crate::rows::{Command, Effect, Row};

/// The rows of each DataSource that changes, by its key.
pub(super) type Rows = BTreeMap<Key, Vec<Row>>;

type What = (Effect, String);

pub(super) fn rows(sources: &BootSources<'_>) -> Rows {
    let (changes, crons) = (&sources.changes, &sources.cron_changes);
    let mut rows = Rows::new();
    let mut put = |key: &Key, (effect, what): What| {
        let row = Row::new(effect, "DataSource", key, &what);
        rows.entry(key.clone()).or_default().push(row);
    };
    for retarget in &changes.data_sources.retargeted {
        if let Some(what) = retargeted(sources, retarget) {
            put(&retarget.key, what);
        }
    }
    for cron in sources.known(&crons.created) {
        if sources.not_updated_because(cron).is_none() {
            put(&cron.source(), created(sources, cron));
        }
    }
    for cron in sources.rejected() {
        put(&cron.source(), rejected(sources, cron));
    }
    for cron in sources.known(crons.recreated.keys()) {
        let is_empty = changes.empty_meanwhile.contains(&cron.source());
        if !is_empty && sources.not_updated_because(cron).is_none() {
            put(&cron.source(), recreated(sources, cron));
        }
    }
    for key in &changes.empty_meanwhile {
        put(key, (Effect::EmptyMeanwhile, empty(sources, key)));
    }
    let new = sources.known(&crons.created);
    for cron in new.chain(sources.known(crons.recreated.keys())) {
        if runs(cron) && sources.keeps_none(cron) {
            let what = "importsToKeep is 0, so CDI deletes the disk after each import, and imports it again";
            put(&cron.source(), (Effect::NeverImported, what.to_owned()));
        }
    }
    for key in &changes.lost_image {
        if let Some(what) = lost(sources, key) {
            put(key, (Effect::Lost, what));
        }
    }
    for cron in sources.not_updating() {
        let row = not_updated(sources, cron);
        rows.entry(cron.source()).or_default().extend(row);
    }
    // The DataSources that keep their disk, without a DataImportCron that updates it.
    for key in crons.deleted.iter().chain(crons.recreated.keys()) {
        let left = sources
            .source_left_by(key)
            .filter(|key| !changes.data_sources.deleted.contains(key))
            .filter(|key| sources.before(key).is_some());
        if let Some(key) = left {
            let what = "keeps its disk; not updated any more";
            let row = Row::new(Effect::Changed, "DataSource", &key, what);
            rows.entry(key).or_insert_with(|| vec![row]);
        }
    }
    let data_sources = &changes.data_sources;
    let created = data_sources
        .created
        .iter()
        .map(|key| (key, created_without_disk(sources, key)));
    let deleted = data_sources
        .deleted
        .iter()
        .map(|key| (key, deleted_without_disk(sources, key)));
    for (key, (effect, what)) in created.chain(deleted) {
        let row = || vec![Row::new(effect, "DataSource", key, &what)];
        rows.entry(key.clone()).or_insert_with(row);
    }
    rows
}

/// The change of a new DataSource without a disk of its own. A DataSource that no template names belongs to SSP's VM
/// templates.
fn created_without_disk(sources: &BootSources<'_>, key: &Key) -> What {
    let Some((source, is_after)) = sources.sources.get(key) else {
        return (Effect::TemplateSourceCreated, "created".to_owned());
    };
    match &source.points_to {
        Some(other) if *is_after && source.filled == Some(false) => (
            Effect::NeverImported,
            format!("points to {other}, which will have no disk"),
        ),
        Some(other) => (Effect::Created, format!("points to {other}")),
        None if sources.is_uploaded(key) => (
            Effect::Created,
            "created for the uploaded PersistentVolumeClaim with its name, not imported".to_owned(),
        ),
        None => (Effect::Created, "created without a disk".to_owned()),
    }
}

fn deleted_without_disk(sources: &BootSources<'_>, key: &Key) -> What {
    match pointed_to(sources, key) {
        _ if !sources.sources.contains_key(key) && is_of_bundle(key) => {
            (Effect::TemplateSourceDeleted, "deleted".to_owned())
        }
        Some(other) => (Effect::Deleted, format!("deleted; it pointed to {other}")),
        None => (Effect::Deleted, "deleted; it had no disk".to_owned()),
    }
}

/// The DataSource that a DataSource points to before the change.
fn pointed_to<'s>(sources: &'s BootSources<'_>, key: &Key) -> Option<&'s Foreign> {
    sources.before(key)?.points_to.as_ref()
}

/// The text for a DataSource that has no disk until an import is done.
fn empty(sources: &BootSources<'_>, key: &Key) -> String {
    let mut recreated = sources.known(sources.cron_changes.recreated.keys());
    if let Some(cron) = recreated.find(|cron| cron.source() == *key) {
        let because = because(sources, &cron.key());
        return format!("deleted and imported again{because}: no disk until the import is done");
    }
    match sources
        .sources
        .get(key)
        .map(|(source, _)| &source.points_to)
    {
        Some(Some(target)) if !is_retargeted(sources, key) => {
            format!("points to {target}, which has no disk until its import is done")
        }
        _ => "no disk until the import is done".to_owned(),
    }
}

/// The change of a DataSource that points to another one than before. A DataSource that does not belong to a template
/// has no disk, whatever it points to.
fn retargeted(sources: &BootSources<'_>, retarget: &Retarget) -> Option<What> {
    let key = &retarget.key;
    sources.sources.get(key)?;
    match (&retarget.from, &retarget.to) {
        (_, Some(to)) => Some((Effect::Changed, format!("points to {to} from now on"))),
        (Some(from), None) if sources.waits_for_import(key) => {
            let target = key.beside(from.raw());
            let is_deleted = sources.changes.data_sources.deleted.contains(&target);
            let (effect, deleted) = if is_deleted || sources.before(&target).is_none() {
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

fn is_deleted_with_its_disk(sources: &BootSources<'_>, key: &Key) -> bool {
    let changes = &sources.changes;
    changes.lost_image.contains(key)
        && changes.data_sources.deleted.contains(key)
        && pointed_to(sources, key).is_none()
}

fn created(sources: &BootSources<'_>, cron: &Cron) -> What {
    if let Some(why) = &cron.never_runs {
        return (Effect::NeverImported, format!("never imported: {why}"));
    }
    let Some(replaced) = sources.replaced_by(cron) else {
        return (
            Effect::Created,
            format!("imported{}", origin(sources, cron)),
        );
    };
    let replaced = one_line(&replaced.name);
    let disk = if sources.finds_disk(cron) {
        SAME_IMAGE
    } else {
        OTHER_IMAGE
    };
    let what = format!(
        "its DataImportCron {replaced} is replaced by {}; {disk}",
        cron.name
    );
    (Effect::Changed, what)
}

/// The row of a DataSource that CDI does not update for its DataImportCron, with a command that corrects it.
fn not_updated(sources: &BootSources<'_>, cron: &Cron) -> Option<Row> {
    let (name, why) = (&cron.name, sources.not_updated_because(cron)?);
    let what = format!("never updated for {name}: {why}");
    let kubectl = &sources.situation.kubectl;
    let line = kubectl.hand_over(&cron.namespace, &cron.managed_data_source, name);
    Some(Row {
        command: line.map(|line| Command {
            when: format!("fix, after {name} is created"),
            line,
        }),
        ..Row::new(Effect::NotUpdated, "DataSource", &cron.source(), &what)
    })
}

/// The change of a recreated DataImportCron's DataSource, if the DataSource always has a disk.
fn recreated(sources: &BootSources<'_>, cron: &Cron) -> What {
    let key = cron.key();
    let is_lost = sources.changes.lost_image.contains(&cron.source());
    let is_other = sources.source_left_by(&key).is_some();
    let disk = match &cron.never_runs {
        Some(why) if is_lost || is_other => {
            return (Effect::NeverImported, format!("never imported: {why}"));
        }
        Some(why) => {
            format!("its disk, if it has one, stays in use, and no image is imported: {why}")
        }
        None if is_other => {
            return (
                Effect::Created,
                format!("imported{}", origin(sources, cron)),
            );
        }
        None => kept_disk(sources, cron),
    };
    let what = format!(
        "its DataImportCron {} is deleted and created again{}; {disk}",
        cron.name,
        because(sources, &key),
    );
    (Effect::Changed, what)
}

fn rejected(sources: &BootSources<'_>, cron: &Cron) -> What {
    let why = cron
        .rejected
        .as_ref()
        .map(Foreign::to_string)
        .unwrap_or_default();
    if is_deleted_with_its_disk(sources, &cron.source()) {
        // The template and the field are named above.
        let what = format!(
            "deleted with its disk, and not imported again: its DataImportCron {} is rejected: {why} (see above)",
            cron.name
        );
        return (Effect::Lost, what);
    }
    let path = cron
        .rejected_path
        .as_ref()
        .map_or_else(String::new, |path| format!(", {path}"));
    let disk = match sources.before(&cron.source()) {
        Some(before) if before.keeps_disk => "; its disk stays, and is not updated any more",
        _ => "",
    };
    let what = format!(
        "not imported: its DataImportCron {} is rejected: {why} (template {}{path}){disk}",
        cron.name, cron.template
    );
    (Effect::Rejected, what)
}

/// The text for a DataSource that permanently loses its disk; `None` if the text of its DataImportCron already says so.
fn lost(sources: &BootSources<'_>, key: &Key) -> Option<String> {
    let is_deleted = sources.changes.data_sources.deleted.contains(key);
    let is_said = |cron: &Cron| cron.source() == *key;
    if is_deleted_with_its_disk(sources, key) && sources.rejected().any(is_said) {
        return None;
    }
    // The previous target is irrelevant if the DataSource now points to another one.
    let pointed_to = pointed_to(sources, key).filter(|_| !is_retargeted(sources, key));
    let before = sources.before(key);
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

fn is_retargeted(sources: &BootSources<'_>, key: &Key) -> bool {
    sources
        .changes
        .data_sources
        .retargeted
        .iter()
        .any(|pointer| pointer.key == *key)
}

/// The texts about the disk, if the DataSource gets another image and if it does not.
const OTHER_IMAGE: &str = "until the new image is imported, its disk, if it has one, stays in use";
const SAME_IMAGE: &str =
    "its disk, if it has one, stays in use, and the same image is not imported again";

/// The text about the disk of a recreated DataImportCron, if the disk stays.
fn kept_disk(sources: &BootSources<'_>, cron: &Cron) -> String {
    if !sources.has_imported(cron) {
        return "its image is imported, because it was not imported before".to_owned();
    }
    let key = cron.key();
    let (disk, when) = if sources.imports_again(&key) {
        (OTHER_IMAGE, "then ")
    } else {
        (SAME_IMAGE, "")
    };
    let mut fields = sources.cron_changes.changed_fields(&key).iter();
    if fields.any(|field| field == "importsToKeep") {
        format!("{disk}; {when}CDI deletes older disks, if there are more than importsToKeep")
    } else {
        disk.to_owned()
    }
}

/// The source of a DataImportCron's image, and its architecture.
fn origin(sources: &BootSources<'_>, cron: &Cron) -> String {
    let own = Some(&cron.architecture).filter(|architecture| !architecture.raw().is_empty());
    let field = |path| {
        let source = sources
            .template(cron)?
            .pointer("/spec/template/spec/source/registry")?;
        text(source, path).map(Foreign::from)
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
    let label = sources
        .sources
        .get(&cron.source())
        .filter(|(_, is_after)| *is_after)
        .map(|(source, _)| &source.architecture_label)
        .filter(|label| !label.raw().is_empty() && architecture != label.to_string())
        .map_or_else(String::new, |label| {
            format!("; its label says {label} in any case")
        });
    format!(" from {url} for {architecture}{label}")
}

fn because(sources: &BootSources<'_>, cron: &Key) -> String {
    match sources.cron_changes.changed_fields(cron) {
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
