//! Small clusters about which two commands, or two parts of an output, contradicted each other.

use rstest::rstest;
use serde_json::{Value, json};

use super::objects::{GOLDEN, edited, hyperconverged, list, node, object, template};
use super::{run, written};

/// A stored HyperConverged without golden images of HCO.
fn stored(spec: &Value) -> Value {
    let mut object = hyperconverged(json!({
        "metadata": {"uid": "0c4e", "resourceVersion": "1", "generation": 1},
        "spec": {"enableCommonBootImageImport": false},
        "status": {"versions": [{"name": "operator", "version": "1.18.1"}], "observedGeneration": 1},
    }));
    json_patch::merge(&mut object["spec"], spec);
    object
}

/// A template, as HCO stores it.
fn mine(edits: &Value) -> Value {
    let template = template("mine", None, "docker://quay.io/a/mine:1");
    let defaults = json!({"/spec/retentionPolicy": "None", "/spec/importsToKeep": 1});
    edited(&edited(&template, &defaults), edits)
}

/// A file with an object, two worker nodes and a control plane, and these objects.
fn cluster(own: &Value, others: &[Value]) -> String {
    let mut items = vec![
        own.clone(),
        node("cp", "amd64", "control-plane"),
        node("w-1", "amd64", "worker"),
        node("w-2", "arm64", "worker"),
    ];
    items.extend(others.iter().cloned());
    written("cluster.json", list(items).to_string())
}

fn machine(name: &str, spec: &Value) -> Value {
    let spec = json!({"template": {"spec": spec}});
    let fields = json!({"spec": spec, "status": {"printableStatus": "Stopped"}});
    object("VirtualMachine", &format!("default/{name}"), fields)
}

/// The DataImportCron is rejected, or never runs, and the disk of an earlier import is in use.
#[rstest]
#[case(
    "0 5 * *",
    "its disk stays, and is not updated: the schedule is not a valid cron expression"
)]
#[case("", "its disk stays, and is not updated: the schedule is empty")]
fn a_boot_source_can_have_a_disk_that_is_not_updated(#[case] schedule: &str, #[case] row: &str) {
    let edits = json!({"/spec/schedule": schedule, "/spec/retentionPolicy": "All"});
    let template = mine(&edits);
    let ready = json!([{"type": "Ready", "status": "True"}]);
    let disk = json!({"source": {"pvc": {"name": "disk", "namespace": GOLDEN}}});
    let label = json!({"labels": {"cdi.kubevirt.io/dataImportCron": "mine"}});
    let source = json!({"metadata": label, "spec": disk, "status": {"conditions": ready}});
    let from = cluster(
        &stored(&json!({"dataImportCronTemplates": [template]})),
        &[
            object(
                "DataImportCron",
                &format!("{GOLDEN}/mine"),
                json!({"spec": template["spec"]}),
            ),
            object("DataSource", &format!("{GOLDEN}/mine"), source),
            object(
                "PersistentVolumeClaim",
                &format!("{GOLDEN}/disk"),
                json!({"metadata": label}),
            ),
        ],
    );
    let check = run(&format!("check -q --from {from}"));
    check
        .prints(&[row, "1 boot source is not updated"])
        .lacks(&["no disk:"]);
}

/// A problem that an update may have, because the old object would have it on these nodes, is new for the cluster.
#[test]
fn a_plan_names_what_a_check_shows_afterwards() {
    let templates = json!({"dataImportCronTemplates": [mine(&json!({}))]});
    let after = stored(&templates);
    let mut before = stored(&templates);
    before["spec"]["workloads"] = json!({"nodePlacement": {"nodeSelector": {"pool": "x"}}});
    let file = written("hco.json", after.to_string());
    let from = cluster(&before, &[]);
    let words = format!("plan -q -f {file} --from {from} --as-if replace --allow-unread");
    let plan = run(&words).exits(1);
    plan.prints(&[
        "1 new problem: multi-arch-import-disabled",
        "[no-workload-nodes]",
    ]);
    let check = format!("check -q --from {} --allow-unread", cluster(&after, &[]));
    run(&check).prints(&["HCOMultiArchGoldenImagesDisabled fires"]);
    let nodes = [after, node("cp", "amd64", "control-plane")];
    let from = written("cluster.json", list(nodes.to_vec()).to_string());
    let words = format!("plan -q --from {from} --what-if amd64=1,arm64=1 --allow-unread");
    run(&words)
        .exits(1)
        .prints(&["1 new problem: multi-arch-import-disabled"]);
}

