//! Sessions: replayed as kwctl replays them, recorded as kwctl records them.

use std::sync::Arc;

use policy_host::{Failing, HostCalls, Record, Replay, Request, Session};
use rstest::rstest;
use serde_json::json;

use crate::{POLICY, nodes, payload};

/// As FACTS has it from kwctl's sources.
const SESSION: &str = r#"
- type: Exchange
  request: |
    !KubernetesListResourceAll
    api_version: v1
    kind: Node
    label_selector: null
    field_selector: null
    field_masks:
    - status.nodeInfo.architecture
  response:
    type: Success
    payload: '{"apiVersion":"v1","kind":"NodeList","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"w1","labels":{"node-role.kubernetes.io/worker":""}},"status":{"nodeInfo":{"architecture":"amd64"}}}]}'
"#;

fn replay(session: &str) -> Arc<Replay> {
    Arc::new(Replay::new(Session::from_text(session).unwrap()).unwrap())
}

#[test]
fn a_session_answers_once_and_in_order() {
    let session = replay(SESSION);
    assert_eq!(session.left(), 1);
    let verdict = POLICY
        .validate(&payload(&json!({})), session.clone())
        .result
        .unwrap();
    assert!(verdict.accepted, "{verdict:?}");
    assert_eq!(session.left(), 0);
    let verdict = POLICY
        .validate(&payload(&json!({})), session)
        .result
        .unwrap();
    assert!(
        verdict
            .message
            .unwrap()
            .contains("the list of recorded responses is empty")
    );
}

#[rstest]
#[case::digest("v1/manifest_digest", "OciManifestDigest")]
#[case::manifest("v1/oci_manifest", "OciManifest")]
#[case::manifest_and_configuration("v1/oci_manifest_config", "OciManifestAndConfig")]
fn answers_about_images_are_replayed(#[case] operation: &str, #[case] tag: &str) {
    let session = replay(&format!(
        "- {{type: Exchange, request: '!{tag} {{image: a/b:1}}', response: {{type: Success, payload: '{{}}'}}}}"
    ));
    assert_eq!(
        session.call("oci", operation, br#""a/b:1""#).unwrap(),
        b"{}"
    );
}

#[test]
fn another_question_than_the_recorded_one_is_reported() {
    let session = replay(&SESSION.replace("    - status.nodeInfo.architecture", "    - spec"));
    let request = br#"{"api_version":"v1","kind":"Node","field_masks":["status"]}"#;
    assert_eq!(
        session
            .call("kubernetes", "list_resources_all", request)
            .unwrap_err(),
        "Callback evaluation failure: Replay error: unexpected request. Was expecting \
         KubernetesListResourceAll { api_version: \"v1\", kind: \"Node\", label_selector: None, \
         field_selector: None, field_masks: Some({\"spec\"}) }, got \
         KubernetesListResourceAll { api_version: \"v1\", kind: \"Node\", label_selector: None, \
         field_selector: None, field_masks: Some({\"status\"}) } instead"
    );
}

#[test]
fn what_was_recorded_can_be_replayed() {
    let mut whole: serde_json::Value = serde_json::from_slice(&payload(&json!({}))).unwrap();
    whole["settings"]["serviceAccount"] = json!("kubewarden/policy-server");
    let whole = whole.to_string().into_bytes();
    let record = Arc::new(Record::new(nodes()));
    let recorded = POLICY
        .call("report", &whole, record.clone())
        .result
        .unwrap();
    let session = record.session();
    assert_eq!(session.exchanges.len(), 3, "list and watch, then the nodes");

    let text = session.to_text().unwrap();
    assert_eq!(Session::from_text(&text).unwrap(), session);
    let again = replay(&text);
    assert_eq!(
        POLICY.call("report", &whole, again.clone()).result.unwrap(),
        recorded
    );
    assert_eq!(again.left(), 0);
}

#[test]
fn an_error_is_recorded_without_the_words_of_the_host() {
    let record = Arc::new(Record::new(Arc::new(Failing::without_cluster())));
    let recorded = POLICY
        .call("report", &payload(&json!({})), record.clone())
        .result
        .unwrap();
    let text = record.session().to_text().unwrap();
    assert!(
        text.contains("message: kube::Client was not initialized properly"),
        "{text}"
    );
    let again = POLICY
        .call("report", &payload(&json!({})), replay(&text))
        .result
        .unwrap();
    assert_eq!(again, recorded);
}

#[test]
fn requests_are_written_with_kwctls_tags() {
    let request = br#"{"subject_access_review":{"user":"u","resource_attributes":{"resource":"nodes","verb":"list"}},"disable_cache":false}"#;
    let request = Request::parse("kubernetes", "can_i", request).unwrap();
    assert_eq!(
        yaml_serde::to_string(&request).unwrap(),
        "!KubernetesCanI
request:
  groups: null
  resource_attributes:
    group: null
    name: null
    namespace: null
    resource: nodes
    subresource: null
    verb: list
    version: null
  user: u
disable_cache: false
"
    );
}

#[test]
fn a_session_that_is_none_is_reported() {
    let error = Session::from_text("a: b").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the session does not have the format that kwctl records"
    );
    let session = Session::from_text(&SESSION.replace("ResourceAll", "Everything")).unwrap();
    let error = Replay::new(session).unwrap_err();
    assert_eq!(
        error.to_string(),
        "request 1 of the session is of an unknown type"
    );
}
