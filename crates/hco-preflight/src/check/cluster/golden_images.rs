//! The golden images: the forecast for each architecture, and the state that its DataImportCron reports.

use std::collections::{BTreeMap, BTreeSet};

use cluster::foreign::Foreign;
use cluster::object_name::parts;
use cluster::{self, Condition, DataImportCron, DataVolume, condition};
use engine::Stopped;

use crate::input::{Outlook, Situation};
use crate::kubectl::Kubectl;
use crate::plan::boot_sources::is_of_bundle;
use crate::report::{self, Cron, is_in, listed};
use crate::rows::{Command, Effect, Row, Severity};

/// A template for one architecture, and its state.
#[derive(Debug)]
struct GoldenImage {
    /// `None` for a DataImportCron that is no longer wanted.
    template: Option<Foreign>,
    /// Empty if the DataImportCron is not for a specific architecture.
    architecture: Option<Foreign>,
    namespace: Foreign,
    cron: Foreign,
    data_source: Option<Foreign>,
    state: Effect,
    /// The time since which it has this state.
    since: Option<Foreign>,
    /// The message of CDI, or of the API server that rejects it.
    message: Option<Foreign>,
    /// A command that makes CDI continue.
    command: Option<String>,
    /// Whether its DataSource has a disk from an earlier import.
    has_older_disk: bool,
}

impl GoldenImage {
    fn severity(&self) -> Severity {
        match self.state {
            // In a plan, nothing is lost if an image was not imported before.
            Effect::Rejected | Effect::NeverImported => Severity::Loss,
            state => state.severity(),
        }
    }

    /// Its row. While SSP is stopped, it deletes nothing.
    fn row(&self, is_stopped: bool) -> Row {
        let source = self.data_source.as_ref().unwrap_or(&self.cron);
        let key = format!("{}/{}", self.namespace.raw(), source.raw());
        let raw = |text: &Option<Foreign>| text.as_ref().map(|text| text.raw().to_owned());
        let row = Row {
            severity: self.severity(),
            command: self.command.clone().map(|line| Command {
                when: match self.state {
                    Effect::NotManaged => "fix".to_owned(),
                    _ => "if that does not change".to_owned(),
                },
                line,
            }),
            ..Row::new(self.state, "DataSource", &key, &self.detail(is_stopped))
        };
        row.about("template", raw(&self.template).as_deref())
            .about("architecture", raw(&self.architecture).as_deref())
            .about("dataImportCron", Some(self.cron.raw()))
            .about("since", raw(&self.since).as_deref())
            .about("message", raw(&self.message).as_deref())
    }

    fn detail(&self, is_stopped: bool) -> String {
        let message = self
            .message
            .as_ref()
            .map_or_else(String::new, |message| match self.state {
                Effect::Outdated => format!(" ({message})"),
                _ => format!(": {message}"),
            });
        let cron = &self.cron;
        match self.state {
            Effect::Ready => "disk".to_owned(),
            Effect::ExistingDisk => {
                "disk: SSP does not import it, because a PersistentVolumeClaim with its name exists that no DataImportCron created".to_owned()
            }
            Effect::Importing => format!("importing{message}"),
            Effect::Waiting => format!("no disk{message}"),
            Effect::Failing if self.has_older_disk => {
                format!("import fails{message}; the older disk stays in use")
            }
            Effect::Failing => format!("import fails{message}"),
            Effect::SourceNotReady => format!("no disk: its DataSource is not ready{message}"),
            Effect::NotManaged => format!("CDI does not update its DataSource{message}"),
            Effect::NotCreated => format!("not created: there is no DataImportCron {cron} yet"),
            Effect::Outdated => format!(
                "its DataImportCron {cron} has an old spec{message}: SSP deletes it and creates it again"
            ),
            Effect::Rejected => format!("no disk: its DataImportCron {cron} is rejected{message}"),
            Effect::NeverImported => format!("no disk: never imported{message}"),
            Effect::Unwanted if is_stopped => format!(
                "no longer wanted: SSP deletes the DataImportCron {cron} when nothing stops SSP"
            ),
            Effect::Unwanted => format!("no longer wanted: SSP deletes the DataImportCron {cron}"),
            _ => format!("unknown{message}"),
        }
    }
}

