//! Chains of updates that bytes choose, for the update properties.

use std::slice::Iter;

use serde_json::{Map, Value, json};

use super::updates::{
    ARCHITECTURES, COMMON_IMPORT, ENABLE, FEDORA, GATE, Violation, World, broken,
};

/// Choices that are read from bytes. The first option is chosen if no byte is left.
struct Choices<'b>(Iter<'b, u8>);

impl Choices<'_> {
    fn pick<'o, T>(&mut self, options: &'o [T]) -> &'o T {
        let byte = self.0.next().copied().unwrap_or_default();
        &options[usize::from(byte) % options.len()]
    }

    fn json(&mut self, options: &[Value]) -> Value {
        self.pick(options).clone()
    }

    /// A text, or null for `-`.
    fn text(&mut self, options: &[&str]) -> Value {
        match *self.pick(options) {
            "-" => Value::Null,
            option => option.into(),
        }
    }

    fn world(&mut self) -> World {
        let (api, hco) = *self.pick(&[
            ("v1beta1", 20),
            ("v1", 20),
            ("v1beta1", 18),
            ("v1", 19),
            ("v1beta1", 17),
            ("v1", 18),
            ("v1beta1", 19),
        ]);
        let nodes = *self.pick(&[
            "worker amd64 a, worker arm64 b, control-plane amd64 a",
            "worker amd64 a, worker arm64 b, worker s390x a, control-plane amd64 b",
            "worker amd64 a, worker arm64 a",
            "worker arm64 a, control-plane amd64 b",
            "worker amd64 a, worker arm64 b, infra ppc64le c, control-plane arm64 b",
        ]);
        let node = |node: &str| {
            let mut words = node.split(' ');
            let mut word = || words.next().unwrap_or_default();
            let (role, architecture, zone) = (word(), word(), word());
            json!({
                "metadata": {"name": node.replace(' ', "-"), "labels": {
                    format!("node-role.kubernetes.io/{role}"): "", "kubernetes.io/arch": architecture, "zone": zone,
                }},
                "status": {"nodeInfo": {"architecture": architecture}},
            })
        };
        let common = |name: &str, managed: &str, url: &str, is_modified: bool| {
            let mut template = template(name, managed, url, "amd64,arm64,s390x");
            template["status"] = json!({"commonTemplate": true, "modified": is_modified});
            template
        };
        let version = json!([{"name": "operator", "version": format!("1.{hco}.0")}]);
        let rhel = "docker://registry.redhat.io/rhel9/rhel-guest-image";
        let templates = json!([
            common("fedora-image-cron", "fedora", FEDORA, false),
            common("rhel9-image-cron", "rhel9", rhel, true),
        ]);
        World {
            api: api.to_owned(),
            hco,
            nodes: nodes.split(", ").map(node).collect(),
            status: if *self.pick(&[true, false]) {
                json!({"versions": version, "dataImportCronTemplates": templates})
            } else {
                // HCO has not written the common templates yet.
                json!({"versions": version})
            },
            has_node_info: *self.pick(&[true, false]),
        }
    }

    /// Changes an object. Repeated kinds are chosen more often.
    fn change(&mut self, world: &World, object: &mut Value) {
        let is_v1 = world.api == "v1";
        let kinds = "annotation import placement name source managed template annotation import placement template storage \
             enable retention schedule common remove spec v1-only jsonpatch annotation gate placement placement";
        let kinds: Vec<&str> = kinds.split(' ').collect();
        let (path, value) = match *self.pick(&kinds) {
            "import" if !is_v1 || world.hco >= 19 => {
                let parent = if is_v1 {
                    "workloadSources"
                } else {
                    "featureGates"
                };
                let value = self.json(&[json!(true), json!(false), Value::Null]);
                (vec!["spec", parent, GATE], value)
            }
            "import" | "gate" if is_v1 => {
                let gates = self.json(&[
                    json!([{"name": GATE, "state": "Enabled"}]),
                    json!([{"name": GATE, "state": "Disabled"}]),
                    json!([]),
                    json!([{"name": "downwardMetrics"}, {"name": GATE.to_ascii_lowercase()}]),
                ]);
                (vec!["spec", "featureGates"], gates)
            }
            "placement" => {
                let required = |requirement: Value| {
                    json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [{"matchExpressions": [requirement]}],
                    }}}})
                };
                let placement = self.json(&[
                    Value::Null,
                    json!({"nodeSelector": {"zone": "nowhere"}}),
                    Value::Null,
                    json!({"nodeSelector": {"zone": "nowhere"}}),
                    Value::Null,
                    json!({"nodeSelector": {"kubernetes.io/arch": "amd64"}}),
                    json!({"nodeSelector": {"kubernetes.io/arch": "arm64"}}),
                    json!({"nodeSelector": {"zone": "a"}}),
                    json!({"nodeSelector": {"kubernetes.io/arch": "s390x"}}),
                    required(json!({"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64", "arm64"]})),
                    required(json!({"key": "kubernetes.io/arch", "operator": "Exists"})),
                    required(json!({"key": "zone", "operator": "is"})),
                ]);
                let path = if is_v1 {
                    vec!["spec", "deployment", "nodePlacements", "workload"]
                } else {
                    vec!["spec", "workloads", "nodePlacement"]
                };
                (path, placement)
            }
            "common" => {
                let value = self.json(&[json!(true), json!(false)]);
                ([vec!["spec"], world.sources(COMMON_IMPORT)].concat(), value)
            }
            "v1-only" => {
                let value = self.text(&[
                    "-",
                    r#"{"multiArchEnabled":true}"#,
                    r#"{"multiArchEnabled":false}"#,
                    "{",
                    r#"{"featureGates":[{"name":"enableMultiArchBootImageImport"}]}"#,
                    r#"{"multiArchEnabled":true,"multiArchEnabled":null}"#,
                ]);
                (
                    vec!["metadata", "annotations", "hco.kubevirt.io/v1-only-fields"],
                    value,
                )
            }
            "jsonpatch" => {
                let value = self.text(&[
                    "-",
                    r#"[{"op":"add","path":"/spec/commonTemplates/dataImportCronTemplates/0/metadata/labels/a","value":"b"}]"#,
                    r#"[{"op":"add","path":"/spec/enableMultipleArchitectures","value":true}]"#,
                    r#"[{"op":"replace","path":"/spec/commonTemplates/dataImportCronTemplates","value":[]}]"#,
                    "no patch",
                    r#"[{"op":"add","path":"/metadata/labels/a","value":"b"}]"#,
                ]);
                (
                    vec!["metadata", "annotations", "ssp.kubevirt.io/jsonpatch"],
                    value,
                )
            }
            kind => return self.change_template(kind, world, object),
        };
        set(object, &path, value);
    }

    fn change_template(&mut self, kind: &str, world: &World, object: &mut Value) {
        let number = *self.pick(&[0, 1, 2]);
        if object.pointer(world.templates_path()).is_none() {
            let path = world.sources("dataImportCronTemplates");
            set(&mut object["spec"], &path, json!([]));
        }
        let templates = object.pointer_mut(world.templates_path());
        let templates = templates.and_then(Value::as_array_mut);
        let templates = templates.expect("a list of templates");
        if kind == "template" || templates.is_empty() {
            let (name, managed, image) = *self.pick(&[
                ("my-image", "my-image", "image:1"),
                ("other-image", "other-image", "image:2"),
                ("fedora-image-cron", "fedora", ""),
                ("rhel9-image-cron", "rhel9", "rhel9:1"),
                ("another-image", "fedora", "image:3"),
            ]);
            let url = match image {
                "" => FEDORA.to_owned(),
                image => format!("docker://registry.example.com/{image}"),
            };
            templates.push(template(name, managed, &url, "amd64,arm64"));
            return;
        }
        let number = number % templates.len();
        if kind == "remove" {
            templates.remove(number);
            return;
        }
        let (path, value): (&[&str], _) = match kind {
            "name" => (&["metadata", "name"], self.text(&["my-image", "other-image", "my-image-with-a-name-that-is-too-long-for-a-cron", "My_Image", "fedora-image-cron", "", "my-image-amd64", "my-image-with-a-name-of-a-length-that-no-cron-has-in-kubernetes-1"])),
            "annotation" => (&["metadata", "annotations", ARCHITECTURES], self.text(&["amd64,arm64", "-", "amd64", "arm64", "", "amd64, arm64", "AMD64,arm64", "x86_64", "s390x", "amd64,arm64,arm64", "amd64,ppc64le", "amd64,arm64, arm64", "riscv64"])),
            "managed" => (&["spec", "managedDataSource"], self.text(&["my-image", "other-image", "My-Image", "fedora", "my-image-arm64", "-", "rhel9"])),
            "source" => (&["spec", "template", "spec", "source"], self.json(&[
                json!({"registry": {"url": "docker://registry.example.com/image:1"}}),
                json!({"registry": {"url": FEDORA}}),
                json!({"pvc": {"name": "disk", "namespace": "default"}}),
                json!({"registry": {"imageStream": "image", "pullMethod": "node"}}),
                json!({"http": {"url": "https://registry.example.com/image"}}),
                json!({"registry": {"url": "docker://registry.example.com/image:1", "pullMethod": "node"}}),
                Value::Null,
            ])),
            "storage" => (&["spec", "template", "spec", "storage"], self.json(&[
                json!({"resources": {"requests": {"storage": "10Gi"}}}),
                Value::Null,
                json!({"resources": {"requests": {"storage": "0"}}}),
                json!({"resources": {"requests": {"storage": "20Gi"}}}),
            ])),
            "enable" => (&["metadata", "annotations", ENABLE], self.text(&["-", "false", "true", "False", "maybe"])),
            "retention" => (&["spec", "retentionPolicy"], self.text(&["None", "All", "-"])),
            "schedule" => (&["spec", "schedule"], self.text(&["0 */12 * * *", "-", "TZ=UTC 0 0 * * *", "often"])),
            _ => (&["spec"], Value::Null),
        };
        set(&mut templates[number], path, value);
    }
}

