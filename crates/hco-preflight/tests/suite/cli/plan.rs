//! `plan`: VMs, sizes, and nodes.

use rstest::rstest;
use serde_json::{Value, json};

use super::changes::PLACEMENT;
use super::objects::{
    GOLDEN, beside, copy, edited, hyperconverged, instance, list, machine, node, object, template,
};
use super::{effects, file, json_of, rows, run, text_of, written};

/// The page leaves out lines, at `…` or without a mark, and changes none.
#[test]
fn the_page_shows_a_plan() {
    let plan = run("plan -f plan.yaml --from plan-objects.yaml").stdout;
    let page = file("../../../../docs/plan.md");
    let (_, excerpt) = page.split_once("```text\n").unwrap();
    let (excerpt, _) = excerpt.split_once("```\n").unwrap();
    let mut lines = plan.lines();
    for line in excerpt.lines().filter(|line| *line != "…") {
        assert!(lines.any(|it| it == line), "`{line}` is not in:\n{plan}");
    }
}

/// The plan of a file with these objects, in JSON.
fn plan_beside(objects: &[Value], words: &str) -> Value {
    json_of(&format!("plan --from {} {words}", beside(objects)))
}

/// The plan of a file with these objects, after changes of `plan.yaml`, as text.
fn text_beside(objects: &[Value], changes: &[(&str, &str)]) -> String {
    let file = copy("plan.yaml", changes, &[]);
    text_of(&format!("plan -q -f {file} --from {}", beside(objects)))
}

/// SSP does not create a DataImportCron for a common boot source with an uploaded disk. The disk has the name of the
/// DataSource or, for the default architecture, the name without the suffix.
#[rstest]
#[case("fedora-amd64", "created for the uploaded PersistentVolumeClaim")]
#[case("fedora", "created for the uploaded PersistentVolumeClaim")]
#[case("fedora-42", "imported from docker://")]
fn an_uploaded_image_is_a_disk(#[case] claim: &str, #[case] wanted: &str) {
    let claim = object(
        "PersistentVolumeClaim",
        &format!("{GOLDEN}/{claim}"),
        json!({}),
    );
    let plan = text_beside(&[claim], &[("my-image", "fedora")]);
    let row = plan.lines().find(|line| line.contains(" fedora-amd64 "));
    assert!(row.is_some_and(|row| row.contains(wanted)), "{plan}");
}

/// With `WaitForFirstConsumer`, the disk of a stopped VM is created when the VM first starts. Without a phase, the volumes
/// were not read.
#[rstest]
#[case("Running", Some("WaitForFirstConsumer"), false)]
#[case("Stopped", Some("Succeeded"), false)]
#[case("Stopped", Some("WaitForFirstConsumer"), true)]
#[case("Stopped", None, false)]
#[case("Provisioning", Some("Succeeded"), true)]
fn a_virtual_machine_waits_only_for_a_disk_that_does_not_exist(
    #[case] status: &str,
    #[case] phase: Option<&str>,
    #[case] waits: bool,
) {
    let labels = json!({"kubevirt.io/created-by": "0c4e"});
    let volume = phase.map(|phase| {
        let fields = json!({"metadata": {"labels": labels}, "status": {"phase": phase}});
        object("DataVolume", "default/disk", fields)
    });
    let mut objects = vec![machine("my-image-amd64", status)];
    objects.extend(volume);
    let check = json_of(&format!("check --from {}", beside(&objects)));
    let found = effects(&check, "VirtualMachine");
    let effect = "vm: waits-for-disk".to_owned();
    assert_eq!(found.contains(&effect), waits, "{check:#}");
}

