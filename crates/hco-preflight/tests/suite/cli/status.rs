//! `check` of a cluster: on recorded answers.

use std::net::{Ipv4Addr, TcpListener};

use rstest::rstest;
use serde_json::{Value, json};

use super::objects::{
    CLAIMS, CRONS, cluster, copy, edited, hyperconverged, list, object, objects, refused,
};
use super::{images, json_of, rows, run, run_on, snapshot, unread, written};
use e2e_tests::ApiServer;

/// An API server with the objects of a file, and with other answers.
fn server(first: &[Value], file: &str) -> ApiServer {
    ApiServer::start([first, &cluster(&objects(file))].concat())
}

#[track_caller]
fn status(server: &ApiServer, words: &str) -> (Value, i32) {
    let run = run_on(server, &format!("check --cluster -o json -q {words}"));
    (run.json(), run.code)
}

#[rstest]
#[case("status-ready.yaml")]
#[case("status-cluster.yaml")]
#[case("status-unknown.yaml")]
fn a_snapshot_gives_the_same_status_as_its_cluster(#[case] file: &str) {
    let server = server(&[], file);
    let snapshot = snapshot(&server);
    let text = std::fs::read_to_string(&snapshot).unwrap();
    assert!(!text.contains("secret"), "{text}");
    let from = run(&format!("check --from {snapshot} -o json -q"));
    assert_eq!((from.json(), from.code), status(&server, ""));
}

/// A check of the cluster shows what the plan predicted.
#[test]
fn a_cluster_without_workload_nodes_has_a_problem() {
    let plan = run("plan -q --from status-ready.yaml --what-if amd64=-1,arm64=-1");
    plan.exits(1).prints(&["1 new problem: no-workload-nodes"]);
    let role = ("node-role.kubernetes.io/worker", "example.com/other");
    let from = copy("status-ready.yaml", &[role], &[]);
    let check = run(&format!("check -q --from {from}")).exits(1);
    check.prints(&["1 problem: no-workload-nodes"]);
    let settings = written("settings.yaml", "levels: {no-workload-nodes: warn}");
    let words = format!("check -q --from {from} --settings {settings}");
    run(&words).exits(0).prints(&["! [no-workload-nodes]"]);
}

/// A VM's disk has its own name; the disks of golden images are read. Without the last applied configuration, kubectl would
/// keep a field that the manifest no longer has.
#[test]
fn a_snapshot_has_what_is_read_and_no_secrets() {
    let secret = json!({"password": "hunter2"});
    let last = json!({"metadata": {"annotations": secret}, "spec": {"workloads": {}}});
    let annotations = json!({
        "kubectl.kubernetes.io/last-applied-configuration": last.to_string(), "other": "hunter2",
    });
    let spec = json!({"workloads": {"nodePlacement": {}}});
    let volumes = json!([{"cloudInitNoCloud": {"userData": "hunter2"}}]);
    let image = json!({"registry": {"url": "docker://user:hunter2@a.test/b:1"}});
    let templates = json!([{"metadata": {"name": "disk"}, "spec": {"source": image}}]);
    let vm = json!({"metadata": {"annotations": secret}, "spec": {"dataVolumeTemplates": templates, "template": {"spec": {"volumes": volumes}}}});
    let disk = json!({"pvc": {"namespace": "team", "name": "source-disk"}});
    let of_cron = json!({"metadata": {"labels": {"cdi.kubevirt.io/dataImportCron": "gone-cron"}}});
    let mut objects = vec![
        hyperconverged(json!({"metadata": {"annotations": annotations}, "spec": spec})),
        object("VirtualMachine", "team/secret-vm", vm),
        object("DataSource", "team/own", json!({"spec": {"source": disk}})),
    ];
    for kind in ["PersistentVolumeClaim", "VolumeSnapshot"] {
        objects.push(object(kind, "team/secret-disk", json!({})));
        objects.push(object(kind, "team/source-disk", json!({})));
        objects.push(object(kind, "other/left-disk", of_cron.clone()));
        objects.push(object(kind, "kubevirt-os-images/win11", json!({})));
    }
    let server = ApiServer::start(cluster(&objects));
    let snapshot = run_on(&server, "snapshot --cluster -o -").lacks(&["hunter2", "secret-disk"]);
    let applied = ["last-applied-configuration", "workloads"];
    snapshot.prints(&applied).prints(&[
        "secret-vm",
        "a.test/b",
        "source-disk",
        "left-disk",
        "win11",
    ]);
}

/// For example, the API server restarts.
#[rstest]
#[case("/api/v1/nodes")]
#[case(CRONS)]
fn a_wait_goes_on_when_a_look_fails(#[case] path: &str) {
    let failed = refused(path, 500, "no");
    let once = edited(&failed, &json!({"/times": 1}));
    let (ready, code) = status(&server(&[once], "status-ready.yaml"), "--wait 10m");
    assert_eq!(code, 0, "{ready}");
    let server = server(&[failed], "status-ready.yaml");
    run_on(&server, "check --cluster --wait 0").exits(2);
}

