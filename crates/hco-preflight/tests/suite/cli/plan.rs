//! `plan` and `snapshot`: from files, and on a cluster of recorded answers.

use std::fmt::Write as _;
use std::path::PathBuf;

use rstest::{Context, rstest};
use serde_json::{Value, json};

use super::{check, command_on, run, scratch, unfolded};
use e2e_tests::{ApiServer, recorded};

#[rstest]
#[case::outstanding("plan --from plan-cluster.yaml", 0)]
#[case::file("plan -f plan.yaml --from plan-cluster.yaml", 1)]
#[case::file_in_json("plan -f plan.yaml --from plan-cluster.yaml -o json", 1)]
#[case::file_in_markdown("plan -f plan.yaml --from plan-cluster.yaml -o markdown", 1)]
#[case::replaced("plan -f plan.yaml --as-if replace --from plan-cluster.yaml", 1)]
#[case::real_objects("plan -f plan.yaml --from plan-objects.yaml", 1)]
#[case::node_leaves("plan --from plan-cluster.yaml --what-if arm64=-1", 1)]
#[case::node_joins("plan --from plan-cluster.yaml --what-if s390x=1", 0)]
#[case::nodes_stated("plan --from plan-cluster.yaml --nodes nodes.yaml", 1)]
#[case::upgraded("plan --from plan-cluster.yaml --hco-version 4.23", 0)]
#[case::older("plan --from plan-objects.yaml --hco-version 1.17 -q", 0)]
#[case::control_plane_joins("plan --from plan-objects.yaml --what-if control-plane:arm64=1 -q", 0)]
#[case::stopped(
    "plan -f plan-stopped.yaml --settings settings-stopped.yaml --from plan-objects.yaml -q",
    1
)]
#[case::documents("plan -f plan-documents.yaml --from plan-cluster.yaml -q", 1)]
#[case::documents_in_json("plan -f plan-documents.yaml --from plan-cluster.yaml -q -o json", 1)]
#[case::denied("plan -f plan-denied.yaml --from plan-cluster.yaml", 1)]
#[case::fails_never("plan -f plan.yaml --from plan-cluster.yaml --fail-on never -q", 0)]
#[case::fails_on_any_change("plan --from plan-cluster.yaml --what-if s390x=1 --fail-on changed", 1)]
#[case::requires_all("plan --from plan-cluster.yaml --require-all", 2)]
#[case::too_many_leave("plan --from plan-cluster.yaml --what-if arm64=-3", 2)]
#[case::no_source("plan -f plan.yaml", 2)]
#[case::no_object("plan --from nodes.yaml", 2)]
#[case::no_nodes("plan --from plan.yaml", 2)]
#[case::context_without_cluster("plan --from plan-cluster.yaml --context admin", 2)]
#[case::standard_input_twice("plan -f - --from -", 2)]
#[case::no_version("plan --from plan-cluster.yaml --hco-version newest", 2)]
#[case::no_count("plan --from plan-cluster.yaml --what-if arm64", 2)]
#[case::no_hyperconverged("plan -f nodes.yaml --from plan-cluster.yaml", 2)]
fn the_plan_is_as_reviewed(#[case] words: &str, #[case] code: i32, #[context] context: Context) {
    check(
        &format!("plan-{}", context.description.unwrap()),
        words,
        code,
    );
}

/// The page leaves out lines, at `…` or without a mark, and changes none.
#[test]
fn the_page_shows_a_plan() {
    let plan = run("plan -f plan.yaml --from plan-objects.yaml").stdout;
    let plan = String::from_utf8(plan).unwrap();
    let page = include_str!("../../../../../docs/plan.md");
    let (_, excerpt) = page.split_once("```text\n").unwrap();
    let (excerpt, _) = excerpt.split_once("```\n").unwrap();
    let mut lines = plan.lines();
    for line in excerpt.lines().filter(|line| *line != "…") {
        assert!(lines.any(|it| it == line), "`{line}` is not in:\n{plan}");
    }
}

