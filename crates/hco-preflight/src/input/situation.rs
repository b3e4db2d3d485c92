//! Reads the states before and after a change, for `plan` and `check` of a cluster.

use std::collections::BTreeSet;

use anyhow::{Context as _, Error, Result, anyhow, bail, ensure};
use cluster::field::{key, name, text};
use cluster::foreign::{Foreign, one_line};
use cluster::{Cluster, Node, Notes, Reader, World, labels_in};
use engine::{Comparison, Consequence, Objects, VersionSource};
use kube_objects::json::{Field, Json};
use kube_objects::placement::Placement;
use operator_models::hco::api_version::ApiVersion;
use operator_models::hco::golden_image::SHIPPED;
use operator_models::hco::hyperconverged::HyperConverged;
use operator_models::hco::node::is_workload;
use operator_models::hco::version::{HcoVersion, VersionSupport};
use operator_models::kubevirt::installation::KubeVirt;
use serde_json::{Value, json};

use super::files::{self, Found};
use super::hco_version::ShownVersion;
use super::nodes::{of_file, of_world};
use super::question::Question;
use super::settings::Policies;
use crate::args::{ClusterSource, Plan};
use crate::failure::Nothing;
use crate::kubectl::Kubectl;
use crate::report::{self, Changes, Finding, Forecast, Report};
use crate::rows::no_forecast::{NoForecast, denied_by_hco, unknown_in_status};
use crate::rows::words;
use crate::templates;

pub(crate) struct Situation {
    pub(crate) world: World,
    /// The current object; `None` if it does not exist yet.
    pub(crate) before: Option<Hco>,
    pub(crate) after: Hco,
    /// The report of a check of the cluster after the change.
    pub(crate) checked: Report,
    pub(crate) nodes_after: Vec<Node>,
    pub(crate) forecast_before: Option<Forecast>,
    pub(crate) outlook: Result<Outlook, NoForecast>,
    /// The changes that the operators will make even without the requested change; `None` if no change was requested,
    /// or if they are unknown.
    pub(crate) pending: Option<Changes>,
    /// Whether the user requested a change: another object, other nodes, or another version.
    pub(crate) is_asked: bool,
    /// Whether a file changes the object, so that the cluster's policy evaluates it.
    pub(crate) is_sent: bool,
    /// The version of HCO that the user named.
    version: Option<String>,
    /// `NAMESPACE/NAME` of the object.
    pub(crate) name: String,
    pub(crate) kubectl: Kubectl,
    /// The options for the same cluster and settings, as words of a shell.
    pub(crate) options: String,
}

pub(crate) struct Hco {
    pub(crate) object: Value,
    pub(crate) report: Report,
    /// How its workloads are placed; `None` if HCO cannot read it.
    pub(crate) placement: Option<Placement>,
}

/// The objects that the operators create after the change, and the difference from the objects in the cluster.
pub(crate) struct Outlook {
    pub(crate) forecast: Forecast,
    pub(crate) changes: Changes,
}

/// `check` of a cluster makes no change, and keeps its connection between polls.
pub(crate) fn compare(
    plan: &Plan,
    reader: Reader,
    kept: Option<Cluster>,
    notes: &mut Notes,
) -> Result<Situation> {
    let source = &plan.source;
    let named = [&source.from, &plan.settings, &plan.nodes];
    files::check_stdin(named.into_iter().flatten().chain(&plan.filename))?;
    ensure!(
        source.is_live(),
        "specify what there is: --cluster (the cluster of the current context), or --from PATH (the output of `snapshot`, a must-gather, or files of `kubectl get -o yaml`)"
    );
    source.check_connection()?;
    let found = found(plan, notes)?;
    let manifests: Vec<&Value> = found.iter().map(|found| &found.object.value).collect();
    let world = source.world(kept, &manifests, reader, notes)?;
    let nodes = of_world(&world)?;
    let question = match found {
        Some(found) => {
            let place = found.place().to_string();
            Question::of_file(found, plan.as_if, source, None, Some(&world), notes)
                .context(place)?
        }
        None => Question::unchanged(only(source, &world, notes)?),
    };
    if let (None, Some(other)) = (question.old(), world.hyperconvergeds.first()) {
        bail!(
            "the file has the HyperConverged {}, but the cluster has {}: HCO accepts only one, so correct the name and the namespace in the file",
            question.identity.namespaced_name(),
            one_line(&key(other))
        );
    }
    let nodes_after = match (&plan.nodes, &plan.what_if) {
        (Some(path), _) => of_file(path, &labels_in(question.objects()))?,
        (None, Some(what_if)) => what_if.apply(nodes)?,
        (None, None) => nodes,
    };
    Situation::new(plan, world, &question, nodes_after, notes)
}

