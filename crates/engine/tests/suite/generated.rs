//! Generates HyperConverged objects, clusters, and settings for property tests. The vocabularies are small, so that
//! equal values occur often.

use e2e_tests::{FakeCluster, Images};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

use super::{node, payload, template_spec};

const GATE: &str = "enableMultiArchBootImageImport";
const ARCHITECTURES: &str = "ssp.kubevirt.io/dict.architectures";
const ENABLE: &str = "dataimportcrontemplate.kubevirt.io/enable";

/// A request in one version: an object, and for an update the object before.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) version: &'static str,
    pub(crate) object: Value,
    pub(crate) old: Option<Value>,
    pub(crate) settings: Value,
    /// The architectures that every image supports. If the list is empty, images cannot be read.
    pub(crate) image: Vec<&'static str>,
}

impl Request {
    /// The payload of `validate` with this object.
    pub(crate) fn payload(&self, object: &Value) -> Vec<u8> {
        payload(&super::request(object, self.old.as_ref()), &self.settings)
    }

    /// A cluster of these nodes, and the images of the request.
    pub(crate) fn on(&self, nodes: &[Value]) -> FakeCluster {
        FakeCluster::with_nodes(nodes.iter().cloned()).with_images(Images::any(&self.image))
    }
}

prop_compose! {
    pub(crate) fn request()(
        version in select(vec!["v1beta1", "v1"]),
        parts in parts(),
        old in option::of(parts()),
        settings in settings(),
        image in vec(select(vec!["amd64", "arm64", "s390x", "arm", "whatever"]), 0..4),
    ) -> Request {
        Request {
            version,
            object: parts.object(version),
            old: old.map(|old| old.object(version)),
            settings,
            image,
        }
    }
}

prop_compose! {
    /// A cluster of two architectures, and a request whose problems can all be repaired.
    pub(crate) fn repairable()(
        request in request(),
        templates in vec((select(vec![
            "amd64,arm64",
            " amd64,arm64",
            "amd64 , arm64",
            "AMD64,aarch64",
            "arm64,,amd64,",
            "amd64,arm64,amd64",
        ]), registry()), 0..4),
        field in option::of(any::<bool>()),
        selector in option::of(Just(json!({"zone": "a"}))),
        has_parents: bool,
    ) -> (Request, Vec<Value>) {
        let templates = templates.into_iter().enumerate().map(|(index, (architectures, registry))| {
            let name = format!("image-{index}");
            json!({
                "metadata": {"name": name, "annotations": {ARCHITECTURES: architectures}},
                "spec": template_spec(&name, &json!({"registry": registry})),
            })
        });
        let parts = Parts {
            field,
            common_import: Some(false),
            templates: Some(templates.collect()),
            selector,
            has_parents,
            ..Parts::default()
        };
        let nodes = ["amd64", "arm64"].map(|architecture| {
            let mut node = node("infra", architecture);
            node["metadata"]["labels"]["zone"] = "a".into();
            node
        });
        (Request { object: parts.object(request.version), ..request }, nodes.into())
    }
}

/// The parts of an object, in either version.
#[derive(Debug, Clone, Default)]
struct Parts {
    field: Option<bool>,
    gates: Option<Vec<(&'static str, Option<&'static str>)>>,
    common_import: Option<bool>,
    templates: Option<Vec<Value>>,
    selector: Option<Value>,
    affinity: Option<Value>,
    annotations: Map<String, Value>,
    status: Vec<Value>,
    /// Whether empty parents exist.
    has_parents: bool,
}

prop_compose! {
    fn parts()(
        field in option::of(any::<bool>()),
        gates in option::of(vec((select(vec![
            "enableMultiArchBootImageImport",
            "ENABLEMultiArchBootImageImport",
            "enableMultiArchBootImageImpor",
            "downwardMetrics",
        ]), option::of(select(vec!["Enabled", "Disabled"]))), 0..3)),
        common_import in option::of(any::<bool>()),
        templates in option::of(vec(template(), 0..4)),
        selector in option::of(selector()),
        affinity in option::of(affinity()),
        annotations in annotations(),
        status in vec(status_template(), 0..2),
        has_parents: bool,
    ) -> Parts {
        Parts { field, gates, common_import, templates, selector, affinity, annotations, status, has_parents }
    }
}

