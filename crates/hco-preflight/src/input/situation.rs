//! Reads the states before and after a change, for `plan` and `check` of a cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Result, anyhow, bail, ensure};
use cluster::field::{key, name};
use cluster::foreign::{Foreign, one_line};
use cluster::{Cluster, Identity, Labels, Node, Notes, Reader, World};
use engine::{Comparison, Consequence, Level, Objects, VersionSource};
use kube_objects::json::{Field, Json};
use kube_objects::placement::Placement;
use operator_models::hco::api_version::ApiVersion;
use operator_models::hco::golden_image::SHIPPED;
use operator_models::hco::hyperconverged::HyperConverged;
use operator_models::hco::node::is_workload;
use operator_models::hco::version::{HcoVersion, VersionSupport};
use operator_models::kubevirt::installation::KubeVirt;
use serde_json::{Map, Value};

use super::nodes::{of_file, of_world};
use super::policies::Policies;
use super::question::{Against, Question};
use crate::args::{ClusterSource, Plan};
use crate::failure::Nothing;
use crate::input::apply;
use crate::input::files::{self, Found};
use crate::input::hco_version::ShownVersion;
use crate::kubectl::Kubectl;
use crate::report::{self, Changes, Finding, Forecast, Report};
use crate::rows::no_forecast::{NoForecast, denied_by_hco, unknown_in_status};
use crate::rows::words;
use crate::templates::{self, MODIFIED};

/// The states before and after the change.
pub(crate) struct Situation {
    pub(crate) world: World,
    /// The current object; `None` if it does not exist yet.
    pub(crate) before: Option<Hco>,
    pub(crate) after: Hco,
    /// The report of a check of the cluster after the change.
    pub(crate) checked: Report,
    pub(crate) nodes_after: Vec<Node>,
    /// The forecast for the current object and nodes.
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

/// A HyperConverged, and the engine's report about it.
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

/// Reads the data for a plan, and evaluates it.
pub(crate) fn compare(args: &Plan, notes: &mut Notes) -> Result<Situation> {
    let (source, settings) = (&args.source, args.settings.as_deref());
    let named = [&source.from, &args.settings, &args.nodes];
    files::check_stdin(named.into_iter().flatten().chain(&args.filename))?;
    check_source(source)?;
    let found = found(args, notes)?;
    let own = found
        .as_ref()
        .and_then(|found| found.identity.namespace.as_ref());
    let wanted = source.connection.namespace.as_ref();
    if let (Some(wanted), Some(own)) = (wanted, own)
        && wanted != own
    {
        bail!(one_line(&format!(
            "the file is in the namespace `{own}`, but -n is `{wanted}`: remove -n"
        )));
    }
    let manifests: Vec<&Value> = found.iter().map(|found| &found.object.value).collect();
    let world = read(Reader::Plan, source, &manifests, None, notes)?;
    let question = match found {
        Some(found) => {
            let live = world.object(&found.identity, wanted.map(String::as_str))?;
            if let (None, Some(other)) = (&live, world.hyperconvergeds.first()) {
                bail!(
                    "the file has the HyperConverged {}, but the cluster has {}: HCO accepts only one, so correct the name and the namespace in the file",
                    one_line(&found.identity.namespaced_name()),
                    one_line(&key(other))
                );
            }
            changed(args, found, live, notes)
        }
        None => unchanged(only(source, &world, notes)?),
    };
    let nodes = match (&args.nodes, &args.what_if) {
        (Some(path), _) => Some(of_file(path, &Labels::named_in(question.objects()))?),
        (None, Some(what_if)) => Some(what_if.apply(world.nodes.iter().cloned().collect())?),
        (None, None) => None,
    };
    let asked = (nodes, args.hco_version.as_deref());
    Situation::of(source, settings, world, &question, asked, notes)
}

/// Reads the data for `check` of a cluster, and finds outstanding changes.
pub(crate) fn observe(
    source: &ClusterSource,
    settings: Option<&Path>,
    cluster: Option<Cluster>,
    notes: &mut Notes,
) -> Result<Situation> {
    files::check_stdin(source.from.as_deref().into_iter().chain(settings))?;
    check_source(source)?;
    let world = read(Reader::Cluster, source, &[], cluster, notes)?;
    let question = unchanged(only(source, &world, notes)?);
    let asked = (None, None);
    Situation::of(source, settings, world, &question, asked, notes)
}

/// Rejects a command line without a source of the current state, before anything is read.
fn check_source(source: &ClusterSource) -> Result<()> {
    ensure!(
        source.is_live(),
        "specify what there is: --cluster (the cluster of the current context), or --from PATH (the output of `snapshot`, a must-gather, or files of `kubectl get -o yaml`)"
    );
    source.check_connection()
}

/// The current state.
fn read(
    reader: Reader,
    source: &ClusterSource,
    manifests: &[&Value],
    cluster: Option<Cluster>,
    notes: &mut Notes,
) -> Result<World> {
    let world = source.world(cluster, manifests, reader, notes)?;
    of_world(&world)?;
    Ok(world)
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
        [] => {
            let within = own.map_or_else(String::new, |namespace| {
                format!(" in the namespace `{}`", one_line(namespace))
            });
            let what = format!("there is no HyperConverged{within}; specify a manifest with -f");
            Err(Nothing(what).into())
        }
        _ => bail!(
            "there are {} HyperConvergeds, and HCO reconciles one; specify its namespace with -n",
            wanted.len()
        ),
    }
}

