//! The CustomResourceDefinitions of HyperConverged that scenarios run with.

use std::path::Path;

use serde_json::Value;

use crate::module::ROOT;

/// A CustomResourceDefinition.
pub(crate) struct Crd {
    /// What it is called in reports.
    pub(crate) name: &'static str,
    /// The version that `kubectl get hyperconverged` means.
    pub(crate) version: &'static str,
    /// Whether it is HCO's, defaults and all, or our own.
    pub(crate) is_real: bool,
    pub(crate) object: Value,
}

/// What a scenario needs of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Crds {
    /// One that serves v1beta1 alone, ours.
    V1beta1,
    /// Ours, once with v1beta1 alone and once with v1 alone, and HCO's of 1.17, where it is there.
    ///
    /// HCO's later ones serve two versions, with a webhook between them that is not here. Without it the
    /// other version than the stored one reads back mangled, so they take part with the stored one alone.
    All,
}

/// Small and structural, as HCO's are: fields that it does not name are pruned.
const OURS: &str = include_str!("crd.yaml");

/// The CustomResourceDefinitions that a scenario runs with, one after the other.
pub(crate) fn of(wanted: Crds) -> Vec<Crd> {
    let ours = |version: &'static str, name| {
        let mut object: Value = yaml_serde::from_str(OURS).expect("a manifest");
        serve_alone(&mut object, version);
        Crd {
            name,
            version,
            is_real: false,
            object,
        }
    };
    let mut crds = vec![ours("v1beta1", "v1beta1")];
    if wanted == Crds::All {
        crds.push(ours("v1", "v1"));
        crds.extend(real("hco-v1.17.0.yaml", "v1beta1", "HCO 1.17, v1beta1"));
        crds.extend(real("hco-v1.18.0.yaml", "v1", "HCO 1.18, v1"));
        crds.extend(real("hco-main-2026-08-21.yaml", "v1", "HCO main, v1"));
        crds.extend(real(
            "hco-main-2026-08-21.yaml",
            "v1beta1",
            "HCO main, v1beta1",
        ));
    }
    crds
}

/// HCO's, if somebody has put it there: it is not ours to distribute.
fn real(file: &str, version: &'static str, name: &'static str) -> Option<Crd> {
    let file = Path::new(ROOT).join("../shared/crds").join(file);
    let text = std::fs::read_to_string(file).ok()?;
    let mut object: Value = yaml_serde::from_str(&text).expect("a manifest");
    serve_alone(&mut object, version);
    Some(Crd {
        name,
        version,
        is_real: true,
        object,
    })
}

/// Leaves one version, and nothing that would ask HCO to convert.
fn serve_alone(crd: &mut Value, version: &str) {
    let versions = crd["spec"]["versions"].as_array_mut().expect("versions");
    versions.retain(|one| one["name"] == version);
    assert_eq!(versions.len(), 1, "{version} is one of them");
    for one in versions {
        one["storage"] = true.into();
        one["served"] = true.into();
    }
    crd["spec"]["conversion"] = serde_json::json!({"strategy": "None"});
    if let Some(annotations) = crd["metadata"]["annotations"].as_object_mut() {
        annotations.clear();
    }
}