/// A DataSource that SSP has not created, changed, or deleted yet.
#[derive(Debug)]
struct DataSource {
    namespace: Foreign,
    name: Foreign,
    state: Effect,
    from: Option<Foreign>,
    to: Option<Foreign>,
}

impl DataSource {
    fn row(&self) -> Row {
        let shown = |source: &Option<Foreign>| {
            source
                .as_ref()
                .map_or_else(|| "no DataSource".to_owned(), Foreign::to_string)
        };
        let (effect, what) = match self.state {
            Effect::NotCreated => (
                Effect::SourceNotCreated,
                "the DataSource is not created yet".to_owned(),
            ),
            Effect::Unwanted => (
                Effect::SourceUnwanted,
                "the DataSource is no longer wanted, and will be deleted".to_owned(),
            ),
            state => {
                let [from, to] = [&self.from, &self.to].map(shown);
                (state, format!("still points to {from} instead of {to}"))
            }
        };
        let key = format!("{}/{}", self.namespace.raw(), self.name.raw());
        let raw = |source: &Option<Foreign>| source.as_ref().map(|source| source.raw().to_owned());
        Row::new(effect, "DataSource", &key, &what)
            .about("pointsTo", raw(&self.from).as_deref())
            .about("willPointTo", raw(&self.to).as_deref())
    }
}

/// The rows of the golden images, of the templates without a DataImportCron, and of DataSources.
pub(super) fn rows(observed: &Situation, is_stopped: bool) -> Vec<Row> {
    of(observed)
        .iter()
        .map(|image| image.row(is_stopped))
        .chain(not_imported(observed))
        .chain(data_sources(observed).iter().map(DataSource::row))
        .collect()
}

/// The golden images of the forecast, and the golden images that are no longer wanted.
fn of(observed: &Situation) -> Vec<GoldenImage> {
    let Ok(Outlook { forecast, changes }) = &observed.outlook else {
        return Vec::new();
    };
    let world = &observed.world;
    let is_read = world.crons.is_read();
    let crons: BTreeMap<String, &DataImportCron> = world
        .crons
        .iter()
        .map(|cron| (cron.metadata.key(), cron))
        .collect();
    let volumes: BTreeMap<String, &DataVolume> = world
        .volumes
        .iter()
        .map(|volume| (volume.metadata.key(), volume))
        .collect();
    let sources: BTreeMap<String, &cluster::DataSource> = world
        .sources
        .iter()
        .map(|source| (source.metadata.key(), source))
        .collect();
    let empty = changes.empty_meanwhile.as_slice();
    let changes = changes.crons.as_ref();
    // SSP creates the DataSources first: if one is rejected, it creates no DataImportCron.
    let reaches_crons = forecast.stopped != Some(Stopped::DataSource);
    let mut images = Vec::new();
    for cron in &forecast.crons {
        let key = cron.key();
        let (namespace, source) = (cron.namespace.clone(), cron.managed_data_source.clone());
        let image = GoldenImage {
            template: Some(cron.template.clone()),
            architecture: Some(cron.architecture.clone()),
            ..GoldenImage::new(namespace, cron.name.clone(), Some(source))
        };
        images.push(match (crons.get(&key), changes) {
            _ if !is_read => image,
            _ if cron.rejected.is_some() => image.with(Effect::Rejected, cron.rejected.clone()),
            (Some(_), Some(changes)) if is_in(&changes.recreated, &key) => {
                let mut fields = listed(changes.changed_fields(&key));
                if is_in(empty, &cron.source()) && !fields.is_empty() {
                    fields.push_str("; in the meantime, it has no disk");
                }
                let fields = Some(Foreign::from(&*fields)).filter(|fields| !fields.raw().is_empty());
                image.with(Effect::Outdated, fields)
            }
            (Some(_), _) if cron.never_runs.is_some() => {
                image.with(Effect::NeverImported, cron.never_runs.clone())
            }
            (Some(real), _) => {
                let image = image.reported(real, &volumes, &observed.kubectl);
                match sources.get(&cron.source()) {
                    Some(source) => image.beside(cron, source, &observed.kubectl),
                    None => image,
                }
            }
            (None, Some(changes)) if reaches_crons && !is_in(&changes.created, &key) => {
                image.with(Effect::ExistingDisk, None)
            }
            (None, _) if !world.claims.is_read() => {
                let why = "PersistentVolumeClaims were not read, and SSP does not import an image that has a disk of its own";
                image.with(Effect::Unknown, Some(Foreign::from(why)))
            }
            (None, _) => image.with(Effect::NotCreated, None),
        });
    }
    let wanted: BTreeSet<String> = forecast.crons.iter().map(Cron::key).collect();
    for (key, real) in &crons {
        if wanted.contains(key) || !real.metadata.is_of_ssp() {
            continue;
        }
        let (namespace, cron) = parts(key);
        let source = real.managed_data_source().map(Foreign::from);
        images.push(GoldenImage::new(namespace, cron, source).with(Effect::Unwanted, None));
    }
    images
}