impl Situation {
    /// Compares the states with the requested nodes and version of HCO, if there are any.
    fn of(
        source: &ClusterSource,
        settings: Option<&Path>,
        world: World,
        question: &Question,
        (nodes, version): (Option<Vec<Node>>, Option<&str>),
        notes: &mut Notes,
    ) -> Result<Self> {
        let questions = std::slice::from_ref(question);
        let mut policies = Policies::read(settings, None, Some(&world), questions, notes)?;
        let given: Vec<&Value> = question.old().into_iter().chain([&question.sent]).collect();
        // Another version can ship other templates.
        if version.is_none()
            && let Some(common) = common_templates(&given)
        {
            policies.set_default("commonTemplates", &common);
        }
        let kubectl = Kubectl::new(&source.connection, source.connection.context.as_deref());
        let of_policy = policies.of(question).value.clone();
        // No VM starts, whatever the policy does with a new object.
        policies.set_default_level("no-workload-nodes", Level::Deny);
        let of_check = policies.of(question).value.clone();
        let report = |question: &Question, nodes: &str, comparison: Option<&Comparison<'_>>| {
            let is_sent = question.found.is_some();
            let settings = if is_sent { &of_policy } else { &of_check };
            let payload = question.payload(&question.sent, question.old(), settings);
            kubectl.complete(engine::report_change(&payload, nodes, comparison))
        };
        let objects = world.boot_sources().to_string();
        let objects = Field::root(Json::parse(objects.as_bytes())?);
        let objects = Objects::read(&objects).map_err(|error| anyhow!("{error}"))?;
        let mut comparison = Comparison {
            objects,
            ..Comparison::default()
        };
        let nodes_after = nodes.unwrap_or_else(|| world.nodes.iter().cloned().collect());
        let list_before = list(world.nodes.iter())?;
        let has_other_nodes = !nodes_after.iter().eq(world.nodes.iter());
        let is_asked = question.found.is_some() || has_other_nodes || version.is_some();
        let (mut before, mut pending) = (None, None);
        if let Some(old) = question.old() {
            let report_before = report(&Question::live(old.clone()), &list_before, None);
            before = Some(Hco::new(old, report_before));
            if is_asked && world.crons.is_read() {
                let unchanged = unchanged(old.clone());
                pending = report(&unchanged, &list_before, Some(&comparison)).changes;
            }
        }
        comparison.version = version;
        comparison.nodes_before = has_other_nodes.then_some(&*list_before);
        let list_after = list(nodes_after.iter())?;
        let mut report_after = report(question, &list_after, Some(&comparison));
        let live = Question::live(question.sent.clone());
        let checked = report(&live, &list_after, Some(&comparison));
        let (forecast, changes) = (report_after.forecast.take(), report_after.changes.take());
        let forecast_before = report_after.forecast_before.take();
        let outlook = match forecast.zip(changes) {
            Some((forecast, changes)) => Ok(Outlook { forecast, changes }),
            None => Err(NoForecast::of(&report_after, &nodes_after)),
        };
        let situation = Self {
            world,
            nodes_after,
            before,
            after: Hco::new(&question.sent, report_after),
            checked,
            forecast_before,
            outlook,
            pending,
            is_asked,
            is_sent: question.found.is_some(),
            version: version.map(str::to_owned),
            name: question.identity.namespaced_name(),
            options: source.options(settings, &kubectl),
            kubectl,
        };
        let unknown = situation
            .before
            .iter()
            .chain([&situation.after])
            .filter_map(|hco| situation.version(&hco.report)?.unknown)
            .collect::<BTreeSet<_>>();
        for note in unknown {
            notes.push(&note);
        }
        Ok(situation)
    }
}

/// The setting for a cluster whose HCO does not ship all common templates of upstream. After HCO has reconciled the first
/// object, it lists all common templates in the status. The other objects have templates that HCO has not reconciled yet.
/// A modified template shows what HCO ships if HCO uses its own annotation.
///
/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
/// `GetDataImportCronTemplates`.
fn common_templates(objects: &[&Value]) -> Option<Value> {
    let first = objects.first()?;
    let seen = first.pointer("/status/observedGeneration")?;
    let is_common =
        |template: &Value| template.pointer("/status/commonTemplate") == Some(&Value::Bool(true));
    let is_seen = first.pointer("/metadata/generation") == Some(seen);
    if !is_seen || !templates::of_status(first).any(is_common) {
        return None;
    }
    let of_specs = objects
        .iter()
        .copied()
        .flat_map(templates::of_spec)
        .map(|(_, template)| template);
    let names: BTreeSet<&str> = templates::of_status(first)
        .chain(of_specs)
        .map(name)
        .collect();
    let own = templates::of_status(first)
        .filter(|template| template.pointer(MODIFIED) == Some(&Value::Bool(true)))
        .filter(|template| templates::shows_own_annotation(first, template))
        .filter_map(|template| Some((name(template).to_owned(), templates::stated(template)?)));
    let own: Map<String, Value> = own.collect();
    let mut shipped: Map<String, Value> = SHIPPED
        .iter()
        .filter(|(name, ..)| names.contains(name))
        .map(|(name, url, _)| ((*name).to_owned(), Value::from(*url)))
        .collect();
    let is_known = shipped.len() == SHIPPED.len() && own.is_empty();
    shipped.extend(own);
    (!is_known).then_some(Value::Object(shipped))
}