/// The nodes do not change because the object is new, and its status and resource version are not sent.
#[test]
fn a_plan_of_a_new_object_shows_its_warnings() {
    let mut new = stored(&json!({"featureGates": {"enableMultiArchBootImageImport": true}}));
    new["status"] = Value::Null;
    let file = written("hco.json", new.to_string());
    let mut nodes = vec![
        node("w-1", "amd64", "worker"),
        node("w-2", "arm64", "worker"),
    ];
    nodes.push(
        json!({"apiVersion": "hco.kubevirt.io/v1beta1", "kind": "HyperConvergedList", "items": []}),
    );
    let from = written("nodes.json", list(nodes).to_string());
    let plan = run(&format!("plan -q -f {file} --from {from} --allow-unread"));
    plan.prints(&["[import-is-preview]"]).lacks(&["none →"]);
}

/// VMs that KubeVirt of HCO 1.17 rejects, unless a jsonpatch enables its gate, and a VM that requires a missing node.
#[test]
fn a_check_knows_vms_that_cannot_start() {
    let machines = [
        machine("arm", &json!({"architecture": "arm64"})),
        machine(
            "pinned",
            &json!({"nodeSelector": {"kubernetes.io/hostname": "w-4"}}),
        ),
        machine(
            "here",
            &json!({"nodeSelector": {"kubernetes.io/hostname": "w-1"}}),
        ),
    ];
    let mut own = stored(&json!({"infra": {"nodePlacement": {"tolerations": [{"key": "a"}]}}}));
    own["status"]["versions"][0]["version"] = json!("1.17.3");
    let words = "check -q --allow-unread --from";
    let check = run(&format!("{words} {}", cluster(&own, &machines)));
    check.prints(&[
        "2 VMs cannot start",
        "default/arm: KubeVirt rejects its architecture arm64",
    ]);
    let patch = r#"[{"op": "add", "path": "/spec/configuration/developerConfiguration/featureGates/-", "value": "MultiArchitecture"}]"#;
    own["metadata"]["annotations"] = json!({"kubevirt.kubevirt.io/jsonpatch": patch});
    let check = run(&format!("{words} {}", cluster(&own, &machines)));
    check.prints(&[
        "1 VM cannot start",
        "default/pinned: its nodeSelector requires the node w-4",
    ]);
}

/// The status of an override has its own image, and not the one that HCO ships.
#[test]
fn a_plan_does_not_import_a_removed_override() {
    let own = edited(
        &mine(&json!({})),
        &json!({"/metadata/name": "fedora-image-cron"}),
    );
    let mut before = stored(&json!({
        "enableCommonBootImageImport": true, "dataImportCronTemplates": [own],
    }));
    let status = edited(
        &own,
        &json!({"/status": {"commonTemplate": true, "modified": true}}),
    );
    before["status"]["dataImportCronTemplates"] = json!([status]);
    let after = edited(&before, &json!({"/spec/dataImportCronTemplates": null}));
    let file = written("hco.json", after.to_string());
    let from = cluster(&before, &[]);
    let words = format!("plan -q -f {file} --from {from} --as-if replace --allow-unread");
    let plan = run(&words).prints(&["fedora"]);
    plan.prints(&["imported"]).lacks(&["quay.io/a/mine"]);
}