/// The templates without a DataImportCron.
fn not_imported(observed: &Situation) -> Vec<Row> {
    let Some(forecast) = observed.forecast_after() else {
        return Vec::new();
    };
    let report = &observed.after.report;
    let workload = listed(report.workload_architectures.as_deref().unwrap_or_default());
    let left_out = format!(
        "the annotation ssp.kubevirt.io/dict.architectures lists no architecture of the workload nodes ({workload})"
    );
    let lost = "another template or DataSource has its managedDataSource, so SSP creates no DataImportCron for it";
    let is_lost = |template: &&Foreign| {
        !forecast
            .crons
            .iter()
            .any(|cron| cron.template == **template)
    };
    let lost = forecast
        .lost
        .iter()
        .filter(is_lost)
        .map(|template| (template, lost));
    let left_out = forecast
        .left_out
        .iter()
        .map(|template| (template, &*left_out));
    let row = |(template, why): (&Foreign, &str)| {
        let key = format!("/{}", template.raw());
        Row::new(Effect::NotImported, "DataImportCronTemplate", &key, why)
    };
    left_out.chain(lost).map(row).collect()
}

/// The DataSources of templates that SSP or CDI will create, change, or delete, and the DataSources of deleted
/// templates. The others depend on the VM templates in SSP's version.
fn data_sources(observed: &Situation) -> Vec<DataSource> {
    let (Ok(outlook), true) = (&observed.outlook, observed.world.sources.is_read()) else {
        return Vec::new();
    };
    let Outlook { forecast, changes } = outlook;
    let of_templates: BTreeSet<String> = [forecast]
        .into_iter()
        .chain(&observed.forecast_before)
        .flat_map(|forecast| forecast.data_sources.iter().map(report::DataSource::key))
        .collect();
    let of_crons: BTreeSet<String> = observed
        .world
        .sources
        .iter()
        .filter(|source| source.metadata.cron().is_some())
        .map(|source| source.metadata.key())
        .collect();
    let changes = &changes.data_sources;
    let created = changes
        .created
        .iter()
        .map(|key| (key, Effect::NotCreated, None, None));
    // A DataSource that is deleted because its DataImportCron is rejected is still wanted.
    let managed: BTreeSet<String> = forecast.crons.iter().map(Cron::source).collect();
    let deleted = changes
        .deleted
        .iter()
        .filter(|key| !managed.contains(key.raw()))
        .map(|key| (key, Effect::Unwanted, None, None));
    let retargeted = changes.retargeted.iter().map(|pointer| {
        let (from, to) = (pointer.from.clone(), pointer.to.clone());
        (&pointer.name, Effect::PointsElsewhere, from, to)
    });
    created
        .chain(retargeted)
        .chain(deleted)
        .filter(|(key, state, ..)| {
            let is_told = !is_of_bundle(key.raw()) || of_crons.contains(key.raw());
            of_templates.contains(key.raw()) || *state == Effect::Unwanted && is_told
        })
        .map(|(key, state, from, to)| {
            let (namespace, name) = parts(key.raw());
            DataSource {
                namespace,
                name,
                state,
                from,
                to,
            }
        })
        .collect()
}

impl GoldenImage {
    /// One whose state is unknown.
    fn new(namespace: Foreign, cron: Foreign, data_source: Option<Foreign>) -> Self {
        Self {
            template: None,
            architecture: None,
            namespace,
            cron,
            data_source,
            state: Effect::Unknown,
            since: None,
            message: None,
            command: None,
            has_older_disk: false,
        }
    }

    fn with(self, state: Effect, message: Option<Foreign>) -> Self {
        Self {
            state,
            message,
            ..self
        }
    }

