//! `status`: from files, and on a cluster of recorded answers.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpListener};

use rstest::{Context, rstest};
use serde_json::{Value, json};

use super::{check, command_on, files, objects, run, scratch};
use e2e_tests::{ApiServer, recorded};

#[rstest]
#[case::ready("status --from status-ready.yaml", 0)]
#[case::all_states("status --from status-cluster.yaml", 1)]
#[case::all_states_in_json("status --from status-cluster.yaml -o json", 1)]
#[case::ready_in_markdown("status --from status-ready.yaml -o markdown", 0)]
#[case::unknown_architecture("status --from status-unknown.yaml", 2)]
#[case::uploaded("status --from status-uploaded.yaml", 1)]
#[case::unread("status --from plan-cluster.yaml -q", 2)]
#[case::no_hyperconverged("status --from nodes.yaml", 2)]
#[case::no_nodes("status --from plan.yaml", 2)]
#[case::no_source("status", 2)]
#[case::standard_input_twice("status --from - --settings -", 2)]
#[case::wait_without_cluster("status --from status-ready.yaml --wait 10m", 2)]
fn the_status_is_as_reviewed(#[case] words: &str, #[case] code: i32, #[context] context: Context) {
    let name = context.description.unwrap();
    check(&format!("status-{name}"), words, code);
}

const CRONS: &str = "/apis/cdi.kubevirt.io/v1beta1/dataimportcrons";

/// The answers of an API server with these objects.
fn answers(objects: &[Value]) -> Vec<Value> {
    let mut lists = BTreeMap::from([
        (CRONS, Vec::new()),
        ("/apis/cdi.kubevirt.io/v1beta1/datasources", Vec::new()),
        ("/apis/cdi.kubevirt.io/v1beta1/datavolumes", Vec::new()),
        ("/apis/ssp.kubevirt.io/v1beta3/ssps", Vec::new()),
        ("/apis/hco.kubevirt.io/v1beta1/hyperconvergeds", Vec::new()),
        ("/api/v1/nodes", Vec::new()),
        ("/api/v1/persistentvolumeclaims", Vec::new()),
    ]);
    for object in objects {
        let kind = object["kind"].as_str().unwrap().to_lowercase();
        let list = lists
            .iter_mut()
            .find(|(path, _)| path.ends_with(&format!("/{kind}s")));
        if let Some((_, list)) = list {
            list.push(object.clone());
        }
    }
    let mut answers: Vec<Value> = lists
        .into_iter()
        .map(|(path, items)| {
            answer(
                path,
                &json!({"kind": "List", "metadata": {}, "items": items}),
            )
        })
        .collect();
    let version = json!({"groupVersion": "hco.kubevirt.io/v1beta1", "version": "v1beta1"});
    let group = json!({"versions": [version], "preferredVersion": version});
    answers.push(answer("/apis/hco.kubevirt.io", &group));
    answers.extend(recorded());
    answers
}

fn answer(path: &str, body: &Value) -> Value {
    json!({"as": "admin", "request": format!("GET {path}"), "status": 200, "body": body})
}

fn forbidden(path: &str) -> Value {
    let body = json!({"kind": "Status", "code": 403, "reason": "Forbidden", "message": "no"});
    json!({"as": "admin", "request": format!("GET {path}"), "status": 403, "body": body})
}

fn status(server: &ApiServer, words: &str) -> (Value, Option<i32>) {
    let mut command = command_on(server);
    let words = format!("status --cluster -o json -q {words}");
    let output = command.args(words.split_whitespace()).output().unwrap();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    assert!(json.is_object(), "{output:?}");
    (json, output.status.code())
}

