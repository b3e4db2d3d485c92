//! The golden images: the forecast for each architecture, and the state that its DataImportCron reports.

use std::collections::{BTreeMap, BTreeSet};

use engine::Stopped;
use serde::Serialize;

use crate::foreign::Foreign;
use crate::kubectl::Kubectl;
use crate::object_name::parts;
use crate::plan::boot_sources::is_of_bundle;
use crate::report::{self, Changes, Cron, Report, is_in, listed};
use crate::row::{Command, Effect, Row, Severity};
use crate::stage::Situation;
use crate::world::{self, Condition, DataImportCron, DataVolume, condition};

/// A template for one architecture, and its state.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GoldenImage {
    /// `None` for a DataImportCron that is no longer wanted.
    pub(super) template: Option<Foreign>,
    /// Empty if the DataImportCron is not for a specific architecture.
    pub(super) architecture: Option<Foreign>,
    pub(super) namespace: Foreign,
    /// The DataImportCron.
    pub(super) cron: Foreign,
    /// The DataSource that it manages.
    pub(super) data_source: Option<Foreign>,
    pub(super) state: Effect,
    /// The time since which it has this state.
    pub(super) since: Option<Foreign>,
    /// The message of CDI, or of the API server that rejects it.
    pub(super) message: Option<Foreign>,
    /// A command that makes CDI continue.
    pub(super) command: Option<String>,
    /// Whether its DataSource has a disk from an earlier import.
    #[serde(skip)]
    pub(super) has_older_disk: bool,
}

impl GoldenImage {
    pub(super) fn severity(&self) -> Severity {
        match self.state {
            Effect::Ready | Effect::ExistingDisk => Severity::Info,
            Effect::Unknown => Severity::Warning,
            _ => Severity::Loss,
        }
    }

    /// Its row. While SSP is stopped, it deletes nothing.
    pub(super) fn row(&self, is_stopped: bool) -> Row {
        let source = self.data_source.as_ref().unwrap_or(&self.cron);
        let key = format!("{}/{}", self.namespace.raw(), source.raw());
        Row {
            severity: self.severity(),
            command: self.command.as_ref().map(|line| Command {
                when: match self.state {
                    Effect::NotManaged => "fix".to_owned(),
                    _ => "if that does not change".to_owned(),
                },
                line: line.clone(),
            }),
            ..Row::new(self.state, "DataSource", &key, &self.detail(is_stopped))
        }
    }

    fn detail(&self, is_stopped: bool) -> String {
        let message = self.message.as_ref();
        let message = message.map_or_else(String::new, |it| match self.state {
            Effect::Outdated => format!(" ({it})"),
            _ => format!(": {it}"),
        });
        let since = self.since.as_ref();
        let since = since.map_or_else(String::new, |time| format!(" since {time}"));
        let cron = &self.cron;
        match self.state {
            Effect::Ready => format!("ready{since}"),
            Effect::ExistingDisk => {
                "SSP does not import it: a PersistentVolumeClaim of its name is there, which no DataImportCron created".to_owned()
            }
            Effect::Importing => format!("importing{message}"),
            Effect::Waiting => format!("not imported yet{message}"),
            Effect::Failing if self.has_older_disk => {
                format!("the import fails{message}; the older disk stays in use")
            }
            Effect::Failing => format!("the import fails{message}"),
            Effect::SourceNotReady => format!("imported, but its DataSource is not ready{message}"),
            Effect::NotManaged => format!("CDI does not update its DataSource{message}"),
            Effect::NotCreated => format!("its DataImportCron {cron} is not created yet"),
            Effect::Outdated => format!(
                "its DataImportCron {cron} has an old spec{message}: SSP deletes it and creates it again"
            ),
            Effect::Rejected => format!("its DataImportCron {cron} is rejected{message}"),
            Effect::NeverImported => format!("never imported{message}"),
            Effect::Unwanted => {
                let when = if is_stopped {
                    " when nothing stops SSP"
                } else {
                    ""
                };
                format!("no longer wanted: SSP deletes the DataImportCron {cron}{when}")
            }
            _ => format!("unknown{message}"),
        }
    }
}

impl NotImported {
    pub(super) fn row(&self) -> Row {
        let template = self.template.raw();
        Row::new(
            Effect::NotImported,
            "DataImportCronTemplate",
            &format!("/{template}"),
            &self.why,
        )
    }
}

