//! Part of scenario 8: a user adds components to a platform, as `deploy/my-cluster` describes. The API server accepts what
//! kubectl renders.

use std::process::Command;

use e2e_tests::module::ROOT;
use serde_json::json;

use super::manifests::is_accepted;
use crate::world::World;

const WANTED: &str = "clusteradmissionpolicy.policies.kubewarden.io/hco-architecture-guard created";

/// A copy of `deploy/`, in which a scenario chooses what it applies.
pub(super) fn copy_of_deploy() -> tempfile::TempDir {
    let copy = tempfile::tempdir().expect("a directory");
    let status = Command::new("cp")
        .args(["-r", &format!("{ROOT}/deploy")])
        .arg(copy.path())
        .status();
    assert!(status.is_ok_and(|status| status.success()));
    copy
}

pub(crate) fn run(world: &World<'_>) {
    world.serves_all(&["prometheus-prometheusrules", "prometheus-servicemonitors"]);
    let copy = copy_of_deploy();
    let mine = copy.path().join("deploy/my-cluster");
    let components = names("deploy/components");
    // Each overlay includes the dedicated PolicyServer.
    let components = components
        .iter()
        .filter(|name| *name != "dedicated-policy-server");
    let components: Vec<String> = components
        .map(|name| format!("../components/{name}"))
        .collect();
    for platform in names("deploy/overlays") {
        let alone = components.iter().map(|name| vec![name.clone()]);
        for combination in alone.chain([components.clone()]) {
            let kustomization = json!({
                "apiVersion": "kustomize.config.k8s.io/v1beta1",
                "kind": "Kustomization",
                "resources": [format!("../overlays/{platform}")],
                "components": combination,
            });
            let file = mine.join("kustomization.yaml");
            std::fs::write(file, kustomization.to_string()).expect("a file");
            is_accepted(world, &mine.display().to_string(), WANTED);
        }
    }
}

fn names(directory: &str) -> Vec<String> {
    let entries = std::fs::read_dir(format!("{ROOT}/{directory}")).expect("a directory");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = names
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