/// Nodes join and leave, and HCO is upgraded, without a request that the policy could deny.
#[rstest]
#[case::node("--what-if riscv64=1", true)]
#[case::file("-f plan-denied.yaml", false)]
fn only_a_file_can_be_denied(#[case] words: &str, #[case] happens: bool) {
    let plan = run(&format!("plan -q --from plan-cluster.yaml {words}"));
    assert_eq!(plan.status.code(), Some(1));
    let plan = String::from_utf8(plan.stdout).unwrap();
    assert_eq!(
        plan.contains("The policy does not stop this"),
        happens,
        "{plan}"
    );
    assert_eq!(plan.contains("\nThis happens:\n"), happens, "{plan}");
    assert_eq!(plan.contains("denied by"), !happens, "{plan}");
}

/// The answers to the lists that `plan` requests besides nodes and HyperConverged objects.
fn lists(answer: impl Fn(&str) -> Value) -> Vec<Value> {
    let mut answers = Vec::new();
    for path in [
        "/apis/cdi.kubevirt.io/v1beta1/dataimportcrons",
        "/apis/cdi.kubevirt.io/v1beta1/datasources",
        "/api/v1/persistentvolumeclaims",
        "/apis/snapshot.storage.k8s.io/v1/volumesnapshots",
        "/apis/kubevirt.io/v1/virtualmachines",
        "/apis/kubevirt.io/v1/virtualmachineinstances",
        "/apis/cdi.kubevirt.io/v1beta1/datavolumes",
        "/apis/template.openshift.io/v1/templates",
    ] {
        let mut answer = answer(path);
        answer["as"] = json!("admin");
        answer["request"] = json!(format!("GET {path}"));
        answers.push(answer);
    }
    answers.extend(recorded());
    answers
}

fn items(items: &Value) -> Value {
    json!({"status": 200, "body": {"kind": "List", "metadata": {}, "items": items}})
}

#[test]
fn a_snapshot_gives_the_same_plan_as_its_cluster() {
    let server = ApiServer::start(lists(|path| match path.rsplit('/').next() {
        Some("virtualmachines") => items(&json!([{
            "metadata": {
                "name": "secret-name", "namespace": "default", "labels": {"a": "b"},
                "annotations": {"password": "hunter2"},
            },
            "spec": {"template": {"spec": {
                "architecture": "s390x",
                "volumes": [{"cloudInitNoCloud": {"userData": "hunter2"}}],
            }}},
        }])),
        Some("datavolumes") => items(&json!([{
            "metadata": {"name": "secret-name-disk", "namespace": "default"},
            "spec": {"sourceRef": {"kind": "DataSource", "name": "fedora"}},
        }])),
        // A kind that is not served has no objects.
        Some("volumesnapshots") => json!({"status": 404, "body": {"kind": "Status", "code": 404}}),
        _ => items(&json!([])),
    }));
    let words = "--what-if arm64=2 -o json -q";
    let on = |words: &str| {
        let output = command_on(&server).args(words.split_whitespace()).output();
        output.unwrap()
    };
    let live = on(&format!("plan --cluster {words}"));
    assert!(!live.stdout.is_empty(), "{live:?}");
    let file = scratch("snapshot").join("snapshot.json");
    let taken = on(&format!("snapshot --cluster -o {}", file.display()));
    assert_eq!(taken.status.code(), Some(0), "{taken:?}");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("secret-name") && text.contains("secret-name-disk"));
    assert!(!text.contains("hunter2"), "{text}");
    let from = run(&format!("plan --from {} {words}", file.display()));
    assert_eq!(
        String::from_utf8(from.stdout).unwrap(),
        String::from_utf8(live.stdout).unwrap()
    );
    assert_eq!(from.status.code(), live.status.code());
}