impl DataSource {
    pub(super) fn row(&self) -> Row {
        let (effect, what) = match (self.state, &self.from, &self.to) {
            (SourceState::NotCreated, ..) => (
                Effect::SourceNotCreated,
                "the DataSource is not created yet".to_owned(),
            ),
            (SourceState::Unwanted, ..) => (
                Effect::SourceUnwanted,
                "the DataSource is no longer wanted, and will be deleted".to_owned(),
            ),
            (_, Some(from), Some(to)) => (
                Effect::PointsElsewhere,
                format!("still points to {from}, and not to {to}"),
            ),
            (_, None, Some(to)) => (
                Effect::PointsElsewhere,
                format!("does not point to {to} yet"),
            ),
            (_, Some(from), None) => (Effect::PointsElsewhere, format!("still points to {from}")),
            (_, None, None) => (
                Effect::PointsElsewhere,
                "the DataSource is not up to date".to_owned(),
            ),
        };
        let key = format!("{}/{}", self.namespace.raw(), self.name.raw());
        Row::new(effect, "DataSource", &key, &what)
    }
}

/// A template that no operator imports, so that no import is outstanding.
#[derive(Debug, Serialize)]
pub(super) struct NotImported {
    pub(super) template: Foreign,
    pub(super) why: String,
}

/// A DataSource that SSP has not created, changed, or deleted yet.
#[derive(Debug, Serialize)]
pub(super) struct DataSource {
    pub(super) namespace: Foreign,
    pub(super) name: Foreign,
    pub(super) state: SourceState,
    /// The DataSource that it points to.
    pub(super) from: Option<Foreign>,
    /// The DataSource that it will point to.
    pub(super) to: Option<Foreign>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum SourceState {
    NotCreated,
    PointsElsewhere,
    Unwanted,
}

/// The golden images of the forecast, and the golden images that are no longer wanted.
pub(super) fn of(observed: &Situation) -> Vec<GoldenImage> {
    let report = &observed.will_be;
    let Some(forecast) = &report.forecast else {
        return Vec::new();
    };
    let world = &observed.world;
    let is_read = world.crons.is_read();
    let crons = world.crons.iter().map(|cron| (cron.metadata.key(), cron));
    let crons: BTreeMap<String, &DataImportCron> = crons.collect();
    let volumes = world.volumes.iter();
    let volumes: BTreeMap<String, &DataVolume> = volumes
        .map(|volume| (volume.metadata.key(), volume))
        .collect();
    let sources = world.sources.iter();
    let sources: BTreeMap<String, &world::DataSource> = sources
        .map(|source| (source.metadata.key(), source))
        .collect();
    let are_claims_read = world.claims.is_read();
    let none = Changes::default();
    let changes = report.changes.as_ref().unwrap_or(&none);
    let empty = changes.empty_meanwhile.as_slice();
    let changes = changes.crons.as_ref();
    // SSP creates the DataSources first: if one is rejected, it creates no DataImportCron.
    let stopped = forecast.stopped.as_ref();
    let reaches_crons = stopped.is_none_or(|stopped| *stopped != Stopped::DataSource);
    let mut images = Vec::new();
    for cron in &forecast.crons {
        let key = cron.key();
        let real = crons.get(&key);
        let seen = match (real, changes) {
            _ if !is_read => Seen::just(Effect::Unknown),
            _ if cron.rejected.is_some() => Seen::because(Effect::Rejected, cron.rejected.as_ref()),
            (Some(_), Some(changes)) if is_in(&changes.recreated, &key) => {
                let fields = changes.changed_fields(&key).iter().map(Foreign::raw);
                let fields: Vec<&str> = fields.collect();
                let meanwhile = if is_in(empty, &cron.source()) {
                    "; it has no disk meanwhile"
                } else {
                    ""
                };
                let fields = (!fields.is_empty())
                    .then(|| Foreign::from(&*format!("{}{meanwhile}", fields.join(", "))));
                Seen::because(Effect::Outdated, fields.as_ref())
            }
            (Some(_), _) if cron.never_runs.is_some() => {
                Seen::because(Effect::NeverImported, cron.never_runs.as_ref())
            }
            (Some(real), _) => {
                Seen::of(real, &volumes).beside(cron, sources.get(&cron.source()).copied())
            }
            (None, Some(changes)) if reaches_crons && !is_in(&changes.created, &key) => {
                Seen::just(Effect::ExistingDisk)
            }
            (None, _) if !are_claims_read => {
                let why = "PersistentVolumeClaims were not read, and SSP does not import an image that has a disk of its own";
                Seen::because(Effect::Unknown, Some(&Foreign::from(why)))
            }
            (None, _) => Seen::just(Effect::NotCreated),
        };
        images.push(seen.image(cron, observed.kubectl()));
    }
    let wanted: BTreeSet<String> = forecast.crons.iter().map(Cron::key).collect();
    for (key, real) in &crons {
        if wanted.contains(key) || !real.metadata.is_of_ssp() {
            continue;
        }
        let (namespace, cron) = parts(key);
        images.push(GoldenImage {
            template: None,
            architecture: None,
            namespace,
            cron,
            data_source: real.managed_data_source().map(Foreign::from),
            state: Effect::Unwanted,
            since: None,
            message: None,
            command: None,
            has_older_disk: false,
        });
    }
    images
}

/// The templates without a DataImportCron.
pub(super) fn not_imported(report: &Report) -> Vec<NotImported> {
    let Some(forecast) = &report.forecast else {
        return Vec::new();
    };
    let workload = listed(report.workload_architectures.as_deref().unwrap_or_default());
    let left_out = format!(
        "the annotation ssp.kubevirt.io/dict.architectures lists no architecture of the workload nodes ({workload})"
    );
    let lost = "another template or DataSource has its managedDataSource, so SSP creates no DataImportCron for it";
    let is_lost = |template: &&Foreign| !forecast.crons.iter().any(|it| it.template == **template);
    let lost = forecast.lost.iter().filter(is_lost).map(|it| (it, lost));
    let left_out = forecast.left_out.iter().map(|it| (it, left_out.as_str()));
    let all = left_out.chain(lost);
    all.map(|(template, why)| NotImported {
        template: template.clone(),
        why: why.to_owned(),
    })
    .collect()
}

/// The DataSources of templates that SSP or CDI will create, change, or delete, and the DataSources of deleted
/// templates. The others depend on the VM templates in SSP's version.
pub(super) fn data_sources(observed: &Situation) -> Vec<DataSource> {
    let report = &observed.will_be;
    let (Some(changes), true) = (&report.changes, observed.world.sources.is_read()) else {
        return Vec::new();
    };
    let forecasts = report.forecast.iter().chain(&report.forecast_before);
    let of_templates: BTreeSet<String> = forecasts
        .flat_map(|forecast| forecast.data_sources.iter().map(report::DataSource::key))
        .collect();
    let real = observed.world.sources.iter();
    let of_crons = real.filter(|source| source.metadata.cron().is_some());
    let of_crons: BTreeSet<String> = of_crons.map(|source| source.metadata.key()).collect();
    let source = |key: &Foreign, state, from: Option<&Foreign>, to: Option<&Foreign>| {
        let (namespace, name) = parts(key.raw());
        let is_told = state == SourceState::Unwanted
            && (!is_of_bundle(key.raw()) || of_crons.contains(key.raw()));
        let is_expected = of_templates.contains(key.raw()) || is_told;
        is_expected.then(|| DataSource {
            namespace,
            name,
            state,
            from: from.cloned(),
            to: to.cloned(),
        })
    };
    let changes = &changes.data_sources;
    let created = changes.created.iter();
    let created = created.filter_map(|key| source(key, SourceState::NotCreated, None, None));
    // A DataSource that is deleted because its DataImportCron is rejected is still wanted.
    let crons = report.forecast.iter().flat_map(|it| &it.crons);
    let managed: BTreeSet<String> = crons.map(Cron::source).collect();
    let deleted = changes.deleted.iter();
    let deleted = deleted.filter(|key| !managed.contains(key.raw()));
    let deleted = deleted.filter_map(|key| source(key, SourceState::Unwanted, None, None));
    let retargeted = changes.retargeted.iter().filter_map(|it| {
        let (from, to) = (it.from.as_ref(), it.to.as_ref());
        source(&it.name, SourceState::PointsElsewhere, from, to)
    });
    created.chain(retargeted).chain(deleted).collect()
}

/// The state that a DataImportCron reports.
struct Seen {
    state: Effect,
    since: Option<Foreign>,
    message: Option<Foreign>,
    has_older_disk: bool,
    /// Whether CDI has not reported a state.
    is_silent: bool,
}

impl Seen {
    fn just(state: Effect) -> Self {
        Self::because(state, None)
    }

