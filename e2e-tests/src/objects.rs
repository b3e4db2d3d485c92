//! The objects of a cluster that the policy reads to evaluate a VirtualMachine.

use std::collections::BTreeMap;

use engine::Resource;
use serde_json::{Map, Value, json};

/// HyperConverged, KubeVirt, and DataSources.
#[derive(Debug, Clone, Default)]
pub struct Objects {
    objects: Vec<Value>,
    /// The host's errors, by kind.
    unreadable: BTreeMap<String, String>,
}

impl Objects {
    /// The objects that HCO, KubeVirt, and SSP create on these nodes.
    pub fn on(nodes: Option<&Value>) -> Self {
        let Some(nodes) = nodes else {
            return Self::default();
        };
        let (control_plane, workers) = architectures(nodes);
        let mut both = control_plane.iter().filter(|it| workers.contains(it));
        let default = both.next().or(workers.first());
        let source = |name: &str, architecture: Option<&String>| {
            let target = architecture.map(
                |it| json!({"namespace": "kubevirt-os-images", "name": format!("fedora-{it}")}),
            );
            let label = name
                .strip_prefix("fedora-")
                .map(|it| json!({"template.kubevirt.io/architecture": it}));
            json!({
                "apiVersion": "cdi.kubevirt.io/v1beta1",
                "kind": "DataSource",
                "metadata": {"namespace": "kubevirt-os-images", "name": name, "labels": label},
                "spec": {"source": {"dataSource": target}},
            })
        };
        let mut objects = vec![
            json!({
                "apiVersion": "hco.kubevirt.io/v1beta1",
                "kind": "HyperConverged",
                "metadata": {"namespace": "kubevirt-hyperconverged", "name": "kubevirt-hyperconverged"},
                "status": {"nodeInfo": {
                    "workloadsArchitectures": workers, "controlPlaneArchitectures": control_plane,
                }},
            }),
            json!({
                "apiVersion": "kubevirt.io/v1",
                "kind": "KubeVirt",
                "metadata": {"namespace": "kubevirt-hyperconverged", "name": "kubevirt-kubevirt-hyperconverged"},
                "status": {"defaultArchitecture": default, "observedKubeVirtVersion": "v1.8.0"},
            }),
            source("fedora", default),
        ];
        for architecture in ["amd64", "arm64"] {
            objects.push(source(&format!("fedora-{architecture}"), None));
        }
        Self {
            objects,
            unreadable: BTreeMap::new(),
        }
    }

    /// Replaces all objects of each kind in `objects`.
    #[must_use]
    pub fn with(mut self, objects: &[Value], unreadable: &BTreeMap<String, String>) -> Self {
        self.objects
            .retain(|known| objects.iter().all(|new| new["kind"] != known["kind"]));
        self.objects.extend(objects.iter().cloned());
        // A List without items.
        self.objects
            .retain(|object| object.get("metadata").is_some());
        self.unreadable.clone_from(unreadable);
        self
    }

    /// The host's response to the list call.
    ///
    /// # Errors
    ///
    /// The host's error, if the case needs one.
    pub fn list(&self, resource: Resource) -> Result<String, String> {
        let kind = resource.kind();
        if let Some(error) = self.unreadable.get(kind) {
            return Err(error.clone());
        }
        let items: Vec<Value> = self
            .of_kind(resource)
            .map(|it| masked(it, resource))
            .collect();
        Ok(json!({
            "apiVersion": resource.api_version(), "kind": format!("{kind}List"), "metadata": {}, "items": items,
        })
        .to_string())
    }

    /// The objects of a kind as the API server has them.
    pub fn of_kind(&self, resource: Resource) -> impl Iterator<Item = &Value> {
        let kind = resource.kind();
        self.objects
            .iter()
            .filter(move |object| object["kind"] == kind)
    }

    /// All objects as the API server has them.
    pub fn all(&self) -> Vec<Value> {
        self.objects.clone()
    }

    /// The host's response to the get call.
    ///
    /// # Errors
    ///
    /// The host's error, if there is no such object.
    pub fn data_source(&self, namespace: &str, name: &str) -> Result<String, String> {
        let resource = Resource::DataSources;
        if let Some(error) = self.unreadable.get(resource.kind()) {
            return Err(error.clone());
        }
        let object = self.of_kind(resource).find(|object| {
            let metadata = &object["metadata"];
            metadata["namespace"] == namespace && metadata["name"] == name
        });
        let object = object.ok_or_else(|| {
            format!("Cannot find {}/DataSource named '{name}' inside of namespace 'Some(\"{namespace}\")'", resource.api_version())
        })?;
        let mut masked = masked(object, resource);
        masked["apiVersion"] = json!(resource.api_version());
        masked["kind"] = json!(resource.kind());
        Ok(masked.to_string())
    }

    /// Whether the host returns an error.
    pub fn is_unreadable(&self) -> bool {
        !self.unreadable.is_empty()
    }
}

/// An object as the host sends it: its metadata, and the fields that the policy reads.
fn masked(object: &Value, resource: Resource) -> Value {
    let mut masked = json!({"metadata": object["metadata"]});
    for field in resource.fields() {
        let pointer = format!("/{}", field.replace('.', "/"));
        let Some(value) = object.pointer(&pointer) else {
            continue;
        };
        let mut parent = &mut masked;
        for key in field.split('.') {
            if parent.is_null() {
                *parent = Value::Object(Map::new());
            }
            parent = &mut parent[key];
        }
        *parent = value.clone();
    }
    masked
}

/// The architectures of the control-plane nodes and of the workers, sorted.
fn architectures(list: &Value) -> (Vec<String>, Vec<String>) {
    let of = |roles: &[&str]| {
        let nodes = list["items"].as_array().unwrap().iter();
        let nodes = nodes.filter(|node| {
            let labels = &node["metadata"]["labels"];
            let mut roles = roles.iter();
            roles.any(|role| {
                labels
                    .get(format!("node-role.kubernetes.io/{role}"))
                    .is_some()
            })
        });
        let names = nodes.filter_map(|node| node["status"]["nodeInfo"]["architecture"].as_str());
        let mut names: Vec<String> = names
            .filter(|it| !it.is_empty())
            .map(str::to_owned)
            .collect();
        names.sort();
        names.dedup();
        names
    };
    (of(&["control-plane", "master"]), of(&["worker"]))
}
