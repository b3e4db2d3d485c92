//! The settings of the policies in a cluster, for `--cluster`.

use rstest::{Context, rstest};
use serde_json::{Value, json};

use super::{command_on, compare, shown};
use e2e_tests::{ApiServer, recorded};

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

/// With these settings, the live object is not denied.
fn lenient() -> Value {
    json!({"levels": {"multi-arch-import-disabled": "warn"}})
}

/// With these settings, the live object has no findings.
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

/// Without --images, the settings of a policy that looks up images are used without the look-ups. The images are then
/// unknown, and nothing is reported as unreadable.
#[rstest]
#[case::verify(json!({"images": "verify", "levels": {"image-unreadable": "deny"}}))]
#[case::verify_all(json!({"images": "verify-all", "levels": {"image-unreadable": "deny"}, "repair": {"image-architectures-mismatch": "from-image"}}))]
fn images_are_looked_up_only_if_the_user_says_so(#[case] settings: Value) {
    let note = "note: the settings have `images: verify`, but images are not looked up; to look them up like the policy in the cluster, add --images\n";
    let mode = settings["images"].as_str().unwrap();
    let file = super::scratch(&format!("images-not-looked-up-{mode}")).join("settings.json");
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
    // No policy requests look-ups.
    let server = ApiServer::start(with_policies(&[policy(
        "a",
        "protect",
        json!({"images": "ignore"}),
    )]));
    let words = "check -f accepted-live.yaml --cluster";
    let output = command_on(&server).args(words.split_whitespace()).output();
    let shown = shown(words, &output.unwrap());
    assert!(shown.contains("exit 0"), "{shown}");
    assert!(!shown.contains("looked up"), "{shown}");
}

/// A policy that denies the object. The cluster evaluates it for the requests that these fields select.
fn selecting(fields: &Value) -> Value {
    let mut policy = policy("a", "protect", json!({}));
    let spec = policy.get_mut("spec").unwrap().as_object_mut().unwrap();
    spec.extend(fields.as_object().unwrap().clone());
    policy
}

const OF_NAMESPACE: &str =
    "its namespaceSelector does not match the namespace `kubevirt-hyperconverged`";

/// If the cluster does not evaluate a policy for the object, its verdict does not count: the other policy accepts it.
#[rstest]
#[case::namespace(json!({"namespaceSelector": {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["other"]}]}}), "check --cluster", Some(OF_NAMESPACE))]
#[case::not_evaluated(json!({"namespaceSelector": {"matchExpressions": [{"key": "virtual", "operator": "DoesNotExist"}]}}), "check --cluster", None)]
#[case::resource(json!({"rules": [{"resources": ["virtualmachines"]}]}), "check --cluster", Some("its rules do not include hyperconvergeds"))]
#[case::covered(json!({"rules": [{"resources": ["virtualmachines"]}, {"resources": ["*"]}]}), "check -f new.yaml --cluster", None)]
fn a_policy_that_does_not_apply_does_not_decide(
    #[case] fields: Value,
    #[case] words: &str,
    #[case] why: Option<&str>,
    #[context] context: Context,
) {
    let policies = [selecting(&fields), policy("b", "protect", ignored())];
    let server = ApiServer::start(with_policies(&policies));
    let directory = super::scratch(&format!("deployed-scope-{}", context.description.unwrap()));
    let new = std::fs::read_to_string(super::files().join("denied.yaml")).unwrap();
    let new = new.replace("name: kubevirt-hyperconverged", "name: other");
    let new = new.replace("namespace: other", "namespace: kubevirt-hyperconverged");
    std::fs::write(directory.join("new.yaml"), new).unwrap();
    let mut command = command_on(&server);
    command
        .current_dir(directory)
        .args(words.split_whitespace());
    let output = command.output().unwrap();
    let shown = shown(words, &output);
    let code = i32::from(why.is_none());
    assert_eq!(output.status.code(), Some(code), "{shown}");
    if let Some(why) = why {
        let note = format!("note: ClusterAdmissionPolicy a is ignored: {why}\n");
        assert!(shown.contains(&note), "{shown}");
    }
    let is_used = shown.contains("note: using the settings of ClusterAdmissionPolicy a ");
    assert_eq!(is_used, why.is_none(), "{shown}");
}

#[test]
fn what_is_not_evaluated_is_named() {
    let policies = [selecting(&json!({
        "objectSelector": {"matchLabels": {"a": "b"}},
        "matchConditions": [{"name": "never", "expression": "false"}],
    }))];
    let server = ApiServer::start(with_policies(&policies));
    let output = command_on(&server).args(["check", "--cluster"]).output();
    let shown = shown("check --cluster", &output.unwrap());
    let note = "note: ClusterAdmissionPolicy a: not evaluated: objectSelector, matchConditions; the cluster may skip this policy for some requests\n";
    assert!(shown.contains(note), "{shown}");
}