/// A VM's disk has its own name; the disks of golden images are read.
#[test]
fn a_snapshot_has_the_disks_of_boot_sources_alone() {
    let claim = |namespace: &str, name: &str, labels: Value| {
        json!({
            "metadata": {"namespace": namespace, "name": name, "labels": labels},
            "spec": {"storageClassName": "fast"},
        })
    };
    let golden = "kubevirt-os-images";
    let copy = |name: &str, of: &str| {
        json!({
            "metadata": {"namespace": "other", "name": name},
            "spec": {"source": {"pvc": {"name": of}}},
            "status": {"phase": "Pending", "conditions": [{"type": "Bound", "message": name}]},
        })
    };
    let label = json!({"cdi.kubevirt.io/dataImportCron": "gone-cron"});
    let server = ApiServer::start(lists(|path| match path.rsplit('/').next() {
        Some("datasources") => items(&json!([{
            "metadata": {"namespace": "team", "name": "own"},
            "spec": {"source": {"pvc": {"namespace": "team", "name": "source-disk"}}},
        }])),
        Some("persistentvolumeclaims" | "volumesnapshots") => items(&json!([
            claim("team", "secret-vm-disk", json!({})),
            claim("team", "source-disk", json!({})),
            claim("other", "left-disk", label.clone()),
            claim(golden, "win11", json!({})),
        ])),
        Some("virtualmachines") => items(&json!([
            {"metadata": {"namespace": golden, "name": "win11"}},
            {
                "metadata": {"namespace": "other", "name": "secret"},
                "spec": {
                    "dataVolumeTemplates": [
                        {"spec": {"source": {"pvc": {"name": "left-disk"}}}},
                        {"spec": {"source": {"pvc": {"name": "secret-clone"}}}},
                    ],
                    "template": {"spec": {"volumes": [
                        {"name": "secret-volume", "dataVolume": {"name": "left-disk"}},
                        {"name": "v", "persistentVolumeClaim": {"claimName": "secret-claim"}},
                    ]}},
                },
            },
        ])),
        Some("datavolumes") => items(&json!([
            copy("secret-copy", "left-disk"),
            copy("secret-other", "secret-disk"),
            {
                "metadata": {"namespace": "other", "name": "secret-of-vm", "labels": {"kubevirt.io/created-by": "1"}},
                "spec": {"source": {"pvc": {"name": "secret-source"}}},
            },
        ])),
        _ => items(&json!([])),
    }));
    let output = command_on(&server).args(["snapshot", "--cluster"]).output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    assert!(!text.contains("secret-vm-disk"), "{text}");
    for name in ["source-disk", "left-disk", "win11"] {
        assert!(text.contains(name), "{name}: {text}");
    }
    // The snapshot contains the users of a boot source's disk: a clone, a volume, and a DataVolume.
    let list: Value = serde_json::from_str(&text).unwrap();
    let text = list.to_string();
    assert_eq!(
        text.matches(r#"{"pvc":{"name":"left-disk"}}"#).count(),
        2,
        "{text}"
    );
    assert!(
        text.contains(r#"{"dataVolume":{"name":"left-disk"}"#),
        "{text}"
    );
}

#[test]
fn what_may_not_be_listed_is_named_and_the_rest_is_planned() {
    let forbidden = json!({"status": 403, "body": {
        "kind": "Status", "code": 403, "reason": "Forbidden", "message": "no",
    }});
    let server = ApiServer::start(lists(|path| {
        if path.ends_with("virtualmachines") {
            forbidden.clone()
        } else {
            items(&json!([]))
        }
    }));
    let output = command_on(&server)
        .args(["plan", "--cluster", "-o", "json", "-q"])
        .output()
        .unwrap();
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
    let unread = plan["unread"].as_array().unwrap();
    assert_eq!(unread.len(), 1, "{unread:?}");
    assert_eq!(unread[0]["kind"], "VirtualMachine");
}

#[test]
fn a_name_from_outside_cannot_draw_on_the_terminal() {
    let file = scratch("hostile").join("hostile.json");
    let cluster = std::fs::read_to_string(super::files().join("plan-cluster.yaml")).unwrap();
    let hostile = cluster.replace("{name: arm,", "{name: \"arm\\e[2J\\n::error::\",");
    assert_ne!(cluster, hostile);
    std::fs::write(&file, hostile).unwrap();
    for format in ["text", "json", "markdown"] {
        let words = format!("plan -f plan.yaml --from {} -o {format}", file.display());
        let output = run(&words);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        // The output contains the name, without escape sequences for a terminal.
        assert!(text.contains("[2J"), "{format}: {text}");
        assert!(
            !text.contains('\u{1b}') && !text.contains("\n::error::"),
            "{text}"
        );
    }
}

/// A file with these objects and the nodes and boot sources of `plan-objects.yaml`.
pub(super) fn objects_beside(name: &str, beside: &[Value]) -> PathBuf {
    let objects = std::fs::read_to_string(super::files().join("plan-objects.yaml")).unwrap();
    // The VMs, DataVolumes, and VM templates of that file are left out.
    let kept = objects.lines().filter(|line| {
        !["VirtualMachine", "DataVolume,"]
            .iter()
            .any(|it| line.contains(it))
    });
    let mut text = kept.collect::<Vec<_>>().join("\n");
    text.truncate(text.find("  - apiVersion: template.openshift.io").unwrap());
    for object in beside {
        writeln!(text, "  - {object}").unwrap();
    }
    let file = scratch(name).join("objects.yaml");
    std::fs::write(&file, text).unwrap();
    file
}

/// The plan of a file with these objects, in JSON.
fn plan_beside(name: &str, beside: &[Value], words: &str) -> (Value, Option<i32>) {
    let file = objects_beside(name, beside);
    let output = run(&format!(
        "plan -q -o json --from {} {words}",
        file.display()
    ));
    let plan = serde_json::from_slice(&output.stdout);
    (plan.unwrap_or_default(), output.status.code())
}

/// The plan of a file with these objects, after changes of `plan.yaml`, as text.
fn text_beside(name: &str, beside: &[Value], changes: &[(&str, &str)]) -> String {
    let objects = objects_beside(name, beside);
    let plan = std::fs::read_to_string(super::files().join("plan.yaml")).unwrap();
    let changed = changes.iter().fold(plan, |plan, (from, to)| {
        assert!(plan.contains(from), "{plan}");
        plan.replace(from, to)
    });
    let file = objects.with_file_name("plan.yaml");
    std::fs::write(&file, changed).unwrap();
    let output = run(&format!(
        "plan -q -f {} --from {}",
        file.display(),
        objects.display()
    ));
    unfolded(&output.stdout)
}

/// SSP does not create a DataImportCron for a common boot source with an uploaded disk. The disk has the name of the
/// DataSource or, for the default architecture, the name without the suffix.
#[rstest]
#[case::same_name(Some("fedora-amd64"), "created for the uploaded PersistentVolumeClaim")]
#[case::unsuffixed(Some("fedora"), "created for the uploaded PersistentVolumeClaim")]
#[case::other_name(Some("fedora-42"), "imported from docker://")]
#[case::none(None, "imported from docker://")]
fn an_uploaded_image_is_a_disk(
    #[case] claim: Option<&str>,
    #[case] wanted: &str,
    #[context] context: Context,
) {
    let claims = claim.map(|name| {
        json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": "kubevirt-os-images"},
        })
    });
    let name = format!("plan-uploaded-{}", context.description.unwrap());
    let claims: Vec<Value> = claims.into_iter().collect();
    let plan = text_beside(&name, &claims, &[("my-image", "fedora")]);
    let row = plan.lines().find(|it| it.contains(" fedora-amd64 "));
    assert!(row.is_some_and(|row| row.contains(wanted)), "{plan}");
}

