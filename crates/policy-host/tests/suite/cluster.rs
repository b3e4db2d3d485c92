//! A live cluster: the requests, and the errors if it does not answer.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use e2e_tests::{ApiServer, recorded};
use policy_host::{Cluster, ClusterError, Connection, HostCalls, Labels};
use rstest::rstest;
use serde_json::{Value, json};

use crate::{POLICY, payload};

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

fn ask(host: &dyn HostCalls, operation: &str, request: &Value) -> Result<Value, String> {
    host.call("kubernetes", operation, request.to_string().as_bytes())
        .map(|answer| serde_json::from_slice(&answer).expect("JSON"))
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

fn node(name: &str, architecture: &str, more: &Value) -> Value {
    let mut metadata = json!({"name": name, "annotations": {}, "managedFields": [],
                              "labels": {"node-role.kubernetes.io/worker": ""}});
    let fields = metadata.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    json!({"metadata": metadata, "status": {"nodeInfo": {"architecture": architecture}}})
}

#[test]
fn nodes_come_in_pages_and_are_reduced() {
    let server = ApiServer::start(recorded());
    let nodes = server
        .connect()
        .nodes(&Labels::Only(std::collections::BTreeSet::new()))
        .unwrap();
    let list = json!({"api_version": "v1", "kind": "Node", "field_masks": null});
    let node = |name: &str, architecture: &str| {
        let mut node = node(name, architecture, &json!({}));
        // The size and `spec.unschedulable` are kept, other fields of the spec are not.
        node["spec"] = json!({});
        node
    };
    assert_eq!(
        ask(&nodes, "list_resources_all", &list).unwrap()["items"],
        json!([node("a", "amd64"), node("b", "arm64"), node("c", "arm64")])
    );
    let asked = server.asked();
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert_eq!(asked[0], "GET /api/v1/nodes?&limit=500");
    assert!(asked[1].contains("limit=500&continue="), "{asked:?}");
}

/// Pages expire after some minutes. Objects that were read before do not count twice.
#[test]
fn a_list_that_expires_is_read_anew_and_at_once() {
    let mut answers = recorded();
    let mut pages = answers.iter_mut().filter(|answer| {
        let request = answer["request"].as_str().unwrap_or_default();
        answer["as"] == "admin"
            && (request == "GET /api/v1/nodes" || request.contains("?continue="))
    });
    let (first, second) = (pages.next().unwrap(), pages.next().unwrap());
    let mut whole = first.clone();
    whole["request"] = json!("GET /api/v1/nodes?");
    whole["body"]["metadata"]["continue"] = json!("");
    let rest = second["body"]["items"].as_array().unwrap().clone();
    whole["body"]["items"].as_array_mut().unwrap().extend(rest);
    second["status"] = json!(410);
    second["body"] = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": 410,
        "message": "The provided continue parameter is too old to display a consistent list result.",
    });
    answers.insert(0, whole);
    let server = ApiServer::start(answers);
    let nodes = server.connect().nodes(&Labels::All).unwrap();
    let list = json!({"api_version": "v1", "kind": "Node"});
    let items = ask(&nodes, "list_resources_all", &list).unwrap()["items"].clone();
    assert_eq!(items.as_array().unwrap().len(), 3);
    assert_eq!(server.asked().len(), 3, "{:?}", server.asked());
    assert_eq!(server.asked()[2], "GET /api/v1/nodes?");
}

#[test]
fn objects_come_in_the_preferred_version() {
    let server = ApiServer::start(recorded());
    let objects = server.connect().hyperconvergeds(None).unwrap();
    assert_eq!(objects.len(), 1);
    assert_eq!(objects[0]["apiVersion"], "hco.kubevirt.io/v1");
    assert_eq!(objects[0]["kind"], "HyperConverged");
    assert_eq!(
        objects[0]["metadata"]["namespace"],
        "kubevirt-hyperconverged"
    );
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

#[test]
fn the_context_says_whose_cluster_and_which_namespace() {
    let server = ApiServer::start(recorded());
    let cluster = server.connect();
    assert_eq!(cluster.namespace(), "here");
    assert!(cluster.server().starts_with("http://127.0.0.1:"));
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
            "the API server {} rejects the credentials of the user `wrong` of the context `wrong` (status 401); log in again, or choose another context with --context",
            cluster.server()
        )
    );
}