#[rstest]
#[case("status-ready.yaml")]
#[case("status-cluster.yaml")]
#[case("status-unknown.yaml")]
fn a_snapshot_gives_the_same_status_as_its_cluster(#[case] file: &str) {
    let server = ApiServer::start(answers(&objects(file)));
    let (live, code) = status(&server, "");
    let snapshot = scratch(&format!("status-snapshot-{file}")).join("snapshot.json");
    let taken = command_on(&server)
        .args(["snapshot", "--cluster", "-o"])
        .arg(&snapshot)
        .output()
        .unwrap();
    assert_eq!(taken.status.code(), Some(0), "{taken:?}");
    let text = std::fs::read_to_string(&snapshot).unwrap();
    assert!(!text.contains("secret"), "{text}");
    let words = format!("status --from {} -o json -q", snapshot.display());
    let from = run(&words);
    let from_json: Value = serde_json::from_slice(&from.stdout).unwrap();
    assert_eq!(from_json, live);
    assert_eq!(from.status.code(), code);
}

/// Without the last applied configuration, kubectl would keep a field that the manifest no longer has.
#[test]
fn a_snapshot_keeps_what_is_read_of_the_last_applied_configuration() {
    let last = json!({
        "metadata": {"annotations": {"password": "hunter2"}},
        "spec": {"workloads": {}},
    });
    let object = json!({
        "apiVersion": "hco.kubevirt.io/v1beta1",
        "kind": "HyperConverged",
        "metadata": {"name": "kubevirt-hyperconverged", "namespace": "kubevirt-hyperconverged", "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": last.to_string(),
            "other": "hunter2",
        }},
        "spec": {"workloads": {"nodePlacement": {}}},
    });
    let server = ApiServer::start(answers(&[object]));
    let output = command_on(&server)
        .args(["snapshot", "--cluster", "-o", "-"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("last-applied-configuration") && text.contains("workloads"),
        "{text}"
    );
    assert!(!text.contains("hunter2"), "{text}");
}

#[test]
fn a_wait_ends_when_everything_is_there() {
    let ready = objects("status-ready.yaml");
    let mut first = answer(CRONS, &json!({"kind": "List", "metadata": {}, "items": []}));
    first["times"] = json!(1);
    let server = ApiServer::start([vec![first], answers(&ready)].concat());
    let (status, code) = status(&server, "--wait 10m");
    assert_eq!(code, Some(0), "{status}");
    assert_eq!(status["reached"], true);
    let asked = server.asked();
    let lists = asked.iter().filter(|it| it.contains("dataimportcrons"));
    assert_eq!(lists.count(), 2);
}

