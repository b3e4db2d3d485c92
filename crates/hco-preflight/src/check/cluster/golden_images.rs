//! The golden images: the forecast for each architecture, and the state that its DataImportCron reports.

use std::collections::{BTreeMap, BTreeSet};

use cluster::foreign::Foreign;
use cluster::{Condition, DataImportCron, DataSource, DataVolume, condition};
use engine::Stopped;
use operator_models::ssp::data_sources::Key;

use super::{is_ready, message};
use crate::input::{Outlook, Situation};
use crate::kubectl::Kubectl;
use crate::plan::boot_sources::is_of_bundle;
use crate::report::{self, Cron, Retarget};
use crate::rows::{Command, Effect, Row, Severity, words};

struct ImageState<'c> {
    effect: Effect,
    condition: Option<&'c Condition>,
    /// The message of CDI, or of the API server that rejects its DataImportCron; empty without one.
    message: String,
}

pub(super) fn rows(observed: &Situation, is_stopped: bool) -> Vec<Row> {
    let Ok(outlook) = &observed.outlook else {
        return Vec::new();
    };
    let Outlook { forecast, changes } = outlook;
    let world = &observed.world;
    let crons = world.crons.by(|cron| cron.metadata.key());
    let volumes = world.volumes.by(|volume| volume.metadata.key());
    let sources = world.sources.by(|source| source.metadata.key());
    // SSP creates the DataSources first: if one is rejected, it creates no DataImportCron.
    let reaches_crons = forecast.stopped != Some(Stopped::DataSource);
    let mut rows = Vec::new();
    for cron in &forecast.crons {
        let (key, source) = (cron.key(), cron.source());
        let (rejected, never_runs) = (&cron.rejected, &cron.never_runs);
        let mut state = match (crons.get(&key), &changes.crons, rejected, never_runs) {
            _ if !world.crons.is_read() => ImageState::new(Effect::Unknown, None, ""),
            (_, _, Some(why), _) => ImageState::new(Effect::Rejected, None, why),
            (Some(_), _, _, Some(why)) => ImageState::new(Effect::NeverImported, None, why),
            (Some(_), Some(crons), ..) if crons.recreated.contains_key(&key) => {
                let is_empty_meanwhile = changes.empty_meanwhile.contains(&source);
                let shown = match crons.changed_fields(&key) {
                    [] => String::new(),
                    fields => words::changed_fields(fields, is_empty_meanwhile),
                };
                ImageState::new(Effect::Outdated, None, &shown)
            }
            (Some(real), ..) => ImageState::reported(real, &volumes),
            (None, Some(crons), ..) if reaches_crons && !crons.created.contains(&key) => {
                ImageState::new(Effect::ExistingDisk, None, "")
            }
            (None, ..) if !world.claims.is_read() => {
                ImageState::new(Effect::Unknown, None, words::CLAIMS_NOT_READ)
            }
            (None, ..) => ImageState::new(Effect::NotCreated, None, ""),
        };
        let is_lost = changes.lost_image.contains(&source);
        let real = sources.get(&source).filter(|_| !is_lost);
        if let Some(real) = real {
            state = state.beside(cron, real);
        }
        let since = state.condition.and_then(|shown| shown.since.as_deref());
        let message = Some(&*state.message).filter(|message| !message.is_empty());
        let has_disk = real.is_some_and(|real| is_ready(real));
        let detail = words::image(state.effect, &cron.name, message, has_disk, is_stopped);
        let mut row = Row::new(state.effect, "DataSource", &source, &detail)
            .about("dataImportCron", Some(&cron.name))
            .about("since", since)
            .about("message", message)
            .about("template", Some(&cron.template))
            .about("architecture", Some(&cron.architecture));
        row.command = state.command(cron, &observed.kubectl);
        row.severity = match state.effect {
            // In a plan, nothing is lost if an image was not imported before.
            Effect::Rejected | Effect::NeverImported => Severity::Loss,
            Effect::Waiting if has_disk => Severity::Info,
            _ => row.severity,
        };
        rows.push(row);
    }
    let wanted: BTreeSet<Key> = forecast.crons.iter().map(Cron::key).collect();
    for (key, real) in &crons {
        if !wanted.contains(key) && real.metadata.is_of_ssp() {
            let source = key.beside(real.managed_data_source().unwrap_or(&*key.name));
            let (effect, name) = (Effect::Unwanted, Foreign::from(&*key.name));
            let detail = words::image(effect, &name, None, false, is_stopped);
            let row = Row::new(effect, "DataSource", &source, &detail);
            rows.push(row.about("dataImportCron", Some(&name)));
        }
    }
    if world.sources.is_read() {
        rows.extend(data_sources(observed, outlook, &sources));
    }
    rows
}

