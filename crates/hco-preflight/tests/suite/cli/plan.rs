//! `plan` and `snapshot`: from files, and on a cluster of recorded answers.

use rstest::rstest;
use serde_json::{Value, json};

use super::objects::{
    GOLDEN, MACHINES, beside, cluster, copy, hyperconverged, instance, list, node, object, refused,
};
use super::{file, json_of, rows, run, run_on, scratch, text_of, unread, written};
use e2e_tests::ApiServer;

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

#[test]
fn a_snapshot_gives_the_same_plan_as_its_cluster() {
    let volumes = json!([{"cloudInitNoCloud": {"userData": "hunter2"}}]);
    let vm = json!({
        "metadata": {"labels": {"a": "b"}, "annotations": {"password": "hunter2"}},
        "spec": {"template": {"spec": {"architecture": "s390x", "volumes": volumes}}},
    });
    let registry = json!({"url": "docker://user:hunter2@a.test/b:1"});
    let volume = json!({"spec": {"source": {"registry": registry}}});
    let server = ApiServer::start(cluster(&[
        object("VirtualMachine", "default/secret-name", vm),
        object("DataVolume", "default/secret-name-disk", volume),
    ]));
    let words = "--what-if arm64=2 -o json -q";
    let live = run_on(&server, &format!("plan --cluster {words}"));
    assert!(!live.stdout.is_empty(), "{live:?}");
    let file = scratch().join("snapshot.json").display().to_string();
    run_on(&server, &format!("snapshot --cluster -o {file}")).exits(0);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("secret-name") && text.contains("secret-name-disk"));
    assert!(!text.contains("hunter2"), "{text}");
    let from = run(&format!("plan --from {file} {words}"));
    assert_eq!(from.result(), live.result());
}

/// A VM's disk has its own name; the disks of golden images are read.
#[test]
fn a_snapshot_has_the_disks_of_boot_sources_alone() {
    let labelled = json!({"metadata": {"labels": {"cdi.kubevirt.io/dataImportCron": "gone-cron"}}});
    let golden = format!("{GOLDEN}/win11");
    let source = json!({"spec": {"source": {"pvc": {"namespace": "team", "name": "source-disk"}}}});
    let mut objects = vec![object("DataSource", "team/own", source)];
    for kind in ["PersistentVolumeClaim", "VolumeSnapshot"] {
        objects.push(object(kind, "team/secret-vm-disk", json!({})));
        objects.push(object(kind, "team/source-disk", json!({})));
        objects.push(object(kind, "other/left-disk", labelled.clone()));
        objects.push(object(kind, &golden, json!({})));
    }
    let server = ApiServer::start(cluster(&objects));
    let run = run_on(&server, "snapshot --cluster");
    let run = run.prints(&["source-disk", "left-disk", "win11"]);
    assert!(!run.stdout.contains("secret-vm-disk"), "{run:?}");
}

#[test]
fn what_may_not_be_listed_is_named_and_the_rest_is_planned() {
    let first = vec![refused(MACHINES, 403, "no")];
    let server = ApiServer::start([first, cluster(&[])].concat());
    let plan = run_on(&server, "plan --cluster -o json -q").json();
    let unread = unread(&plan);
    assert_eq!(unread.len(), 1, "{unread:?}");
    assert_eq!(unread[0]["kind"], "VirtualMachine");
}

