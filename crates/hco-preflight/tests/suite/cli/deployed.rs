//! The settings of the policies in a cluster, for `--cluster`.

use rstest::{Context, rstest};
use serde_json::{Value, json};

use super::objects::{answer, copy, edited, refused};
use super::{Run, run_on, written};
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

/// The live object has a denial by default, a warning with the level `warn`, and no finding with `ignore`.
fn level(level: &str) -> Value {
    json!({"levels": {"multi-arch-import-disabled": level}})
}

fn list(path: &str, policies: &[Value]) -> Value {
    answer(
        path,
        200,
        json!({"apiVersion": "policies.kubewarden.io/v1", "items": policies}),
    )
}

/// The recorded cluster with Kubewarden and these policies for all namespaces.
pub(super) fn with_policies(policies: &[Value]) -> Vec<Value> {
    let lists = [
        list("/apis/policies.kubewarden.io", &[]),
        list(NAMESPACED, &[]),
        list(CLUSTER_WIDE, policies),
    ];
    [lists.to_vec(), recorded()].concat()
}

/// Runs `check --cluster` where these policies are deployed.
fn check_with(policies: &[Value]) -> Run {
    run_on(
        &ApiServer::start(with_policies(policies)),
        "check --cluster",
    )
}

const DENIED: &str =
    "4 problems: HCOMultiArchGoldenImagesDisabled fires; 3 boot sources have no disk";
const ACCEPTED: &str = "3 problems: 3 boot sources have no disk";
const WARNED: &str = "! [multi-arch-import-disabled] [..]";
const A: &str = "note: using the settings of ClusterAdmissionPolicy a (mode protect)";
const B: &str = "note: using the settings of ClusterAdmissionPolicy b (mode protect)";
const A_MONITORS: &str = "note: using the settings of ClusterAdmissionPolicy a (mode monitor: the cluster would only report a denial)";
const B_MONITORS: &str = "note: using the settings of ClusterAdmissionPolicy b (mode monitor: the cluster would only report a denial)";
const NO_POLICY: &str = "note: using the default settings: no policy with the module hco-architecture-guard was found for the namespace `kubevirt-hyperconverged`; use --settings to specify other settings";
const UNKNOWN_SETTING: &str = "- settings: unknown setting `level`; did you mean `levels`?; [..]";

/// The verdict is the strictest of the policies that protect. Without such a policy, a policy in monitor mode decides.
#[rstest]
#[case::protect(&[policy("a", "protect", level("warn"))], &[ACCEPTED, WARNED, A])]
#[case::monitor(&[policy("a", "monitor", json!({}))], &[DENIED, A_MONITORS])]
#[case::protect_accepts(&[policy("a", "protect", level("warn")), policy("b", "monitor", json!({}))], &[ACCEPTED, WARNED, A, B_MONITORS])]
#[case::protect_denies(&[policy("a", "protect", json!({})), policy("b", "monitor", level("warn"))], &[DENIED, A, B_MONITORS])]
#[case::worst(&[policy("a", "protect", level("warn")), policy("b", "protect", json!(null))], &[DENIED, A, B])]
#[case::none(&[], &[DENIED, NO_POLICY])]
#[case::repair(&[policy("a", "monitor", json!({"repair": {"architectures-malformed": "normalise"}}))], &[DENIED, A_MONITORS, "note: ClusterAdmissionPolicy a: the policy has `repair`, but not `mutating: true`: policy-server rejects the requests that the policy would repair"])]
// A policy for another version of the module is named with that version. The other policies determine the verdict.
#[case::one_invalid(&[policy("a", "protect", json!({"level": {}})), policy("b", "protect", level("warn"))], &[ACCEPTED, WARNED, B, "note: the settings of ClusterAdmissionPolicy a are invalid for this version of the module (the policy uses registry://mirror.test:5000/kubewarden/hco-architecture-guard:v0.1.0@sha256:0123): [..]", UNKNOWN_SETTING])]
// A policy of another module does not matter either, whatever its name is.
#[case::another_module(&[of_another_module()], &[DENIED, NO_POLICY])]
fn the_policies_of_the_cluster_decide(#[case] policies: &[Value], #[case] lines: &[&str]) {
    check_with(policies).exits(1).shows(lines);
}