/// KubeVirt reads the label of the VM's DataSource first, and then its default.
#[rstest]
#[case("arm", true)]
#[case("pointer", true)]
#[case("other", false)]
fn a_virtual_machine_gets_the_architecture_of_its_data_source(
    #[case] source: &str,
    #[case] is_lost: bool,
) {
    let arm64 = json!({"template.kubevirt.io/architecture": "arm64"});
    let labelled = |name: &str, labels: Value, kind: &str| {
        let source = json!({kind: {"name": "arm", "namespace": GOLDEN}});
        let fields = json!({"metadata": {"labels": labels}, "spec": {"source": source}});
        object("DataSource", &format!("{GOLDEN}/{name}"), fields)
    };
    let objects = [
        labelled("arm", arm64, "pvc"),
        labelled("other", json!({}), "pvc"),
        labelled("pointer", json!({}), "dataSource"),
        machine(source, "Running"),
    ];
    // The KubeVirt of HCO 1.16 does not read labels, so the VM gets the default.
    for (version, effect) in [
        ("", "vm: no-node"),
        ("--hco-version 1.17", "vm: no-node"),
        ("--hco-version 1.16", "vm: architecture-changes"),
    ] {
        let plan = plan_beside(&objects, &format!("--what-if arm64=-1 {version}"));
        let wanted: &[&str] = if is_lost { &[effect] } else { &[] };
        assert_eq!(effects(&plan, "VirtualMachine"), wanted, "{plan:#}");
    }
}

/// Every update of a VM without an architecture sets one, including the update that stops the VM.
#[rstest]
#[case(
    None,
    "set its spec.template.spec.architecture to arm64, and shut it down: otherwise its arm64 disk is started on amd64\n"
)]
#[case(
    Some("arm64"),
    "shut it down; it cannot start again unless the cluster has an arm64 node\n"
)]
fn a_running_virtual_machine_without_an_architecture_gets_another_one(
    #[case] architecture: Option<&str>,
    #[case] wanted: &str,
) {
    let mut vm = machine("my-image-arm64", "Running");
    vm["spec"]["template"]["spec"] = json!({"architecture": architecture});
    let from = beside(&[vm, instance("default/vm", "node-7", Some("arm64"))]);
    let plan = run(&format!("plan -q --what-if arm64=-1 --from {from}"));
    plan.prints(&[wanted]).lacks(&["KubeVirt would choose"]);
}

/// The placement already excludes its node, so it loses nothing more.
#[test]
fn a_virtual_machine_on_an_excluded_node_is_said() {
    let objects = beside(&[instance("default/vm", "node-7", Some("arm64"))]);
    let objects = std::fs::read_to_string(objects).unwrap();
    let gate = "      featureGates: {";
    let placed = format!("      {PLACEMENT}\n{gate}");
    let from = written("objects.yaml", objects.replacen(gate, &placed, 1));
    for command in ["plan", "check"] {
        let document = json_of(&format!("{command} --from {from}"));
        let effects = effects(&document, "VirtualMachine");
        assert_eq!(effects, ["vm: already-orphaned"]);
        // No workload node has its architecture.
        let then = "include the node in the placement again: no workload node is arm64, so once it is shut down, it does not start, or starts on an architecture that its disk is not for";
        let detail = rows(&document, "VirtualMachine")[0]["detail"].to_string();
        assert!(detail.contains(then), "{detail}");
    }
    let row = "! default/vm: the placement already excludes its node node-7: it runs there without virt-handler";
    let headline = "1 VM is orphaned (OrphanedVirtualMachineInstances)";
    run(&format!("check -q --from {from}")).prints(&[headline, row]);
    // KubeVirt cannot migrate it.
    let leaves = run(&format!("plan -q --from {from} --what-if arm64=-1"));
    leaves
        .prints(&["when its node node-7 leaves; before the change, shut it down inside the guest"]);
}

