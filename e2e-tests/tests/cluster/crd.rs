//! The `CustomResourceDefinitions` of `HyperConverged` that scenarios run with.

use e2e_tests::crd;
use serde_json::{Value, json};

/// A `CustomResourceDefinition`.
pub(crate) struct Crd {
    /// The name in reports.
    pub(crate) name: &'static str,
    /// The version that `kubectl get hyperconverged` refers to.
    pub(crate) version: &'static str,
    /// The field that turns the import on in that version.
    pub(crate) import: Value,
    /// Whether it serves v1beta1 and v1, without a conversion between them.
    pub(crate) serves_both: bool,
    pub(crate) object: Value,
}

/// The versions that a scenario needs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Crds {
    /// Our CRD that serves only v1beta1.
    V1beta1,
    /// Our CRDs with only v1beta1 and with only v1, and HCO's: 1.17 and 1.18 as they are after installation, main with only
    /// v1.
    Each,
    /// HCO's CRDs with only v1beta1 and with only v1.
    OfHco,
    /// Our CRDs and HCO's as in `Each`, and HCO's CRDs that serve both versions.
    ///
    /// HCO's webhook that converts between them does not run here: an object that is stored in one version is
    /// incomplete in the other, so the tests check only requests, and never read objects back.
    EachAndBoth,
}

/// Small and structural, like HCO's CRDs: unknown fields are pruned.
const OURS: &str = include_str!("crd.yaml");

const V1BETA1: &[&str] = &["v1beta1"];
const V1: &[&str] = &["v1"];
const BOTH: &[&str] = &["v1", "v1beta1"];

/// The `CustomResourceDefinitions` that a scenario runs with, one after the other.
pub(crate) fn of(wanted: Crds) -> Vec<Crd> {
    let gate = json!({"featureGates": {"enableMultiArchBootImageImport": true}});
    let gates = json!({"featureGates": [{"name": "enableMultiArchBootImageImport"}]});
    let field = json!({"workloadSources": {"enableMultiArchBootImageImport": true}});
    let ours: Value = yaml_serde::from_str(OURS).expect("a manifest");
    let v1beta1 = Crd::new("v1beta1", V1BETA1, &gate, ours.clone());
    let v1 = Crd::new("v1", V1, &field, ours);
    let mut crds = match wanted {
        Crds::V1beta1 => return vec![v1beta1],
        Crds::OfHco => Vec::new(),
        Crds::Each | Crds::EachAndBoth => vec![v1beta1, v1],
    };
    let real = [
        ("HCO 1.17", V1BETA1, &gate, "hco-v1.17.0"),
        ("HCO 1.18, v1 alone", V1, &gates, "hco-v1.18.0"),
        ("HCO main, v1 alone", V1, &field, "hco-main-2026-08-21"),
        ("HCO 1.18", BOTH, &gates, "hco-v1.18.0"),
        ("HCO main", BOTH, &field, "hco-main-2026-08-21"),
    ];
    for (name, versions, import, file) in real {
        if versions.len() > 1 && wanted != Crds::EachAndBoth {
            continue;
        }
        if wanted == Crds::OfHco && !["HCO 1.17", "HCO main, v1 alone"].contains(&name) {
            continue;
        }
        let object = yaml_serde::from_str(&crd(file)).expect("a manifest");
        crds.push(Crd::new(name, versions, import, object));
    }
    crds
}

impl Crd {
    /// A CRD that serves these versions. If it serves both, objects are stored without a conversion.
    fn new(
        name: &'static str,
        versions: &[&'static str],
        import: &Value,
        mut object: Value,
    ) -> Self {
        let served = object["spec"]["versions"].as_array_mut().expect("versions");
        served.retain(|one| versions.iter().any(|&version| one["name"] == version));
        assert_eq!(served.len(), versions.len(), "{name} has its versions");
        if let [one] = served.as_mut_slice() {
            one["storage"] = true.into();
        }
        object["spec"]["conversion"] = json!({"strategy": "None"});
        Self {
            name,
            version: versions[0],
            import: import.clone(),
            serves_both: versions.len() > 1,
            object,
        }
    }

    /// A spec with these templates.
    pub(crate) fn templates(&self, templates: &[Value]) -> Value {
        match self.version {
            "v1" => json!({"workloadSources": {"dataImportCronTemplates": templates}}),
            _ => json!({"dataImportCronTemplates": templates}),
        }
    }

    /// A spec with this placement of the workloads.
    pub(crate) fn placement(&self, placement: &Value) -> Value {
        match self.version {
            "v1" => json!({"deployment": {"nodePlacements": {"workload": placement}}}),
            _ => json!({"workloads": {"nodePlacement": placement}}),
        }
    }

    /// A spec with a change that does not affect architectures.
    pub(crate) fn unrelated(&self, number: usize) -> Value {
        let live = json!({"liveMigrationConfig": {"parallelMigrationsPerCluster": number}});
        match self.version {
            "v1" => json!({"virtualization": live}),
            _ => live,
        }
    }

    /// The path of a template's architectures annotation, as messages name it.
    pub(crate) fn annotation_path(&self, template: usize) -> String {
        let templates = match self.version {
            "v1" => "spec.workloadSources.dataImportCronTemplates",
            _ => "spec.dataImportCronTemplates",
        };
        format!("{templates}[{template}].metadata.annotations[ssp.kubevirt.io/dict.architectures]")
    }
}

/// A template as HCO requires it, with or without the architectures annotation.
pub(crate) fn template(name: &str, architectures: Option<&str>) -> Value {
    let mut metadata = json!({"name": name});
    if let Some(architectures) = architectures {
        metadata["annotations"] = json!({"ssp.kubevirt.io/dict.architectures": architectures});
    }
    json!({
        "metadata": metadata,
        "spec": {
            "schedule": "0 */12 * * *",
            "managedDataSource": name,
            "template": {"spec": {
                "source": {"registry": {"url": format!("docker://registry.example.com/{name}:latest")}},
                "storage": {"resources": {"requests": {"storage": "10Gi"}}},
            }},
        },
    })
}

/// Merges specs.
pub(crate) fn together<const N: usize>(specs: [&Value; N]) -> Value {
    let mut all = json!({});
    for spec in specs {
        lay_over(&mut all, spec);
    }
    all
}

fn lay_over(below: &mut Value, above: &Value) {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) => {
            for (key, above) in above {
                lay_over(below.entry(key).or_insert(Value::Null), above);
            }
        }
        (below, above) => *below = above.clone(),
    }
}
