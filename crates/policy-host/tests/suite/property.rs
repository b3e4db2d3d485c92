//! What holds of every session. The fuzzer calls it with any bytes.

use std::sync::Arc;

use policy_host::{HostCalls, Record, Replay, Request, Response, Session};
use serde_json::{Value, json};

/// A session that can be read is written as it was, and its answers are replayed in order.
pub(crate) fn session(input: &[u8]) {
    let Ok(session) = str::from_utf8(input)
        .map_err(drop)
        .and_then(|text| Session::from_text(text).map_err(drop))
    else {
        return;
    };
    let text = session.to_text().expect("a session is YAML");
    assert_eq!(
        Session::from_text(&text).expect("it was written"),
        session,
        "{text}"
    );
    let exchanges = session.exchanges.clone();
    let Ok(replay) = Replay::new(session) else {
        return;
    };
    assert_eq!(replay.left(), exchanges.len());
    let record = Record::new(Arc::new(replay));
    for exchange in &exchanges {
        let request: Request = yaml_serde::from_str(&exchange.request).expect("it was read before");
        let (namespace, operation, payload) = call(&request);
        let answer = record.call(namespace, operation, payload.to_string().as_bytes());
        match &exchange.response {
            Response::Success { payload } => assert_eq!(answer.as_deref(), Ok(payload.as_bytes())),
            Response::Error { message } => {
                assert!(answer.expect_err("an error").ends_with(message));
            }
        }
    }
    let request = |text: &str| yaml_serde::from_str::<Request>(text).expect("a request");
    let recorded = record.session().exchanges;
    assert_eq!(recorded.len(), exchanges.len());
    for (one, other) in recorded.iter().zip(&exchanges) {
        assert_eq!(one.response, other.response);
        assert_eq!(request(&one.request), request(&other.request));
    }
}

/// The host call of a request.
fn call(request: &Request) -> (&'static str, &'static str, Value) {
    let fields = |request: &Request| {
        let tagged = serde_json::to_value(request).expect("JSON");
        let fields = tagged.as_object().and_then(|tagged| tagged.values().next());
        fields.cloned().unwrap_or_default()
    };
    match request {
        Request::OciManifestDigest { image } => ("oci", "v1/manifest_digest", json!(image)),
        Request::OciManifest { image } => ("oci", "v1/oci_manifest", json!(image)),
        Request::OciManifestAndConfig { image } => ("oci", "v1/oci_manifest_config", json!(image)),
        Request::DNSLookupHost { host } => ("net", "v1/dns_lookup_host", json!(host)),
        Request::KubernetesCanI {
            request,
            disable_cache,
        } => (
            "kubernetes",
            "can_i",
            json!({"subject_access_review": request, "disable_cache": disable_cache}),
        ),
        Request::KubernetesListResourceNamespace { .. } => {
            ("kubernetes", "list_resources_by_namespace", fields(request))
        }
        Request::KubernetesListResourceAll { .. } => {
            ("kubernetes", "list_resources_all", fields(request))
        }
        Request::KubernetesGetResource { .. } => ("kubernetes", "get_resource", fields(request)),
    }
}