fn template(name: &str, managed: &str, url: &str, architectures: &str) -> Value {
    json!({
        "metadata": {"name": name, "annotations": {ARCHITECTURES: architectures}},
        "spec": {
            "managedDataSource": managed, "schedule": "0 */12 * * *",
            "template": {"spec": {
                "source": {"registry": {"url": url}},
                "storage": {"resources": {"requests": {"storage": "10Gi"}}},
            }},
        },
    })
}

/// Sets a field, or removes it.
fn set(value: &mut Value, path: &[&str], new: Value) {
    let [key, rest @ ..] = path else {
        *value = new;
        return;
    };
    if !value.is_object() {
        *value = Map::new().into();
    }
    if rest.is_empty() && new.is_null() {
        value.as_object_mut().expect("an object").remove(*key);
    } else {
        set(&mut value[*key], rest, new);
    }
}

/// The chain that some bytes choose: the update that breaks a property.
fn violation_in(input: &[u8]) -> Option<Violation> {
    let mut choices = Choices(input.iter());
    let world = choices.world();
    let mut object = json!({
        "apiVersion": format!("hco.kubevirt.io/{}", world.api),
        "kind": "HyperConverged",
        "metadata": {"name": "kubevirt-hyperconverged", "namespace": "kubevirt-hyperconverged", "resourceVersion": "1", "generation": 1},
        "spec": {},
    });
    let gate = match world.api.as_str() {
        "v1" => json!([{"name": GATE, "state": "Enabled"}]),
        _ => json!({GATE: true}),
    };
    if *choices.pick(&[true, false]) {
        set(
            &mut object["spec"],
            &world.sources(COMMON_IMPORT),
            false.into(),
        );
    }
    if *choices.pick(&[true, true, false]) {
        choices.change_template("template", &world, &mut object);
    }
    if *choices.pick(&[true, true, true, false]) {
        object["spec"]["featureGates"] = gate;
    }
    for _ in 0..*choices.pick(&[0, 1, 2, 3, 0, 1, 2, 4]) {
        choices.change(&world, &mut object);
    }
    let length = *choices.pick(&[1, 4, 3, 2, 4]);
    let mut steps = 0..length;
    broken(&world, world.mutated(None, object)?, |old| {
        steps.next()?;
        let mut new = old.clone();
        let generation = new["metadata"]["generation"].as_u64().unwrap_or_default();
        new["metadata"]["generation"] = (generation + 1).into();
        for _ in 0..*choices.pick(&[1, 2, 1, 1, 3]) {
            choices.change(&world, &mut new);
        }
        // HCO's mutating webhook denies the update, so nothing changes.
        world.mutated(Some(old), new).or_else(|| Some(old.clone()))
    })
}

/// No chain of updates breaks a property.
pub fn update_properties(input: &[u8]) {
    if let Some(broken) = violation_in(input) {
        panic!("{}", broken.details);
    }
}