/// For example, the API server restarts.
#[rstest]
#[case("/api/v1/nodes")]
#[case(CRONS)]
fn a_wait_goes_on_when_a_look_fails(#[case] path: &str) {
    let mut failed = answer(
        path,
        &json!({"kind": "Status", "code": 500, "message": "no"}),
    );
    failed["status"] = json!(500);
    failed["times"] = json!(1);
    let all = [vec![failed.clone()], answers(&objects("status-ready.yaml"))].concat();
    let (ready, code) = status(&ApiServer::start(all), "--wait 10m");
    assert_eq!(
        (code, &ready["reached"]),
        (Some(0), &json!(true)),
        "{ready}"
    );
    failed.as_object_mut().unwrap().remove("times");
    let all = [vec![failed], answers(&objects("status-ready.yaml"))].concat();
    let server = ApiServer::start(all);
    let output = command_on(&server)
        .args(["status", "--cluster", "--wait", "0"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

/// Each list could wait for several minutes.
#[test]
fn a_server_that_does_not_answer_is_asked_for_no_more_kinds() {
    let busy = json!({"kind": "Status", "code": 503, "message": "shutting down"});
    let mut silent = answer(CRONS, &busy);
    silent["status"] = json!(503);
    silent["retry_after"] = json!(3600);
    let all = [vec![silent], answers(&objects("status-ready.yaml"))].concat();
    let server = ApiServer::start(all);
    let (found, code) = status(&server, "");
    assert_eq!(code, Some(2), "{found:#}");
    let unread = found["unread"].as_array().unwrap();
    assert!(unread.len() > 4, "{found:#}");
    for kind in unread {
        let reason = kind["reason"].as_str().unwrap();
        assert!(
            reason.contains("is busy: it returned 503 to list dataimportcrons"),
            "{reason}"
        );
    }
    let asked = server.asked();
    let mut lists = asked.iter().filter(|it| it.contains("limit=500"));
    let last = lists.next_back().unwrap();
    assert!(last.contains(CRONS), "{asked:#?}");
}

/// Whether SSP imports an image depends on an existing disk with its name.
#[test]
fn without_disks_an_image_that_is_not_imported_is_unknown() {
    let mut objects = objects("status-ready.yaml");
    objects.retain(|object| object["kind"] != "DataImportCron");
    let mut all = vec![forbidden("/api/v1/persistentvolumeclaims")];
    all.extend(answers(&objects));
    let (unknown, code) = status(&ApiServer::start(all), "");
    assert_eq!(
        unknown["goldenImages"][0]["state"], "unknown",
        "{unknown:#}"
    );
    assert_eq!(unknown["unread"][0]["kind"], "PersistentVolumeClaim");
    let is_known = !unknown["dataSources"].as_array().unwrap().is_empty();
    let reached = if is_known { json!(false) } else { Value::Null };
    assert_eq!(unknown["reached"], reached, "{unknown:#}");
    assert_eq!(code, Some(if is_known { 1 } else { 2 }));
}

#[test]
fn a_wait_that_is_over_says_what_is_missing() {
    let server = ApiServer::start(answers(&objects("status-cluster.yaml")));
    let (status, code) = status(&server, "--wait 0");
    assert_eq!(code, Some(1));
    assert_eq!(status["reached"], false);
    assert_eq!(status["goldenImages"][1]["state"], "failing");
}

/// A request could take a minute, and a list five minutes.
#[test]
fn a_wait_ends_although_the_server_says_nothing() {
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let server = ApiServer::at(silent.local_addr().unwrap());
    let output = command_on(&server)
        .args(["status", "--cluster", "--wait", "1ms"])
        .output()
        .unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    let error = "did not complete the request to get /apis/hco.kubevirt.io within the time of --wait; check the context and the proxy, and that the cluster is running, or raise the limit with --wait\n";
    assert!(errors.ends_with(error), "{errors}");
    assert_eq!(output.status.code(), Some(2));
}

/// The time ends during a poll.
#[test]
fn a_look_that_is_not_complete_does_not_replace_the_one_before() {
    let mut all = answers(&objects("status-cluster.yaml"));
    for answer in &mut all {
        if answer["request"] == format!("GET {CRONS}") {
            answer["times"] = json!(1);
        }
    }
    all.push(json!({"as": "admin", "request": format!("GET {CRONS}"), "silent": true}));
    let (status, code) = status(&ApiServer::start(all), "--wait 5s");
    assert_eq!(code, Some(1), "{status:#}");
    assert_eq!(status["unread"], json!([]), "{status:#}");
}

#[test]
fn a_missing_permission_costs_its_section_alone() {
    let mut all = vec![forbidden("/apis/ssp.kubevirt.io/v1beta3/ssps")];
    all.extend(answers(&objects("status-ready.yaml")));
    let (without_ssp, code) = status(&ApiServer::start(all), "");
    assert_eq!(code, Some(0), "{without_ssp}");
    assert_eq!(without_ssp["unread"][0]["kind"], "SSP");

    let mut all = vec![forbidden(CRONS)];
    all.extend(answers(&objects("status-ready.yaml")));
    let server = ApiServer::start(all);
    // Waiting does not help.
    let (without_crons, code) = status(&server, "--wait 10m");
    assert_eq!(code, Some(2), "{without_crons}");
    assert_eq!(without_crons["reached"], Value::Null);
    assert_eq!(without_crons["goldenImages"][0]["state"], "unknown");
}

/// A DataImportCron that exists but was not reconciled, and one that may not clone.
#[rstest]
#[case(json!({}), "waiting", "CDI has not reported anything yet")]
#[case(
    json!({"conditions": [
        {"type": "Progressing", "status": "False", "reason": "NotAuthorized", "message": "Not authorized"},
    ]}),
    "failing",
    "Not authorized"
)]
#[case(
    json!({"conditions": [
        {"type": "Progressing", "status": "False", "reason": "NoImport", "message": "No current import"},
        {"type": "UpToDate", "status": "False", "reason": "NoDigest", "message": "No source digest"},
    ]}),
    "waiting",
    "No source digest"
)]
fn the_conditions_of_cdi_are_shown(
    #[case] reported: Value,
    #[case] state: &str,
    #[case] message: &str,
) {
    let mut objects = objects("status-ready.yaml");
    for object in &mut objects {
        if object["kind"] == "DataImportCron" {
            object["status"] = reported.clone();
        }
    }
    let (status, code) = status(&ApiServer::start(answers(&objects)), "");
    assert_eq!(code, Some(1));
    let image = &status["goldenImages"][0];
    assert_eq!(
        (&image["state"], &image["message"]),
        (&json!(state), &json!(message))
    );
}

