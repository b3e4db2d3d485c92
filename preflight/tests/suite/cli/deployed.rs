//! The settings of the policies that a cluster has, for `--cluster`.

use rstest::{Context, rstest};
use serde_json::{Value, json};

use super::{command_on, compare, shown};
use crate::api_server::{ApiServer, recorded};

const CLUSTER_WIDE: &str = "/apis/policies.kubewarden.io/v1/clusteradmissionpolicies";
const NAMESPACED: &str =
    "/apis/policies.kubewarden.io/v1/namespaces/kubevirt-hyperconverged/admissionpolicies";

/// A policy with this project's module, from a mirror.
#[expect(
    clippy::needless_pass_by_value,
    reason = "calls are shorter without a reference"
)]
pub(super) fn policy(name: &str, mode: &str, settings: Value) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {
            "module": "registry://mirror.test:5000/kubewarden/hco-architecture-guard:v0.1.0@sha256:0123",
            "mode": mode,
            "settings": settings,
        },
    })
}

/// The live object is not denied by these.
fn lenient() -> Value {
    json!({"levels": {"multi-arch-import-disabled": "warn"}})
}

/// Nothing is found in it by these.
fn ignored() -> Value {
    json!({"levels": {"multi-arch-import-disabled": "ignore"}})
}

fn list(path: &str, policies: &[Value]) -> Value {
    json!({
        "as": "admin",
        "request": format!("GET {path}"),
        "status": 200,
        "body": {"apiVersion": "policies.kubewarden.io/v1", "items": policies},
    })
}

/// The recorded cluster with Kubewarden and these policies for all namespaces.
pub(super) fn with_policies(policies: &[Value]) -> Vec<Value> {
    let mut answers = recorded();
    answers.push(list("/apis/policies.kubewarden.io", &[]));
    answers.push(list(NAMESPACED, &[]));
    answers.push(list(CLUSTER_WIDE, policies));
    answers
}

#[track_caller]
fn check(name: &str, server: &ApiServer, words: &str, code: i32) {
    let output = command_on(server).args(words.split_whitespace()).output();
    let output = output.unwrap();
    let shown = shown(words, &output).replace(&server.address(), "SERVER");
    compare(&format!("deployed-{name}"), &shown);
    assert_eq!(output.status.code(), Some(code), "{shown}");
}

#[rstest]
#[case::protect(&[policy("a", "protect", lenient())], "check --cluster", 0)]
#[case::monitor(&[policy("a", "monitor", json!({}))], "check --cluster", 1)]
#[case::monitor_alone_in_json(&[policy("a", "monitor", json!({}))], "check --cluster -o json", 1)]
#[case::protect_accepts(&[policy("a", "protect", lenient()), policy("b", "monitor", json!({}))], "check --cluster", 0)]
#[case::protect_denies(&[policy("a", "protect", json!({})), policy("b", "monitor", lenient())], "check --cluster", 1)]
#[case::worst(&[policy("a", "protect", lenient()), policy("b", "protect", json!(null))], "check --cluster", 1)]
#[case::several_in_json(&[policy("a", "protect", lenient()), policy("b", "monitor", json!({}))], "check --cluster -o json", 0)]
#[case::several_in_junit(&[policy("a", "protect", lenient()), policy("b", "monitor", json!({}))], "check --cluster -o junit", 0)]
#[case::several_in_markdown(&[policy("a", "protect", lenient()), policy("b", "monitor", json!({}))], "check --cluster -o markdown", 0)]
#[case::several_in_policyreport(&[policy("a", "protect", lenient()), policy("b", "monitor", json!({}))], "check --cluster -o policyreport", 0)]
#[case::warnings_of_monitor(&[policy("a", "monitor", lenient()), policy("b", "protect", ignored())], "check --cluster --fail-on warn", 0)]
#[case::none(&[], "check --cluster", 1)]
#[case::overridden(&[policy("a", "protect", json!({}))], "check --cluster --settings settings.yaml", 0)]
#[case::invalid(&[policy("a", "protect", json!({"level": {}}))], "check --cluster", 2)]
#[case::repair(&[policy("a", "monitor", json!({"repair": {"architectures-malformed": "normalise"}}))], "check --cluster", 1)]
#[case::fixed(&[policy("a", "protect", ignored()), policy("b", "protect", lenient()), policy("c", "protect", json!({}))], "fix --cluster -o commands", 1)]
#[case::nothing_fixed(&[policy("a", "protect", ignored()), policy("b", "monitor", json!({}))], "fix --cluster -o commands", 0)]
fn the_output_is_as_reviewed(
    #[case] policies: &[Value],
    #[case] words: &str,
    #[case] code: i32,
    #[context] context: Context,
) {
    let server = ApiServer::start(with_policies(policies));
    check(context.description.unwrap(), &server, words, code);
}