fn machine(source: &str, status: &str) -> Value {
    json!({
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "vm", "namespace": "default", "uid": "0c4e"},
        "spec": {"dataVolumeTemplates": [{"spec": {"sourceRef": {
            "kind": "DataSource", "name": source, "namespace": "kubevirt-os-images",
        }}}], "template": {"spec": {}}},
        "status": {"printableStatus": status},
    })
}

/// With `WaitForFirstConsumer`, the disk of a stopped VM is created when the VM first starts.
#[rstest]
#[case::running("Running", Some("WaitForFirstConsumer"), "disk-stays")]
#[case::stopped_with_a_disk("Stopped", Some("Succeeded"), "disk-stays")]
#[case::stopped_without_a_disk("Stopped", Some("WaitForFirstConsumer"), "disk-source-replaced")]
#[case::volumes_not_read("Stopped", None, "disk-source-replaced")]
#[case::provisioning("Provisioning", Some("Succeeded"), "disk-source-replaced")]
fn a_disk_that_is_made_stays(
    #[case] status: &str,
    #[case] phase: Option<&str>,
    #[case] effect: &str,
    #[context] context: Context,
) {
    let volume = phase.map(|phase| {
        json!({
            "apiVersion": "cdi.kubevirt.io/v1beta1",
            "kind": "DataVolume",
            "metadata": {"name": "disk", "namespace": "default", "labels": {"kubevirt.io/created-by": "0c4e"}},
            "status": {"phase": phase},
        })
    });
    let mut objects = vec![machine("my-image-amd64", status)];
    objects.extend(volume);
    let name = format!("plan-disk-{}", context.description.unwrap());
    let (plan, _) = plan_beside(&name, &objects, "-f plan.yaml");
    assert_eq!(plan["virtualMachines"][0]["effect"], effect, "{plan:#}");
    assert_eq!(plan["virtualMachines"].as_array().unwrap().len(), 1);
}

