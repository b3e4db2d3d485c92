//! VirtualMachines in files, evaluated with the other objects of the files, or of the cluster.

use rstest::rstest;
use serde_json::{Value, json};

use super::objects::{GOLDEN, answer, cluster, edited, hyperconverged, object, refused, template};
use super::{run, run_on, run_with, snapshot, written};
use e2e_tests::ApiServer;

#[test]
fn where_the_architecture_comes_from_is_in_the_json() {
    let document = run("check -f machines.yaml --arch amd64=3,arm64=2 -o json").json();
    let machines = document["objects"].as_array().unwrap().iter().skip(1);
    let machines: Value = machines
        .map(|object| object["virtualMachine"].clone())
        .collect();
    let wanted = json!([
        {"architecture": "amd64", "reason": "datasource", "dataSource": "images/windows", "nodeSelector": "amd64"},
        {"architecture": "arm64", "reason": "explicit", "dataSource": null, "nodeSelector": "amd64"},
        // Without control-plane nodes, KubeVirt's default is the architecture of the workload nodes.
        {"architecture": "arm64", "reason": "default", "dataSource": null, "nodeSelector": "arm64"},
    ]);
    assert_eq!(machines, wanted);
}

/// CDI copies the labels of a DataImportCron to its DataSource, from which KubeVirt infers the preference.
#[test]
fn a_preference_comes_from_the_template_in_the_file() {
    let labels = json!({"instancetype.kubevirt.io/default-preference": "fedora.arm64"});
    let template = template("own", None, "docker://quay.io/containerdisks/fedora:latest");
    let template = edited(&template, &json!({"/metadata/labels": labels}));
    let hco = hyperconverged(json!({"spec": {"dataImportCronTemplates": [template]}}));
    let preference = json!({"inferFromVolume": "root"});
    let edits = json!({"/metadata/namespace": GOLDEN, "/spec/preference": preference});
    let documents = format!("{hco}\n---\n{}\n", edited(&own(), &edits));
    let run = run_with("check -f - --arch amd64=3,arm64=2 -o json", &documents);
    let document = run.json();
    let machine = &document["objects"][1]["virtualMachine"];
    assert_eq!(machine["architecture"], "arm64", "{document}");
    assert_eq!(machine["reason"], "preference");
}

/// A cluster whose default architecture is amd64, with a DataSource for s390x.
fn answers(machine: Option<&Value>) -> Vec<Value> {
    let kubevirt =
        json!({"status": {"defaultArchitecture": "amd64", "observedKubeVirtVersion": "v1.8.0"}});
    let labels = json!({"template.kubevirt.io/architecture": "s390x"});
    let source = json!({"metadata": {"labels": labels}, "spec": {"source": {}}});
    let mut objects = vec![
        object("KubeVirt", "n/k", kubevirt),
        object("DataSource", "here/own", source),
    ];
    objects.extend(machine.cloned());
    let path = "/apis/kubevirt.io/v1/namespaces/here/virtualmachines/own";
    let own = match machine {
        Some(machine) => answer(path, 200, machine.clone()),
        None => refused(path, 404, "NotFound"),
    };
    [cluster(&objects), vec![own]].concat()
}

/// A VirtualMachine without a namespace gets the namespace of the context, and so does its DataSource.
fn own() -> Value {
    let source = json!({"kind": "DataSource", "name": "own"});
    object(
        "VirtualMachine",
        "own",
        json!({"spec": {
            "dataVolumeTemplates": [{"metadata": {"name": "root"}, "spec": {"sourceRef": source}}],
            "template": {"spec": {"volumes": [{"name": "root", "dataVolume": {"name": "root"}}]}},
        }}),
    )
}

fn verdict(server: &ApiServer, words: &str) -> Value {
    let file = written("own.json", own().to_string());
    let document = run_on(server, &format!("check -o json -f {file} {words}")).json();
    assert_eq!(document["errors"], json!([]));
    document["objects"][0].clone()
}

fn rules(object: &Value) -> Vec<&str> {
    let findings = object["findings"].as_array().unwrap().iter();
    findings.map(|it| it["rule"].as_str().unwrap()).collect()
}

#[test]
fn a_new_one_gets_what_the_cluster_gives_it() {
    let object = verdict(&ApiServer::start(answers(None)), "--cluster");
    assert_eq!(object["virtualMachine"]["architecture"], "s390x");
    assert_eq!(object["virtualMachine"]["dataSource"], "here/own");
    assert_eq!(rules(&object), ["vm-architecture-unavailable"]);
}

/// A VirtualMachine whose placement contradicts its architecture. The manifest no longer has the nodeSelector.
fn live() -> Value {
    let selector = json!({"kubernetes.io/arch": "amd64"});
    let edits =
        json!({"/metadata/namespace": "here", "/spec/template/spec/nodeSelector": selector});
    let applied = edited(&own(), &edits);
    let last = json!({"kubectl.kubernetes.io/last-applied-configuration": applied.to_string()});
    let edits = json!({"/metadata/annotations": last, "/spec/template/spec/architecture": "s390x"});
    edited(&applied, &edits)
}

#[rstest]
#[case::new(None)]
#[case::changed(Some(live()))]
fn a_snapshot_gives_it_the_same(#[case] machine: Option<Value>) {
    let server = ApiServer::start(answers(machine.as_ref()));
    let file = snapshot(&server);
    let of_files = verdict(&server, &format!("-n here --from {file}"));
    let of_cluster = verdict(&server, "-n here --cluster");
    assert_eq!(of_files["virtualMachine"], of_cluster["virtualMachine"]);
    assert_eq!(of_files["findings"], of_cluster["findings"]);
    assert_eq!(rules(&of_files), ["vm-architecture-unavailable"]);
}

/// The same happens in the cluster, where the policy accepts such an update.
#[test]
fn one_that_stays_as_it_is_in_the_cluster_is_accepted() {
    let edits = json!({"/metadata/namespace": "here", "/spec/template/spec/architecture": "s390x"});
    let live = edited(&own(), &edits);
    let object = verdict(&ApiServer::start(answers(Some(&live))), "--cluster");
    assert_eq!(rules(&object), [""; 0]);
}

#[test]
fn what_the_user_may_not_read_is_named() {
    let path = "/apis/cdi.kubevirt.io/v1beta1/datasources";
    let sources = refused(path, 403, "not for you");
    let server = ApiServer::start([vec![sources], answers(None)].concat());
    let note = "virtual machines are checked without any DataSource of the cluster: ";
    run_on(&server, "check -f machines.yaml --cluster").notes(note);
}

/// Without a HyperConverged beside the VM, the settings apply to the one that is assumed.
#[test]
fn the_settings_apply_to_the_cluster_of_a_virtual_machine() {
    let machine = json!({
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
        "metadata": {"name": "web", "namespace": "demo"},
        "spec": {"template": {"spec": {"architecture": "arm64", "domain": {"devices": {}}}}},
    });
    let machine = written("machine.json", machine.to_string());
    for (version, code) in [("1.17", 1), ("1.18", 0)] {
        let settings = written("settings.yaml", format!("hcoVersion: \"{version}\""));
        let words = format!("check -f {machine} --nodes nodes.yaml --settings {settings}");
        run(&words).exits(code);
    }
}
