//! The format of a case.

use std::collections::BTreeMap;

use engine::Report;
use include_dir::{Dir, File, include_dir};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::repaired;
use crate::cluster::{Call, ClusterOf, FakeCluster};
use crate::images::Images;
use crate::objects::Objects;

static CASES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/cases");

/// One case.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Case {
    /// `topic/name`. In the file of a topic, only the name.
    pub name: String,
    /// One sentence about the behavior and its reason.
    pub about: String,
    /// The nodes.
    pub cluster: ClusterOf,
    /// The objects of the cluster besides its nodes: HyperConverged, KubeVirt, and DataSources.
    #[serde(default)]
    objects: Vec<Value>,
    /// The host's errors for these objects, by kind.
    #[serde(default)]
    unreadable: BTreeMap<String, String>,
    /// The images that registries have.
    #[serde(default)]
    pub images: Images,
    /// The policy's settings.
    #[serde(default)]
    settings: Value,
    #[serde(default = "create")]
    operation: String,
    /// Fields that are merged into the admission request.
    #[serde(default)]
    request: BTreeMap<String, Value>,
    #[serde(default)]
    object: Value,
    #[serde(default)]
    old_object: Value,
    /// How a real API server sends this request.
    #[serde(default, with = "yaml_serde::with::singleton_map")]
    pub apiserver: Arrival,
    /// The expected verdict.
    pub expect: Expected,
}

/// How the request that a real API server sends to a webhook differs from the request of the case.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Arrival {
    /// It has the verdict and the findings of the case.
    #[default]
    Equal,
    /// The schema refuses the object, or the old object cannot be stored.
    Refused,
    /// No such request reaches a webhook.
    Never,
    /// Only the audit scanner sends it: the object as it is stored.
    Stored,
    /// These are its findings, sorted. A comment above the key says why.
    Differs(Vec<String>),
}

fn create() -> String {
    "CREATE".to_owned()
}

/// The expected verdict of a case. Write it manually, never generate it.
#[derive(Debug, Clone, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Expected {
    /// Whether the request is allowed.
    pub allowed: bool,
    /// The status of a denial.
    pub code: Option<u16>,
    /// Whether the nodes are listed.
    pub asks: Option<bool>,
    /// The host calls for a VirtualMachine, for example `list KubeVirt` and `get DataSource a/b`.
    calls: Option<Vec<String>>,
    /// The VirtualMachine in the report: `architecture`, `reason`, `dataSource`, and `nodeSelector`.
    virtual_machine: Option<Value>,
    import: Option<String>,
    workload: Option<String>,
    control_plane: Option<String>,
    hco_version: Option<String>,
    default_architecture: Option<String>,
    nodes_from: Option<String>,
    /// `rule-id[/template]=level path`: all findings, in any order.
    #[serde(default)]
    pub findings: Vec<String>,
    /// The findings of the operation `report` about a VirtualMachine, if they differ: it comes from a file, so that KubeVirt
    /// has not rejected it.
    pub in_files: Option<Vec<String>>,
    /// The changes of the repairs: the operations of a JSON Patch, in any order. The findings are those that remain.
    #[serde(default)]
    pub changes: Vec<String>,
    repairs: Option<String>,
}

/// All cases, sorted by name.
///
/// # Panics
///
/// If a file of `e2e-tests/cases/` cannot be read.
pub fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = CASES.files().flat_map(cases_of_topic).collect();
    cases.sort_by(|one, other| one.name.cmp(&other.name));
    cases
}

/// The cases in a YAML stream; none in another file.
fn cases_of_topic(file: &'static File<'static>) -> Vec<Case> {
    let path = file.path();
    if path.extension().is_none_or(|extension| extension != "yaml") {
        return Vec::new();
    }
    let topic = path.with_extension("").display().to_string();
    let text = file.contents_utf8().expect("a file of cases is text");
    yaml_serde::Deserializer::from_str(text)
        .map(|document| {
            let mut case = Case::deserialize(document)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            case.name = format!("{topic}/{}", case.name);
            case
        })
        .collect()
}