/// The only HyperConverged. HCO reconciles only one.
fn only(source: &ClusterSource, world: &World, notes: &mut Notes) -> Result<Value> {
    let own = source.connection.namespace.as_deref();
    let wanted = world.hyperconvergeds(own);
    match *wanted {
        [one] => {
            let mut one = one.clone();
            let metadata = one.get_mut("metadata").and_then(Value::as_object_mut);
            let deleted = metadata.and_then(|metadata| metadata.remove("deletionTimestamp"));
            if deleted.is_some() {
                notes.push(&format!(
                    "{} is being deleted, and is evaluated as if it were not",
                    key(&one)
                ));
            }
            Ok(one)
        }
        [] => Err(no_hyperconverged(own)),
        _ => bail!(
            "there are {} HyperConvergeds, and HCO reconciles one; specify its namespace with -n",
            wanted.len()
        ),
    }
}

pub(super) fn no_hyperconverged(namespace: Option<&str>) -> Error {
    let within = namespace.map(|name| format!(" in the namespace `{}`", one_line(name)));
    let within = within.unwrap_or_default();
    let what = format!("there is no HyperConverged{within}; specify a manifest with -f");
    Nothing(what).into()
}

impl Situation {
    fn new(
        plan: &Plan,
        world: World,
        question: &Question,
        nodes_after: Vec<Node>,
        notes: &mut Notes,
    ) -> Result<Self> {
        let (source, settings) = (&plan.source, plan.settings.as_deref());
        let version = plan.hco_version.as_deref();
        let questions = std::slice::from_ref(question);
        let policies = Policies::read(settings, None, Some(&world), questions, notes)?;
        let mut of_policy = policies.of(question).value.clone();
        // Another version can ship other templates.
        if version.is_none()
            && let Some(common) = common_templates(question)
            && let Some(fields) = of_policy.as_object_mut()
        {
            fields.entry("commonTemplates").or_insert(common);
        }
        // No VM starts, whatever the policy does with a new object.
        let mut of_check = json!({"levels": {"no-workload-nodes": "deny"}});
        json_patch::merge(&mut of_check, &of_policy);
        let kubectl = Kubectl::new(&source.connection, source.connection.context.as_deref());
        let report = |question: &Question, nodes: &str, comparison: Option<&Comparison<'_>>| {
            let found = question.found.as_ref();
            let settings = found.map_or(&of_check, |_| &of_policy);
            let payload = question.payload(&question.sent, question.old(), settings);
            kubectl.complete(engine::report_change(&payload, nodes, comparison))
        };
        let objects = world.boot_sources().to_string();
        let objects = Field::root(Json::parse(objects.as_bytes())?);
        let mut comparison = Comparison {
            objects: Objects::read(&objects).map_err(|error| anyhow!("{error}"))?,
            ..Comparison::default()
        };
        let nodes_before: Vec<&Node> = world.nodes.iter().collect();
        let list_before = json!({ "items": nodes_before }).to_string();
        let list_after = json!({ "items": nodes_after }).to_string();
        let is_sent = question.found.is_some();
        let has_other_nodes = !nodes_after.iter().eq(nodes_before);
        let is_asked = is_sent || has_other_nodes || version.is_some();
        let before = question.old().map(|old| {
            let report = report(&Question::live(old.clone()), &list_before, None);
            Hco::new(old, report)
        });
        let stored = question.old().filter(|_| is_asked && world.crons.is_read());
        let pending = stored.and_then(|stored| {
            let unchanged = Question::unchanged(stored.clone());
            report(&unchanged, &list_before, Some(&comparison)).changes
        });
        comparison.version = version;
        comparison.nodes_before = has_other_nodes.then_some(&*list_before);
        let mut report_after = report(question, &list_after, Some(&comparison));
        let live = Question::live(question.sent.clone());
        let checked = report(&live, &list_after, Some(&comparison));
        let outlook = match (report_after.forecast.take(), report_after.changes.take()) {
            (Some(forecast), Some(changes)) => Ok(Outlook { forecast, changes }),
            _ => Err(NoForecast::of(&report_after, &nodes_after)),
        };
        let situation = Self {
            world,
            nodes_after,
            before,
            forecast_before: report_after.forecast_before.take(),
            after: Hco::new(&question.sent, report_after),
            checked,
            outlook,
            pending,
            is_asked,
            is_sent,
            version: plan.hco_version.clone(),
            name: question.identity.namespaced_name(),
            options: source.options(settings, &kubectl),
            kubectl,
        };
        for hco in situation.before.iter().chain([&situation.after]) {
            let version = situation.version(&hco.report);
            if let Some(unknown) = version.and_then(|version| version.unknown) {
                notes.push(&unknown);
            }
        }
        Ok(situation)
    }
}

