//! Scenario 14: status and plan read the objects of CDI, KubeVirt, and SSP, with the permissions that `rbac --for` prints and
//! no others.

use e2e_tests::crd;
use serde_json::{Value, json};

use crate::crd::together;
use crate::kubectl::{Kubectl, KubectlOutput};
use crate::waiting::until;
use crate::world::{NAMESPACE, World};

/// The namespace of golden images upstream.
pub(super) const GOLDEN: &str = "kubevirt-os-images";

/// `VolumeSnapshots` are not served: a kind without objects.
const SERVED: [(&str, &str); 6] = [
    (
        "cdi-dataimportcrons",
        "cdi.kubevirt.io/v1beta1/dataimportcrons",
    ),
    ("cdi-datasources", "cdi.kubevirt.io/v1beta1/datasources"),
    ("cdi-datavolumes", "cdi.kubevirt.io/v1beta1/datavolumes"),
    ("kubevirt-virtualmachines", "kubevirt.io/v1/virtualmachines"),
    (
        "kubevirt-virtualmachineinstances",
        "kubevirt.io/v1/virtualmachineinstances",
    ),
    ("ssp-ssps", "ssp.kubevirt.io/v1beta3/ssps"),
];

pub(crate) fn run(world: &World<'_>) {
    world.set_nodes("mixed");
    serve(world);
    let templates = world.crd.templates(&[template()]);
    let own = json!({"enableCommonBootImageImport": false});
    world.creates(&together([&world.crd.import, &templates, &own]));
    permissions(world);
    becomes_ready(world);
    loses_a_node(world);
}

pub(super) fn serve(world: &World<'_>) {
    let api = world.api();
    for (name, path) in SERVED {
        let object: Value = yaml_serde::from_str(&crd(name)).expect("a manifest");
        let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        api.must("POST", crds, Some(&object));
        until("the objects are served", || {
            match api.text(&format!("/apis/{path}"))? {
                (status, _) if status.is_success() => Ok(()),
                (status, body) => Err(format!("{status}: {body}")),
            }
        });
    }
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": GOLDEN}});
    api.must("POST", "/api/v1/namespaces", Some(&namespace));
}

pub(super) fn spec(name: &str, architecture: Option<&str>) -> Value {
    let mut registry = json!({"url": "docker://registry.example.com/mine:1"});
    if let Some(architecture) = architecture {
        registry["platform"] = json!({"architecture": architecture});
    }
    json!({
        "managedDataSource": name,
        "schedule": "0 */12 * * *",
        "retentionPolicy": "None",
        "importsToKeep": 1,
        "template": {"spec": {
            "source": {"registry": registry},
            "storage": {"resources": {"requests": {"storage": "30Gi"}}},
        }},
    })
}

pub(super) fn template() -> Value {
    json!({
        "metadata": {
            "name": "mine-cron",
            "annotations": {"ssp.kubevirt.io/dict.architectures": "amd64,arm64"},
        },
        "spec": spec("mine", None),
    })
}

/// The developer may read nodes and the HyperConverged at first.
fn permissions(world: &World<'_>) {
    let developer = &world.developer;
    let without = preflight(developer, &["status", "--cluster", "-q"]);
    assert_eq!(without.code, Some(2), "{without:?}");
    let unread = "you are not allowed to list dataimportcrons.cdi.kubevirt.io";
    assert!(without.stdout.contains(unread), "{without:?}");
    for (command, words) in [
        ("status", ["status", "--cluster", "-o", "json"]),
        ("plan", ["plan", "--cluster", "-o", "json"]),
    ] {
        let role = preflight(&world.admin, &["rbac", "--for", command]);
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
            let output = preflight(developer, &words);
            let json: Value = serde_json::from_str(&output.stdout).unwrap_or_default();
            (json["unread"] == json!([]))
                .then_some(())
                .ok_or(format!("{output:?}"))
        });
        let with_role = preflight(developer, &words);
        let as_admin = preflight(&world.admin, &words);
        assert_eq!(with_role.stdout, as_admin.stdout);
        if command == "status" {
            let output = world.admin.run(&["delete", "clusterrolebinding", &name]);
            assert_eq!(output.code, Some(0), "{output:?}");
        }
    }
}

