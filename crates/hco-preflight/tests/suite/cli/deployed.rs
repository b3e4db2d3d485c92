//! The settings of the policies in a cluster, for `--cluster`.

use rstest::{Context, rstest};
use serde_json::{Value, json};

use super::objects::{answer, copy, edited, refused};
use super::{Run, run_on, written};
use e2e_tests::{ApiServer, recorded};

const POLICIES: &str = "/apis/policies.kubewarden.io/v1/clusteradmissionpolicies";

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
            "rules": [{"resources": ["hyperconvergeds"]}],
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
        list(POLICIES, policies),
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
const NO_POLICY: &str = "note: using the default settings: no ClusterAdmissionPolicy with the module hco-architecture-guard was found for hyperconvergeds; use --settings to specify other settings";
const UNKNOWN_SETTING: &str = "- settings: unknown setting `level`; did you mean `levels`?; [..]";

/// The settings of one policy decide: one that protects, and of several, the first one.
#[rstest]
#[case::protect(&[policy("a", "protect", level("warn"))], &[ACCEPTED, WARNED, A])]
#[case::monitor(&[policy("a", "monitor", json!({}))], &[DENIED, A_MONITORS])]
#[case::protect_first(&[policy("a", "monitor", json!({})), policy("b", "protect", level("warn"))], &[ACCEPTED, WARNED, B])]
#[case::first(&[policy("a", "protect", json!(null)), policy("b", "protect", level("warn"))], &[DENIED, A])]
// The component `repair` adds a policy that only repairs.
#[case::validating_first(&[edited(&policy("a", "protect", json!({})), &json!({"/spec/mutating": true})), policy("b", "protect", level("warn"))], &[ACCEPTED, B])]
#[case::none(&[], &[DENIED, NO_POLICY])]
// A policy of another module, or for other resources, does not matter, whatever its name is.
#[case::another_module(&[of_another_module()], &[DENIED, NO_POLICY])]
#[case::other_resources(&[edited(&policy("a", "protect", level("warn")), &json!({"/spec/rules": [{"resources": ["virtualmachines"]}]}))], &[DENIED, NO_POLICY])]
#[case::another_group(&[edited(&policy("a", "protect", level("warn")), &json!({"/spec/rules": [{"apiGroups": ["kubevirt.io"], "resources": ["*"]}]}))], &[DENIED, NO_POLICY])]
#[case::all_resources(&[edited(&policy("a", "protect", level("warn")), &json!({"/spec/rules": [{"resources": ["virtualmachines"]}, {"resources": ["*"]}]}))], &[ACCEPTED, A])]
fn the_policy_of_the_cluster_decides(#[case] policies: &[Value], #[case] lines: &[&str]) {
    check_with(policies).exits(1).shows(lines);
}

#[rstest]
#[case::overridden(&[policy("a", "protect", json!({}))], "check --cluster --settings settings.yaml", 1, &["1 problem: 1 boot source has no disk", WARNED])]
// A policy for another version of the module is named with that version.
#[case::invalid(&[policy("a", "protect", json!({"level": {}}))], "check --cluster", 2, &["error: the settings of ClusterAdmissionPolicy a are invalid for this version of the module (the policy uses registry://mirror.test:5000/kubewarden/hco-architecture-guard:v0.1.0@sha256:0123): [..]", UNKNOWN_SETTING])]
#[case::fixed(&[policy("a", "protect", json!({}))], "fix --cluster -o commands", 1, &[A, "review needed: in the cluster: [multi-arch-import-disabled] [..]", "note: 1 finding for you to decide: run again with --enable-import, or with --place-on ARCH"])]
#[case::nothing_fixed(&[policy("a", "protect", level("ignore"))], "fix --cluster -o commands", 0, &[A, "note: nothing to fix"])]
fn other_command_lines_use_it_too(
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

/// If the policy is in monitor mode, every output says that the cluster would not deny the object.
#[rstest]
#[case::github("::warning ", "::error ", true)]
#[case::gitlab("\"severity\": \"minor\"", "\"critical\"", true)]
#[case::sarif(
    "\"level\": \"warning\",\n          \"locat",
    "\"level\": \"error\",\n          \"locat",
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
        } else {
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

#[test]
fn without_permission_to_list_policies_the_defaults_are_used() {
    let message = "clusteradmissionpolicies.policies.kubewarden.io is forbidden";
    let forbidden = refused(POLICIES, 403, message);
    let server = ApiServer::start([vec![forbidden], with_policies(&[])].concat());
    run_on(&server, "check --cluster").exits(1).shows(&[
        DENIED,
        "note: using the default settings: you are not allowed to list clusteradmissionpolicies.policies.kubewarden.io: [..]",
    ]);
}

/// If the API server cannot answer, the cluster must not appear to have no policies.
#[test]
fn policies_that_cannot_be_read_are_an_error() {
    let failed = refused(POLICIES, 500, "etcdserver: leader changed");
    let server = ApiServer::start([vec![failed], with_policies(&[])].concat());
    let error = "error: the API server returned 500 for list clusteradmissionpolicies.policies.kubewarden.io: etcdserver: leader changed\n";
    run_on(&server, "check --cluster").exits(2).notes(error);
}

/// After a list that the API server does not answer, the others are not requested, but the policies are.
#[test]
fn a_list_without_an_answer_does_not_end_the_check() {
    let path = "/apis/snapshot.storage.k8s.io/v1/volumesnapshots";
    let busy = refused(path, 503, "etcd is starting");
    let answers = with_policies(&[policy("a", "protect", json!({}))]);
    let server = ApiServer::start([vec![busy], answers].concat());
    run_on(&server, "check --cluster")
        .exits(2)
        .prints(&["not read: VolumeSnapshot, VirtualMachine"])
        .shows(&[A]);
}