/// A user who selects another account gets no advice to log in again.
#[test]
fn the_account_that_is_not_taken_is_named() {
    let no = |token: &str| json!({"as": token, "request": "GET /*", "status": 401, "body": "no"});
    let server = ApiServer::start(vec![no(""), no("expired")]);
    let in_context = |kubeconfig: &Path| Connection {
        kubeconfig: Some(kubeconfig.to_owned()),
        context: Some("wrong".to_owned()),
        ..Connection::default()
    };
    let directory = tempfile::tempdir().unwrap();
    let without_user = directory.path().join("kubeconfig");
    let text = std::fs::read_to_string(server.kubeconfig()).unwrap();
    let mut config: Value = serde_json::from_str(&text).unwrap();
    for context in config["contexts"].as_array_mut().unwrap() {
        context["context"].as_object_mut().unwrap().remove("user");
    }
    std::fs::write(&without_user, config.to_string()).unwrap();
    let with_token = Connection {
        token: Some("expired".to_owned()),
        ..in_context(server.kubeconfig())
    };
    for (connection, end) in [
        (
            in_context(&without_user),
            "rejects requests without credentials (status 401); the context `wrong` has no user: log in, or choose another context with --context",
        ),
        (
            with_token,
            "rejects the token of --token (status 401); get a new token",
        ),
    ] {
        let error = all(&Cluster::connect(&connection).unwrap());
        assert!(error.ends_with(end), "{error}");
    }
}

#[test]
fn a_server_that_is_not_there_is_reported() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let sentence = all(&ApiServer::at(address).connect());
    assert!(
        sentence.starts_with(&format!(
            "the API server http://{address}/ cannot be reached: "
        )),
        "{sentence}"
    );
    assert!(sentence.contains("onnection refused"), "{sentence}");
}

#[test]
fn another_status_is_reported() {
    let server = ApiServer::start(Vec::new());
    assert_eq!(
        all(&server.connect()),
        "the API server returned 404 for list nodes: 404 page not found"
    );
}

#[test]
fn an_invalid_answer_is_reported() {
    let answer = json!({"as": "admin", "request": "GET /api/v1/nodes", "status": 200, "body": "{"});
    let server = ApiServer::start(vec![answer]);
    assert_eq!(
        all(&server.connect()),
        "the response of the API server to list nodes cannot be read: look for a proxy or a login page in between"
    );
}

/// A proxy can answer like this. A list without items must not be read as an empty cluster.
#[test]
fn an_answer_that_is_no_list_is_reported() {
    let body = json!({"error": "session expired"});
    let answer =
        json!({"as": "admin", "request": "GET /api/v1/nodes", "status": 200, "body": body});
    let server = ApiServer::start(vec![answer]);
    assert_eq!(
        all(&server.connect()),
        format!(
            "the response of http://{}/ to list nodes does not come from an API server: it has no items; check the address, and look for a proxy or a login page in between",
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

fn of_kubeconfig(path: &Path) -> Result<Cluster, ClusterError> {
    Cluster::connect(&Connection {
        kubeconfig: Some(path.to_owned()),
        ..Connection::default()
    })
}

#[rstest]
#[case::no_context(
    "{apiVersion: v1, kind: Config}",
    "the kubeconfig has no current context; choose one with `kubectl config use-context`"
)]
#[case::empty_context(
    "{apiVersion: v1, kind: Config, current-context: ''}",
    "the kubeconfig has no current context; choose one with `kubectl config use-context`"
)]
#[case::broken(
    "users: [{name: a, user: {token: secret, exec: 1}}]",
    "the kubeconfig `PATH` cannot be read: line 1 column "
)]
fn a_wrong_kubeconfig_is_reported(#[case] text: &str, #[case] start: &str) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kubeconfig");
    std::fs::write(&path, text).unwrap();
    let error = of_kubeconfig(&path).unwrap_err().to_string();
    let start = start.replace("PATH", &path.display().to_string());
    assert!(error.starts_with(&start), "{error}");
    assert!(!error.contains("secret"), "{error}");
}

#[test]
fn a_kubeconfig_that_is_not_there_is_reported() {
    let error = of_kubeconfig("/nowhere/kubeconfig".as_ref());
    assert_eq!(
        error.unwrap_err().to_string(),
        "no kubeconfig was found: `/nowhere/kubeconfig` does not exist; set KUBECONFIG or log in, and check with `kubectl get nodes`"
    );
}

#[test]
fn a_context_that_is_not_there_is_reported() {
    let server = ApiServer::start(Vec::new());
    assert_eq!(
        server.connect_as("other").unwrap_err().to_string(),
        "the kubeconfig has no context `other`; to list its contexts, run `kubectl config get-contexts`"
    );
}