/// Nothing of a golden image is there, then all of it.
fn becomes_ready(world: &World<'_>) {
    let status = |code| {
        let live = preflight(&world.admin, &["status", "--cluster"]);
        assert_eq!(live.code, Some(code), "{live:?}");
        let file = ["snapshot", "--cluster", "-o", "snapshot.json"];
        let taken = preflight(&world.admin, &file);
        assert_eq!(taken.code, Some(0), "{taken:?}");
        for words in [["status", "-q"], ["plan", "-q"], ["check", "-q"]] {
            let of = |what: &[&str]| {
                let output = preflight(&world.admin, &[&words, what].concat());
                (output.stdout, output.code)
            };
            let from = of(&["--from", "snapshot.json"]);
            assert_eq!(from, of(&["--cluster"]), "{words:?}");
        }
        live.stdout
    };
    let before = status(1);
    assert!(
        before.contains("its DataImportCron mine-cron-arm64 is not created yet"),
        "{before}"
    );
    let owner = json!({"operator-sdk/primary-resource-type": "SSP.ssp.kubevirt.io"});
    let api = world.api();
    let create = |resource: &str, mut object: Value| {
        object["apiVersion"] = json!("cdi.kubevirt.io/v1beta1");
        object["metadata"]["namespace"] = json!(GOLDEN);
        let path = format!("/apis/cdi.kubevirt.io/v1beta1/namespaces/{GOLDEN}/{resource}");
        api.must("POST", &path, Some(&object));
    };
    for architecture in ["amd64", "arm64"] {
        let (name, cron) = (
            format!("mine-{architecture}"),
            format!("mine-cron-{architecture}"),
        );
        let since = "2026-11-20T08:00:00Z";
        let condition = json!({
            "type": "UpToDate", "status": "True", "reason": "UpToDate",
            "message": "Latest import is up to date", "lastTransitionTime": since,
        });
        let metadata = json!({"name": cron, "annotations": owner});
        create(
            "dataimportcrons",
            json!({
                "kind": "DataImportCron",
                "metadata": metadata,
                "spec": spec(&name, Some(architecture)),
                "status": {"conditions": [condition]},
            }),
        );
        let label = json!({
            "cdi.kubevirt.io/dataImportCron": cron,
            "cdi.kubevirt.io/dataImportCron.cleanup": "true",
        });
        let disk = format!("{name}-01");
        let claim = json!({
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": disk, "namespace": GOLDEN, "labels": label},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "30Gi"}},
            },
        });
        let claims = format!("/api/v1/namespaces/{GOLDEN}/persistentvolumeclaims");
        api.must("POST", &claims, Some(&claim));
        let source = json!({"pvc": {"name": disk, "namespace": GOLDEN}});
        create(
            "datasources",
            json!({
                "kind": "DataSource",
                "metadata": {"name": name, "labels": label},
                "spec": {"source": source},
            }),
        );
    }
    let source = json!({"dataSource": {"name": "mine-amd64", "namespace": GOLDEN}});
    create(
        "datasources",
        json!({
            "kind": "DataSource",
            "metadata": {"name": "mine", "annotations": owner},
            "spec": {"source": source},
        }),
    );
    let after = status(0);
    for architecture in ["amd64", "arm64"] {
        let row = format!("mine-{architecture}  ready since 2026-11-20T08:00:00Z");
        assert!(after.contains(&row), "{after}");
    }
    let waited = preflight(&world.admin, &["status", "--cluster", "--wait", "5m"]);
    assert_eq!(waited.code, Some(0), "{waited:?}");
}

/// A virtual machine of arm64 is to be made, and the last node of arm64 leaves.
fn loses_a_node(world: &World<'_>) {
    let source = json!({"kind": "DataSource", "name": "mine-arm64", "namespace": GOLDEN});
    let disk = json!({"metadata": {"name": "web"}, "spec": {
        "sourceRef": source,
        "storage": {"resources": {"requests": {"storage": "30Gi"}}},
    }});
    let machine = json!({
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "web", "namespace": NAMESPACE},
        "spec": {
            "runStrategy": "Halted",
            "dataVolumeTemplates": [disk],
            "template": {"spec": {"architecture": "arm64", "domain": {"devices": {}}}},
        },
    });
    let path = format!("/apis/kubevirt.io/v1/namespaces/{NAMESPACE}/virtualmachines");
    world.api().must("POST", &path, Some(&machine));
    let words = ["plan", "--cluster", "--what-if", "arm64=-2", "-o", "json"];
    let plan = preflight(&world.developer, &words);
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

pub(super) fn preflight(user: &Kubectl, arguments: &[&str]) -> KubectlOutput {
    user.run(&[&["hco-preflight"], arguments].concat())
}