    fn because(state: Effect, message: Option<&Foreign>) -> Self {
        Self {
            state,
            since: None,
            message: message.cloned(),
            has_older_disk: false,
            is_silent: false,
        }
    }

    /// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, `update`: the condition
    /// `UpToDate` shows whether the last image is imported, and `Progressing` the state of the current import.
    fn of(cron: &DataImportCron, volumes: &BTreeMap<String, &DataVolume>) -> Self {
        let up_to_date = condition(&cron.conditions, "UpToDate");
        let progressing = condition(&cron.conditions, "Progressing");
        if let Some(done) = up_to_date.filter(|it| it.status == "True") {
            return Self {
                since: since(done),
                ..Self::just(Effect::Ready)
            };
        }
        let volume = cron.current_imports.first();
        let volume = volume.and_then(|it| volumes.get(&cron.metadata.beside(&it.volume)));
        if let Some(running) = volume.and_then(|volume| failure(volume)) {
            let has_message = running.message.as_ref().is_some_and(|it| !it.0.is_empty());
            let reason = running.reason.as_deref().map(Foreign::from);
            return Self {
                since: since(running),
                message: if has_message {
                    message(running)
                } else {
                    reason
                },
                ..Self::just(Effect::Failing)
            };
        }
        let reason = progressing
            .and_then(|it| it.reason.as_deref())
            .unwrap_or_default();
        // Without an import, the other condition gives the reason.
        let shown = match reason {
            "NoImport" | "" => up_to_date.or(progressing),
            _ => progressing,
        };
        let is_progressing = progressing.is_some_and(|it| it.status == "True");
        let state = match reason {
            "NotAuthorized" | "Failed" | "Unknown" => Effect::Failing,
            _ if is_progressing => Effect::Importing,
            _ => Effect::Waiting,
        };
        let message = match state {
            Effect::Importing => {
                let progress = volume.map(|volume| volume.progress.clone());
                let progress = progress.filter(|it| !it.is_empty() && it != "N/A");
                let restarts = volume.map(|volume| volume.restarts);
                let restarts = restarts.filter(|it| *it > 0);
                let restarts = restarts.map(|it| format!("the importer restarted {it} times"));
                let parts: Vec<String> = progress.into_iter().chain(restarts).collect();
                (!parts.is_empty()).then(|| Foreign::from(&*parts.join(", ")))
            }
            _ => shown.and_then(message),
        };
        let no_report = || Foreign::from("CDI has not reported anything yet");
        Self {
            state,
            since: shown.and_then(since),
            message: message.or_else(|| shown.is_none().then(no_report)),
            has_older_disk: false,
            is_silent: shown.is_none(),
        }
    }