    /// With this state, and the time and the message of a condition.
    fn shown(mut self, state: Effect, condition: &Condition) -> Self {
        self.since = condition.since.as_deref().map(Foreign::from);
        let message = condition.message.as_ref();
        self.with(state, message.map(|message| Foreign::from(&*message.0)))
    }

    /// With the state that its DataImportCron reports.
    ///
    /// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, `update`: the condition
    /// `UpToDate` shows whether the last image is imported, and `Progressing` the state of the current import.
    fn reported(
        mut self,
        cron: &DataImportCron,
        volumes: &BTreeMap<String, &DataVolume>,
        kubectl: &Kubectl,
    ) -> Self {
        let up_to_date = condition(&cron.conditions, "UpToDate");
        let progressing = condition(&cron.conditions, "Progressing");
        if let Some(done) = up_to_date.filter(|condition| condition.status == "True") {
            return self.shown(Effect::Ready, done).with(Effect::Ready, None);
        }
        let volume = cron
            .current_imports
            .first()
            .and_then(|import| volumes.get(&cron.metadata.beside(&import.volume)));
        if let Some(running) = volume.and_then(|volume| failure(volume)) {
            let failing = self.shown(Effect::Failing, running);
            let message = failing
                .message
                .clone()
                .filter(|message| !message.raw().is_empty())
                .or_else(|| running.reason.as_deref().map(Foreign::from));
            return failing.with(Effect::Failing, message);
        }
        let reason = progressing.and_then(|condition| condition.reason.as_deref());
        // Without an import, the other condition gives the reason.
        let shown = match reason.unwrap_or_default() {
            "NoImport" | "" => up_to_date.or(progressing),
            _ => progressing,
        };
        let Some(shown) = shown else {
            let message = Foreign::from("CDI has not reported anything yet");
            self.command = kubectl.wake(&self.namespace, &self.cron);
            return self.with(Effect::Waiting, Some(message));
        };
        if let Some("NotAuthorized" | "Failed" | "Unknown") = reason {
            return self.shown(Effect::Failing, shown);
        }
        if progressing.is_none_or(|condition| condition.status != "True") {
            return self.shown(Effect::Waiting, shown);
        }
        let mut details = Vec::new();
        if let Some(volume) = volume {
            let progress = &volume.progress;
            if !progress.is_empty() && progress != "N/A" {
                details.push(progress.clone());
            }
            if volume.restarts > 0 {
                let restarts = volume.restarts;
                details.push(format!("the importer restarted {restarts} times"));
            }
        }
        let details = (!details.is_empty()).then(|| Foreign::from(&*details.join(", ")));
        let importing = self.shown(Effect::Importing, shown);
        importing.with(Effect::Importing, details)
    }

    /// With the state that its DataSource reports. SSP sets the label of its own DataSources.
    ///
    /// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, `getDataSource`; ssp-operator
    /// internal/operands/data-sources/reconcile.go, `reconcileDataSource`.
    fn beside(mut self, cron: &Cron, source: &cluster::DataSource, kubectl: &Kubectl) -> Self {
        let owner = source.metadata.cron();
        let is_managed = owner == Some(cron.name.raw()) || source.metadata.is_of_ssp();
        let ready = condition(&source.conditions, "Ready");
        match (self.state, ready) {
            (Effect::Ready | Effect::Waiting, _) if !is_managed => {
                let message = match owner {
                    Some(other) => format!("it has the label of DataImportCron {other}"),
                    None => "it has no DataImportCron label".to_owned(),
                };
                self.since = None;
                let (namespace, source) = (&cron.namespace, &cron.managed_data_source);
                self.command = kubectl.hand_over(namespace, source, &cron.name);
                self.with(Effect::NotManaged, Some(Foreign::from(&*message)))
            }
            (Effect::Ready, Some(ready)) if ready.status == "False" => {
                self.shown(Effect::SourceNotReady, ready)
            }
            (Effect::Failing, Some(ready)) => {
                self.has_older_disk = ready.status == "True";
                self
            }
            _ => self,
        }
    }
}

/// The condition of a volume whose importer fails.
///
/// MIRRORS: containerized-data-importer pkg/controller/util.go, `setAnnotationsFromPodWithPrefix`: the last message of
/// a terminated container stays until it runs again.
fn failure(volume: &DataVolume) -> Option<&Condition> {
    let running = condition(&volume.conditions, "Running")?;
    let has_message = running
        .message
        .as_ref()
        .is_some_and(|message| !message.0.is_empty());
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