/// The disk that the VM waits for may never exist.
#[test]
fn a_virtual_machine_that_waits_for_a_disk_is_named() {
    let source = |name: &str, status: &str| {
        let conditions = json!([{"type": "Ready", "status": status}]);
        let fields = json!({"spec": {"source": {}}, "status": {"conditions": conditions}});
        object("DataSource", &format!("images/{name}"), fields)
    };
    let waits = |name: &str, (namespace, source): (&str, &str), status: &str| {
        let source = json!({"kind": "DataSource", "name": source, "namespace": namespace});
        let volume = json!({"spec": {"sourceRef": source}});
        let edits = json!({
            "/metadata/name": name, "/metadata/uid": name, "/spec/dataVolumeTemplates": [volume, volume],
        });
        edited(&machine("", status), &edits)
    };
    let from = beside(&[
        source("ready", "True"),
        source("unready", "False"),
        waits("a", ("images", "nowhere"), "Provisioning"),
        waits("b", ("images", "nowhere"), "Provisioning"),
        waits("c", ("images", "unready"), "WaitingForVolumeBinding"),
        waits("d", ("images", "ready"), "Provisioning"),
        waits("e", ("images", "nowhere"), "Running"),
        waits("f", (GOLDEN, "fedora"), "Provisioning"),
    ]);
    let section = "\nvirtual machines\n  ✘ default/a, default/b: its disk is still to be created from images/nowhere, which does not exist; use another boot source\n  ✘ default/c: its disk is still to be created from images/unready, which is not ready\n  ✘ default/f: its disk is still to be created from kubevirt-os-images/fedora, which is not created yet\n\n";
    run(&format!("check -q --from {from}")).prints(&[section]);
    let effects = effects(&json_of(&format!("check --from {from}")), "VirtualMachine");
    assert!(
        effects.contains(&"c: waits-for-disk".to_owned()),
        "{effects:?}"
    );
}

/// A virtual machine with a nodeSelector.
fn placed(label: &str, value: &str, architecture: Option<&str>, status: &str) -> Value {
    let mut machine = machine("my-image-arm64", status);
    machine["spec"]["template"]["spec"] =
        json!({"architecture": architecture, "nodeSelector": {label: value}});
    machine
}

const LABEL: &str = "kubernetes.io/arch";
const HOST: &str = "kubernetes.io/hostname";

/// The nodeSelector of a VM takes precedence over its architecture.
#[rstest]
#[case::other_nodes_stay(placed(LABEL, "arm64", Some("amd64"), "Stopped"), "amd64=-2", &[])]
#[case::its_nodes_go(
    placed(LABEL, "arm64", Some("amd64"), "Stopped"),
    "arm64=-1",
    &["its nodeSelector requires the architecture arm64, which no workload node has any more: it cannot start"]
)]
#[case::without_an_architecture(
    placed(LABEL, "amd64", None, "Running"),
    "amd64=-2",
    &[
        "its nodeSelector requires the architecture amd64, which no workload node has any more: once stopped, it cannot start",
        "no architecture is set: from then on, KubeVirt would choose arm64 instead of amd64",
    ]
)]
#[case::its_node_goes(
    placed(HOST, "node-2", Some("amd64"), "Stopped"),
    "amd64=-1",
    &["its nodeSelector requires the node node-2, which leaves: it cannot start"]
)]
#[case::another_node_goes(placed(HOST, "node-1", Some("amd64"), "Stopped"), "amd64=-1", &[])]
#[case::its_node_goes_with_its_architecture(
    placed(HOST, "node-7", Some("arm64"), "Stopped"),
    "arm64=-1",
    &["no workload node has its architecture arm64 any more: it cannot start"]
)]
fn a_node_selector_decides_where_a_virtual_machine_starts(
    #[case] machine: Value,
    #[case] what_if: &str,
    #[case] details: &[&str],
) {
    let plan = plan_beside(&[machine], &format!("--what-if {what_if}"));
    let lost = rows(&plan, "VirtualMachine");
    let lost: Vec<&Value> = lost.iter().map(|row| &row["detail"]).collect();
    assert_eq!(lost, details, "{plan:#}");
}

