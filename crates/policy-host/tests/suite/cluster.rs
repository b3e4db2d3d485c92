//! A live cluster: the requests, and the errors if it does not answer.

use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use e2e_tests::{ApiServer, recorded};
use policy_host::{Cluster, ClusterError, Connection, Labels};
use rstest::rstest;
use serde_json::{Value, json};

/// Connections to the API server.
trait Connect {
    fn connect(&self) -> Cluster;
    fn connect_as(&self, context: &str) -> Result<Cluster, ClusterError>;
}

impl Connect for ApiServer {
    fn connect(&self) -> Cluster {
        self.connect_as("admin").unwrap()
    }

    fn connect_as(&self, context: &str) -> Result<Cluster, ClusterError> {
        Cluster::connect(&Connection {
            kubeconfig: Some(self.kubeconfig().to_owned()),
            context: Some(context.to_owned()),
            ..Connection::default()
        })
    }
}

/// The recorded answers, except for one request of the administrator.
fn answered(request: &str, answer: Value) -> Vec<Value> {
    let mut first = answer;
    first["as"] = json!("admin");
    first["request"] = json!(request);
    let mut answers = recorded();
    answers.insert(0, first);
    answers
}

/// The error of listing the nodes with a time limit.
fn nodes_within(limit: Duration, server: &ApiServer) -> String {
    let cluster = Cluster::connect(&Connection {
        kubeconfig: Some(server.kubeconfig().to_owned()),
        request_timeout: Some(limit),
        ..Connection::default()
    });
    let nodes = cluster.unwrap().nodes(&Labels::All);
    nodes.unwrap_err().to_string()
}

/// The client repeats a request to a busy server.
#[rstest]
#[case(429)]
#[case(503)]
fn a_busy_server_is_asked_again(#[case] status: u16) {
    let busy =
        json!({"status": status, "retry_after": 0, "times": 2, "body": {"message": "overloaded"}});
    let server = ApiServer::start(answered("GET /api/v1/nodes*", busy));
    assert_eq!(server.connect().nodes(&Labels::All).unwrap().len(), 3);
    assert_eq!(server.asked().len(), 4, "{:?}", server.asked());
}

#[test]
fn a_server_that_stays_busy_is_an_error() {
    let busy = json!({"status": 429, "retry_after": 3600, "body": {"message": "overloaded"}});
    let server = ApiServer::start(answered("GET /api/v1/nodes*", busy));
    let error = server.connect().nodes(&Labels::All).unwrap_err();
    assert!(error.is_transient());
    let end = "is busy: it returned 429 to list nodes: overloaded; try again later";
    assert!(error.to_string().ends_with(end), "{error}");
    assert_eq!(server.asked().len(), 4);
}