    /// Adds the state that its DataSource reports. SSP sets the label of its own DataSources.
    ///
    /// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, `getDataSource`; ssp-operator
    /// internal/operands/data-sources/reconcile.go, `reconcileDataSource`.
    fn beside(self, cron: &Cron, source: Option<&world::DataSource>) -> Self {
        let Some(source) = source else {
            return self;
        };
        let ready = condition(&source.conditions, "Ready");
        let owner = source.metadata.cron();
        let is_managed = owner == Some(cron.name.raw()) || source.metadata.is_of_ssp();
        match (self.state, ready.map(|ready| &*ready.status)) {
            (Effect::Ready | Effect::Waiting, _) if !is_managed => {
                let message = match owner {
                    Some(other) => format!("it has the label of DataImportCron {other}"),
                    None => "it has no label of a DataImportCron".to_owned(),
                };
                Self::because(Effect::NotManaged, Some(&Foreign::from(&*message)))
            }
            (Effect::Ready, Some("False")) => Self {
                since: ready.and_then(since),
                message: ready.and_then(message),
                ..Self::just(Effect::SourceNotReady)
            },
            (Effect::Failing, Some("True")) => Self {
                has_older_disk: true,
                ..self
            },
            _ => self,
        }
    }

    fn image(self, cron: &Cron, kubectl: &Kubectl) -> GoldenImage {
        let command = match self.state {
            Effect::NotManaged => {
                kubectl.hand_over(&cron.namespace, &cron.managed_data_source, &cron.name)
            }
            Effect::Waiting if self.is_silent => kubectl.wake(&cron.namespace, &cron.name),
            _ => None,
        };
        GoldenImage {
            template: Some(cron.template.clone()),
            architecture: Some(cron.architecture.clone()),
            namespace: cron.namespace.clone(),
            cron: cron.name.clone(),
            data_source: Some(cron.managed_data_source.clone()),
            state: self.state,
            since: self.since,
            message: self.message,
            command,
            has_older_disk: self.has_older_disk,
        }
    }
}

fn since(condition: &Condition) -> Option<Foreign> {
    condition.since.as_deref().map(Foreign::from)
}

fn message(condition: &Condition) -> Option<Foreign> {
    let message = condition.message.as_ref();
    message.map(|message| Foreign::from(&*message.0))
}

/// The condition of a volume whose importer fails.
///
/// MIRRORS: containerized-data-importer pkg/controller/util.go, `setAnnotationsFromPodWithPrefix`: the last message of
/// a terminated container stays until it runs again.
fn failure(volume: &DataVolume) -> Option<&Condition> {
    let running = condition(&volume.conditions, "Running")?;
    let has_message = running.message.as_ref().is_some_and(|it| !it.0.is_empty());
    let is_normal = [
        "Completed",
        "ContainerCreating",
        "Pending",
        "PodInitializing",
        "ScratchSpaceRequired",
    ]
    .contains(&running.reason.as_deref().unwrap_or_default());
    let is_stopped = running.status == "False";
    let has_failed = volume.phase == "Failed";
    (has_failed || is_stopped && has_message && !is_normal).then_some(running)
}
