//! `--cluster` and `rbac`, against an API server made of recorded answers.

use rstest::{Context, rstest};
use serde_json::{Value, json};

use super::{command_on, compare, shown};
use crate::api_server::{ApiServer, recorded};

/// Runs a command line against the recorded cluster; its address differs from run to run.
fn run(server: &ApiServer, words: &str) -> (String, i32) {
    let output = command_on(server).args(words.split_whitespace()).output();
    let output = output.unwrap();
    let shown = shown(words, &output).replace(&server.address(), "SERVER");
    (shown, output.status.code().unwrap())
}

#[rstest]
#[case::live_objects("check --cluster", 1)]
#[case::live_objects_in_json("check --cluster -o json", 1)]
#[case::live_objects_in_junit("check --cluster -o junit", 1)]
#[case::live_objects_in_github("check --cluster -o github", 1)]
#[case::live_objects_in_markdown("check --cluster -o markdown", 1)]
#[case::what_if("check --cluster --what-if riscv64=2", 1)]
#[case::live_is_old("check -f live.yaml --cluster", 0)]
#[case::old_beats_live("check -f denied.yaml --old old.yaml --cluster", 0)]
#[case::new_object("check -f other.yaml --cluster", 0)]
#[case::another_context("check -f other.yaml --cluster --context limited", 2)]
#[case::wrong_credentials("check -f other.yaml --cluster --context wrong", 2)]
#[case::no_such_context("check --cluster --context nowhere", 2)]
fn what_is_said(#[case] words: &str, #[case] code: i32, #[context] context: Context) {
    let server = ApiServer::start(recorded());
    let (shown, ended) = run(&server, words);
    compare(&format!("cluster-{}", context.description.unwrap()), &shown);
    assert_eq!(ended, code, "{shown}");
}

/// They are in no file, but GitHub takes no result without one.
#[test]
fn live_objects_in_sarif() {
    let server = ApiServer::start(recorded());
    let output = command_on(&server)
        .args(["check", "--cluster", "-o", "sarif"])
        .output()
        .unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        document.pointer("/runs/0/results/0/locations"),
        Some(&json!([{
            "physicalLocation": {
                "artifactLocation": {"uri": "cluster/kubevirt-hyperconverged/kubevirt-hyperconverged"},
                "region": {"startLine": 1},
            },
            "logicalLocations": [{
                "fullyQualifiedName": "kubevirt-hyperconverged/kubevirt-hyperconverged:spec.workloadSources.enableMultiArchBootImageImport",
                "kind": "member",
            }],
        }]))
    );
}

#[test]
fn without_a_kubeconfig_it_is_told_what_to_do() {
    let output = super::run("check --cluster");
    compare("cluster-no-kubeconfig", &shown("check --cluster", &output));
    assert_eq!(output.status.code(), Some(2));
}

/// The recorded answer to whether the policy-server may list nodes, for all that it must be allowed to do.
fn reviews(allowed: &[&str]) -> Vec<Value> {
    let mut answers = recorded();
    let list = answers
        .iter()
        .position(|answer| {
            answer["request"]
                .as_str()
                .unwrap()
                .ends_with("/subjectaccessreviews")
        })
        .unwrap();
    let list = answers.remove(list);
    // Who may not ask may ask nothing of the kind.
    for refused in answers
        .iter_mut()
        .filter(|answer| answer["as"] == "limited")
    {
        refused.as_object_mut().unwrap().remove("sent");
    }
    for verb in ["get", "list", "watch", "create"] {
        let mut answer = list.clone();
        let (resource, group) = match verb {
            "create" => ("subjectaccessreviews", "authorization.k8s.io"),
            _ => ("nodes", ""),
        };
        *answer.pointer_mut("/sent/resourceAttributes").unwrap() =
            json!({"verb": verb, "resource": resource, "group": group});
        *answer.pointer_mut("/body/status/allowed").unwrap() = json!(allowed.contains(&verb));
        answers.push(answer);
    }
    answers
}

#[rstest]
#[case::granted("rbac", &["get", "list", "watch", "create"], 0)]
#[case::no_nodes("rbac", &["create"], 1)]
#[case::no_watch("rbac", &["get", "list", "create"], 1)]
#[case::no_reviews("rbac", &["get", "list", "watch"], 1)]
#[case::may_not_ask("rbac --context limited", &[], 2)]
#[case::no_account("rbac --service-account policy-server", &[], 2)]
fn grants_are_told(
    #[case] words: &str,
    #[case] allowed: &[&str],
    #[case] code: i32,
    #[context] context: Context,
) {
    let server = ApiServer::start(reviews(allowed));
    let (shown, ended) = run(&server, words);
    compare(&format!("rbac-{}", context.description.unwrap()), &shown);
    assert_eq!(ended, code, "{shown}");
}

/// The import was enabled by `kubectl patch`, and the file says nothing of it: `kubectl apply` leaves it enabled.
#[test]
fn what_others_set_stays_where_the_file_is_applied() {
    let mut answers = recorded();
    let live = answers.iter_mut().find(|answer| {
        let request = answer["request"].as_str().unwrap_or_default();
        answer["status"] == 200 && request.contains("/v1beta1/namespaces/")
    });
    let live = &mut live.unwrap()["body"];
    live["spec"]["featureGates"]["enableMultiArchBootImageImport"] = json!(true);
    live["spec"]["dataImportCronTemplates"] = json!([]);
    let server = ApiServer::start(answers);
    let code = |more: &str| {
        let mut check = command_on(&server);
        check.args(["check", "-f", "accepted-live.yaml", "--cluster"]);
        let output = check.args(more.split_whitespace()).output().unwrap();
        output.status.code()
    };
    assert_eq!(code(""), Some(0));
    assert_eq!(code("--as-if apply"), Some(0));
    assert_eq!(code("--as-if replace"), Some(1));
}

/// A cluster that serves other versions than that of the file is not one without the object.
#[test]
fn a_version_that_is_not_served_is_an_error() {
    let mut answers = recorded();
    let group = answers
        .iter_mut()
        .find(|answer| answer["request"] == "GET /apis/hco.kubevirt.io");
    group.unwrap()["body"]["versions"] =
        json!([{"groupVersion": "hco.kubevirt.io/v1", "version": "v1"}]);
    let server = ApiServer::start(answers);
    let (shown, code) = run(&server, "check -f other.yaml --cluster");
    compare("cluster-version-not-served", &shown);
    assert_eq!(code, 2);
}