/// Without --images, a policy that looks up images is judged without that: nothing is known of the images, and nothing is
/// reported as unreadable.
#[rstest]
#[case::verify(json!({"images": "verify", "levels": {"image-unreadable": "deny"}}))]
#[case::verify_all(json!({"images": "verify-all", "levels": {"image-unreadable": "deny"}, "repair": {"image-architectures-mismatch": "from-image"}}))]
fn images_are_looked_up_only_if_the_user_says_so(#[case] settings: Value) {
    let note = "note: images are not looked up, although the settings have `images: verify`; to look them up as the policy in the cluster does, add --images\n";
    let file = super::scratch("images-not-looked-up")
        .join(format!("{}.json", settings["images"].as_str().unwrap()));
    std::fs::write(&file, settings.to_string()).unwrap();
    let file = file.to_str().unwrap();
    let server = ApiServer::start(with_policies(&[policy("a", "protect", settings)]));
    for words in [
        "check -f accepted-live.yaml --cluster",
        &format!("check -f accepted-live.yaml --cluster --settings {file}"),
    ] {
        let output = command_on(&server).args(words.split_whitespace()).output();
        let shown = shown(words, &output.unwrap());
        assert!(shown.contains("exit 0"), "{shown}");
        assert_eq!(shown.matches(note).count(), 1, "{shown}");
        assert!(!shown.contains("image-unreadable"), "{shown}");
    }
    // No policy asks for look-ups.
    let server = ApiServer::start(with_policies(&[policy(
        "a",
        "protect",
        json!({"images": "ignore"}),
    )]));
    let words = "check -f accepted-live.yaml --cluster";
    let output = command_on(&server).args(words.split_whitespace()).output();
    let shown = shown(words, &output.unwrap());
    assert!(!shown.contains("looked up"), "{shown}");
}

/// Whoever names settings asks for no policies.
#[test]
fn settings_of_the_user_override() {
    let server = ApiServer::start(with_policies(&[policy("a", "protect", lenient())]));
    let mut check = command_on(&server);
    check.args(["check", "--cluster", "--settings", "settings.yaml"]);
    check.output().unwrap();
    let asked = server.asked().join(" ");
    assert!(!asked.contains("policies.kubewarden.io"), "{asked}");
}

/// Nor does a policy of another module matter, whatever it is called.
#[test]
fn another_module_has_other_settings() {
    let mut other = policy("hco-architecture-guard", "protect", lenient());
    other["spec"]["module"] = json!("registry://ghcr.io/example/pod-privileged:v1");
    let server = ApiServer::start(with_policies(&[other]));
    check("another_module", &server, "check --cluster", 1);
}

