//! Generates HyperConverged objects, clusters, and settings for property tests. The vocabularies are small, so that
//! equal values occur often.

use e2e_tests::{FakeCluster, Images};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

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
        payload(
            &json!({
                "kind": {"group": "hco.kubevirt.io", "version": self.version, "kind": "HyperConverged"},
                "operation": if self.old.is_some() { "UPDATE" } else { "CREATE" },
                "object": object,
                "oldObject": self.old,
            }),
            &self.settings,
        )
    }

    /// A cluster of these nodes, and the images of the request.
    pub(crate) fn on(&self, nodes: &[Value]) -> FakeCluster {
        FakeCluster::with_nodes(nodes.iter().cloned()).with_images(Images::any(&self.image))
    }
}

/// The payload of `validate`.
pub(crate) fn payload(request: &Value, settings: &Value) -> Vec<u8> {
    json!({"request": request, "settings": settings})
        .to_string()
        .into_bytes()
}

pub(crate) fn request() -> impl Strategy<Value = Request> {
    (
        select(vec!["v1beta1", "v1"]),
        parts(),
        option::of(parts()),
        settings(),
        vec(
            select(vec!["amd64", "arm64", "s390x", "arm", "whatever"]),
            0..4,
        ),
    )
        .prop_map(|(version, parts, old, settings, image)| Request {
            version,
            object: parts.object(version),
            old: old.map(|old| old.object(version)),
            settings,
            image,
        })
}

/// A cluster of two architectures, and a request whose problems can all be repaired.
pub(crate) fn repairable() -> impl Strategy<Value = (Request, Vec<Value>)> {
    let architectures = select(vec![
        "amd64,arm64",
        " amd64,arm64",
        "amd64 , arm64",
        "AMD64,aarch64",
        "arm64,,amd64,",
        "amd64,arm64,amd64",
    ]);
    let template = (architectures, registry()).prop_map(|(architectures, registry)| {
        json!({
            "metadata": {"annotations": {ARCHITECTURES: architectures}},
            "spec": crate::template_spec("", &json!({"registry": registry})),
        })
    });
    (
        request(),
        vec(template, 0..4),
        option::of(any::<bool>()),
        option::of(Just(json!({"zone": "a"}))),
        any::<bool>(),
    )
        .prop_map(
            |(mut request, mut templates, field, selector, has_parents)| {
                for (index, template) in templates.iter_mut().enumerate() {
                    let name = format!("image-{index}");
                    template["spec"]["managedDataSource"] = name.as_str().into();
                    template["metadata"]["name"] = name.into();
                }
                let parts = Parts {
                    field,
                    gates: None,
                    common_import: Some(false),
                    templates: Some(templates),
                    selector,
                    affinity: None,
                    annotations: Map::new(),
                    status: Vec::new(),
                    has_parents,
                };
                request.object = parts.object(request.version);
                let nodes = ["amd64", "arm64"].map(|architecture| {
                    let labels = json!({"kubernetes.io/arch": architecture, "zone": "a"});
                    json!({
                        "metadata": {"labels": labels},
                        "status": {"nodeInfo": {"architecture": architecture}},
                    })
                });
                (request, nodes.into())
            },
        )
}

/// The parts of an object, in either version.
#[derive(Debug, Clone)]
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

fn parts() -> impl Strategy<Value = Parts> {
    let gate = (
        select(vec![
            "enableMultiArchBootImageImport",
            "ENABLEMultiArchBootImageImport",
            "enableMultiArchBootImageImpor",
            "downwardMetrics",
        ]),
        option::of(select(vec!["Enabled", "Disabled"])),
    );
    (
        option::of(any::<bool>()),
        option::of(vec(gate, 0..3)),
        option::of(any::<bool>()),
        option::of(vec(template(), 0..4)),
        option::of(selector()),
        option::of(affinity()),
        annotations(),
        vec(status_template(), 0..2),
        any::<bool>(),
    )
        .prop_map(
            |(
                field,
                gates,
                common_import,
                templates,
                selector,
                affinity,
                annotations,
                status,
                has_parents,
            )| Parts {
                field,
                gates,
                common_import,
                templates,
                selector,
                affinity,
                annotations,
                status,
                has_parents,
            },
        )
}