/// The setting for a cluster whose HCO does not ship all common templates of upstream. After HCO has reconciled the first
/// object, it lists all common templates in the status. The other object has templates that HCO has not reconciled yet.
///
/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
/// `GetDataImportCronTemplates`.
fn common_templates(question: &Question) -> Option<Value> {
    let first = question.old().unwrap_or(&question.sent);
    let seen = first.pointer("/status/observedGeneration")?;
    let is_seen = first.pointer("/metadata/generation") == Some(seen);
    if !is_seen || templates::common(first).next().is_none() {
        return None;
    }
    let names: BTreeSet<&str> = question
        .objects()
        .flat_map(templates::of_spec)
        .map(|(_, template)| template)
        .chain(templates::of_status(first))
        .map(name)
        .collect();
    let upstream = SHIPPED
        .iter()
        .filter(|(name, ..)| names.contains(name))
        .map(|(name, url, _)| (*name, Value::from(*url)));
    let stated = templates::common(first).filter_map(|(name, stated)| Some((name, stated?)));
    Some(upstream.chain(stated).collect())
}

impl Hco {
    fn new(object: &Value, report: Report) -> Self {
        let version =
            ApiVersion::from_kind(text(object, "/apiVersion"), "").unwrap_or(ApiVersion::V1beta1);
        let json = object.to_string();
        let json = Json::parse(json.as_bytes()).ok();
        let hco = json.and_then(|json| HyperConverged::parse(json, version).ok());
        Self {
            object: object.clone(),
            report,
            placement: hco.map(|hco| hco.placement),
        }
    }
}

/// Whether KubeVirt runs virt-handler on a node. Without a placement, it runs on every node, including nodes that are
/// not workers for HCO.
///
/// MIRRORS: kubevirt pkg/virt-operator/resource/placement/placement.go, `InjectPlacementMetadata`.
pub(crate) fn has_virt_handler(hco: &Hco, node: &Node) -> bool {
    hco.placement.as_ref().is_none_or(|placement| {
        !placement.has_requirements() || node.matches(|node| is_workload(node, placement))
    })
}

impl Situation {
    pub(crate) fn current(&self) -> &Hco {
        self.before.as_ref().unwrap_or(&self.after)
    }

