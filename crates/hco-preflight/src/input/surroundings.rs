//! The objects in the cluster that the check of a VirtualMachine reads, as they will be after everything in the files
//! is applied: the architectures of the workload nodes, the default architecture, and the DataSources.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use cluster::field::{self, key};
use cluster::foreign::Foreign;
use cluster::{DataSource, KubeVirt, Metadata, Notes, Preference, Reference, World};
use engine::Import;
use operator_models::hco::golden_image::SHIPPED as SHIPPED_TEMPLATES;
use operator_models::hco::version::HcoVersion;
use operator_models::kubevirt::installation::MULTI_ARCHITECTURE;
use operator_models::kubevirt::preference::{PreferenceName, SHIPPED};
use policy_host::Objects;
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::check::Check;
use super::files::Found;
use super::question::{Question, default_namespace, set_namespace};
use crate::report::{self, Cron, Report};
use crate::templates::of_spec;

const HYPERCONVERGED: &str = "hco.kubevirt.io/v1beta1";
const PREFERENCE: &str = "VirtualMachinePreference";
const CLUSTER_PREFERENCE: &str = "VirtualMachineClusterPreference";
const INSTANCETYPE: &str = "instancetype.kubevirt.io/v1beta1";

/// The HyperConverged that determines the workload nodes; `None` if there are several objects.
fn decisive(questions: &[Arc<Question>], world: Option<&World>) -> Option<Question> {
    let new: Vec<_> = questions
        .iter()
        .filter(|question| question.identity.is_hyperconverged())
        .collect();
    match (new.as_slice(), world.map(|world| &*world.hyperconvergeds)) {
        ([question], _) => Some(Question::clone(question)),
        ([], Some([stored])) => Some(Question::live(stored.clone())),
        // Only the nodes are known.
        ([], None) => Some(Question::live(json!({
            "apiVersion": HYPERCONVERGED,
            "kind": "HyperConverged",
            "metadata": {"namespace": "kubevirt-hyperconverged", "name": "kubevirt-hyperconverged"},
            "spec": {},
        }))),
        _ => None,
    }
}

impl Check<'_> {
    /// The objects that the module requests. The user's nodes take precedence over the status of the HyperConverged, so the
    /// workload architectures come from the module's report about the HyperConverged. `beside` has the other objects of the
    /// files, which take precedence over the cluster's.
    pub(super) fn surroundings(&self, beside: &[Found], notes: &mut Notes) -> Result<Objects> {
        let world = self.world.as_ref();
        let decisive = decisive(&self.questions, world);
        let evaluated = match &decisive {
            // An object that is not in the cluster has the status of the file.
            Some(question) if question.old().is_none() => self.report(question, question.value()),
            Some(question) => self.report(question, &question.sent),
            None => Ok(Report::default()),
        };
        let report = evaluated.map_err(|failure| anyhow!("{failure}"))?;
        let namespace = default_namespace(&self.subject.source, world);
        let in_files = |kind: &'static str| {
            let of_kind = move |found: &&Found| found.identity.kind == kind;
            beside.iter().filter(of_kind).map(move |found| {
                let mut object = found.object.value.clone();
                if kind != CLUSTER_PREFERENCE {
                    set_namespace(&mut object, namespace);
                }
                object
            })
        };
        let mut kubevirts: Vec<Value> = in_files("KubeVirt").collect();
        if let Some(world) = world.filter(|_| kubevirts.is_empty()) {
            kubevirts = world.kubevirts.all(notes).unwrap_or_default();
        }
        let only = match kubevirts.as_slice() {
            [only] => KubeVirt::deserialize(only).ok(),
            _ => None,
        };
        let is_new = decisive
            .as_ref()
            .is_some_and(|question| question.found.is_some());
        let object = decisive.as_ref().map(Question::value);
        let kubevirt = match only {
            // Nothing in the files changes it.
            Some(real) if object.is_some() && !is_new && real.default_architecture.is_some() => {
                real
            }
            only => kubevirt(only, &report),
        };
        let known = world.and_then(|world| world.sources.all(notes));
        // The operators created the stored objects from a stored HyperConverged, so they need no forecast.
        let is_forecast = is_new || known.is_none() && world.is_some();
        let named = |source: Value| (key(&source), source);
        let mut sources: BTreeMap<String, Value> = known.into_iter().flatten().map(named).collect();
        if let Some(forecast) = report.forecast.as_ref().filter(|_| is_forecast) {
            for source in &forecast.data_sources {
                let key = source.key().to_string();
                let labelled = object
                    .and_then(|object| template(source, &forecast.crons, object))
                    .or_else(|| DataSource::deserialize(sources.get(&key)?).ok())
                    .unwrap_or_default();
                sources.insert(key, json!(data_source(source, labelled)));
            }
        }
        sources.extend(in_files("DataSource").map(named));

        let preferences = world.and_then(|world| world.preferences.all(notes));
        let cluster_preferences = world
            .and_then(|world| world.cluster_preferences.all(notes))
            .unwrap_or_else(|| shipped(world, &report));
        let hyperconverged = hyperconverged(object, &report);
        // The module takes the first object with a name.
        Ok(Objects::default()
            .with(HYPERCONVERGED, "HyperConverged", [hyperconverged])
            .with("kubevirt.io/v1", "KubeVirt", [json!(kubevirt)])
            .with(
                "cdi.kubevirt.io/v1beta1",
                "DataSource",
                sources.into_values(),
            )
            .with(INSTANCETYPE, PREFERENCE, in_files(PREFERENCE))
            .with(INSTANCETYPE, PREFERENCE, preferences.unwrap_or_default())
            .with(
                INSTANCETYPE,
                CLUSTER_PREFERENCE,
                in_files(CLUSTER_PREFERENCE),
            )
            .with(INSTANCETYPE, CLUSTER_PREFERENCE, cluster_preferences))
    }
}