impl Parts {
    fn object(self, version: &str) -> Value {
        let mut placement = Map::new();
        if let Some(selector) = self.selector {
            placement.insert("nodeSelector".to_owned(), selector);
        }
        if let Some(affinity) = self.affinity {
            placement.insert("affinity".to_owned(), json!({"nodeAffinity": affinity}));
        }
        let gates: Option<Vec<Value>> = self.gates.map(|gates| {
            let gates = gates.into_iter().map(|(name, state)| match state {
                Some(state) => json!({"name": name, "state": state}),
                None => json!({ "name": name }),
            });
            gates.collect()
        });
        let mut sources = Map::new();
        if let Some(common) = self.common_import {
            sources.insert("enableCommonBootImageImport".to_owned(), common.into());
        }
        if let Some(templates) = self.templates {
            sources.insert("dataImportCronTemplates".to_owned(), templates.into());
        }
        let import = self
            .field
            .map(|field| json!({"enableMultiArchBootImageImport": field}));
        let mut spec = Map::new();
        if version == "v1" {
            sources.extend(
                import
                    .and_then(|import| import.as_object().cloned())
                    .unwrap_or_default(),
            );
            if self.has_parents || !sources.is_empty() {
                spec.insert("workloadSources".to_owned(), sources.into());
            }
            if let Some(gates) = gates {
                spec.insert("featureGates".to_owned(), gates.into());
            }
            if self.has_parents || !placement.is_empty() {
                spec.insert(
                    "deployment".to_owned(),
                    json!({"nodePlacements": {"workload": placement}}),
                );
            }
        } else {
            spec.extend(sources);
            if self.has_parents || import.is_some() {
                spec.insert(
                    "featureGates".to_owned(),
                    import.unwrap_or_else(|| json!({})),
                );
            }
            if self.has_parents || !placement.is_empty() {
                spec.insert("workloads".to_owned(), json!({"nodePlacement": placement}));
            }
        }
        let mut object = json!({
            "apiVersion": format!("hco.kubevirt.io/{version}"),
            "kind": "HyperConverged",
            "metadata": {"name": "kubevirt-hyperconverged", "namespace": "kubevirt-hyperconverged"},
            "status": {"dataImportCronTemplates": self.status},
        });
        if self.has_parents || !spec.is_empty() {
            object["spec"] = spec.into();
        }
        if self.has_parents || !self.annotations.is_empty() {
            object["metadata"]["annotations"] = self.annotations.into();
        }
        object
    }
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

fn template() -> impl Strategy<Value = Value> {
    let source = prop_oneof![
        6 => registry().prop_map(|registry| crate::template_spec("", &json!({"registry": registry}))),
        1 => Just(json!({"template": {"spec": {"source": {"http": {"url": "x"}}}}})),
        1 => Just(json!({"template": {"spec": {}}})),
    ];
    (
        name(),
        option::weighted(0.7, architectures()),
        option::weighted(0.2, select(vec!["true", "false", "False", "maybe"])),
        option::weighted(0.9, source),
        any::<bool>(),
    )
        .prop_map(|(name, architectures, enable, spec, has_annotations)| {
            let mut annotations = Map::new();
            if let Some(value) = architectures {
                annotations.insert(ARCHITECTURES.to_owned(), value.into());
            }
            if let Some(value) = enable {
                annotations.insert(ENABLE.to_owned(), value.into());
            }
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
        })
}

fn status_template() -> impl Strategy<Value = Value> {
    (
        select(vec!["fedora-image-cron", "rhel9", "windows"]),
        option::of(architectures()),
        option::of(registry()),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(name, architectures, registry, is_common, is_modified)| {
            let mut template = json!({
                "metadata": {"name": name, "annotations": {}},
                "status": {"commonTemplate": is_common, "modified": is_modified},
            });
            if let Some(value) = architectures {
                template["metadata"]["annotations"][ARCHITECTURES] = value.into();
            }
            if let Some(registry) = registry {
                template["spec"] =
                    json!({"template": {"spec": {"source": {"registry": registry}}}});
            }
            template
        })
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
        let mut affinity = Map::new();
        if let Some(terms) = required {
            affinity.insert(
                "requiredDuringSchedulingIgnoredDuringExecution".to_owned(),
                json!({ "nodeSelectorTerms": terms }),
            );
        }
        if let Some(terms) = preferred {
            let terms = terms.into_iter();
            let terms: Vec<Value> = terms
                .map(|term| json!({"weight": 1, "preference": term}))
                .collect();
            affinity.insert(
                "preferredDuringSchedulingIgnoredDuringExecution".to_owned(),
                terms.into(),
            );
        }
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
        let v1_only = v1_only.map(|value| ("hco.kubevirt.io/v1-only-fields", value));
        let patch = patch.map(|value| ("ssp.kubevirt.io/jsonpatch", value));
        let pairs = [v1_only, patch].into_iter().flatten();
        pairs
            .map(|(key, value)| (key.to_owned(), value.into()))
            .collect()
    })
}

/// Nodes, most of them labelled with their architecture.
pub(crate) fn nodes() -> impl Strategy<Value = Vec<Value>> {
    let node = (
        select(vec!["amd64", "amd64", "arm64", "arm64", "s390x", "ppc64le", ""]),
        select(vec!["worker", "worker", "control-plane", "infra"]),
        option::weighted(0.9, Just("kubernetes.io/arch")),
        option::of(select(vec!["a", "b"])),
    )
        .prop_map(|(architecture, role, label, zone)| {
            let mut labels = Map::new();
            labels.insert(format!("node-role.kubernetes.io/{role}"), "".into());
            if let Some(label) = label {
                labels.insert(label.to_owned(), architecture.into());
            }
            if let Some(zone) = zone {
                labels.insert("zone".to_owned(), zone.into());
            }
            json!({"metadata": {"labels": labels}, "status": {"nodeInfo": {"architecture": architecture}}})
        });
    vec(node, 0..6)
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
