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
use crate::report::{self, Cron};
use crate::rows::{Command, Effect, Row, Severity, words};

/// The state of a golden image.
struct ImageState {
    effect: Effect,
    /// The time since which it has this state.
    since: Option<String>,
    /// The message of CDI, or of the API server that rejects its DataImportCron.
    message: Option<String>,
    /// A command that makes CDI continue.
    command: Option<String>,
    /// Whether its DataSource has a disk from an earlier import.
    has_older_disk: bool,
}

impl ImageState {
    fn new(effect: Effect, message: Option<&str>) -> Self {
        Self {
            effect,
            since: None,
            message: message.map(str::to_owned),
            command: None,
            has_older_disk: false,
        }
    }

    /// With the time and the message of a condition.
    fn shown(effect: Effect, condition: &Condition) -> Self {
        let text = condition.message.as_ref();
        Self {
            since: condition.since.clone(),
            ..Self::new(effect, text.map(|text| &*text.0))
        }
    }

    /// The row of a golden image with this DataSource and this DataImportCron. While SSP is stopped, it deletes nothing.
    fn row(self, source: &Key, cron: &Foreign, is_stopped: bool) -> Row {
        let message = self.message.as_deref();
        let detail = words::image(self.effect, cron, message, self.has_older_disk, is_stopped);
        let row = Row::new(self.effect, "DataSource", source, &detail)
            .about("dataImportCron", Some(cron))
            .about("since", self.since.as_deref())
            .about("message", message);
        let severity = match self.effect {
            // In a plan, nothing is lost if an image was not imported before.
            Effect::Rejected | Effect::NeverImported => Severity::Loss,
            Effect::Waiting if self.has_older_disk => Severity::Info,
            _ => row.severity,
        };
        let when = match self.effect {
            Effect::NotManaged => "fix",
            _ => words::IF_NOTHING_CHANGES,
        };
        let command = |line| Command {
            when: when.to_owned(),
            line,
        };
        Row {
            severity,
            command: self.command.map(command),
            ..row
        }
    }
}

/// The rows of the golden images and of DataSources.
pub(super) fn rows(observed: &Situation, is_stopped: bool) -> Vec<Row> {
    let Ok(Outlook { forecast, changes }) = &observed.outlook else {
        return Vec::new();
    };
    let world = &observed.world;
    let crons = world.crons.by(|cron| cron.metadata.key());
    let volumes = world.volumes.by(|volume| volume.metadata.key());
    let sources = world.sources.by(|source| source.metadata.key());
    let (empty, lost) = (&changes.empty_meanwhile, &changes.lost_image);
    // SSP creates the DataSources first: if one is rejected, it creates no DataImportCron.
    let reaches_crons = forecast.stopped != Some(Stopped::DataSource);
    let mut rows = Vec::new();
    for cron in &forecast.crons {
        let (key, source) = (cron.key(), cron.source());
        let state = match (crons.get(&key), &changes.crons) {
            _ if !world.crons.is_read() => ImageState::new(Effect::Unknown, None),
            _ if cron.rejected.is_some() => {
                ImageState::new(Effect::Rejected, cron.rejected.as_deref())
            }
            (Some(_), _) if cron.never_runs.is_some() => {
                ImageState::new(Effect::NeverImported, cron.never_runs.as_deref())
            }
            (Some(_), Some(changes)) if changes.recreated.contains_key(&key) => {
                let fields = changes.changed_fields(&key);
                let shown = words::changed_fields(fields, empty.contains(&source));
                let shown = Some(&*shown).filter(|_| !fields.is_empty());
                ImageState::new(Effect::Outdated, shown)
            }
            (Some(real), _) => ImageState::reported(real, cron, &volumes, &observed.kubectl),
            (None, Some(changes)) if reaches_crons && !changes.created.contains(&key) => {
                ImageState::new(Effect::ExistingDisk, None)
            }
            (None, _) if !world.claims.is_read() => {
                ImageState::new(Effect::Unknown, Some(words::CLAIMS_NOT_READ))
            }
            (None, _) => ImageState::new(Effect::NotCreated, None),
        };
        let state = match sources.get(&source) {
            Some(real) if !lost.contains(&source) => state.beside(cron, real, &observed.kubectl),
            _ => state,
        };
        let row = state.row(&source, &cron.name, is_stopped);
        rows.push(
            row.about("template", Some(&cron.template))
                .about("architecture", Some(&cron.architecture)),
        );
    }
    let wanted: BTreeSet<Key> = forecast.crons.iter().map(Cron::key).collect();
    let unwanted = crons
        .iter()
        .filter(|(key, real)| !wanted.contains(key) && real.metadata.is_of_ssp());
    for (key, real) in unwanted {
        let name = real.managed_data_source().unwrap_or(&*key.name);
        let cron = Foreign::from(&*key.name);
        let state = ImageState::new(Effect::Unwanted, None);
        rows.push(state.row(&key.beside(name), &cron, is_stopped));
    }
    if world.sources.is_read() {
        rows.extend(data_sources(observed, &sources));
    }
    rows
}

