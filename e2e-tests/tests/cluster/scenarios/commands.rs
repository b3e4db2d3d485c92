//! Scenario 18: the commands of the pages, in the blocks with the words `scenario=18`, as they are printed, by bash. There is no
//! controller of Kubewarden: the webhook of the first policy is there from the beginning, and a `PolicyServer` has no finalizer.

use std::path::Path;

use e2e_tests::Page;
use e2e_tests::module::{self, ROOT};
use serde_json::json;

use super::audit_scanner::{KUBEWARDEN_CRDS, REPORT_CRDS};
use super::combinations::copy_of_deploy;
use crate::policy::manifests;
use crate::world::World;

/// In the order in which an administrator reads them. docs/operate.md ends with what removes everything.
const PAGES: [&str; 12] = [
    "docs/need.md",
    "docs/install-policy.md",
    "docs/options.md",
    "docs/pipelines.md",
    "docs/denied.md",
    "docs/alerts.md",
    "docs/troubleshooting.md",
    "docs/upgrade.md",
    "docs/nodes.md",
    "docs/heterogeneous.md",
    "docs/operate.md",
    "README.md",
];

/// The components with which the emergency commands have something to do.
const COMPONENTS: [&str; 6] = [
    "v1beta1-only",
    "monitoring",
    "protect",
    "fail-closed",
    "repair",
    "virtual-machines",
];

pub(crate) fn run(world: &World<'_>) {
    for program in ["bash", "jq"] {
        assert!(
            module::on_path(program).is_some(),
            "{program} is not on PATH"
        );
    }
    what_an_administrator_has(world);
    let clone = clone_with_a_choice();
    let mut ran = 0;
    let mut variables = String::new();
    for page in PAGES {
        for commands in blocks_of(page, "console scenario=18") {
            if commands.starts_with("NS=") {
                variables = format!("{commands}\n");
                continue;
            }
            println!("  {page}: {}", commands.lines().next().unwrap_or_default());
            let (code, output) = bash(world, clone.path(), &format!("{variables}{commands}"));
            // `check` may find something: the import is off on two architectures for a while. The test of the webhook is
            // denied.
            let can_deny =
                commands.starts_with("hco-preflight check") || commands.contains("no-such-label");
            let is_verdict = can_deny && code == Some(1);
            assert!(
                code == Some(0) || is_verdict,
                "{page}: {commands}\n{output}"
            );
            if commands.contains("no-such-label") {
                assert!(
                    output.contains("[no-workload-nodes]"),
                    "{commands}\n{output}"
                );
            }
            if commands.starts_with("oc edit") {
                assert!(output.contains(" edited\n"), "{commands}\n{output}");
            }
            without_finalizers(world);
            ran += 1;
        }
    }
    assert!(ran >= 25, "{ran} blocks");
    let left = world
        .admin
        .run(&["get", "clusteradmissionpolicies,policyservers"]);
    left.prints_and_warns("", "No resources found\n");
}

/// The commands of the blocks with this info string on a page.
pub(super) fn blocks_of(page: &str, info: &str) -> Vec<String> {
    let page = Page {
        id: page.to_owned(),
        text: std::fs::read_to_string(Path::new(ROOT).join(page)).expect("the page"),
    };
    let blocks = page.blocks().into_iter().filter(|block| block.0 == info);
    let commands = |block: String| block.replace("\n$ ", "\n").replacen("$ ", "", 1);
    blocks.map(|(_, block)| commands(block)).collect()
}

/// The objects that the commands need: a HyperConverged, the resources of the operators and of Prometheus, and the webhook.
fn what_an_administrator_has(world: &World<'_>) {
    world.serves_all(&KUBEWARDEN_CRDS);
    world.serves_all(&REPORT_CRDS);
    world.serves_all(&[
        "prometheus-prometheusrules",
        "prometheus-servicemonitors",
        "cdi-datasources",
        "cdi-dataimportcrons",
        "kubevirt-virtualmachineinstances",
        "kubevirt-virtualmachines",
        "kubevirt-kubevirts",
        "ssp-ssps",
    ]);
    // The pages grant this to the account of the dedicated PolicyServer; the webhook here keeps its own.
    for mut manifest in manifests("deploy/base/rbac.yaml") {
        let kind = manifest["kind"].as_str().expect("a kind").to_lowercase();
        manifest["metadata"]["name"] = json!("of-the-webhook");
        if kind == "clusterrolebinding" {
            manifest["roleRef"]["name"] = json!("of-the-webhook");
        }
        let path = format!("/apis/rbac.authorization.k8s.io/v1/{kind}s");
        world.api().must("POST", &path, Some(&manifest));
    }
    world.deploy("amd64");
    world.creates(&json!({}));
}

/// A copy of `deploy/` in which OKD and the components are chosen. The policy and its role are there already, as by `apply`.
fn clone_with_a_choice() -> tempfile::TempDir {
    let copy = copy_of_deploy();
    let kustomization = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": ["../overlays/okd"],
        "components": COMPONENTS.map(|name| format!("../components/{name}")),
    });
    let file = copy.path().join("deploy/my-cluster/kustomization.yaml");
    std::fs::write(file, kustomization.to_string()).expect("a file");
    copy
}

/// As Kubewarden's controller does after it has cleaned up.
fn without_finalizers(world: &World<'_>) {
    let patch = r#"{"metadata":{"finalizers":null}}"#;
    for name in ["hco-architecture-guard", "hco-architecture-guard-vms"] {
        // It is not there before the first `apply`, and after the last block.
        let words = [
            "patch",
            "policyserver",
            name,
            "--type",
            "merge",
            "-p",
            patch,
        ];
        world.admin.run(&words);
    }
}

/// Each edit sets another value, because kubectl sends nothing if the object stays the same.
const EDITOR: &str = r#"
sed -i '/^  labels:$/d; /^    edited:/d' "$1"
sed -i "s/^  name: kubevirt-hyperconverged$/&\n  labels:\n    edited: n$(date +%N)/" "$1"
"#;

/// Runs commands as the administrator; returns the exit code, and all that they print. kubectl stands for `oc`, OKD's
/// namespace for OpenShift's, and a script that sets a label for the editor.
pub(super) fn bash(world: &World<'_>, directory: &Path, commands: &str) -> (Option<i32>, String) {
    let script = format!(
        "set -e -o pipefail\n\
         oc() {{ kubectl \"${{@//openshift-cnv/kubevirt-hyperconverged}}\"; }}\n\
         export KUBE_EDITOR=\"bash $PWD/editor\"\n\
         hco-preflight() {{ kubectl hco-preflight \"$@\"; }}\n\
         cd '{}'\n{commands}\n",
        directory.display()
    );
    world.admin.file("editor", EDITOR);
    let output = world.admin.bash(&script, &[]);
    (output.code, output.stdout + &output.stderr)
}