impl Parts {
    fn object(self, version: &str) -> Value {
        let is_v1 = version == "v1";
        let gates = self.gates.map(|gates| {
            let gates = gates.into_iter().map(|(name, state)| match state {
                Some(state) => json!({"name": name, "state": state}),
                None => json!({ "name": name }),
            });
            gates.collect::<Value>()
        });
        let affinity = self
            .affinity
            .map(|affinity| json!({"nodeAffinity": affinity}));
        let placement = members([("nodeSelector", self.selector), ("affinity", affinity)]);
        let field = self.field.map(Value::from);
        let mut sources = members([
            (
                "enableCommonBootImageImport",
                self.common_import.map(Value::from),
            ),
            ("dataImportCronTemplates", self.templates.map(Value::from)),
            (GATE, field.clone().filter(|_| is_v1)),
        ]);
        let kept = |map: Map<String, Value>| {
            Some(Value::from(map)).filter(|map| self.has_parents || *map != json!({}))
        };
        let has_placement = self.has_parents || !placement.is_empty();
        let spec = if is_v1 {
            let placement = json!({"nodePlacements": {"workload": placement}});
            members([
                ("workloadSources", kept(sources)),
                ("featureGates", gates),
                ("deployment", has_placement.then_some(placement)),
            ])
        } else {
            let placement = json!({"nodePlacement": placement});
            sources.extend(members([
                ("featureGates", kept(members([(GATE, field)]))),
                ("workloads", has_placement.then_some(placement)),
            ]));
            sources
        };
        let mut object = json!({
            "apiVersion": format!("hco.kubevirt.io/{version}"),
            "kind": "HyperConverged",
            "metadata": {"name": "kubevirt-hyperconverged", "namespace": "kubevirt-hyperconverged"},
            "status": {"dataImportCronTemplates": self.status},
        });
        if let Some(spec) = kept(spec) {
            object["spec"] = spec;
        }
        if let Some(annotations) = kept(self.annotations) {
            object["metadata"]["annotations"] = annotations;
        }
        object
    }
}

/// The members that have a value.
fn members<const N: usize>(members: [(&str, Option<Value>); N]) -> Map<String, Value> {
    members
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)))
        .collect()
}

fn architectures() -> impl Strategy<Value = String> {
    let entry = select(vec![
        "amd64", "arm64", "s390x", "ppc64le", " amd64", "arm64 ", "AMD64", "x86_64", "aarch64",
        "amd46", "whatever", "", " ",
    ]);
    vec(entry, 0..4).prop_map(|entries| entries.join(","))
}

fn name() -> impl Strategy<Value = &'static str> {
    select(vec![
        "my-image",
        "other-image",
        "fedora-image-cron",
        "rhel9",
        "Bad_Name",
        "",
    ])
}

fn registry() -> impl Strategy<Value = Value> {
    select(vec![
        json!({"url": "docker://quay.io/containerdisks/fedora:latest"}),
        json!({"url": "docker://registry.example.com/image:1"}),
        json!({"imageStream": "image", "pullMethod": "node"}),
    ])
}

prop_compose! {
    fn template()(
        name in name(),
        architectures in option::weighted(0.7, architectures()),
        enable in option::weighted(0.2, select(vec!["true", "false", "False", "maybe"])),
        spec in option::weighted(0.9, prop_oneof![
            6 => registry().prop_map(|registry| template_spec("", &json!({"registry": registry}))),
            1 => Just(json!({"template": {"spec": {"source": {"http": {"url": "x"}}}}})),
            1 => Just(json!({"template": {"spec": {}}})),
        ]),
        has_annotations: bool,
    ) -> Value {
        let annotations = members([
            (ARCHITECTURES, architectures.map(Value::from)),
            (ENABLE, enable.map(Value::from)),
        ]);
        let mut template = json!({"metadata": {"name": name}});
        if has_annotations || !annotations.is_empty() {
            template["metadata"]["annotations"] = annotations.into();
        }
        if let Some(spec) = spec {
            template["spec"] = spec;
            if template["spec"].get("managedDataSource").is_some() {
                template["spec"]["managedDataSource"] = name.into();
            }
        }
        template
    }
}

prop_compose! {
    fn status_template()(
        name in select(vec!["fedora-image-cron", "rhel9", "windows"]),
        architectures in option::of(architectures()),
        registry in option::of(registry()),
        is_common: bool,
        is_modified: bool,
    ) -> Value {
        let annotations = members([(ARCHITECTURES, architectures.map(Value::from))]);
        let mut template = json!({
            "metadata": {"name": name, "annotations": annotations},
            "status": {"commonTemplate": is_common, "modified": is_modified},
        });
        if let Some(registry) = registry {
            template["spec"] = json!({"template": {"spec": {"source": {"registry": registry}}}});
        }
        template
    }
}

