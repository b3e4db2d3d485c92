//! No request may cause a trap, a guest error, or an answer that depends on the previous request.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use e2e_tests::Verdict;
use policy_host::{HostCalls, HostError, Options, Policy, failing};
use rstest::rstest;
use serde_json::{Value, json};

use crate::{POLICY, nodes, payload};

fn validate(payload: &[u8], host: Arc<dyn HostCalls>) -> Verdict {
    answer(&POLICY, payload, host).unwrap()
}

fn answer(policy: &Policy, payload: &[u8], host: Arc<dyn HostCalls>) -> Result<Verdict, HostError> {
    policy.decoded("validate", payload, host)
}

#[test]
fn a_payload_that_is_cut_off_anywhere_is_refused() {
    let whole = payload(&json!({"dataImportCronTemplates": [{"metadata": {"name": "a"}}]}));
    for end in 0..whole.len() {
        let verdict = validate(&whole[..end], nodes());
        let refused = (verdict.accepted, verdict.code);
        assert_eq!(refused, (false, Some(400)), "cut at {end}");
    }
}

#[rstest]
#[case::nothing_before(None)]
#[case::account_given(Some("kubewarden/policy-server"))]
fn every_host_call_may_fail(#[case] account: Option<&str>) {
    let mut whole: Value = serde_json::from_slice(&payload(&json!({}))).unwrap();
    if let Some(account) = account {
        whole["settings"]["serviceAccount"] = json!(account);
    }
    let whole = whole.to_string().into_bytes();
    for text in [
        "no route to host",
        "",
        "\u{0}\u{1b}[31m\nred",
        &"x".repeat(1 << 20),
    ] {
        let verdict = validate(&whole, failing(text));
        assert_eq!((verdict.accepted, verdict.code), (false, Some(500)));
        let message = verdict.message.unwrap();
        assert!(message.contains("[nodes-unreadable]"), "{message}");
        assert!(message.len() <= 4096);
    }
}

#[test]
fn a_list_nested_without_end_is_reported() {
    let list = format!(r#"{{"items":[{{"metadata":{}"#, "[".repeat(1_000_000));
    let host = move |_: &str, _: &str, _: &[u8]| Ok(list.clone().into_bytes());
    let verdict = validate(&payload(&json!({})), Arc::new(host));
    assert!(!verdict.accepted);
}

#[rstest]
#[case::objects("{\"a\":", "}", 60)]
#[case::many_objects("{\"a\":", "}", 1_000)]
#[case::arrays("[", "]", 60)]
#[case::many_arrays("[", "]", 1_000)]
#[case::a_hundred_thousand_arrays("[", "]", 100_000)]
#[case::a_million_arrays("[", "]", 1_000_000)]
fn nesting_ends_in_a_verdict(#[case] open: &str, #[case] close: &str, #[case] depth: usize) {
    let mut deep = open.repeat(depth);
    let _ = write!(deep, "null{}", close.repeat(depth));
    // The places: a field that is not evaluated, a placement, a template, and the request itself.
    let places = [
        r#"{"metadata":{},"spec":{"infra":DEEP}}"#,
        r#"{"metadata":{"labels":DEEP},"spec":{}}"#,
        r#"{"metadata":{},"spec":{"workloads":{"nodePlacement":{"affinity":DEEP}}}}"#,
        r#"{"metadata":{},"spec":{"dataImportCronTemplates":[{"metadata":{"name":"a"},"spec":DEEP}]}}"#,
        r#"{"metadata":{},"spec":{"dataImportCronTemplates":DEEP}}"#,
    ];
    for place in places {
        let object = place.replace("DEEP", &deep);
        let whole = format!(
            r#"{{"request":{{"kind":{{"group":"hco.kubevirt.io","version":"v1beta1","kind":"HyperConverged"}},"operation":"CREATE","object":{object}}},"settings":{{}}}}"#
        );
        let verdict = validate(whole.as_bytes(), nodes());
        assert_eq!(verdict.accepted, verdict.message.is_none(), "{place}");
    }
    validate(deep.as_bytes(), nodes());
    let settings = POLICY.validate_settings(deep.as_bytes());
    assert!(!settings.unwrap().valid);
}

/// A waPC module that never answers, or never starts.
fn endless(start: &str, call: &str) -> String {
    format!(
        r#"(module
            (memory (export "memory") 1)
            (func (export "wapc_init") {start})
            (func (export "__guest_call") (param i32 i32) (result i32) {call} i32.const 0))"#
    )
}

/// Returns an empty answer to `once`, whose name is one letter shorter than the operation that loops.
const LOOPS_ON_LONG_NAMES: &str = "(if (i32.gt_u (local.get 0) (i32.const 4)) (then (loop br 0)))";

fn short_deadline() -> Options {
    Options {
        deadline: Duration::from_millis(50),
        ..crate::options()
    }
}

const INTERRUPTED: &str = "the module was interrupted because it ran for more than 50ms";

/// The error of calling an operation of a module.
fn error_of(policy: &Policy, operation: &str) -> String {
    policy
        .call(operation, b"", nodes())
        .unwrap_err()
        .to_string()
}

#[test]
fn a_guest_that_runs_for_ever_is_interrupted_and_the_policy_used_again() {
    let module = endless("", LOOPS_ON_LONG_NAMES);
    let policy = Policy::from_bytes(module.as_bytes(), &short_deadline()).unwrap();
    for _ in 0..3 {
        assert_eq!(error_of(&policy, "forever"), INTERRUPTED);
        let error = error_of(&policy, "once");
        assert!(
            error.starts_with("the module failed in `once`: "),
            "{error}"
        );
    }
}

#[rstest]
#[case::never_started(&endless("(loop br 0)", ""), INTERRUPTED)]
#[case::trapped(&endless("", "unreachable"), "the module failed in `once`: ")]
fn a_module_that_does_not_answer_is_reported(#[case] module: &str, #[case] start: &str) {
    let policy = Policy::from_bytes(module.as_bytes(), &short_deadline()).unwrap();
    let error = error_of(&policy, "once");
    assert!(error.starts_with(start), "{error}");
}

#[test]
fn a_file_that_is_no_module_is_reported() {
    let error = Policy::from_bytes(b"no module", &crate::options());
    let error = error.err().unwrap().to_string();
    assert!(
        error.starts_with("the module cannot be compiled: "),
        "{error}"
    );
}