impl Case {
    /// The admission request, as the host passes it to the policy.
    pub fn request(&self) -> Value {
        let text = |pointer: &str| {
            let text = self.object.pointer(pointer).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let text_or = |pointer: &str, default: &str| match text(pointer) {
            text if text.is_empty() => default.to_owned(),
            text => text,
        };
        let api_version = text_or("/apiVersion", "hco.kubevirt.io/v1beta1");
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        let kind = text_or("/kind", "HyperConverged");
        let resource = format!("{}s", kind.to_lowercase());
        let mut request = json!({
            "uid": "00000000-0000-0000-0000-000000000000",
            "kind": {"group": group, "version": version, "kind": kind},
            "resource": {"group": group, "version": version, "resource": resource},
            "operation": self.operation,
            "name": text("/metadata/name"),
            "namespace": text("/metadata/namespace"),
            "userInfo": {"username": "kubernetes-admin", "groups": ["system:masters"]},
            "object": self.object,
            "oldObject": self.old_object,
            "dryRun": false,
        });
        for (key, value) in &self.request {
            request[key] = value.clone();
        }
        request
    }

    /// The settings as the host sends them.
    pub fn settings(&self) -> Value {
        match &self.settings {
            Value::Null => json!({}),
            settings => settings.clone(),
        }
    }

    /// The host that answers the policy.
    pub fn host(&self) -> FakeCluster {
        FakeCluster::of(&self.cluster)
            .with_images(self.images.clone())
            .with_objects(self.objects())
    }

    /// The objects of its cluster beside the nodes.
    pub fn objects(&self) -> Objects {
        self.cluster.objects().with(&self.objects, &self.unreadable)
    }

    /// The payload of waPC's `validate`.
    pub fn payload(&self) -> Vec<u8> {
        json!({"request": self.request(), "settings": self.settings()})
            .to_string()
            .into_bytes()
    }
}

impl Expected {
    /// The result of a report in the form of an expectation: with the calls to the cluster, and without the fields that
    /// this expectation does not have.
    #[must_use]
    pub fn of(&self, object: &Value, report: &Report, calls: &[Call]) -> Self {
        let asked = calls.contains(&Call::Nodes);
        let calls = calls.iter().filter_map(|call| match call {
            Call::List(resource) => Some(format!("list {}", resource.kind())),
            Call::DataSource(namespace, name) => Some(format!("get DataSource {namespace}/{name}")),
            _ => None,
        });
        let annotation = |wanted: &Option<String>, key: &str| {
            let value = report.audit_annotations.get(key).cloned();
            wanted
                .as_ref()
                .map(|_| value.unwrap_or_else(|| "unread".to_owned()))
        };
        Self {
            allowed: report.allowed,
            code: report.code,
            asks: self.asks.map(|_| asked),
            calls: self.calls.as_ref().map(|_| calls.collect()),
            virtual_machine: self
                .virtual_machine
                .as_ref()
                .map(|_| json!(report.virtual_machine)),
            import: annotation(&self.import, "multi-arch-import"),
            workload: annotation(&self.workload, "workload-architectures"),
            control_plane: annotation(&self.control_plane, "control-plane-architectures"),
            hco_version: annotation(&self.hco_version, "hco-version"),
            default_architecture: annotation(&self.default_architecture, "default-architecture"),
            nodes_from: annotation(&self.nodes_from, "nodes-from"),
            findings: findings(report),
            in_files: self.in_files.clone(),
            changes: changes(object, repaired(report).as_ref()),
            repairs: report.audit_annotations.get("repairs").cloned(),
        }
    }

    /// Whether a rule fires, in the cluster or in files.
    pub fn fires(&self, rule: &str) -> bool {
        let mut findings = self.findings.iter().chain(self.in_files.iter().flatten());
        findings.any(|finding| {
            let end = finding.strip_prefix(rule);
            end.is_some_and(|end| end.starts_with(['=', '/']))
        })
    }

    /// The same expectation, with its findings in the order of `findings`.
    #[must_use]
    pub fn sorted(&self) -> Self {
        let mut sorted = self.clone();
        sorted.findings.sort();
        sorted
            .in_files
            .iter_mut()
            .for_each(|findings| findings.sort());
        sorted.changes.sort();
        sorted
    }
}

/// `rule-id[/template]=level path`, sorted.
pub(crate) fn findings(report: &Report) -> Vec<String> {
    let mut findings: Vec<String> = report
        .findings
        .iter()
        .map(|finding| {
            let level = finding.level.into_str();
            let template = finding.template.as_deref().filter(|name| !name.is_empty());
            let template = template.map_or_else(String::new, |name| format!("/{name}"));
            format!("{}{template}={level} {}", finding.rule, finding.path.raw())
        })
        .collect();
    findings.sort();
    findings
}

/// `add /spec/path "value"`, for each change.
fn changes(object: &Value, repaired: Option<&Value>) -> Vec<String> {
    let patch = repaired.map(|repaired| json_patch::diff(object, repaired));
    let operations = patch.into_iter().flat_map(|patch| patch.0);
    let mut changes: Vec<String> = operations
        .map(|operation| {
            let operation = json!(operation);
            let text = |key: &str| operation[key].as_str().unwrap_or_default().to_owned();
            let value = operation.get("value").map(|value| format!(" {value}"));
            format!(
                "{} {}{}",
                text("op"),
                text("path"),
                value.unwrap_or_default()
            )
        })
        .collect();
    changes.sort();
    changes
}