/// The DataSources of templates that SSP or CDI will create, change, or delete, and the DataSources of deleted
/// templates. The others depend on the VM templates in SSP's version.
fn data_sources(observed: &Situation, real: &BTreeMap<Key, &DataSource>) -> Vec<Row> {
    let Ok(Outlook { forecast, changes }) = &observed.outlook else {
        return Vec::new();
    };
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
            rows.push(row(
                Effect::SourceNotCreated,
                key,
                words::SOURCE_NOT_CREATED,
            ));
        }
    }
    for pointer in &changes.retargeted {
        if of_templates.contains(&pointer.key) {
            let (from, to) = (&pointer.from, &pointer.to);
            let what = words::points_elsewhere([from, to]);
            let row = row(Effect::PointsElsewhere, &pointer.key, &what)
                .about("pointsTo", from.as_deref())
                .about("willPointTo", to.as_deref());
            rows.push(row);
        }
    }
    // A DataSource that is deleted because its DataImportCron is rejected is still wanted.
    let managed: BTreeSet<Key> = forecast.crons.iter().map(Cron::source).collect();
    for key in &changes.deleted {
        let has_cron = real
            .get(key)
            .is_some_and(|source| source.metadata.cron().is_some());
        let is_told = of_templates.contains(key) || !is_of_bundle(key) || has_cron;
        if is_told && !managed.contains(key) {
            rows.push(row(Effect::SourceUnwanted, key, words::SOURCE_UNWANTED));
        }
    }
    rows
}

impl ImageState {
    /// The state that a DataImportCron reports.
    ///
    /// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, `update`: the condition
    /// `UpToDate` shows whether the last image is imported, and `Progressing` the state of the current import.
    fn reported(
        real: &DataImportCron,
        cron: &Cron,
        volumes: &BTreeMap<Key, &DataVolume>,
        kubectl: &Kubectl,
    ) -> Self {
        let up_to_date = condition(&real.conditions, "UpToDate");
        let progressing = condition(&real.conditions, "Progressing");
        if let Some(done) = up_to_date.filter(|condition| condition.status == "True") {
            return Self {
                message: None,
                ..Self::shown(Effect::Ready, done)
            };
        }
        let import = real.current_imports.first();
        let volume = import.and_then(|import| volumes.get(&real.metadata.beside(&import.volume)));
        if let Some(running) = volume.and_then(|volume| failure(volume)) {
            let failing = Self::shown(Effect::Failing, running);
            let message = failing.message.filter(|message| !message.is_empty());
            return Self {
                message: message.or_else(|| running.reason.clone()),
                ..failing
            };
        }
        // CDI's condition has the phase of the DataVolume as its reason.
        let reason = progressing.and_then(|condition| condition.reason.as_deref());
        let reason = reason.unwrap_or_default();
        // Without an import, the other condition gives the reason.
        let shown = match reason {
            "NoImport" | "" => up_to_date.or(progressing),
            _ => progressing,
        };
        let Some(shown) = shown else {
            return Self {
                command: kubectl.wake(&cron.namespace, &cron.name),
                ..Self::new(Effect::Waiting, Some(words::NO_REPORT))
            };
        };
        if matches!(reason, "NotAuthorized" | "Failed" | "Unknown") {
            return Self::shown(Effect::Failing, shown);
        }
        let is_running = reason.ends_with("Scheduled") || reason.ends_with("InProgress");
        if !is_running && progressing.is_none_or(|condition| condition.status != "True") {
            return Self::shown(Effect::Waiting, shown);
        }
        let progress = volume
            .map(|volume| volume.progress.clone())
            .filter(|progress| !progress.is_empty() && progress != "N/A");
        let restarts = volume.map_or(0, |volume| volume.restarts);
        let restarted = (restarts > 0).then(|| words::restarted(restarts));
        let details: Vec<String> = progress.into_iter().chain(restarted).collect();
        Self {
            message: Some(details.join(", ")).filter(|details| !details.is_empty()),
            ..Self::shown(Effect::Importing, shown)
        }
    }

    /// With the state that its DataSource reports. SSP sets the label of its own DataSources.
    ///
    /// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, `getDataSource`; ssp-operator
    /// internal/operands/data-sources/reconcile.go, `reconcileDataSource`.
    fn beside(mut self, cron: &Cron, source: &DataSource, kubectl: &Kubectl) -> Self {
        let owner = source.metadata.cron();
        let is_managed = owner == Some(cron.name.raw()) || source.metadata.is_of_ssp();
        let ready = condition(&source.conditions, "Ready");
        let is_ready = is_ready(source);
        match (self.effect, ready) {
            (Effect::Ready | Effect::Waiting, _) if !is_managed => {
                let (namespace, source) = (&cron.namespace, &cron.managed_data_source);
                return Self {
                    command: kubectl.hand_over(namespace, source, &cron.name),
                    ..Self::new(Effect::NotManaged, Some(&words::label(owner)))
                };
            }
            (Effect::Ready, Some(ready)) if ready.status == "False" => {
                return Self::shown(Effect::SourceNotReady, ready);
            }
            (Effect::Rejected | Effect::NeverImported, _) if is_ready => {
                self.effect = Effect::NotUpdated;
            }
            (Effect::Failing | Effect::Waiting, _) => self.has_older_disk = is_ready,
            _ => {}
        }
        self
    }
}

/// The condition of a volume whose importer fails.
///
/// MIRRORS: containerized-data-importer pkg/controller/util.go, `setAnnotationsFromPodWithPrefix`: the last message of
/// a terminated container stays until it runs again.
fn failure(volume: &DataVolume) -> Option<&Condition> {
    let running = condition(&volume.conditions, "Running")?;
    let has_message = !message(running).is_empty();
    let is_normal = matches!(
        running.reason.as_deref().unwrap_or_default(),
        "Completed" | "ContainerCreating" | "Pending" | "PodInitializing" | "ScratchSpaceRequired"
    );
    let is_stopped = running.status == "False";
    let has_failed = volume.phase == "Failed";
    (has_failed || is_stopped && has_message && !is_normal).then_some(running)
}