/// KubeVirt reads the label of the VM's DataSource first, and then its default.
#[rstest]
#[case::label("arm", "no-node", "arm64")]
#[case::pointer("pointer", "no-node", "arm64")]
#[case::default("other", "", "")]
fn the_architecture_of_a_virtual_machine_is_that_of_its_data_source(
    #[case] source: &str,
    #[case] effect: &str,
    #[case] detail: &str,
) {
    let golden = "kubevirt-os-images";
    let labelled = |name: &str, labels: Value, source: Value| {
        json!({
            "apiVersion": "cdi.kubevirt.io/v1beta1",
            "kind": "DataSource",
            "metadata": {"name": name, "namespace": golden, "labels": labels},
            "spec": {"source": source},
        })
    };
    let disk = json!({"pvc": {"name": "disk", "namespace": golden}});
    let objects = [
        machine(source, "Running"),
        labelled(
            "arm",
            json!({"template.kubevirt.io/architecture": "arm64"}),
            disk.clone(),
        ),
        labelled("other", json!({}), disk),
        labelled(
            "pointer",
            json!({}),
            json!({"dataSource": {"name": "arm", "namespace": golden}}),
        ),
    ];
    let name = format!("plan-label-{source}");
    let (plan, _) = plan_beside(&name, &objects, "--what-if arm64=-1");
    let machine = &plan["virtualMachines"][0];
    assert_eq!(machine["effect"].as_str().unwrap_or_default(), effect);
    let text = machine["detail"].as_str().unwrap_or_default();
    assert!(text.contains(detail), "{text}");
    let all = |version: &str| {
        let words = format!("--what-if arm64=-1 --hco-version {version}");
        plan_beside(&name, &objects, &words).0["virtualMachines"].clone()
    };
    assert_eq!(all("1.17"), plan["virtualMachines"]);
    // The KubeVirt of HCO 1.16 does not read labels, so the VM gets the default.
    if source != "other" {
        assert_eq!(all("1.16")[0]["effect"], "architecture-changes");
    }
}

/// Every update of a VM without an architecture sets one, including the update that stops the VM.
#[rstest]
#[case::sets_none(
    None,
    "set its spec.template.spec.architecture to arm64, and shut it down: otherwise its arm64 disk is started on amd64\n"
)]
#[case::sets_one(
    Some("arm64"),
    "shut it down; it cannot start again unless the cluster has an arm64 node\n"
)]
fn a_running_virtual_machine_without_an_architecture_gets_another_one(
    #[case] architecture: Option<&str>,
    #[case] wanted: &str,
    #[context] context: Context,
) {
    let mut vm = machine("my-image-arm64", "Running");
    vm["spec"]["template"]["spec"] = json!({"architecture": architecture});
    let instance = json!({
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
        "metadata": {"name": "vm", "namespace": "default"},
        "spec": {"architecture": "arm64"},
        "status": {"nodeName": "node-7", "phase": "Running"},
    });
    let name = format!("plan-chosen-{}", context.description.unwrap());
    let file = objects_beside(&name, &[vm, instance]);
    let words = format!("plan -q --what-if arm64=-1 --from {}", file.display());
    let plan = unfolded(&run(&words).stdout);
    assert!(plan.contains(wanted), "{plan}");
    assert!(!plan.contains("KubeVirt would choose"), "{plan}");
}