/// The preferences with an architecture that KubeVirt ships.
fn shipped(world: Option<&World>, report: &Report) -> Vec<Value> {
    let kubevirt = world.and_then(World::kubevirt);
    let kubevirt = kubevirt.unwrap_or_else(|| report::kubevirt(report));
    SHIPPED
        .iter()
        .filter_map(|(name, _)| {
            let preference = PreferenceName::new((*name).to_owned(), "", "")?;
            let preference = kubevirt.shipped_preference(&preference)?;
            Some(json!(Preference {
                metadata: Metadata::new("", name),
                preferred: preference.preferred,
                required: preference.required,
            }))
        })
        .collect()
}

fn hyperconverged(object: Option<&Value>, report: &Report) -> Value {
    // v1 has the infrastructure placement at another path.
    let infra = object.and_then(|object| {
        let v1beta1 = object.pointer("/spec/infra/nodePlacement");
        v1beta1.or_else(|| object.pointer("/spec/deployment/nodePlacements/infra"))
    });
    json!({
        "metadata": {},
        "spec": {"infra": {"nodePlacement": infra}},
        "status": {"nodeInfo": {
            "workloadsArchitectures": report.workload_architectures.as_deref().unwrap_or_default(),
            "controlPlaneArchitectures": report.control_plane_architectures.as_deref().unwrap_or_default(),
        }},
    })
}

fn kubevirt(known: Option<KubeVirt>, report: &Report) -> KubeVirt {
    let mut kubevirt = known.unwrap_or_else(|| {
        let version = report::version(report).and_then(HcoVersion::kubevirt);
        KubeVirt {
            version: version.map(|(major, minor, patch)| format!("v{major}.{minor}.{patch}")),
            ..KubeVirt::default()
        }
    });
    if let Some(default) = &report.default_architecture {
        kubevirt.default_architecture = Some(default.raw().to_owned());
    }
    kubevirt
        .feature_gates
        .retain(|gate| gate != MULTI_ARCHITECTURE);
    if report.multi_arch_import == Some(Import::Enabled) {
        kubevirt.feature_gates.push(MULTI_ARCHITECTURE.to_owned());
    }
    kubevirt
}

/// The template of the spec from which a DataSource gets its default preference. HCO keeps the labels of its own templates.
///
/// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, `newDataSource`, which copies the
/// labels of a DataImportCron to its DataSource.
fn template(source: &report::DataSource, crons: &[Cron], object: &Value) -> Option<DataSource> {
    let cron = crons.iter().find(|cron| cron.source() == source.key())?;
    let name = cron.template.raw();
    let is_common = SHIPPED_TEMPLATES.iter().any(|(common, ..)| *common == name);
    let mut templates = of_spec(object).filter(|(_, of_spec)| field::name(of_spec) == name);
    let (_, template) = templates.next().filter(|_| !is_common)?;
    // The labels are at the same place in a DataSource.
    let labelled = DataSource::deserialize(template).ok()?;
    Some(labelled).filter(|labelled| !labelled.preference.is_empty())
}

fn data_source(source: &report::DataSource, labelled: DataSource) -> DataSource {
    let namespace = source.namespace.raw();
    let reference = |name: &Foreign| Reference {
        namespace: namespace.to_owned(),
        name: name.raw().to_owned(),
        ..Reference::default()
    };
    DataSource {
        metadata: Metadata::new(namespace, source.name.raw()),
        architecture: source.architecture_label.raw().to_owned(),
        points_to: source.points_to.as_ref().map(reference),
        preference: labelled.preference,
        preference_kind: labelled.preference_kind,
        ..DataSource::default()
    }
}