#[rstest]
#[case::warnings_of_monitor(&[policy("a", "monitor", level("warn")), policy("b", "protect", level("ignore"))], "check --cluster --fail-on warn", 1, &[ACCEPTED, A_MONITORS, B])]
#[case::overridden(&[policy("a", "protect", json!({}))], "check --cluster --settings settings.yaml", 1, &["1 problem: 1 boot source has no disk", WARNED])]
#[case::invalid(&[policy("a", "protect", json!({"level": {}}))], "check --cluster", 2, &["error: the settings of ClusterAdmissionPolicy a are invalid for this version of the module [..]", UNKNOWN_SETTING])]
#[case::not_evaluated(&[selecting(&json!({"objectSelector": {"matchLabels": {"a": "b"}}, "matchConditions": [{"name": "never", "expression": "false"}]}))], "check --cluster", 1, &["note: ClusterAdmissionPolicy a: not evaluated: objectSelector, matchConditions; the cluster may skip this policy for some requests"])]
// The other policy is for another namespace.
#[case::unknown_settings_alone(&[policy("a", "protect", json!({"level": {}})), for_others(&policy("b", "protect", level("warn")))], "check --cluster", 2, &[UNKNOWN_SETTING])]
#[case::fixed(&[policy("a", "protect", level("ignore")), policy("b", "protect", level("warn")), policy("c", "protect", json!({}))], "fix --cluster -o commands", 1, &[A, B, "review needed: in the cluster: [multi-arch-import-disabled] [..]", "note: 1 finding for you to decide: run again with --enable-import, or with --place-on ARCH"])]
#[case::nothing_fixed(&[policy("a", "protect", level("ignore")), policy("b", "monitor", json!({}))], "fix --cluster -o commands", 0, &[A, B_MONITORS, "note: nothing to fix"])]
fn other_command_lines_use_them_too(
    #[case] policies: &[Value],
    #[case] words: &str,
    #[case] code: i32,
    #[case] lines: &[&str],
) {
    let server = ApiServer::start(with_policies(policies));
    run_on(&server, words).exits(code).shows(lines);
}

fn of_another_module() -> Value {
    let module = json!({"/spec/module": "registry://oci.example.com/pod-privileged:v1"});
    edited(
        &policy("hco-architecture-guard", "protect", level("warn")),
        &module,
    )
}

/// Without --images, the settings of a policy that looks up images are used without the look-ups. The images are then
/// unknown, and nothing is reported as unreadable.
#[test]
fn images_are_looked_up_only_on_request() {
    let note = "note: the settings have `images: verify`, but images are not looked up; to look them up like the policy in the cluster, add --images\n";
    let levels = json!({"image-unreadable": "deny"});
    let repair = json!({"image-architectures-mismatch": "from-image"});
    for (settings, is_noted) in [
        (json!({"images": "verify", "levels": levels}), true),
        (
            json!({"images": "verify-all", "levels": levels, "repair": repair}),
            true,
        ),
        // No policy requests look-ups.
        (json!({"images": "ignore"}), false),
    ] {
        let text = settings.to_string();
        let file = written("settings.json", &text);
        let server = ApiServer::start(with_policies(&[policy("a", "protect", settings)]));
        for more in [String::new(), format!("--settings {file}")] {
            let words = format!("check -f accepted-live.yaml --cluster {more}");
            let run = run_on(&server, &words)
                .exits(0)
                .lacks(&["image-unreadable"]);
            let noted = run.stderr.matches(note).count();
            assert_eq!(noted, usize::from(is_noted), "{text}: {run:?}");
            assert_eq!(
                run.stderr.matches("looked up").count(),
                noted,
                "{text}: {run:?}"
            );
            assert!(!run.stderr.contains("image-unreadable"), "{text}: {run:?}");
        }
    }
}

/// A policy that denies the object. The cluster evaluates it for the requests that these fields select.
fn selecting(fields: &Value) -> Value {
    let mut policy = policy("a", "protect", json!({}));
    let spec = policy["spec"].as_object_mut().unwrap();
    spec.extend(fields.as_object().unwrap().clone());
    policy
}

/// A policy for the objects of another namespace.
fn for_others(policy: &Value) -> Value {
    let selector = json!({"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["other"]}]});
    edited(policy, &json!({"/spec/namespaceSelector": selector}))
}

/// If the cluster does not evaluate a policy for the object, its verdict does not count: the other policy accepts it.
#[rstest]
#[case::namespace(for_others(&selecting(&json!({}))), "check -f new.yaml --cluster", Some("its namespaceSelector does not match the namespace `kubevirt-hyperconverged`"))]
#[case::not_evaluated(selecting(&json!({"namespaceSelector": {"matchExpressions": [{"key": "virtual", "operator": "DoesNotExist"}]}})), "check --cluster", None)]
#[case::resource(selecting(&json!({"rules": [{"resources": ["virtualmachines"]}]})), "check -f new.yaml --cluster", Some("its rules do not include hyperconvergeds"))]
#[case::covered(selecting(&json!({"rules": [{"resources": ["virtualmachines"]}, {"resources": ["*"]}]})), "check -f new.yaml --cluster", None)]
fn a_policy_that_does_not_apply_does_not_decide(
    #[case] selected: Value,
    #[case] words: &str,
    #[case] why: Option<&str>,
) {
    let policies = [selected, policy("b", "protect", level("ignore"))];
    let server = ApiServer::start(with_policies(&policies));
    let new = copy(
        "denied.yaml",
        &[("  name: kubevirt-hyperconverged", "  name: other")],
        &[],
    );
    let run = run_on(&server, &words.replace("new.yaml", &new));
    let run = run.exits(i32::from(why.is_none()));
    let used = "note: using the settings of ClusterAdmissionPolicy a ";
    assert_eq!(run.stderr.contains(used), why.is_none(), "{run:?}");
    if let Some(why) = why {
        run.notes(&format!(
            "note: ClusterAdmissionPolicy a is ignored: {why}\n"
        ));
    }
}

/// If all policies are in monitor mode, every output says that the cluster would not deny the object.
#[rstest]
#[case::github("::warning ", "::error ", true)]
#[case::gitlab("\"severity\": \"minor\"", "\"critical\"", true)]
#[case::sarif(
    "\"level\": \"warning\",\n          \"locat",
    "\"level\": \"error\",\n          \"locat",
    true
)]
#[case::junit(
    "1 problem; the cluster would report this, but not deny it",
    "never",
    true
)]
#[case::markdown(
    "### ⚠ hco-preflight check: reported, not denied\n",
    "check: denied",
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
        let new = copy(
            "denied.yaml",
            &[("  name: kubevirt-hyperconverged", "  name: new")],
            &[],
        );
        let words = format!("check -f {new} --cluster -o {format}");
        let text = run_on(&server, &words).exits(1).stdout;
        let is_said = text.contains(sentence);
        assert_eq!(is_said, has_sentence && is_monitor, "{text}");
        if is_monitor {
            assert!(text.contains(wanted) && !text.contains(unwanted), "{text}");
        } else if unwanted != "never" {
            assert!(text.contains(unwanted), "{text}");
        }
    }
}

