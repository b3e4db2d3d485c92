//! VirtualMachines in files, evaluated with the other objects of the files, or of the cluster.

use rstest::rstest;
use serde_json::{Value, json};

use super::{check, command_on, run, scratch};
use e2e_tests::{ApiServer, recorded};

#[test]
fn the_documents_of_a_stream_see_each_other() {
    check(
        "check-machines",
        "check -f machines.yaml --arch amd64=3,arm64=2",
        1,
    );
}

#[test]
fn where_the_architecture_comes_from_is_in_the_json() {
    let output = run("check -f machines.yaml --arch amd64=3,arm64=2 -o json");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let machines = document["objects"].as_array().unwrap().iter().skip(1);
    let machines: Vec<&Value> = machines.map(|object| &object["virtualMachine"]).collect();
    assert_eq!(
        json!(machines),
        json!([
            {"architecture": "amd64", "reason": "datasource", "dataSource": "images/windows", "nodeSelector": "amd64"},
            {"architecture": "arm64", "reason": "explicit", "dataSource": null, "nodeSelector": "amd64"},
            // There is no control-plane node, so KubeVirt's default is the architecture of the workload nodes.
            {"architecture": "arm64", "reason": "default", "dataSource": null, "nodeSelector": "arm64"},
        ])
    );
}