#[test]
fn a_name_from_outside_cannot_draw_on_the_terminal() {
    let hostile = [("{name: arm,", "{name: \"arm\\e[2J\\n::error::\",")];
    let from = copy("plan-cluster.yaml", &hostile, &[]);
    for format in ["text", "json", "markdown"] {
        let words = format!("plan -f plan.yaml --from {from} --allow-unread -o {format}");
        let plan = run(&words).exits(1);
        // The output contains the name, without escape sequences for a terminal.
        let text = plan.prints(&["[2J"]).stdout;
        assert!(
            !text.contains('\u{1b}') && !text.contains("\n::error::"),
            "{text}"
        );
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
#[test]
fn an_uploaded_image_is_a_disk() {
    for (claim, wanted) in [
        (
            Some("fedora-amd64"),
            "created for the uploaded PersistentVolumeClaim",
        ),
        (
            Some("fedora"),
            "created for the uploaded PersistentVolumeClaim",
        ),
        (Some("fedora-42"), "imported from docker://"),
        (None, "imported from docker://"),
    ] {
        let claims = claim.map(|name| {
            object(
                "PersistentVolumeClaim",
                &format!("{GOLDEN}/{name}"),
                json!({}),
            )
        });
        let plan = text_beside(claims.as_slice(), &[("my-image", "fedora")]);
        let row = plan.lines().find(|it| it.contains(" fedora-amd64 "));
        assert!(
            row.is_some_and(|row| row.contains(wanted)),
            "{claim:?}: {plan}"
        );
    }
}

fn machine(source: &str, status: &str) -> Value {
    let source = json!({"kind": "DataSource", "name": source, "namespace": GOLDEN});
    object(
        "VirtualMachine",
        "default/vm",
        json!({
            "metadata": {"uid": "0c4e", "resourceVersion": "1"},
            "spec": {"dataVolumeTemplates": [{"spec": {"sourceRef": source}}], "template": {"spec": {}}},
            "status": {"printableStatus": status},
        }),
    )
}

/// With `WaitForFirstConsumer`, the disk of a stopped VM is created when the VM first starts.
#[test]
fn an_existing_disk_stays() {
    for (status, phase, effect) in [
        ("Running", Some("WaitForFirstConsumer"), "disk-stays"),
        ("Stopped", Some("Succeeded"), "disk-stays"),
        (
            "Stopped",
            Some("WaitForFirstConsumer"),
            "disk-source-replaced",
        ),
        // The volumes were not read.
        ("Stopped", None, "disk-source-replaced"),
        ("Provisioning", Some("Succeeded"), "disk-source-replaced"),
    ] {
        let labels = json!({"kubevirt.io/created-by": "0c4e"});
        let volume = phase.map(|phase| {
            let fields = json!({"metadata": {"labels": labels}, "status": {"phase": phase}});
            object("DataVolume", "default/disk", fields)
        });
        let objects = [
            vec![machine("my-image-amd64", status)],
            Vec::from_iter(volume),
        ];
        let plan = plan_beside(&objects.concat(), "-f plan.yaml");
        let machines = rows(&plan, "VirtualMachine");
        assert_eq!(machines.len(), 1, "{plan:#}");
        assert_eq!(
            machines[0]["effect"], effect,
            "{status}, {phase:?}: {plan:#}"
        );
    }
}

/// KubeVirt reads the label of the VM's DataSource first, and then its default.
#[test]
fn a_virtual_machine_gets_the_architecture_of_its_data_source() {
    let arm64 = json!({"template.kubevirt.io/architecture": "arm64"});
    let labelled = |name: &str, labels: Value, source: Value| {
        let fields = json!({"metadata": {"labels": labels}, "spec": {"source": source}});
        object("DataSource", &format!("{GOLDEN}/{name}"), fields)
    };
    let disk = json!({"pvc": {"name": "disk", "namespace": GOLDEN}});
    let pointer = json!({"dataSource": {"name": "arm", "namespace": GOLDEN}});
    let mut objects = vec![
        labelled("arm", arm64, disk.clone()),
        labelled("other", json!({}), disk),
        labelled("pointer", json!({}), pointer),
        Value::Null,
    ];
    for (source, is_lost) in [("arm", true), ("pointer", true), ("other", false)] {
        objects[3] = machine(source, "Running");
        let all = |version: &str| {
            let words = format!("--what-if arm64=-1 {version}");
            rows(&plan_beside(&objects, &words), "VirtualMachine")
        };
        let machines = all("");
        assert_eq!(all("--hco-version 1.17"), machines);
        if is_lost {
            assert_eq!(machines[0]["effect"], "no-node", "{source}");
            let detail = machines[0]["detail"].as_str().unwrap();
            assert!(detail.contains("arm64"), "{detail}");
            // The KubeVirt of HCO 1.16 does not read labels, so the VM gets the default.
            let older = all("--hco-version 1.16");
            assert_eq!(older[0]["effect"], "architecture-changes", "{source}");
        } else {
            assert_eq!(machines, [Value::Null; 0], "{source}");
        }
    }
}

/// Every update of a VM without an architecture sets one, including the update that stops the VM.
#[test]
fn a_running_virtual_machine_without_an_architecture_gets_another_one() {
    for (architecture, wanted) in [
        (
            None,
            "set its spec.template.spec.architecture to arm64, and shut it down: otherwise its arm64 disk is started on amd64\n",
        ),
        (
            Some("arm64"),
            "shut it down; it cannot start again unless the cluster has an arm64 node\n",
        ),
    ] {
        let mut vm = machine("my-image-arm64", "Running");
        vm["spec"]["template"]["spec"] = json!({"architecture": architecture});
        let from = beside(&[vm, instance("default/vm", "node-7", Some("arm64"))]);
        let plan = text_of(&format!("plan -q --what-if arm64=-1 --from {from}"));
        assert!(plan.contains(wanted), "{plan}");
        assert!(!plan.contains("KubeVirt would choose"), "{plan}");
    }
}

/// The placement already excludes its node, so it loses nothing more.
#[test]
fn a_virtual_machine_on_an_excluded_node_is_said() {
    let objects = beside(&[instance("default/vm", "node-7", Some("arm64"))]);
    let objects = std::fs::read_to_string(objects).unwrap();
    let gate = "      featureGates: {";
    let placement =
        "      workloads: {nodePlacement: {nodeSelector: {kubernetes.io/arch: amd64}}}\n";
    let placed = objects.replacen(gate, &format!("{placement}{gate}"), 1);
    let from = written("objects.yaml", placed);
    let plan = json_of(&format!("plan --from {from}"));
    let machine = &rows(&plan, "VirtualMachine")[0];
    assert_eq!(machine["effect"], "already-orphaned", "{plan:#}");
    let detail = machine["detail"].as_str().unwrap();
    let start = "the placement already excludes its node node-7";
    assert!(detail.starts_with(start), "{detail}");
    let status = json_of(&format!("check --from {from}"));
    let machine = &rows(&status, "VirtualMachine")[0];
    assert_eq!(
        (&machine["name"], &machine["effect"]),
        (&json!("vm"), &json!("already-orphaned"))
    );
    let text = text_of(&format!("check -q --from {from}"));
    let row =
        "! default/vm: the placement excludes its node node-7: it runs there without virt-handler";
    assert!(text.contains(row), "{text}");
    // No workload node has its architecture.
    let then = "include the node in the placement again: no workload node is arm64, so once it is shut down, it does not start, or starts on another architecture than that of its disk";
    assert!(text.contains(then) && detail.ends_with(then), "{text}");
}

/// The disk that the VM waits for may never exist.
#[test]
fn a_virtual_machine_that_waits_for_a_disk_is_named() {
    let source = |name: &str, status: &str| {
        let conditions = json!([{"type": "Ready", "status": status}]);
        let fields = json!({"spec": {"source": {}}, "status": {"conditions": conditions}});
        object("DataSource", &format!("images/{name}"), fields)
    };
    let waits = |name: &str, sources: &[&str], status: &str| {
        let sources = sources.iter().map(|source| {
            let (namespace, name) = source.split_once('/').unwrap();
            json!({"spec": {"sourceRef": {"kind": "DataSource", "name": name, "namespace": namespace}}})
        });
        object(
            "VirtualMachine",
            &format!("default/{name}"),
            json!({
                "metadata": {"uid": name},
                "spec": {"dataVolumeTemplates": sources.collect::<Vec<_>>()},
                "status": {"printableStatus": status},
            }),
        )
    };
    let fedora = format!("{GOLDEN}/fedora");
    let from = beside(&[
        source("ready", "True"),
        source("unready", "False"),
        waits("a", &["images/nowhere"], "Provisioning"),
        waits("b", &["images/nowhere"], "Provisioning"),
        waits("c", &["images/unready"], "WaitingForVolumeBinding"),
        waits("d", &["images/ready"], "Provisioning"),
        waits("e", &["images/nowhere"], "Running"),
        waits("f", &[&fedora, &fedora], "Provisioning"),
    ]);
    let text = text_of(&format!("check -q --from {from}"));
    let section = "\nvirtual machines\n  ✘ default/a, default/b: its disk is still to be created from images/nowhere, which does not exist; use another boot source\n  ✘ default/c: its disk is still to be created from images/unready, which is not ready\n  ✘ default/f: its disk is still to be created from kubevirt-os-images/fedora, which is not created yet\n\n";
    assert!(text.contains(section), "{text}");
    let status = json_of(&format!("check --from {from}"));
    assert_eq!(
        rows(&status, "VirtualMachine")[2]["effect"],
        "waits-for-disk",
        "{status:#}"
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
    let machines = rows(&plan, "VirtualMachine");
    let machines = machines.iter();
    let lost = machines.filter(|it| !it["effect"].as_str().unwrap().starts_with("disk-"));
    let lost: Vec<&str> = lost.map(|it| it["detail"].as_str().unwrap()).collect();
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
    let from = "workloads: {nodePlacement: {nodeSelector: {kubernetes.io/arch: amd64}}}";
    let placement = "workloads: {nodePlacement: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [node-1]}]}, {matchFields: [{key: metadata.name, operator: In, values: [node-7]}]}]}}}}}";
    let plan = text_beside(objects, &[(from, placement)]);
    assert!(plan.contains(wanted), "{plan}");
    assert_eq!(plan.matches("nodeSelector requires").count(), 1, "{plan}");
}

#[test]
fn sizes_are_written_in_units() {
    for (volume, written, bytes, shown) in [
        ("storage", "1500M", json!(1_500_000_000), "1 disk × 1.3 GiB"),
        ("pvc", "2Ti", json!(2_u64 << 40), "1 disk × 2 TiB"),
    ] {
        let size = format!(
            "{volume}: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: {written}}}}}}}"
        );
        let before = "storage: {resources: {requests: {storage: 30Gi}}}";
        let file = copy("plan.yaml", &[(before, &size)], &[]);
        let words = format!("plan -f {file} --from plan-objects.yaml");
        let plan = json_of(&words);
        assert_eq!(plan["storage"][0]["bytes"], bytes, "{plan:#}");
        run(&format!("{words} -q")).prints(&[shown]);
    }
}

/// HCO's webhook completes a template when a user or an upgraded HCO sends the object.
#[rstest]
#[case::nothing_is_sent("", "1.18.0", json!(null), false)]
#[case::other_nodes("--what-if amd64=1", "1.18.0", json!(null), false)]
#[case::upgrade_without_a_patch("--hco-version 1.18", "1.17.2", json!({"deployOVS": "false"}), false)]
#[case::upgrade_that_adds_an_annotation("--hco-version 1.18", "1.17.3", json!(null), true)]
#[case::upgrade_with_a_patch("--hco-version 1.19", "1.18.0", json!({"deployOVS": "false"}), true)]
fn a_stored_template_is_completed_when_it_is_sent(
    #[case] words: &str,
    #[case] version: &str,
    #[case] annotations: Value,
    #[case] is_again: bool,
) {
    let spec = json!({
        "managedDataSource": "mine",
        "schedule": "0 0 * * 1",
        "template": {"spec": {
            "source": {"registry": {"url": "docker://quay.io/example/mine:1"}},
            "storage": {"resources": {"requests": {"storage": "30Gi"}}},
        }},
    });
    let from = written(
        "objects.json",
        list([
            node("a", "amd64", "control-plane"),
            node("b", "amd64", "worker"),
            hyperconverged(json!({
                "metadata": {"resourceVersion": "1", "annotations": annotations},
                "spec": {"dataImportCronTemplates": [{"metadata": {"name": "mine"}, "spec": spec}]},
                "status": {"versions": [{"name": "operator", "version": version}]},
            })),
            object(
                "DataImportCron",
                &format!("{GOLDEN}/mine"),
                json!({"spec": spec}),
            ),
        ])
        .to_string(),
    );
    let plan = json_of(&format!("plan --from {from} {words}"));
    let again = plan["crons"]["recreated"].as_array().unwrap().iter();
    let again: Vec<&Value> = again.map(|cron| &cron["name"]).collect();
    let expected: &[&str] = if is_again { &["mine"] } else { &[] };
    assert_eq!(again, expected, "{plan:#}");
}

#[test]
fn a_label_that_is_null_is_an_empty_string() {
    let labels = ("worker: \"\"", "worker: null");
    let from = copy("plan-cluster.yaml", &[labels], &[]);
    let [one, other] = [&*from, "plan-cluster.yaml"]
        .map(|from| json_of(&format!("plan --from {from} --what-if arm64=1")));
    assert_eq!(one["nodes"], other["nodes"]);
}

#[test]
fn a_node_that_cannot_be_read_is_named() {
    for (value, field) in [
        ("{architecture: 3}", "/status/nodeInfo/architecture"),
        ("[]", "/status/nodeInfo"),
    ] {
        let value = format!("nodeInfo: {value}");
        let edit = ("nodeInfo: {architecture: arm64}", &*value);
        let from = copy("plan-cluster.yaml", &[edit], &[]);
        let error = run(&format!("plan --from {from} --nodes nodes.yaml"));
        let error = error.exits(2).stderr;
        let named = format!("Node node-7 cannot be read: {field}: ");
        assert!(error.contains(&named), "{error}");
    }
}

/// A plan for these versions says little, and must not say in green that nothing is lost.
#[rstest]
#[case::unknown("4.99", "HCO 4.99 is not known")]
#[case::older(
    "1.17",
    "HCO 1.17 is older than the current 1.18.1, and cannot replace it"
)]
fn a_doubtful_version_is_in_the_headline(#[case] version: &str, #[case] doubt: &str) {
    let words = format!("plan --from plan-cluster.yaml --allow-unread --hco-version {version}");
    run(&words).exits(2);
    let plan = json_of(&words);
    let headline = plan["headline"].as_str().unwrap();
    assert!(headline.contains(doubt), "{headline}");
}