/// A manifest must not choose the path of a request.
#[test]
fn a_namespace_that_is_no_name_is_not_asked_for() {
    let server = ApiServer::start(with_policies(&[]));
    let own = "namespace: kubevirt-hyperconverged";
    let wrong = [(own, "namespace: '../../../../api/v1/secrets?x=#'")];
    let path = copy("denied.yaml", &wrong, &[]);
    run_on(&server, &format!("check -f {path} --cluster")).exits(1);
    let asked = server.asked();
    assert!(!asked.iter().any(|it| it.contains("secrets")), "{asked:?}");
}

/// An `AdmissionPolicy` applies to the objects of its namespace.
#[test]
fn a_policy_of_the_namespace_counts() {
    let elsewhere = NAMESPACED.replace("kubevirt-hyperconverged", "elsewhere");
    let lists = [
        list(NAMESPACED, &[policy("own", "protect", level("warn"))]),
        list(&elsewhere, &[]),
    ];
    let server = ApiServer::start([lists.to_vec(), with_policies(&[])].concat());
    run_on(&server, "check --cluster").exits(1).shows(&[
        ACCEPTED,
        "note: using the settings of AdmissionPolicy kubevirt-hyperconverged/own (mode protect)",
    ]);
    let mut asked = server.asked();
    asked.retain(|it| it.contains("policies.kubewarden.io"));
    let wanted = ["/apis/policies.kubewarden.io", CLUSTER_WIDE, NAMESPACED];
    assert_eq!(asked.len(), wanted.len());
    for (asked, path) in asked.iter().zip(wanted) {
        assert_eq!(asked.split('?').next(), Some(&*format!("GET {path}")));
    }
    // A file without a namespace gets the namespace of -n, where there is no such policy.
    let words = "check -f old.yaml --cluster -n elsewhere";
    run_on(&server, words).exits(1).shows(&[
        "✘ deny  multi-arch-import-disabled",
        "note: old.yaml:2: checked as a new object: the cluster has no HyperConverged elsewhere/kubevirt-hyperconverged yet",
        &NO_POLICY.replace("kubevirt-hyperconverged", "elsewhere"),
    ]);
}

#[test]
fn without_permission_to_list_policies_the_defaults_are_used() {
    let message = "clusteradmissionpolicies.policies.kubewarden.io is forbidden";
    let [all, own] = [CLUSTER_WIDE, NAMESPACED].map(|path| refused(path, 403, message));
    let server = ApiServer::start([vec![all.clone(), own], with_policies(&[])].concat());
    run_on(&server, "check --cluster").exits(1).shows(&[
        DENIED,
        "note: policies are ignored: you are not allowed to list clusteradmissionpolicies.policies.kubewarden.io: [..]",
        "note: policies are ignored: you are not allowed to list admissionpolicies.policies.kubewarden.io: [..]",
        NO_POLICY,
    ]);
    let json = run_on(&server, "check -f live.yaml --cluster -o json").json();
    assert_eq!(json["objects"][0]["policiesUnread"], true, "{json}");
    // The user may list the policies of the namespace.
    let server = ApiServer::start([vec![all], with_policies(&[])].concat());
    run_on(&server, "check --cluster").notes(NO_POLICY);
}

/// If the API server cannot answer, the cluster must not appear to have no policies.
#[test]
fn policies_that_cannot_be_read_are_an_error() {
    let failed = refused(CLUSTER_WIDE, 500, "etcdserver: leader changed");
    let server = ApiServer::start([vec![failed], with_policies(&[])].concat());
    let error = "error: the API server returned 500 for list clusteradmissionpolicies.policies.kubewarden.io: etcdserver: leader changed\n";
    run_on(&server, "check --cluster").exits(2).notes(error);
}