/// A server that accepts the connection and never answers.
#[test]
fn a_silent_server_is_not_waited_for() {
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let server = ApiServer::at(silent.local_addr().unwrap());
    let error = nodes_within(Duration::from_millis(20), &server);
    let expected = "did not complete the request to list nodes within 20ms; ";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn nodes_come_in_pages_and_are_reduced() {
    let server = ApiServer::start(recorded());
    let nodes = server
        .connect()
        .nodes(&Labels::Only(std::collections::BTreeSet::new()))
        .unwrap();
    let nodes = nodes.to_objects();
    assert_eq!(nodes.len(), 3);
    let labels = json!({"node-role.kubernetes.io/worker": ""});
    assert_eq!(nodes[0]["metadata"], json!({"name": "a", "labels": labels}));
    assert_eq!(
        nodes[2]["status"]["nodeInfo"],
        json!({"architecture": "arm64"})
    );
    let asked = server.asked();
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert_eq!(asked[0], "GET /api/v1/nodes?&limit=500");
    assert!(asked[1].contains("limit=500&continue="), "{asked:?}");
}

/// The recorded API group, with other versions.
fn group(preferred: &str, versions: &[&str]) -> Vec<Value> {
    let versions: Value = versions
        .iter()
        .map(|version| json!({"version": version}))
        .collect();
    let body = json!({"preferredVersion": {"version": preferred}, "versions": versions});
    let group =
        json!({"as": "admin", "request": "GET /apis/hco.kubevirt.io", "status": 200, "body": body});
    let mut answers = recorded();
    answers.insert(0, group);
    answers
}

#[rstest]
#[case::the_old_one("v1beta1", &["v1beta1", "v1"], "GET /apis/hco.kubevirt.io/v1beta1/hyperconvergeds?&limit=500")]
#[case::one_that_is_not_read("v2", &["v2", "v1"], "GET /apis/hco.kubevirt.io/v1/hyperconvergeds?&limit=500")]
fn objects_are_asked_for_in_a_version_that_is_read(
    #[case] preferred: &str,
    #[case] versions: &[&str],
    #[case] request: &str,
) {
    let server = ApiServer::start(group(preferred, versions));
    // The list in v1beta1 was not recorded. Only the request matters.
    let _ = server.connect().hyperconvergeds(None);
    assert_eq!(server.asked()[1], request);
}

#[rstest]
#[case::no_operator(Vec::new())]
#[case::no_version_that_is_read(group("v2", &["v2"]))]
fn a_cluster_without_the_operator_is_reported(#[case] answers: Vec<Value>) {
    let server = ApiServer::start(answers);
    assert_eq!(
        server
            .connect()
            .hyperconvergeds(None)
            .unwrap_err()
            .to_string(),
        "the cluster does not serve hyperconvergeds.hco.kubevirt.io in version v1 or v1beta1; check that the HyperConverged Cluster Operator is installed"
    );
}

#[test]
fn an_object_is_got_by_version_namespace_and_name() {
    let server = ApiServer::start(recorded());
    let cluster = server.connect();
    let get = |version: &str, namespace: &str, name: &str| {
        cluster.hyperconverged(version, namespace, name).unwrap()
    };
    let name = "kubevirt-hyperconverged";
    for version in ["hco.kubevirt.io/v1", "hco.kubevirt.io/v1beta1"] {
        let object = get(version, name, name).unwrap();
        assert_eq!(object["apiVersion"], version);
    }
    assert_eq!(get("hco.kubevirt.io/v1beta1", name, "other"), None);
    let before = server.asked().len();
    for (version, namespace, name) in [
        ("hco.kubevirt.io/v1beta1", "a/b", name),
        ("hco.kubevirt.io/v1beta1", name, ".."),
        ("hco.kubevirt.io/v1beta1", name, ""),
    ] {
        assert_eq!(get(version, namespace, name), None);
    }
    assert_eq!(server.asked().len(), before, "no path is made of these");
    let error = cluster.hyperconverged("hco.kubevirt.io/v9", name, name);
    assert_eq!(
        error.unwrap_err().to_string(),
        "the cluster does not serve hco.kubevirt.io/v9; it serves v1, v1beta1"
    );
}

fn all(cluster: &Cluster) -> String {
    cluster.nodes(&Labels::All).unwrap_err().to_string()
}

#[test]
fn what_is_forbidden_names_the_grant() {
    let server = ApiServer::start(recorded());
    let limited = server.connect_as("limited").unwrap();
    assert_eq!(
        all(&limited),
        "you are not allowed to list nodes: nodes is forbidden: User \"limited\" cannot list resource \"nodes\" in API group \"\" at the cluster scope; request a role with the verb `list` on `nodes`, or use another account"
    );
}

#[test]
fn credentials_that_are_not_taken_are_reported() {
    let server = ApiServer::start(recorded());
    let cluster = server.connect_as("wrong").unwrap();
    assert_eq!(
        all(&cluster),
        format!(
            "the API server {} rejects the credentials (status 401); log in again, or choose another context with --context",
            cluster.server()
        )
    );
}

#[test]
fn a_server_that_is_not_there_is_reported() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let sentence = all(&ApiServer::at(address).connect());
    assert!(
        sentence.starts_with(&format!(
            "the API server https://{address}/ cannot be reached: "
        )),
        "{sentence}"
    );
    assert!(sentence.contains("onnection refused"), "{sentence}");
}

/// A proxy can answer like this. A list without items must not be read as an empty cluster.
#[rstest]
#[case::no_items(200, r#"{"error": "session expired"}"#, "it has no items")]
#[case::not_json(200, "{", "it is not valid JSON")]
fn an_answer_of_a_proxy_is_reported(#[case] status: u16, #[case] body: &str, #[case] why: &str) {
    let answer =
        json!({"as": "admin", "request": "GET /api/v1/nodes", "status": status, "body": body});
    let server = ApiServer::start(vec![answer]);
    assert_eq!(
        all(&server.connect()),
        format!(
            "the response of https://{}/ to list nodes does not come from an API server: {why}; check the address, and look for a proxy or a login page in between",
            server.address()
        )
    );
}

/// A load balancer whose API server restarts: `status --wait` tries again.
#[test]
fn an_error_of_a_proxy_is_transient() {
    let page = json!({"status": 502, "body": "<html>Bad gateway</html>"});
    let server = ApiServer::start(answered("GET /api/v1/nodes*", page));
    let error = server.connect().nodes(&Labels::All).unwrap_err();
    assert!(error.is_transient(), "{error}");
}

/// A kubeconfig can contain tokens.
#[test]
fn a_broken_kubeconfig_is_not_quoted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kubeconfig");
    std::fs::write(&path, "users: [{name: a, user: {token: secret, exec: 1}}]").unwrap();
    let cluster = Cluster::connect(&Connection {
        kubeconfig: Some(path.clone()),
        ..Connection::default()
    });
    let error = cluster.unwrap_err().to_string();
    let start = format!(
        "the kubeconfig `{}` cannot be read: line 1 column ",
        path.display()
    );
    assert!(
        error.starts_with(&start) && !error.contains("secret"),
        "{error}"
    );
}