    pub(crate) fn leaving(&self) -> Vec<Foreign> {
        let mut leaving = self.world.nodes.by(|node| &*node.name);
        for node in &self.nodes_after {
            leaving.remove(&*node.name);
        }
        leaving.into_keys().map(Foreign::from).collect()
    }

    pub(crate) fn forecast_after(&self) -> Option<&Forecast> {
        Some(&self.outlook.as_ref().ok()?.forecast)
    }

    pub(crate) fn changes(&self) -> Option<&Changes> {
        Some(&self.outlook.as_ref().ok()?.changes)
    }

    pub(crate) fn denied_by_hco(&self) -> Vec<String> {
        if !self.is_sent {
            return Vec::new();
        }
        let (before, Hco { object, report, .. }) = (self.before.as_ref(), &self.after);
        let mut facts = denied_by_hco(report);
        // MIRRORS: hyperconverged-cluster-operator pkg/webhooks/validator/validator.go, ValidateUpdate, which checks nothing
        // if neither the spec nor the annotations change.
        let is_same = |field: &str| {
            before.is_some_and(|before| before.object.pointer(field) == object.pointer(field))
        };
        if is_same("/spec") && is_same("/metadata/annotations") {
            return facts;
        }
        // The webhook crashes, so the request fails.
        let crashes = |finding: &&Finding| finding.consequence == Some(Consequence::HcoCrashes);
        facts.extend(report.findings.iter().filter(crashes).map(words::finding));
        if facts.is_empty()
            && report.templates.is_some()
            && let Some(before) = before
        {
            facts.extend(unknown_in_status(&before.object));
        }
        facts
    }

    /// KubeVirt's default architecture before and after the change. The KubeVirt that was read wins; the forecast is for
    /// changes. KubeVirt keeps its default if HCO sets none.
    pub(crate) fn default_architectures(&self, reports: [&Report; 2]) -> [Option<Foreign>; 2] {
        let [before, after] = reports.map(|report| report.default_architecture.clone());
        let changed = after.filter(|after| before.as_ref() != Some(after));
        let before = self.world.default_architecture().or(before);
        [before.clone(), changed.or(before)]
    }

    pub(crate) fn kubevirt(&self, report: &Report, default_architecture: String) -> KubeVirt {
        let read = self.world.kubevirt().filter(|_| self.version.is_none());
        let mut kubevirt = read.unwrap_or_else(|| report::kubevirt(report));
        kubevirt.default_architecture = default_architecture;
        kubevirt
    }

    pub(crate) fn version(&self, report: &Report) -> Option<ShownVersion> {
        let (version, given) = (report.version.as_ref()?, self.version.as_deref());
        Some(ShownVersion::of(version, &self.current().object, given))
    }

    pub(crate) fn doubt_about_version(&self) -> Option<String> {
        let given = self.version.as_deref()?;
        let Some(VersionSupport::Known(version)) = VersionSupport::parse(given) else {
            return Some(words::unknown_version(given));
        };
        let current = self.before.as_ref()?.report.version.as_ref()?;
        let is_older = current.source == VersionSource::Status
            && HcoVersion::parse(&current.number).is_some_and(|current| version < current);
        is_older.then(|| words::older_version(given, &current.number))
    }
}

fn found(args: &Plan, notes: &mut Notes) -> Result<Option<Found>> {
    if args.filename.is_empty() {
        return Ok(None);
    }
    let mut files = files::read(&args.filename, files::Walk::default(), false);
    if let Some(failure) = files.failures.first() {
        bail!("{failure}");
    }
    notes.append(files.notes);
    let found = files
        .found
        .pop()
        .context("nothing to plan: no HyperConverged (hco.kubevirt.io) in the files of -f")?;
    ensure!(
        files.found.is_empty(),
        "a plan is about one HyperConverged, but the files of -f have several"
    );
    Ok(Some(found))
}