/// The placement already excludes its node, so it loses nothing more.
#[test]
fn a_virtual_machine_on_an_excluded_node_is_said() {
    let file = objects_beside(
        "plan-excluded",
        &[json!({
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
            "metadata": {"name": "vm", "namespace": "default"},
            "spec": {"architecture": "arm64"},
            "status": {"nodeName": "node-7", "phase": "Running"},
        })],
    );
    let objects = std::fs::read_to_string(&file).unwrap();
    let gate = "      featureGates: {";
    let placement =
        "      workloads: {nodePlacement: {nodeSelector: {kubernetes.io/arch: amd64}}}\n";
    let placed = objects.replacen(gate, &format!("{placement}{gate}"), 1);
    std::fs::write(&file, placed).unwrap();
    let output = run(&format!("plan -q -o json --from {}", file.display()));
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
    let machine = &plan["virtualMachines"][0];
    assert_eq!(machine["effect"], "already-orphaned", "{plan:#}");
    let detail = machine["detail"].as_str().unwrap();
    assert!(
        detail.starts_with("the placement already excludes its node node-7"),
        "{detail}"
    );
    let output = run(&format!("status -q -o json --from {}", file.display()));
    let status: Value = serde_json::from_slice(&output.stdout).unwrap();
    let machine = &status["virtualMachines"][0];
    assert_eq!(machine["name"], "vm", "{status:#}");
    assert_eq!(machine["node"], "node-7", "{status:#}");
    let output = run(&format!("status -q --from {}", file.display()));
    let text = unfolded(&output.stdout);
    let row =
        "! default/vm: the placement excludes its node node-7: it runs there without virt-handler";
    assert!(text.contains(row), "{text}");
    // No workload node has its architecture.
    let then = "include the node in the placement again: no workload node is arm64, so once it is shut down, it does not start, or starts on another architecture than that of its disk";
    assert!(text.contains(then) && detail.ends_with(then), "{text}");
}

/// HCO would deny the file's object, and the boot sources of the existing object would appear unused.
#[test]
fn a_file_with_another_object_is_not_planned() {
    let output = run("plan -q -f other.yaml --from plan-cluster.yaml");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let error = String::from_utf8(output.stderr).unwrap();
    let expected = "and what is there is kubevirt-hyperconverged/kubevirt-hyperconverged: HCO accepts only one, so correct the name and the namespace in the file\n";
    assert!(error.ends_with(expected), "{error}");
    assert_eq!(output.stdout, b"");
}

#[test]
fn a_file_of_another_namespace_than_the_flag_is_not_planned() {
    let server = ApiServer::start(lists(|_| items(&json!([]))));
    let words = "plan -q -f plan.yaml --cluster -n elsewhere";
    let output = command_on(&server).args(words.split(' ')).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let error = String::from_utf8(output.stderr).unwrap();
    let expected = "but -n is `elsewhere`: remove -n";
    assert!(error.contains(expected), "{error}");
}

/// The disk that the VM waits for may never exist.
#[test]
fn a_virtual_machine_that_waits_for_a_disk_is_named() {
    let source = |name: &str, status: &str| {
        json!({
            "apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataSource",
            "metadata": {"name": name, "namespace": "images"}, "spec": {"source": {}},
            "status": {"conditions": [{"type": "Ready", "status": status}]},
        })
    };
    let machine = |name: &str, source: &str, status: &str| {
        let source = json!({"kind": "DataSource", "name": source, "namespace": "images"});
        json!({
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
            "metadata": {"name": name, "namespace": "default", "uid": name},
            "spec": {"dataVolumeTemplates": [{"spec": {"sourceRef": source}}]},
            "status": {"printableStatus": status},
        })
    };
    let mut two = machine("f", "fedora", "Provisioning");
    let disks = two["spec"]["dataVolumeTemplates"].as_array_mut().unwrap();
    disks[0]["spec"]["sourceRef"]["namespace"] = json!("kubevirt-os-images");
    disks.push(disks[0].clone());
    let file = objects_beside(
        "status-waits",
        &[
            source("ready", "True"),
            source("unready", "False"),
            machine("a", "nowhere", "Provisioning"),
            machine("b", "nowhere", "Provisioning"),
            machine("c", "unready", "WaitingForVolumeBinding"),
            machine("d", "ready", "Provisioning"),
            machine("e", "nowhere", "Running"),
            two,
        ],
    );
    let output = run(&format!("status -q --from {}", file.display()));
    let text = unfolded(&output.stdout);
    let section = "\nvirtual machines\n  ! default/a, default/b: a disk is still to be made from images/nowhere, which does not exist; use another boot source\n  ! default/c: a disk is still to be made from images/unready, which is not ready\n  ! default/f: a disk is still to be made from kubevirt-os-images/fedora, which is not created yet\n\n";
    assert!(text.contains(section), "{text}");
    let output = run(&format!("status -q -o json --from {}", file.display()));
    let status: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        status["virtualMachines"][2]["node"],
        Value::Null,
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
    #[context] context: Context,
) {
    let name = format!("plan-selector-{}", context.description.unwrap());
    let (plan, _) = plan_beside(&name, &[machine], &format!("--what-if {what_if}"));
    let machines = plan["virtualMachines"].as_array().unwrap().iter();
    let lost = machines.filter(|it| {
        let effect = it["effect"].as_str().unwrap();
        !effect.starts_with("disk-")
    });
    let lost: Vec<&str> = lost.map(|it| it["detail"].as_str().unwrap()).collect();
    assert_eq!(lost, details, "{plan:#}");
}

