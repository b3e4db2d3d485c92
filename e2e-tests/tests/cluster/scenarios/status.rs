//! Scenario 14: status and plan read the objects of CDI, KubeVirt, and SSP, with the permissions that `rbac --for` prints and
//! no others.

use serde_json::{Value, json};

use super::boot_sources::{BootSources, GOLDEN, template};
use crate::waiting::until;
use crate::world::World;

pub(crate) fn run(world: &World<'_>) {
    let cluster = BootSources::new(world);
    world.creates(&cluster.hyperconverged(&[template()], true, &json!({})));
    permissions(world);
    becomes_ready(&cluster);
    has_a_leftover(&cluster);
    loses_a_node(&cluster);
}

/// The developer may read nodes and the HyperConverged at first.
fn permissions(world: &World<'_>) {
    let developer = &world.developer;
    let without = developer.preflight(&["status", "--cluster", "-q"]);
    assert_eq!(without.code, Some(2), "{without:?}");
    let unread = "you are not allowed to list dataimportcrons.cdi.kubevirt.io";
    assert!(without.stdout.contains(unread), "{without:?}");
    for (command, words) in [
        ("status", ["status", "--cluster", "-o", "json"]),
        ("plan", ["plan", "--cluster", "-o", "json"]),
    ] {
        let role = world.admin.preflight(&["rbac", "--for", command]);
        world.admin.file("role.yaml", &role.stdout);
        let name = format!("hco-preflight-{command}");
        let role = format!("--clusterrole={name}");
        for words in [
            &["apply", "-f", "role.yaml"][..],
            &[
                "create",
                "clusterrolebinding",
                &name,
                &role,
                "--group=developers",
            ],
        ] {
            let output = world.admin.run(words);
            assert_eq!(output.code, Some(0), "{output:?}");
        }
        until("the role is in effect", || {
            let output = developer.preflight(&words);
            let json: Value = serde_json::from_str(&output.stdout).unwrap_or_default();
            (json["unread"] == json!([]))
                .then_some(())
                .ok_or(format!("{output:?}"))
        });
        let with_role = developer.preflight(&words);
        let as_admin = world.admin.preflight(&words);
        assert_eq!(with_role.stdout, as_admin.stdout);
        if command == "status" {
            let output = world.admin.run(&["delete", "clusterrolebinding", &name]);
            assert_eq!(output.code, Some(0), "{output:?}");
        }
    }
}

/// Nothing of a golden image is there, then all of it.
fn becomes_ready(cluster: &BootSources<'_>) {
    let status = |code| {
        let status = cluster.sees(&["status"]);
        assert_eq!(status.code, Some(code), "{status:?}");
        for command in ["plan", "check"] {
            cluster.sees(&[command]);
        }
        status.stdout
    };
    let before = status(1);
    assert!(
        before.contains("its DataImportCron mine-cron-arm64 is not created yet"),
        "{before}"
    );
    for architecture in ["amd64", "arm64"] {
        cluster.imports(&format!("mine-{architecture}"), Some(architecture));
    }
    cluster.points("mine", "mine-amd64");
    let after = status(0);
    for architecture in ["amd64", "arm64"] {
        let row = format!("mine-{architecture}  ready since 2026-11-20T08:00:00Z");
        assert!(after.contains(&row), "{after}");
    }
    let admin = &cluster.world.admin;
    let waited = admin.preflight(&["status", "--cluster", "--wait", "5m"]);
    assert_eq!(waited.code, Some(0), "{waited:?}");
}

/// The command that is printed deletes it.
fn has_a_leftover(cluster: &BootSources<'_>) {
    cluster.leaves_a_snapshot("old");
    let status = cluster.sees(&["status"]);
    let command = format!("kubectl delete volumesnapshot.snapshot.storage.k8s.io -n {GOLDEN} old");
    let printed = status.stdout.lines().find(|line| line.trim() == command);
    let words: Vec<&str> = printed.expect(&status.stdout).split_whitespace().collect();
    let deleted = cluster.world.admin.run(&words[1..]);
    assert_eq!(deleted.code, Some(0), "{deleted:?}");
    let after = cluster.sees(&["status"]).stdout;
    assert!(!after.contains("volumesnapshot"), "{after}");
}

/// A virtual machine of arm64 is to be made, and the last node of arm64 leaves.
fn loses_a_node(cluster: &BootSources<'_>) {
    cluster.creates_a_machine("web", "mine-arm64");
    let words = ["plan", "--cluster", "--what-if", "arm64=-2", "-o", "json"];
    let plan = cluster.world.developer.preflight(&words);
    assert_eq!(plan.code, Some(1), "{plan:?}");
    let plan: Value = serde_json::from_str(&plan.stdout).expect("a plan");
    let lost = format!("{GOLDEN}/mine-arm64");
    assert_eq!(plan["lostImage"], json!([lost]));
    assert_eq!(plan["crons"]["deleted"][0]["name"], "mine-cron-arm64");
    let machines = plan["virtualMachines"].as_array().expect("a list");
    assert!(
        machines.iter().all(|machine| machine["name"] == "web") && !machines.is_empty(),
        "{machines:?}"
    );
}