fn selector() -> impl Strategy<Value = Value> {
    select(vec![
        json!({}),
        json!({"kubernetes.io/arch": "amd64"}),
        json!({"kubernetes.io/arch": "arm64", "zone": "a"}),
        json!({"zone": "a"}),
        json!({"zone": "nowhere"}),
    ])
}

fn affinity() -> impl Strategy<Value = Value> {
    let requirement = select(vec![
        json!({"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64", "arm64"]}),
        json!({"key": "kubernetes.io/arch", "operator": "NotIn", "values": ["ppc64le"]}),
        json!({"key": "zone", "operator": "Exists"}),
        json!({"key": "zone", "operator": "is"}),
        json!({"key": "-", "operator": "In", "values": []}),
    ]);
    let terms = vec(
        vec(requirement, 0..2).prop_map(|requirements| json!({ "matchExpressions": requirements })),
        0..3,
    );
    (option::of(terms.clone()), option::of(terms)).prop_map(|(required, preferred)| {
        let required = required.map(|terms| json!({ "nodeSelectorTerms": terms }));
        let preferred = preferred.map(|terms| {
            let terms = terms.into_iter();
            terms
                .map(|term| json!({"weight": 1, "preference": term}))
                .collect()
        });
        let affinity = members([
            ("requiredDuringSchedulingIgnoredDuringExecution", required),
            ("preferredDuringSchedulingIgnoredDuringExecution", preferred),
        ]);
        affinity.into()
    })
}

fn annotations() -> impl Strategy<Value = Map<String, Value>> {
    let v1_only = select(vec![
        r#"{"multiArchEnabled":true}"#,
        r#"{"featureGates":[{"name":"enableMultiArchBootImageImport"}]}"#,
        "{}",
        "{",
    ]);
    let patch = select(vec![
        r#"[{"op":"add","path":"/spec/cluster","value":{}}]"#,
        r#"[{"op":"add","path":"/spec/other","value":{}}]"#,
        r#"[{"op":"add","path":"/metadata"}]"#,
        "no patch",
    ]);
    let pairs = (option::weighted(0.3, v1_only), option::weighted(0.2, patch));
    pairs.prop_map(|(v1_only, patch)| {
        members([
            ("hco.kubevirt.io/v1-only-fields", v1_only.map(Value::from)),
            ("ssp.kubevirt.io/jsonpatch", patch.map(Value::from)),
        ])
    })
}

prop_compose! {
    /// A node, mostly labelled with its architecture.
    fn one_node()(
        architecture in select(vec!["amd64", "amd64", "arm64", "arm64", "s390x", "ppc64le", ""]),
        role in select(vec!["worker", "worker", "control-plane", "infra"]),
        is_labelled in prop::bool::weighted(0.9),
        zone in option::of(select(vec!["a", "b"])),
    ) -> Value {
        let labels = members([
            (&format!("node-role.kubernetes.io/{role}"), Some("".into())),
            ("kubernetes.io/arch", is_labelled.then(|| architecture.into())),
            ("zone", zone.map(Value::from)),
        ]);
        json!({"metadata": {"labels": labels}, "status": {"nodeInfo": {"architecture": architecture}}})
    }
}

pub(crate) fn nodes() -> impl Strategy<Value = Vec<Value>> {
    vec(one_node(), 0..6)
}

/// Settings, mostly none.
pub(crate) fn settings() -> impl Strategy<Value = Value> {
    let level = || select(vec!["deny", "warn", "ignore"]);
    let rule = || {
        let rules = engine::RULES.iter();
        let rules = rules.filter(|rule| rule.subject == engine::Subject::Template);
        select(rules.map(|rule| rule.id).collect::<Vec<_>>())
    };
    let levels =
        || proptest::collection::btree_map(rule(), level(), 0..3).prop_map(|levels| json!(levels));
    prop_oneof![
        2 => Just(json!({})),
        1 => levels().prop_map(|levels| json!({"levels": levels})),
        1 => levels().prop_map(|levels| json!({"templates": {"my-*": levels}})),
        1 => levels().prop_map(|levels| json!({"images": "verify", "levels": levels})),
        1 => Just(json!({"updates": "strict"})),
        2 => Just(json!({"images": "verify"})),
        1 => Just(json!({"images": "verify-all", "registries": ["quay.io"]})),
        1 => Just(json!({"commonTemplates": {"rhel9": "docker://registry.example.com/image:1"}})),
    ]
}