/// A VM whose nodeSelector requires a specific node, and that may or may not run there.
#[rstest]
#[case::runs(
    true,
    "before the change, shut it down; its nodeSelector requires this node, so it cannot be migrated, and cannot start again\n"
)]
#[case::does_not_run(
    false,
    "default/vm: its nodeSelector requires the node node-2, which the placement excludes: it cannot start\n"
)]
fn a_pinned_virtual_machine_can_run_nowhere_else(#[case] runs: bool, #[case] wanted: &str) {
    let status = if runs { "Running" } else { "Stopped" };
    let mut objects = vec![placed(HOST, "node-2", Some("amd64"), status)];
    if runs {
        objects.push(json!({
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
            "metadata": {"name": "vm", "namespace": "default"},
            "spec": {"architecture": "amd64"},
            "status": {"nodeName": "node-2", "phase": "Running"},
        }));
    }
    let from = "workloads: {nodePlacement: {nodeSelector: {kubernetes.io/arch: amd64}}}";
    let placement = "workloads: {nodePlacement: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [node-1]}]}, {matchFields: [{key: metadata.name, operator: In, values: [node-7]}]}]}}}}}";
    let name = format!("plan-pinned-{runs}");
    let plan = text_beside(&name, &objects, &[(from, placement)]);
    assert!(plan.contains(wanted), "{plan}");
    assert_eq!(plan.matches("nodeSelector requires").count(), 1, "{plan}");
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
    let node = |name: &str, role: &str| {
        json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {format!("node-role.kubernetes.io/{role}"): "", "kubernetes.io/arch": "amd64"}},
            "status": {"nodeInfo": {"architecture": "amd64"}},
        })
    };
    let hyperconverged = json!({
        "apiVersion": "hco.kubevirt.io/v1beta1",
        "kind": "HyperConverged",
        "metadata": {"name": "kubevirt-hyperconverged", "namespace": "kubevirt-hyperconverged", "uid": "1", "annotations": annotations},
        "spec": {"dataImportCronTemplates": [{"metadata": {"name": "mine"}, "spec": spec}]},
        "status": {"versions": [{"name": "operator", "version": version}]},
    });
    let cron = json!({
        "apiVersion": "cdi.kubevirt.io/v1beta1",
        "kind": "DataImportCron",
        "metadata": {"namespace": "kubevirt-os-images", "name": "mine"},
        "spec": spec,
    });
    let items = [
        node("a", "control-plane"),
        node("b", "worker"),
        hyperconverged,
        cron,
    ];
    let file = scratch(&format!("plan-sent-{version}-{}", words.len())).join("objects.json");
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    std::fs::write(&file, list.to_string()).unwrap();
    let plan = run(&format!(
        "plan -q -o json --from {} {words}",
        file.display()
    ));
    let plan: Value = serde_json::from_slice(&plan.stdout).unwrap();
    let again: Vec<&Value> = plan["crons"]["recreated"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cron| &cron["name"])
        .collect();
    let expected: &[&str] = if is_again { &["mine"] } else { &[] };
    assert_eq!(again, expected, "{plan:#}");
    let text = run(&format!("plan -q --from {} {words}", file.display()));
    let text = String::from_utf8(text.stdout).unwrap();
    let is_upgrade = words.contains("--hco-version");
    let says = |what: &str| text.contains(what);
    assert_eq!(
        says("With its next change, HCO sets"),
        is_upgrade && !is_again,
        "{text}"
    );
    assert_eq!(says("To avoid this, set All."), is_again, "{text}");
}