/// A VM whose nodeSelector requires a specific node, and that may or may not run there.
#[rstest]
#[case::runs(
    &[placed(HOST, "node-2", Some("amd64"), "Running"), instance("default/vm", "node-2", Some("amd64"))],
    "before the change, shut it down; its nodeSelector requires this node, so it cannot be migrated, and cannot start again\n"
)]
#[case::does_not_run(
    &[placed(HOST, "node-2", Some("amd64"), "Stopped")],
    "default/vm: its nodeSelector requires the node node-2, which the placement excludes: it cannot start\n"
)]
fn a_pinned_virtual_machine_can_run_nowhere_else(#[case] objects: &[Value], #[case] wanted: &str) {
    let placement = "workloads: {nodePlacement: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [node-1]}]}, {matchFields: [{key: metadata.name, operator: In, values: [node-7]}]}]}}}}}";
    let plan = text_beside(objects, &[(PLACEMENT, placement)]);
    assert!(plan.contains(wanted), "{plan}");
    assert_eq!(plan.matches("nodeSelector requires").count(), 1, "{plan}");
}

#[rstest]
#[case("storage", "1500M", json!(1_500_000_000), "storage of new disks: 1 disk, 1.4 GiB")]
#[case("pvc", "2Ti", json!(2_u64 << 40), "storage of new disks: 1 disk, 2048 GiB")]
fn sizes_are_written_in_units(
    #[case] volume: &str,
    #[case] written: &str,
    #[case] bytes: Value,
    #[case] shown: &str,
) {
    let size = format!(
        "{volume}: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: {written}}}}}}}"
    );
    let before = "storage: {resources: {requests: {storage: 30Gi}}}";
    let file = copy("plan.yaml", &[(before, &size)], &[]);
    let words = format!("plan -f {file} --from plan-objects.yaml");
    let plan = json_of(&words);
    assert_eq!(plan["storage"]["bytes"], bytes, "{plan:#}");
    run(&format!("{words} -q")).shows(&[shown]);
}

/// HCO's webhook completes a template when a user or an upgraded HCO sends the object.
#[rstest]
#[case::nothing_is_sent("", &[])]
#[case::other_nodes("--what-if amd64=1", &[])]
#[case::upgrade("--hco-version 1.19", &["mine"])]
fn a_stored_template_is_completed_when_it_is_sent(#[case] words: &str, #[case] again: &[&str]) {
    let mine = template("mine", None, "docker://quay.io/example/mine:1");
    let stored = hyperconverged(json!({
        "metadata": {"resourceVersion": "1"},
        "spec": {"dataImportCronTemplates": [mine]},
        "status": {"versions": [{"name": "operator", "version": "1.18.0"}]},
    }));
    let cron = json!({"spec": mine["spec"]});
    let cron = object("DataImportCron", &format!("{GOLDEN}/mine"), cron);
    let nodes = [("a", "control-plane"), ("b", "worker")];
    let [first, second] = nodes.map(|(name, role)| node(name, "amd64", role));
    let from = list([first, second, stored, cron]);
    let from = written("objects.json", from.to_string());
    let plan = json_of(&format!("plan --from {from} {words}"));
    let sources = plan["bootSources"].as_array().unwrap().iter();
    let recreated = sources.filter(|source| source["after"]["changedFields"][0].is_string());
    let recreated: Vec<&Value> = recreated.map(|source| &source["name"]).collect();
    assert_eq!(recreated, again, "{plan:#}");
}

#[test]
fn a_label_that_is_null_is_an_empty_string() {
    let labels = ("worker: \"\"", "worker: null");
    let from = copy("plan-cluster.yaml", &[labels], &[]);
    let [one, other] = [&*from, "plan-cluster.yaml"]
        .map(|from| json_of(&format!("plan --from {from} --what-if arm64=1")));
    assert_eq!(one["nodes"], other["nodes"]);
}

#[rstest]
#[case("{architecture: 3}", "/status/nodeInfo/architecture")]
#[case("[]", "/status/nodeInfo")]
fn a_node_that_cannot_be_read_is_named(#[case] value: &str, #[case] field: &str) {
    let value = format!("nodeInfo: {value}");
    let edit = ("nodeInfo: {architecture: arm64}", &*value);
    let from = copy("plan-cluster.yaml", &[edit], &[]);
    let error = format!("Node node-7 cannot be read: {field}: ");
    run(&format!("plan --from {from} --nodes nodes.yaml"))
        .exits(2)
        .notes(&error);
}