/// Each list could wait for several minutes.
#[test]
fn a_server_that_does_not_answer_is_asked_for_no_more_kinds() {
    let busy = refused(CRONS, 503, "shutting down");
    let busy = edited(&busy, &json!({"/retry_after": 3600}));
    let server = server(&[busy], "status-ready.yaml");
    let (found, code) = status(&server, "");
    assert_eq!(code, 2, "{found:#}");
    let unread = unread(&found);
    assert!(unread.len() > 4, "{found:#}");
    for kind in unread {
        let reason = kind["detail"].as_str().unwrap();
        let busy = "is busy: it returned 503 to list dataimportcrons";
        assert!(reason.contains(busy), "{reason}");
    }
    let asked = server.asked();
    let mut lists = asked.iter().filter(|it| it.contains("limit=500"));
    assert!(lists.next_back().unwrap().contains(CRONS), "{asked:#?}");
}

/// Only DataImportCrons that SSP created are left over.
#[rstest]
#[case("SSP.ssp.kubevirt.io", true)]
#[case("Other.example.com", false)]
fn a_data_import_cron_of_the_user_is_not_unwanted(#[case] owner: &str, #[case] is_unwanted: bool) {
    let annotations = json!({"operator-sdk/primary-resource-type": owner});
    let cron =
        json!({"metadata": {"annotations": annotations}, "spec": {"managedDataSource": "own"}});
    let own = object("DataImportCron", "kubevirt-os-images/own-cron", cron);
    let from = copy("status-ready.yaml", &[], &[own]);
    let images = images(&json_of(&format!("check --from {from}")));
    let unwanted = images.iter().any(|image| image["effect"] == "unwanted");
    assert_eq!(unwanted, is_unwanted, "{images:#?}");
}

/// Whether SSP imports an image depends on an existing disk with its name.
#[test]
fn without_disks_an_image_that_is_not_imported_is_unknown() {
    let mut objects = objects("status-ready.yaml");
    objects.retain(|object| object["kind"] != "DataImportCron");
    let all = [vec![refused(CLAIMS, 403, "no")], cluster(&objects)].concat();
    let (unknown, code) = status(&ApiServer::start(all), "");
    let state = &images(&unknown)[0]["effect"];
    assert_eq!(state, "unknown", "{unknown:#}");
    assert_eq!(unread(&unknown)[0]["kind"], "PersistentVolumeClaim");
    assert_eq!(code, 2, "{unknown:#}");
}

/// A request could take a minute, and a list five minutes.
#[test]
fn a_wait_ends_although_the_server_says_nothing() {
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let server = ApiServer::at(silent.local_addr().unwrap());
    let run = run_on(&server, "check --cluster --wait 1ms").exits(2);
    let error = "did not complete the request to get /apis/hco.kubevirt.io within the time of --wait; check the context and the proxy, and that the cluster is running, or raise the limit with --wait\n";
    assert!(run.stderr.ends_with(error), "{run:?}");
}

#[test]
fn a_missing_permission_costs_its_section_alone() {
    let ssp = refused("/apis/ssp.kubevirt.io/v1beta3/ssps", 403, "no");
    let (without_ssp, code) = status(&server(&[ssp], "status-ready.yaml"), "");
    assert_eq!(code, 2, "{without_ssp}");
    assert_eq!(unread(&without_ssp)[0]["kind"], "SSP");

    let crons = refused(CRONS, 403, "no");
    // Waiting does not help.
    let (without_crons, code) = status(&server(&[crons], "status-ready.yaml"), "--wait 10m");
    assert_eq!(code, 2, "{without_crons}");
    assert_eq!(images(&without_crons)[0]["effect"], "unknown");
}

/// A DataImportCron that exists but was not reconciled, and one that may not clone.
#[rstest]
#[case(json!([]), "waiting", "CDI has not reported anything yet")]
#[case(json!([{"type": "Progressing", "status": "False", "reason": "NotAuthorized", "message": "Not authorized"}]), "failing", "Not authorized")]
#[case(json!([{"type": "Progressing", "status": "False", "reason": "ImportScheduled", "message": "scheduled"}]), "importing", "")]
#[case(
    json!([
        {"type": "Progressing", "status": "False", "reason": "NoImport", "message": "No current import"},
        {"type": "UpToDate", "status": "False", "reason": "NoDigest", "message": "No source digest"},
    ]),
    "waiting",
    "No source digest"
)]
fn the_conditions_of_cdi_are_shown(
    #[case] conditions: Value,
    #[case] state: &str,
    #[case] message: &str,
) {
    let mut objects = objects("status-ready.yaml");
    let is_cron = |object: &&mut Value| object["kind"] == "DataImportCron";
    for cron in objects.iter_mut().filter(is_cron) {
        cron["status"] = json!({"conditions": conditions});
    }
    let (status, code) = status(&ApiServer::start(cluster(&objects)), "");
    let image = &images(&status)[0];
    let shown = image["message"].as_str().unwrap_or_default();
    assert_eq!(
        [image["effect"].as_str(), Some(shown)],
        [Some(state), Some(message)]
    );
    assert_eq!(code, i32::from(state != "importing"));
}