/// An `AdmissionPolicy` is for the objects of its namespace.
#[test]
fn a_policy_of_the_namespace_counts() {
    let mut answers = with_policies(&[]);
    let namespaced = answers.iter_mut().rev().nth(1).unwrap();
    *namespaced = list(NAMESPACED, &[policy("own", "protect", lenient())]);
    answers.push(list(
        &NAMESPACED.replace("kubevirt-hyperconverged", "elsewhere"),
        &[],
    ));
    let server = ApiServer::start(answers);
    check("namespaced", &server, "check --cluster", 0);
    let asked = server.asked();
    let asked = asked
        .iter()
        .filter(|it| it.contains("policies.kubewarden.io"));
    let asked: Vec<&str> = asked.map(|it| it.split('?').next().unwrap()).collect();
    let groups = |path: &str| path.replace("admissionpolicies", "admissionpolicygroups");
    let wanted = [
        "/apis/policies.kubewarden.io".to_owned(),
        CLUSTER_WIDE.to_owned(),
        groups(CLUSTER_WIDE),
        NAMESPACED.to_owned(),
        groups(NAMESPACED),
    ];
    assert_eq!(asked, wanted.map(|path| format!("GET {path}")));
    // A file without a namespace belongs to that of -n, where there is no such policy.
    check(
        "other_namespace",
        &server,
        "check -f old.yaml --cluster -n elsewhere",
        1,
    );
}

/// A note names a group with such a member, or says that groups cannot be listed.
#[test]
fn groups_are_named_and_not_evaluated() {
    let group = |name: &str, module: &str| {
        json!({
            "metadata": {"name": name},
            "spec": {
                "mode": "protect",
                "expression": "architectures() || signed()",
                "policies": {
                    "architectures": {"module": module, "settings": {}},
                    "signed": {"module": "registry://ghcr.io/kubewarden/policies/verify:v1"},
                },
            },
        })
    };
    let ours = group("ours", "mirror.test/hco-architecture-guard:v0.1.0");
    let other = group("other", "mirror.test/pod-privileged:v1");
    let mut answers = with_policies(&[policy("a", "protect", lenient())]);
    answers.push(list(
        &CLUSTER_WIDE.replace("admissionpolicies", "admissionpolicygroups"),
        &[ours.clone(), other],
    ));
    answers.push(list(
        &NAMESPACED.replace("admissionpolicies", "admissionpolicygroups"),
        &[ours],
    ));
    check(
        "groups",
        &ApiServer::start(answers.clone()),
        "check --cluster",
        0,
    );
    let last = answers.last_mut().unwrap();
    last["status"] = json!(403);
    last["body"] = json!({"kind": "Status", "status": "Failure", "reason": "Forbidden", "message": "no", "code": 403});
    check(
        "groups_forbidden",
        &ApiServer::start(answers),
        "check --cluster",
        0,
    );
}

#[test]
fn without_permission_to_list_policies_the_defaults_are_used() {
    let mut answers = with_policies(&[]);
    for answer in answers.iter_mut().rev().take(2) {
        answer["status"] = json!(403);
        answer["body"] = json!({
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403,
            "message": "clusteradmissionpolicies.policies.kubewarden.io is forbidden",
        });
    }
    let server = ApiServer::start(answers);
    check("forbidden", &server, "check --cluster", 1);
}

/// What an API server cannot answer is no cluster without policies.
#[test]
fn policies_that_cannot_be_read_are_an_error() {
    let mut answers = with_policies(&[]);
    let list = answers.last_mut().unwrap();
    list["status"] = json!(500);
    list["body"] = json!({"kind": "Status", "status": "Failure", "message": "etcdserver: leader changed", "code": 500});
    let server = ApiServer::start(answers);
    check("unreadable", &server, "check --cluster", 2);
}

/// What kwctl needs, for each policy.
#[test]
fn each_policy_is_recorded() {
    let policies = [
        policy("a", "protect", lenient()),
        policy("b", "monitor", json!({})),
    ];
    let server = ApiServer::start(with_policies(&policies));
    let to = super::scratch("record-policies");
    let mut record = command_on(&server);
    let output = record
        .args(["record", "--cluster", "--to"])
        .arg(&to)
        .output();
    assert_eq!(output.unwrap().status.code(), Some(0));
    let settings = |file: &str| -> Value {
        serde_json::from_slice(&std::fs::read(to.join(file)).unwrap()).unwrap()
    };
    assert_eq!(settings("settings-1.json"), lenient());
    assert_eq!(settings("settings-2.json"), json!({}));
}