/// A policy for another version of the module is named with that version. The other policies determine the verdict.
#[test]
fn a_policy_with_unknown_settings_does_not_stop_the_others() {
    let unknown = policy("a", "protect", json!({"level": {}}));
    let server = ApiServer::start(with_policies(&[
        unknown.clone(),
        policy("b", "protect", lenient()),
    ]));
    check("one_invalid", &server, "check --cluster", 0);
    // This does not apply if the cluster does not evaluate the other policy.
    let mut other = policy("b", "protect", lenient());
    other["spec"]["namespaceSelector"] = json!({"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["other"]}]});
    let server = ApiServer::start(with_policies(&[unknown, other]));
    let output = command_on(&server).args(["check", "--cluster"]).output();
    assert_eq!(output.unwrap().status.code(), Some(2));
}

/// If all policies are in monitor mode, every output says that the cluster would not deny the object.
#[rstest]
#[case::github("::warning ", "::error ", true)]
#[case::gitlab("\"severity\": \"minor\"", "\"critical\"", true)]
#[case::sarif(
    "\"level\": \"warning\",\n          \"locations\"",
    "\"level\": \"error\",\n          \"locations\"",
    true
)]
#[case::junit(
    "1 problem; the cluster would report this, but not deny it",
    "never",
    true
)]
#[case::markdown(
    "### ⚠ HyperConverged `kubevirt-hyperconverged/kubevirt-hyperconverged` would be reported, not denied",
    "❌ deny",
    false
)]
fn outputs_for_programs_name_the_mode(
    #[case] wanted: &str,
    #[case] unwanted: &str,
    #[case] has_sentence: bool,
    #[context] context: Context,
) {
    let sentence = "The policy is in monitor mode: the cluster would only report this.";
    for (mode, is_monitor) in [("monitor", true), ("protect", false)] {
        let server = ApiServer::start(with_policies(&[policy("a", mode, json!({}))]));
        let format = context.description.unwrap();
        let output = command_on(&server)
            .args(["check", "--cluster", "-o", format])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1));
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(
            text.contains(sentence),
            has_sentence && is_monitor,
            "{text}"
        );
        // GitHub does not accept a result without a file.
        let uri = "\"uri\": \"cluster/kubevirt-hyperconverged/kubevirt-hyperconverged\"";
        assert_eq!(text.contains(uri), format == "sarif", "{text}");
        if is_monitor {
            assert!(text.contains(wanted) && !text.contains(unwanted), "{text}");
        } else if unwanted != "never" {
            assert!(text.contains(unwanted), "{text}");
        }
    }
}

/// A policy of another module does not matter either, whatever its name is.
#[test]
fn another_module_has_other_settings() {
    let mut other = policy("hco-architecture-guard", "protect", lenient());
    other["spec"]["module"] = json!("registry://oci.example.com/pod-privileged:v1");
    let server = ApiServer::start(with_policies(&[other]));
    check("another_module", &server, "check --cluster", 1);
}

/// An `AdmissionPolicy` applies to the objects of its namespace.
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
    let wanted = ["/apis/policies.kubewarden.io", CLUSTER_WIDE, NAMESPACED];
    assert_eq!(asked, wanted.map(|path| format!("GET {path}")));
    // A file without a namespace gets the namespace of -n, where there is no such policy.
    check(
        "other_namespace",
        &server,
        "check -f old.yaml --cluster -n elsewhere",
        1,
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
    let server = ApiServer::start(answers.clone());
    check("forbidden", &server, "check --cluster", 1);
    let mut json = command_on(&server);
    let json = json.args(["check", "--cluster", "-o", "json"]).output();
    let json: Value = serde_json::from_slice(&json.unwrap().stdout).unwrap();
    assert_eq!(json["objects"][0]["policiesUnread"], true, "{json}");
    // The user may list the groups of the namespace.
    let namespaced = answers.iter_mut().rev().nth(1).unwrap();
    *namespaced = list(NAMESPACED, &[]);
    let server = ApiServer::start(answers);
    let output = command_on(&server).args(["check", "--cluster"]).output();
    let shown = shown("check --cluster", &output.unwrap());
    let note = "note: using the default settings: no policy with the module hco-architecture-guard was found for the namespace `kubevirt-hyperconverged` among the policies that you may list; use --settings to specify other settings\n";
    assert!(shown.contains(note), "{shown}");
}

/// If the API server cannot answer, the cluster must not appear to have no policies.
#[test]
fn policies_that_cannot_be_read_are_an_error() {
    let mut answers = with_policies(&[]);
    let list = answers.last_mut().unwrap();
    list["status"] = json!(500);
    list["body"] = json!({"kind": "Status", "status": "Failure", "message": "etcdserver: leader changed", "code": 500});
    let server = ApiServer::start(answers);
    check("unreadable", &server, "check --cluster", 2);
}