/// On nodes of several architectures, a containerDisk is for the architecture of the VM.
#[rstest]
#[case::mixed("amd64=3,arm64=2", true)]
#[case::one_architecture("amd64=3", false)]
fn an_image_of_unstated_architecture_is_noted(#[case] nodes: &str, #[case] is_noted: bool) {
    let file = scratch(&format!("machines-unstated-{is_noted}")).join("machine.yaml");
    let text = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: web, namespace: shop}\nspec:\n  template:\n    spec:\n      volumes: [{name: root, containerDisk: {image: \"quay.io/a/b:1\"}}]\n";
    std::fs::write(&file, text).unwrap();
    let output = run(&format!("check -f {} --arch {nodes}", file.display()));
    let notes = String::from_utf8(output.stderr).unwrap();
    let note = "shop/web (quay.io/a/b:1): nothing states the architecture";
    assert_eq!(notes.contains(note), is_noted, "{notes}");
    let stated = text.replace(
        "    spec:\n      volumes",
        "    spec:\n      architecture: arm64\n      volumes",
    );
    std::fs::write(&file, stated).unwrap();
    let output = run(&format!("check -f {} --arch {nodes}", file.display()));
    let notes = String::from_utf8(output.stderr).unwrap();
    assert!(!notes.contains(note), "{notes}");
}

/// A `DataVolume` that is not part of a VM imports its image on any node, unless it states a platform.
#[rstest]
#[case::unstated("", true)]
#[case::stated(", platform: {architecture: arm64}", false)]
fn the_image_of_a_data_volume_is_noted(#[case] platform: &str, #[case] is_noted: bool) {
    let file = scratch(&format!("machines-volume-{is_noted}")).join("machine.yaml");
    let text = format!(
        "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {{name: web, namespace: shop}}\nspec:\n  template:\n    spec:\n      architecture: arm64\n      volumes: [{{name: root, dataVolume: {{name: root}}}}]\n---\napiVersion: cdi.kubevirt.io/v1beta1\nkind: DataVolume\nmetadata: {{name: root, namespace: shop}}\nspec: {{source: {{registry: {{url: \"docker://quay.io/a/b:1\"{platform}}}}}}}\n"
    );
    std::fs::write(&file, text).unwrap();
    let output = run(&format!(
        "check -f {} --arch amd64=3,arm64=2",
        file.display()
    ));
    let notes = String::from_utf8(output.stderr).unwrap();
    let note = "shop/web (docker://quay.io/a/b:1): nothing states the architecture";
    assert_eq!(notes.contains(note), is_noted, "{notes}");
}

#[test]
fn running_machines_on_excluded_nodes_are_named() {
    let output = run("check -f plan.yaml --from plan-objects.yaml");
    let notes = String::from_utf8(output.stderr).unwrap();
    let note = "virtual machines run on the excluded nodes, and lose virt-handler: default/arm\n";
    assert!(notes.contains(note), "{notes}");
}

/// A person has to decide what to change.
#[test]
fn fix_leaves_them_alone() {
    let output = run("fix -f machines.yaml --arch amd64=3,arm64=2");
    let notes = String::from_utf8(output.stderr).unwrap();
    assert!(
        notes.contains("skipped 4 documents of other kinds: DataSource (1), VirtualMachine (3)"),
        "{notes}"
    );
}

/// The recorded API server, with additional answers for KubeVirt and CDI.
fn cluster(machine: Option<&Value>) -> Vec<Value> {
    let of = |request: &str, status: u16, body: &Value| json!({"as": "admin", "request": format!("GET {request}"), "status": status, "body": body});
    let list =
        |items: &Value| json!({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": items});
    let machines = "/apis/kubevirt.io/v1/namespaces/here/virtualmachines/own";
    let missing = json!({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404});
    let mut answers = recorded();
    answers.extend([
        of(
            "/apis/kubevirt.io/v1/kubevirts",
            200,
            &list(&json!([{"metadata": {"name": "k", "namespace": "n"}, "status": {"defaultArchitecture": "amd64", "observedKubeVirtVersion": "v1.8.0"}}])),
        ),
        of(
            "/apis/cdi.kubevirt.io/v1beta1/datasources",
            200,
            &list(&json!([{"metadata": {"name": "own", "namespace": "here", "labels": {"template.kubevirt.io/architecture": "s390x"}}, "spec": {"source": {}}}])),
        ),
        of(
            "/apis/kubevirt.io/v1/virtualmachines",
            200,
            &list(&json!(machine.into_iter().collect::<Vec<_>>())),
        ),
        match machine {
            Some(machine) => of(machines, 200, machine),
            None => of(machines, 404, &missing),
        },
    ]);
    answers
}

/// A VirtualMachine without a namespace gets the namespace of the context, and so does its DataSource.
fn own() -> Value {
    json!({
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "own"},
        "spec": {
            "dataVolumeTemplates": [
                {"metadata": {"name": "root"}, "spec": {"sourceRef": {"kind": "DataSource", "name": "own"}}},
            ],
            "template": {"spec": {"volumes": [{"name": "root", "dataVolume": {"name": "root"}}]}},
        },
    })
}

fn verdict(server: &ApiServer, name: &str, words: &[&str]) -> Value {
    let file = scratch(name).join("own.json");
    std::fs::write(&file, own().to_string()).unwrap();
    let mut check = command_on(server);
    check.args(["check", "-o", "json"]).args(words);
    let output = check.arg("-f").arg(&file).output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["errors"], json!([]));
    document["objects"][0].clone()
}

fn rules(object: &Value) -> Vec<&str> {
    let findings = object["findings"].as_array().unwrap().iter();
    findings.map(|it| it["rule"].as_str().unwrap()).collect()
}

#[test]
fn a_new_one_gets_what_the_cluster_gives_it() {
    let server = ApiServer::start(cluster(None));
    let object = verdict(&server, "machines-new", &["--cluster"]);
    assert_eq!(object["virtualMachine"]["architecture"], "s390x");
    assert_eq!(object["virtualMachine"]["dataSource"], "here/own");
    assert_eq!(rules(&object), ["vm-architecture-unavailable"]);
}

/// A VirtualMachine whose placement contradicts its architecture. The manifest no longer has the nodeSelector.
fn live() -> Value {
    let mut applied = own();
    applied["metadata"]["namespace"] = json!("here");
    applied["spec"]["template"]["spec"]["nodeSelector"] = json!({"kubernetes.io/arch": "amd64"});
    let mut live = applied.clone();
    live["metadata"]["annotations"] =
        json!({"kubectl.kubernetes.io/last-applied-configuration": applied.to_string()});
    live["spec"]["template"]["spec"]["architecture"] = json!("s390x");
    live
}

#[rstest]
#[case::new("new", None, &["vm-architecture-unavailable"])]
#[case::changed("changed", Some(live()), &["vm-architecture-unavailable"])]
fn a_snapshot_gives_it_the_same(
    #[case] name: &str,
    #[case] machine: Option<Value>,
    #[case] expected: &[&str],
) {
    let server = ApiServer::start(cluster(machine.as_ref()));
    let file = scratch(&format!("machines-snapshot-{name}")).join("snapshot.json");
    let mut snapshot = command_on(&server);
    snapshot.args(["snapshot", "--cluster", "-o"]).arg(&file);
    assert_eq!(snapshot.output().unwrap().status.code(), Some(0));
    let path = file.display().to_string();
    let of_files = verdict(
        &server,
        &format!("machines-from-{name}"),
        &["-n", "here", "--from", &path],
    );
    let of_cluster = verdict(
        &server,
        &format!("machines-of-{name}"),
        &["-n", "here", "--cluster"],
    );
    assert_eq!(
        of_files["virtualMachine"]["dataSource"],
        of_cluster["virtualMachine"]["dataSource"]
    );
    assert_eq!(of_files["findings"], of_cluster["findings"]);
    assert_eq!(of_files["against"], of_cluster["against"]);
    assert_eq!(rules(&of_files), expected);
}

/// The same happens in the cluster, where the policy accepts such an update.
#[test]
fn one_that_stays_as_it_is_in_the_cluster_is_accepted() {
    let mut live = own();
    live["metadata"]["namespace"] = json!("here");
    live["spec"]["template"]["spec"]["architecture"] = json!("s390x");
    let server = ApiServer::start(cluster(Some(&live)));
    let object = verdict(&server, "machines-live", &["--cluster"]);
    assert_eq!(rules(&object), [""; 0]);
}

#[test]
fn what_the_user_may_not_read_is_named() {
    let mut answers = cluster(None);
    for answer in &mut answers {
        if answer["request"] == "GET /apis/cdi.kubevirt.io/v1beta1/datasources" {
            answer["status"] = json!(403);
            answer["body"] = json!({"kind": "Status", "status": "Failure", "reason": "Forbidden", "message": "not for you", "code": 403});
        }
    }
    let server = ApiServer::start(answers);
    let mut check = command_on(&server);
    check.args(["check", "-f", "machines.yaml", "--cluster"]);
    let notes = String::from_utf8(check.output().unwrap().stderr).unwrap();
    assert!(
        notes.contains("virtual machines are checked without each DataSource of the cluster: "),
        "{notes}"
    );
}
