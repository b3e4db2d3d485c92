//! The question about the grant, before the nodes are asked for: only a clear no is an answer.

use std::cell::RefCell;

use engine::{Cluster, ServiceAccount};
use serde_json::json;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// A cluster that says the same to every question, and keeps the questions.
struct Says<'a> {
    status: Option<&'a str>,
    asked: RefCell<Vec<String>>,
}

impl Cluster for Says<'_> {
    fn nodes(&self) -> Result<Vec<u8>, String> {
        self.asked.borrow_mut().push("nodes".to_owned());
        Ok(br#"{"items":[]}"#.to_vec())
    }

    fn may(&self, account: &ServiceAccount, verb: &str) -> Option<Vec<u8>> {
        let question = format!("{}/{} {verb}", account.namespace, account.name);
        self.asked.borrow_mut().push(question);
        self.status.map(|status| status.as_bytes().to_vec())
    }
}

fn asked(status: Option<&str>) -> Vec<String> {
    let cluster = Says {
        status,
        asked: RefCell::default(),
    };
    let payload = json!({"settings": {"serviceAccount": "kw/ps"}, "request": {
        "kind": {"group": "hco.kubevirt.io", "version": "v1beta1", "kind": "HyperConverged"},
        "operation": "CREATE", "object": {"metadata": {"name": "x"}},
    }});
    let report = engine::judge(payload.to_string().as_bytes(), &cluster);
    let denied = report
        .findings
        .iter()
        .any(|finding| finding.rule == "nodes-unreadable");
    let mut asked = cluster.asked.into_inner();
    if denied {
        asked.push("denied".to_owned());
    }
    asked
}

#[test]
fn a_clear_no_is_told_and_the_nodes_are_not_asked_for() {
    assert_eq!(
        asked(Some(r#"{"allowed":false,"reason":"RBAC"}"#)),
        ["kw/ps list", "denied"]
    );
}

#[test]
fn any_other_answer_is_passed_over() {
    let yes = ["kw/ps list", "kw/ps watch", "nodes"];
    for status in [
        None,
        Some(""),
        Some("null"),
        Some("{}"),
        Some("[false]"),
        Some(r#"{"allowed":null}"#),
        Some(r#"{"allowed":"false"}"#),
        Some(r#"{"allowed":true}"#),
    ] {
        assert_eq!(asked(status), yes, "{status:?}");
    }
}