/// DataSources without a template depend on the VM templates in SSP's version.
fn data_sources(
    observed: &Situation,
    outlook: &Outlook,
    real: &BTreeMap<Key, &DataSource>,
) -> Vec<Row> {
    let Outlook { forecast, changes } = outlook;
    let changes = &changes.data_sources;
    let of_templates: BTreeSet<Key> = [forecast]
        .into_iter()
        .chain(&observed.forecast_before)
        .flat_map(|forecast| &forecast.data_sources)
        .map(report::DataSource::key)
        .collect();
    let row = |effect, key: &Key, what: &str| Row::new(effect, "DataSource", key, what);
    let mut rows = Vec::new();
    for key in &changes.created {
        if of_templates.contains(key) {
            let what = words::SOURCE_NOT_CREATED;
            rows.push(row(Effect::SourceNotCreated, key, what));
        }
    }
    for Retarget { key, from, to } in &changes.retargeted {
        if of_templates.contains(key) {
            let what = words::points_elsewhere([from, to]);
            let row = row(Effect::PointsElsewhere, key, &what)
                .about("pointsTo", from.as_deref())
                .about("willPointTo", to.as_deref());
            rows.push(row);
        }
    }
    // A DataSource that is deleted because its DataImportCron is rejected is still wanted.
    let managed: BTreeSet<Key> = forecast.crons.iter().map(Cron::source).collect();
    for key in &changes.deleted {
        let cron = real.get(key).and_then(|source| source.metadata.cron());
        let is_own = of_templates.contains(key) || !is_of_bundle(key) || cron.is_some();
        if is_own && !managed.contains(key) {
            rows.push(row(Effect::SourceUnwanted, key, words::SOURCE_UNWANTED));
        }
    }
    rows
}

impl<'c> ImageState<'c> {
    fn new(effect: Effect, condition: Option<&'c Condition>, message: &str) -> Self {
        Self {
            effect,
            condition,
            message: message.to_owned(),
        }
    }

    fn command(&self, cron: &Cron, kubectl: &Kubectl) -> Option<Command> {
        let (namespace, name) = (&cron.namespace, &cron.name);
        let source = &cron.managed_data_source;
        let (when, line) = match (self.effect, self.condition) {
            (Effect::NotManaged, _) => ("fix", kubectl.hand_over(namespace, source, name)),
            // CDI has not reported anything yet.
            (Effect::Waiting, None) => (words::IF_NOTHING_CHANGES, kubectl.wake(namespace, name)),
            _ => return None,
        };
        Some(Command {
            when: when.to_owned(),
            line: line?,
        })
    }

    /// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, `update`: the condition
    /// `UpToDate` shows whether the last image is imported, and `Progressing` the state of the current import.
    fn reported(real: &'c DataImportCron, volumes: &BTreeMap<Key, &'c DataVolume>) -> Self {
        let up_to_date = condition(&real.conditions, "UpToDate");
        let progressing = condition(&real.conditions, "Progressing");
        if up_to_date.is_some_and(|condition| condition.status == "True") {
            return Self::new(Effect::Ready, up_to_date, "");
        }
        let import = real.current_imports.first();
        let volume = import.and_then(|import| volumes.get(&real.metadata.beside(&import.volume)));
        if let Some(running) = volume.and_then(|volume| failure(volume)) {
            let message = match message(running) {
                "" => reason(running),
                message => message,
            };
            return Self::new(Effect::Failing, Some(running), message);
        }
        // CDI's condition has the phase of the DataVolume as its reason.
        let phase = progressing.map_or("", reason);
        // Without an import, the other condition gives the reason.
        let shown = match phase {
            "NoImport" | "" => up_to_date.or(progressing),
            _ => progressing,
        };
        let what = shown.map_or(words::NO_REPORT, message);
        if matches!(phase, "NotAuthorized" | "Failed" | "Unknown") {
            return Self::new(Effect::Failing, shown, what);
        }
        let is_running = phase.ends_with("Scheduled") || phase.ends_with("InProgress");
        if !is_running && progressing.is_none_or(|condition| condition.status != "True") {
            return Self::new(Effect::Waiting, shown, what);
        }
        let progress = volume
            .map(|volume| volume.progress.clone())
            .filter(|progress| !progress.is_empty() && progress != "N/A");
        let restarts = volume.map_or(0, |volume| volume.restarts);
        let restarted = (restarts > 0).then(|| words::restarted(restarts));
        let details: Vec<String> = progress.into_iter().chain(restarted).collect();
        Self::new(Effect::Importing, shown, &details.join(", "))
    }

    /// SSP sets the label of its own DataSources.
    ///
    /// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, `getDataSource`; ssp-operator
    /// internal/operands/data-sources/reconcile.go, `reconcileDataSource`.
    fn beside(self, cron: &Cron, source: &'c DataSource) -> Self {
        let owner = source.metadata.cron();
        let is_managed = owner == Some(cron.name.raw()) || source.metadata.is_of_ssp();
        match (self.effect, condition(&source.conditions, "Ready")) {
            (Effect::Ready | Effect::Waiting, _) if !is_managed => {
                Self::new(Effect::NotManaged, None, &words::label(owner))
            }
            (Effect::Ready, Some(ready)) if ready.status == "False" => {
                Self::new(Effect::SourceNotReady, Some(ready), message(ready))
            }
            (Effect::Rejected | Effect::NeverImported, _) if is_ready(source) => Self {
                effect: Effect::NotUpdated,
                ..self
            },
            _ => self,
        }
    }
}

/// MIRRORS: containerized-data-importer pkg/controller/util.go, `setAnnotationsFromPodWithPrefix`: the last message of
/// a terminated container stays until it runs again.
fn failure(volume: &DataVolume) -> Option<&Condition> {
    let running = condition(&volume.conditions, "Running")?;
    let is_normal = matches!(
        reason(running),
        "Completed" | "ContainerCreating" | "Pending" | "PodInitializing" | "ScratchSpaceRequired"
    );
    let has_stopped = running.status == "False" && !message(running).is_empty() && !is_normal;
    (volume.phase == "Failed" || has_stopped).then_some(running)
}

fn reason(condition: &Condition) -> &str {
    condition.reason.as_deref().unwrap_or_default()
}