#[test]
fn of_several_hyperconvergeds_the_namespace_chooses_one() {
    let file = scratch("status-two").join("two.yaml");
    let ready = std::fs::read_to_string(files().join("status-ready.yaml")).unwrap();
    let one = ready
        .lines()
        .find(|line| line.contains("\"HyperConverged\""))
        .unwrap();
    let other = one.replacen(
        "\"namespace\": \"kubevirt-hyperconverged\"",
        "\"namespace\": \"other\"",
        1,
    );
    std::fs::write(&file, format!("{ready}{other}\n")).unwrap();
    let code = |more: &str| {
        let output = run(&format!("status --from {} {more}", file.display()));
        output.status.code()
    };
    assert_eq!(code(""), Some(2));
    assert_eq!(code("-n kubevirt-hyperconverged"), Some(0));
    assert_eq!(code("-n nowhere"), Some(2));
}

/// SSP creates the DataSources first, and stops at one that the API server rejects, so no DataImportCron is created.
#[test]
fn a_golden_image_behind_a_rejected_data_source_is_not_ready() {
    let mut objects = objects("status-ready.yaml");
    for object in &mut objects {
        if object["kind"] == "HyperConverged" {
            for path in [
                "/spec/dataImportCronTemplates",
                "/status/dataImportCronTemplates",
            ] {
                for template in object
                    .pointer_mut(path)
                    .and_then(Value::as_array_mut)
                    .unwrap()
                {
                    template["spec"]["managedDataSource"] = json!("My-Image");
                }
            }
        }
    }
    objects.retain(|object| object["kind"] != "DataImportCron");
    let (status, code) = status(&ApiServer::start(answers(&objects)), "");
    assert_eq!(
        (code, &status["reached"]),
        (Some(1), &json!(false)),
        "{status:#}"
    );
    assert_eq!(status["stopped"], "data-source");
    let images = status["goldenImages"].as_array().unwrap();
    assert!(!images.is_empty(), "{status:#}");
    for image in images {
        assert_ne!(image["state"], "existing-disk", "{image}");
    }
}

#[test]
fn a_message_from_outside_cannot_draw_on_the_terminal() {
    let file = scratch("status-hostile").join("hostile.yaml");
    let cluster = std::fs::read_to_string(files().join("status-cluster.yaml")).unwrap();
    let mut hostile = cluster;
    for (text, instead) in [
        ("Unable to process data", "\\u001b[2J\\n::error::"),
        ("wrong-cron", "wrong\\u001b[2J"),
        ("SSPNotAvailable", "\\n::error::"),
    ] {
        assert!(hostile.contains(text), "{text}");
        hostile = hostile.replace(text, instead);
    }
    std::fs::write(&file, hostile).unwrap();
    for format in ["text", "json", "markdown"] {
        // The output is in color, because without a terminal the command removes all escape sequences, including its
        // own.
        let words = format!(
            "status --color always --from {} -o {format}",
            file.display()
        );
        let text = String::from_utf8(run(&words).stdout).unwrap();
        // The external text is shown, without escape sequences for a terminal.
        let shown = ["[2J", "::error::"].map(|part| text.contains(part));
        assert_eq!(shown, [true; 2], "{format}: {text}");
        assert!(
            !text.contains("\u{1b}[2J") && !text.contains("\n::error::"),
            "{text}"
        );
    }
}