/// SSP also manages objects that are not golden images.
#[test]
fn a_degraded_ssp_is_a_problem() {
    let mut objects = objects("status-ready.yaml");
    let ssp = objects.iter_mut().find(|it| it["kind"] == "SSP").unwrap();
    ssp["status"]["conditions"] = json!([
        {"type": "Available", "status": "False", "message": "no validator"},
        {"type": "ReconcileComplete", "status": "False", "message": ""},
        {"type": "Degraded", "status": "True", "message": "no validator"},
    ]);
    let (status, code) = status(&ApiServer::start(cluster(&objects)), "");
    assert_eq!(code, 1, "{status}");
    let mut rows = rows(&status, "SSP");
    rows.retain(|row| row["effect"] == "unhealthy" && row["severity"] == "loss");
    let details: Vec<&Value> = rows.iter().map(|row| &row["detail"]).collect();
    let wanted = [
        "SSP is not available: no validator",
        "SSP does not finish reconciling",
        "SSP is degraded: no validator",
    ];
    assert_eq!(details, wanted);
}

#[test]
fn of_several_hyperconvergeds_the_namespace_chooses_one() {
    let mut objects = objects("status-ready.yaml");
    let one = objects.iter().find(|it| it["kind"] == "HyperConverged");
    let other = edited(one.unwrap(), &json!({"/metadata/namespace": "other"}));
    objects.push(other);
    let file = written("two.json", list(objects).to_string());
    for (more, code) in [
        ("", 2),
        ("-n kubevirt-hyperconverged", 0),
        ("-n nowhere", 2),
    ] {
        run(&format!("check --from {file} {more}")).exits(code);
    }
}

/// SSP creates the DataSources first, and stops at one that the API server rejects, so no DataImportCron is created.
#[test]
fn a_golden_image_behind_a_rejected_data_source_is_not_ready() {
    let mut objects = objects("status-ready.yaml");
    objects.retain(|object| object["kind"] != "DataImportCron");
    let object = objects.iter_mut().find(|it| it["kind"] == "HyperConverged");
    let object = object.unwrap();
    for part in ["spec", "status"] {
        let templates = object[part]["dataImportCronTemplates"].as_array_mut();
        for template in templates.unwrap() {
            template["spec"]["managedDataSource"] = json!("My-Image");
        }
    }
    let (status, code) = status(&ApiServer::start(cluster(&objects)), "");
    assert_eq!(code, 1, "{status:#}");
    let rows = status["rows"].to_string();
    assert!(rows.contains("\"stops-ssp\""), "{status:#}");
    let mut images = images(&status).into_iter().peekable();
    assert!(images.peek().is_some(), "{status:#}");
    assert!(
        images.all(|image| image["effect"] != "existing-disk"),
        "{status:#}"
    );
}

/// virt-controller says why a VM does not start.
#[test]
fn vms_that_cannot_start_are_problems() {
    let vm = |name: &str, status: &str, kind: &str, reason: &str| {
        let is = if kind == "Failure" { "True" } else { "False" };
        let condition = json!({"type": kind, "status": is, "reason": reason, "message": "because"});
        let status = json!({"printableStatus": status, "conditions": [condition]});
        object(
            "VirtualMachine",
            &format!("shop/{name}"),
            json!({"status": status}),
        )
    };
    let of_architecture = |name: &str, status: &str, architecture: &str| {
        let spec = json!({"template": {"spec": {"architecture": architecture}}});
        edited(&vm(name, status, "", ""), &json!({"/spec": spec}))
    };
    let machines = [
        vm("a", "ErrorUnschedulable", "PodScheduled", "Unschedulable"),
        vm("b", "Stopped", "Failure", "FailedCreate"),
        vm("c", "Stopped", "Failure", "FailedFindPreference"),
        vm("d", "Stopped", "Failure", "FailedDelete"),
        vm("e", "Running", "Failure", "FailedCreate"),
        vm("f", "CrashLoopBackOff", "", ""),
        vm("g", "ImagePullBackOff", "", ""),
        of_architecture("h", "Stopped", "s390x"),
        of_architecture("i", "Stopped", "arm64"),
        of_architecture("j", "Running", "s390x"),
        of_architecture("k", "Terminating", "s390x"),
    ];
    let from = copy("status-ready.yaml", &[], &machines);
    run(&format!("check -q --from {from}")).exits(1).shows(&[
        "6 problems: 6 VMs cannot start",
        "! shop/h: no workload node has its architecture s390x: it cannot start",
        "✘ shop/a: no node accepts it: because",
        "✘ shop/b, shop/c: KubeVirt cannot start it: because",
        "✘ shop/g: an image of its pod cannot be pulled",
        "✘ shop/f: it stops as soon as it starts",
    ]);
}
