//! Scenario 9: hco-preflight reads a live cluster, as a plugin of kubectl.

use serde_json::{Value, json};

use crate::crd::{template, together};
use crate::waiting::until;
use crate::world::World;

pub(crate) fn run(world: &World<'_>) {
    world.set_nodes("amd64");
    merges_as_kubectl(world);
    world.creates(&json!({}));
    what_is_there(world);
    world.set_nodes("mixed");
    what_comes(world);
}

/// Only scenario 12 has policies in the cluster.
const DEFAULTS: &str = "note: using the default settings: Kubewarden is not installed in the cluster; use --settings to specify other settings\n";

/// The note that the policies were read.
fn cluster(world: &World<'_>) -> String {
    let server = &world.api().server;
    format!("note: using the context `e2e`; API server {server}/\n")
}

/// `check` evaluates the object that `kubectl apply` would create from the live object, the last applied one, and the file.
fn merges_as_kubectl(world: &World<'_>) {
    let (crd, developer) = (world.crd, &world.developer);
    let ends_well = |arguments: &[&str]| {
        let output = developer.run(arguments);
        assert_eq!(output.code, Some(0), "{arguments:?}: {output:?}");
        output.stdout
    };
    let mine = |name| template(name, Some("amd64"));
    let file = |name: &str, labels: Value, spec: &Value| {
        let mut object = world.hyperconverged(spec);
        object["metadata"]["labels"] = labels;
        developer.file(name, &object.to_string());
    };
    let templates = crd.templates(&[mine("goes"), mine("stays")]);
    let placement = crd.placement(&json!({"nodeSelector": {"kubernetes.io/arch": "amd64"}}));
    let first = together([&placement, &templates]);
    file("first.yaml", json!({"goes": "x", "stays": "x"}), &first);
    ends_well(&["apply", "-f", "first.yaml"]);
    let patch = json!({"metadata": {"labels": {"patched": "x"}}, "spec": crd.import}).to_string();
    let object = ["hyperconverged", "kubevirt-hyperconverged"];
    ends_well(&[&["patch"][..], &object, &["--type", "merge", "-p", &patch]].concat());

    let second = crd.templates(&[mine("stays"), mine("comes")]);
    file("second.yaml", json!({"stays": "y"}), &second);
    // The file does not have the patched import, and no longer the placement.
    let checked = developer.preflight(&["check", "-f", "second.yaml", "--cluster"]);
    let import = "multi-architecture import  enabled";
    assert!(checked.stdout.contains(import), "{checked:?}");
    ends_well(&[&["delete"][..], &object].concat());
}

/// The cluster as it is, and what happens when nodes join.
fn what_is_there(world: &World<'_>) {
    let now = world.admin.preflight(&["check", "--cluster"]);
    for part in ["multi-architecture import           off", "amd64 (3)"] {
        assert!(now.stdout.contains(part), "{now:?}");
    }
    assert!(
        !now.stdout.contains("[multi-arch-import-disabled]"),
        "{now:?}"
    );
    let words = ["plan", "--cluster", "--what-if", "arm64=2"];
    let then = world.admin.preflight(&words);
    assert_eq!(then.code, Some(1), "{then:?}");
    let wanted = "1 new problem: multi-arch-import-disabled; ";
    assert!(then.stdout.starts_with(wanted), "{then:?}");
}

/// Checks a manifest, with the live object as the old one. The API server then returns the same message.
fn what_comes(world: &World<'_>) {
    let crd = world.crd;
    let check = |architectures| {
        let templates = crd.templates(&[template("mine", architectures)]);
        let object = world.hyperconverged(&together([&crd.import, &templates]));
        world.developer.file("new.yaml", &object.to_string());
        world
            .developer
            .preflight(&["check", "-f", "new.yaml", "--cluster"])
    };
    let version = crd.version;
    let output = |verdict: &str, mine: &str| {
        format!(
            "{verdict}  kubevirt-hyperconverged/kubevirt-hyperconverged\n  new.yaml:1 · hco.kubevirt.io/{version} · checked as an update of the live object\n\n  \
             workload nodes             amd64 (3), arm64 (2)\n  control plane              amd64\n  multi-architecture import  enabled\n\n  \
             golden images               amd64 (3)       arm64 (2)\n  mine                        {mine}\n  \
             centos-stream10-image-cron  ✔ expected      ✔ expected\n  centos-stream9-image-cron   ✔ expected      ✔ expected\n  fedora-image-cron           ✔ expected      ✔ expected\n\n"
        )
    };
    let notes = format!("{}{DEFAULTS}", cluster(world));
    let field = match version {
        "v1beta1" => "spec.featureGates.enableMultiArchBootImageImport",
        _ => "spec.workloadSources.enableMultiArchBootImageImport",
    };
    let preview = if crd.name == "HCO 1.18, v1 alone" {
        "spec.featureGates[0]"
    } else {
        field
    };
    // The live object imports for one architecture, so the update replaces the disks of the golden images.
    let accepted = format!(
        "{}  ! warn  import-is-preview\n    \
         The version of HCO is unknown. Before HCO 1.19, the import is a preview: Alpha upstream, and in\n    \
         OpenShift Virtualization 4.20 to 4.22 a Technology Preview, which Red Hat does not support in\n    \
         production.\n    \
         new.yaml:1  {preview}\n    \
         fix  state the version of HCO with the setting hcoVersion, for example hcoVersion: \"1.19\"\n    \
         or   leave it enabled, if your cluster may use preview features\n\n  \
         ! warn  boot-source-replaced\n    \
         New VMs cannot use `centos-stream10`, `centos-stream9`, `fedora` until an import is done: the\n    \
         update replaces the disk.\n    \
         new.yaml:1  {field}\n    \
         fix  apply the update when no new VM needs these boot sources; running VMs have disks of their\n         own\n\n\
         1 object: accepted, 2 warnings\n",
        output("✔ accepted", "✔ expected      ✔ expected")
    );
    check(Some("amd64,arm64")).prints_and_warns(&accepted, &notes);
    let denied = check(None);
    assert_eq!((denied.code, denied.stderr), (Some(1), notes));
    for part in [
        output("✘ denied", "? unknown       ? unknown").as_str(),
        "\n  ✘ deny  architectures-missing\n",
        &crd.annotation_path(0),
        "\n1 object: 1 denial, 2 warnings\n",
    ] {
        assert!(denied.stdout.contains(part), "{part}: {}", denied.stdout);
    }
}

/// Waits until the API server reports that the policy-server can read nodes, or that it cannot.
pub(super) fn reads_nodes(world: &World<'_>, wanted: bool) {
    let account = "--as=system:serviceaccount:kubewarden:policy-server";
    until("the grants are in effect", || {
        let output = world
            .admin
            .run(&["auth", "can-i", "list", "nodes", account]);
        if (output.code == Some(0)) == wanted {
            Ok(())
        } else {
            Err(format!("{output:?}"))
        }
    });
}