impl Hco {
    fn new(object: &Value, report: Report) -> Self {
        Self {
            object: object.clone(),
            report,
            placement: placement(object),
        }
    }
}

/// How the workloads of a HyperConverged are placed; `None` if HCO cannot read it.
fn placement(object: &Value) -> Option<Placement> {
    let text = object.to_string();
    let json = Json::parse(text.as_bytes()).ok()?;
    let version = match Identity::of(object).api_version.as_str() {
        "hco.kubevirt.io/v1" => ApiVersion::V1,
        _ => ApiVersion::V1beta1,
    };
    let hco = HyperConverged::parse(json, version);
    hco.ok().map(|hco| hco.placement)
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
    /// The current object, or the new one if it does not exist yet.
    pub(crate) fn current(&self) -> &Hco {
        self.before.as_ref().unwrap_or(&self.after)
    }

    /// The names of the nodes that leave, sorted.
    pub(crate) fn leaving(&self) -> Vec<Foreign> {
        let after: BTreeSet<&str> = self.nodes_after.iter().map(|node| &*node.name).collect();
        let before: BTreeSet<&str> = self.world.nodes.iter().map(|node| &*node.name).collect();
        let leaving = before.difference(&after);
        leaving.map(|name| Foreign::from(*name)).collect()
    }

    pub(crate) fn forecast_after(&self) -> Option<&Forecast> {
        Some(&self.outlook.as_ref().ok()?.forecast)
    }

    pub(crate) fn changes(&self) -> Option<&Changes> {
        Some(&self.outlook.as_ref().ok()?.changes)
    }

    /// Why HCO denies the object that a file changes.
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
        let crashes = report.findings.iter().filter(crashes).map(words::finding);
        facts.extend(crashes);
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

    /// The KubeVirt that was read, or else the one of this version of HCO, with this default architecture.
    pub(crate) fn kubevirt(&self, report: &Report, default_architecture: String) -> KubeVirt {
        let read = self.world.kubevirt().filter(|_| self.version.is_none());
        let mut kubevirt = read.unwrap_or_else(|| report::kubevirt(report));
        kubevirt.default_architecture = default_architecture;
        kubevirt
    }

    /// The version of HCO in a report, for the object before or after the change.
    pub(crate) fn version(&self, report: &Report) -> Option<ShownVersion> {
        let object = &self.current().object;
        let given = self.version.as_deref();
        Some(ShownVersion::of(report.version.as_ref()?, object, given))
    }

    /// Why a plan for the version that the user named says little: it is not known, or older than the current one.
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

/// The HyperConverged of the files, if the user named files.
fn found(args: &Plan, notes: &mut Notes) -> Result<Option<Found>> {
    if args.filename.is_empty() {
        return Ok(None);
    }
    let (walk, wanted) = (files::Walk::default(), files::Wanted::default());
    let files = files::read(&args.filename, walk, wanted);
    if let Some(failure) = files.failures.first() {
        bail!("{failure}");
    }
    notes.append(files.notes);
    let mut found = files.found.into_iter();
    match (found.next(), found.next()) {
        (None, _) => {
            bail!("nothing to plan: no HyperConverged (hco.kubevirt.io) in the files of -f")
        }
        (Some(_), Some(_)) => {
            bail!("a plan is about one HyperConverged, but the files of -f have several")
        }
        (found, None) => Ok(found),
    }
}

/// An object that stays unchanged.
fn unchanged(live: Value) -> Question {
    Question {
        against: Against::Live(live.clone()),
        ..Question::live(live)
    }
}

/// An object with the changes of a file.
fn changed(args: &Plan, found: Found, live: Option<Value>, notes: &mut Notes) -> Question {
    let place = found.place();
    if live.is_none() {
        notes.push(&format!(
            "{place}: planned as a new object: there is no HyperConverged with its name"
        ));
    }
    let (object, as_if) = (&found.object.value, args.as_if.unwrap_or_default());
    let (sent, against) = match live {
        Some(live) => (apply::sent(as_if, &live, object), Against::Live(live)),
        None => (apply::submitted(object), Against::Nothing),
    };
    Question {
        identity: found.identity.clone(),
        found: Some(found),
        sent,
        against,
        as_if,
    }
}

/// The nodes as a list in JSON.
fn list<'n>(nodes: impl Iterator<Item = &'n Node>) -> Result<String> {
    let items: Vec<&Node> = nodes.collect();
    Ok(serde_json::to_string(&BTreeMap::from([("items", items)]))?)
}