#[test]
fn a_guest_is_answered_as_by_policy_server() {
    let server = ApiServer::start(recorded());
    let cluster = server.connect();
    let list = json!({"api_version": "v1", "kind": "Node", "label_selector": "zone=za",
                      "field_masks": ["status.nodeInfo.architecture"]});
    let list = ask(&cluster, "list_resources_all", &list).unwrap();
    assert_eq!(list["kind"], "NodeList");
    let more = &list["items"][0]["metadata"];
    assert_eq!(more["labels"]["zone"], "za");
    assert_eq!(list["items"], json!([node("a", "amd64", more)]));

    let maps = json!({"api_version": "v1", "kind": "ConfigMap", "namespace": "default"});
    assert_eq!(
        ask(&cluster, "list_resources_by_namespace", &maps).unwrap(),
        json!({"apiVersion": "v1", "kind": "ConfigMapList", "metadata": {}, "items": []})
    );

    let name = "kubevirt-hyperconverged";
    let get = json!({"api_version": "hco.kubevirt.io/v1", "kind": "HyperConverged", "name": name,
                     "namespace": name, "disable_cache": true, "field_masks": ["spec.infra"]});
    let object = ask(&cluster, "get_resource", &get).unwrap();
    assert_eq!(object["metadata"]["name"], name);
    assert_eq!(object["spec"], json!({}));

    let node = json!({"api_version": "v1", "kind": "Node", "name": "b", "disable_cache": false});
    let node = ask(&cluster, "get_resource", &node).unwrap();
    assert_eq!(node["status"]["nodeInfo"]["architecture"], "arm64");
}

#[test]
fn a_guest_may_ask_about_access() {
    let server = ApiServer::start(recorded());
    let request = json!({
        "subject_access_review": {
            "user": "system:serviceaccount:kubewarden:policy-server",
            "groups": ["system:serviceaccounts", "system:serviceaccounts:kubewarden", "system:authenticated"],
            "resource_attributes": {"group": "", "resource": "nodes", "verb": "list"},
        },
        "disable_cache": false,
    });
    assert_eq!(
        ask(&server.connect(), "can_i", &request).unwrap(),
        json!({"allowed": false})
    );
}

#[rstest]
#[case::a_kind("list_resources_all", json!({"api_version": "v1", "kind": "Pod"}), "Cannot find resource v1/Pod")]
#[case::a_group("list_resources_all", json!({"api_version": "no.such.group/v1", "kind": "Pod"}), "Cannot find resource no.such.group/v1/Pod")]
#[case::no_group("list_resources_all", json!({"api_version": "v2", "kind": "Pod"}), "cannot determine group and version for v2")]
#[case::a_path("list_resources_all", json!({"api_version": "a/../v1", "kind": "Pod"}), "cannot determine group and version for a/../v1")]
#[case::a_namespace("list_resources_by_namespace", json!({"api_version": "v1", "kind": "Node", "namespace": "a"}), "resource v1/Node is cluster wide. Cannot search for it inside of a namespace")]
#[case::an_odd_namespace("list_resources_by_namespace", json!({"api_version": "v1", "kind": "ConfigMap", "namespace": "a/b"}), "\"a/b\" is not a valid name of a namespace")]
#[case::no_namespace("get_resource", json!({"api_version": "v1", "kind": "ConfigMap", "name": "a", "disable_cache": false}), "Resource v1/ConfigMap is namespaced, but no namespace was provided")]
#[case::no_such_node("get_resource", json!({"api_version": "v1", "kind": "Node", "name": "z", "disable_cache": false}), "Cannot find v1/Node named 'z' inside of namespace 'None'")]
fn a_guest_is_refused(#[case] operation: &str, #[case] request: Value, #[case] text: &str) {
    let server = ApiServer::start(recorded());
    let error = ask(&server.connect(), operation, &request).unwrap_err();
    assert_eq!(error, format!("Callback evaluation failure: {text}"));
}

#[rstest]
#[case::images(
    "oci",
    "v1/oci_manifest",
    "Callback evaluation failure: the image `a` cannot be read: this host does not access registries"
)]
#[case::names(
    "net",
    "v1/dns_lookup_host",
    "Callback evaluation failure: the host `a` cannot be looked up: this host sends requests only to the cluster"
)]
fn only_the_cluster_is_asked(#[case] namespace: &str, #[case] operation: &str, #[case] text: &str) {
    let cluster = ApiServer::start(Vec::new()).connect();
    let error = cluster.call(namespace, operation, b"\"a\"").unwrap_err();
    assert_eq!(error, text);
}

#[test]
fn the_module_judges_by_a_live_cluster() {
    let server = ApiServer::start(recorded());
    let verdict = POLICY.validate(&payload(&json!({})), Arc::new(server.connect()));
    assert_eq!(verdict.result.unwrap().code, Some(403));
    let limited = server.connect_as("limited").unwrap();
    let verdict = POLICY.validate(&payload(&json!({})), Arc::new(limited));
    let verdict = verdict.result.unwrap();
    assert_eq!(verdict.code, Some(500));
    let message = verdict.message.unwrap();
    assert!(
        message.contains("you are not allowed to list nodes"),
        "{message}"
    );
}
