//! Scenario 14: check and plan read the objects of CDI, KubeVirt, and SSP, with the permissions in deploy/preflight-plan and
//! no others.

use e2e_tests::module::ROOT;
use e2e_tests::unfolded;
use serde_json::{Value, json};

use super::boot_sources::{BootSources, template};
use crate::waiting::until;
use crate::world::World;

pub(crate) fn run(world: &World<'_>) {
    let cluster = BootSources::new(world);
    world.creates(&cluster.hyperconverged(&[template()], true, &json!({})));
    permissions(world);
    becomes_ready(&cluster);
    is_gathered(world);
    loses_a_node(&cluster);
}

/// As `oc adm must-gather` runs it.
fn is_gathered(world: &World<'_>) {
    let script = format!("BASE_COLLECTION_PATH=gathered {ROOT}/deploy/must-gather/gather");
    let variables = [("HCO_PREFLIGHT", "kubectl-hco_preflight")];
    let output = world.admin.bash(&script, &variables);
    assert_eq!(output.code, Some(0), "{output:?}");
    let live = world.admin.preflight(&["check", "--cluster", "-q"]);
    assert!(output.stdout.contains(&live.stdout), "{output:?} {live:?}");
    let gathered = world
        .admin
        .preflight(&["check", "--from", "gathered/snapshot.json", "-q"]);
    assert_eq!(gathered.stdout, live.stdout);
}

/// The developer may read nodes and the HyperConverged at first.
fn permissions(world: &World<'_>) {
    let developer = &world.developer;
    let without = developer.preflight(&["check", "--cluster", "-q"]);
    assert_eq!(without.code, Some(2), "{without:?}");
    let unread = "dataimportcrons.cdi.kubevirt.io is forbidden";
    assert!(unfolded(&without.stdout).contains(unread), "{without:?}");
    let folder = format!("{ROOT}/deploy/preflight-plan");
    let manifests = world.admin.run(&["kustomize", &folder]);
    let role = manifests.stdout.split("---\n");
    let role = role
        .into_iter()
        .find(|it| it.contains("kind: ClusterRole\n"));
    world.admin.file("role.yaml", role.unwrap_or_default());
    for words in [
        &["apply", "-f", "role.yaml"][..],
        &[
            "create",
            "clusterrolebinding",
            "hco-preflight-plan",
            "--clusterrole=hco-preflight-plan",
            "--group=developers",
        ],
    ] {
        let output = world.admin.run(words);
        assert_eq!(output.code, Some(0), "{output:?}");
    }
    for words in [
        ["check", "--cluster", "-o", "json"],
        ["plan", "--cluster", "-o", "json"],
    ] {
        until("the role is in effect", || {
            let output = developer.preflight(&words);
            let json: Value = serde_json::from_str(&output.stdout).unwrap_or_default();
            let rows = json["rows"].as_array();
            let is_read =
                rows.is_some_and(|rows| rows.iter().all(|row| row["effect"] != "not-read"));
            is_read.then_some(()).ok_or(format!("{output:?}"))
        });
        let with_role = developer.preflight(&words);
        let as_admin = world.admin.preflight(&words);
        assert_eq!(with_role.stdout, as_admin.stdout);
    }
}

/// The objects of a golden image do not exist, and then all exist.
fn becomes_ready(cluster: &BootSources<'_>) {
    let status = |code| {
        let status = cluster.sees(&["check"]);
        assert_eq!(status.code, Some(code), "{status:?}");
        cluster.sees(&["plan"]);
        status.stdout
    };
    let before = status(1);
    assert!(
        unfolded(&before).contains("not created: there is no DataImportCron mine-cron-arm64 yet"),
        "{before}"
    );
    for architecture in ["amd64", "arm64"] {
        cluster.imports(&format!("mine-{architecture}"), Some(architecture));
    }
    cluster.points("mine", "mine-amd64");
    let after = status(0);
    let row = "mine-amd64, mine-arm64: disk";
    assert!(after.contains(row), "{after}");
    let admin = &cluster.world.admin;
    let waited = admin.preflight(&["check", "--cluster", "--wait", "5m"]);
    assert_eq!(waited.code, Some(0), "{waited:?}");
}

/// The disk of an arm64 VM does not exist yet, and the last arm64 node leaves.
fn loses_a_node(cluster: &BootSources<'_>) {
    cluster.creates_a_machine("web", "mine-arm64");
    let words = ["plan", "--cluster", "--what-if", "arm64=-2", "-o", "json"];
    let plan = cluster.world.developer.preflight(&words);
    assert_eq!(plan.code, Some(1), "{plan:?}");
    let plan: Value = serde_json::from_str(&plan.stdout).expect("a plan");
    let rows = plan["rows"].as_array().expect("a list").iter();
    let mut lost = rows.clone().filter(|row| row["effect"] == "lost");
    assert!(lost.any(|row| row["name"] == "mine-arm64"), "{plan:#}");
    let machines = rows.filter(|row| row["kind"] == "VirtualMachine");
    let machines: Vec<&Value> = machines.collect();
    assert!(
        machines.iter().all(|machine| machine["name"] == "web") && !machines.is_empty(),
        "{machines:?}"
    );
}
