//! A live cluster: the requests, and the errors if it does not answer.

use std::time::Duration;

use cluster::{Cluster, ClusterError, Connection, Identity, Notes, Reader, World};
use e2e_tests::{ApiServer, recorded};
use rstest::rstest;
use serde_json::{Value, json};

/// A connection as one of the users of a server's kubeconfig.
fn connection(server: &ApiServer, context: &str) -> Connection {
    Connection {
        kubeconfig: Some(server.kubeconfig().to_owned()),
        context: Some(context.to_owned()),
        ..Connection::default()
    }
}

fn connect(server: &ApiServer) -> Cluster {
    Cluster::connect(&connection(server, "admin")).unwrap()
}

/// The number of nodes.
fn count(cluster: &Cluster) -> Result<usize, ClusterError> {
    let mut nodes = 0;
    cluster.list("v1", "Node", None, |_| nodes += 1)?;
    Ok(nodes)
}

/// The error of listing the nodes.
fn error_of(connection: &Connection) -> ClusterError {
    count(&Cluster::connect(connection).unwrap()).unwrap_err()
}

/// A server with the recorded answers, except for one request of the administrator.
fn answering(request: &str, mut answer: Value) -> ApiServer {
    answer["as"] = json!("admin");
    answer["request"] = json!(request);
    ApiServer::start([vec![answer], recorded()].concat())
}

const NODES: &str = "GET /api/v1/nodes*";

/// The client repeats a request to a busy server.
#[rstest]
#[case(429)]
#[case(503)]
fn a_busy_server_is_asked_again(#[case] status: u16) {
    let busy =
        json!({"status": status, "retry_after": 0, "times": 2, "body": {"message": "overloaded"}});
    let server = answering(NODES, busy);
    assert_eq!(count(&connect(&server)).unwrap(), 3);
    assert_eq!(server.asked().len(), 4, "{:?}", server.asked());
}

#[test]
fn a_server_that_stays_busy_is_an_error() {
    let busy = json!({"status": 429, "retry_after": 3600, "body": {"message": "overloaded"}});
    let server = answering(NODES, busy);
    let error = error_of(&connection(&server, "admin"));
    assert!(error.is_transient());
    let end = "is busy: it returned 429 to list nodes: overloaded; try again later";
    assert!(error.to_string().ends_with(end), "{error}");
    assert_eq!(server.asked().len(), 4);
    // A load balancer whose API server restarts: `check --wait` tries again.
    let page = json!({"status": 502, "body": "<html>Bad gateway</html>"});
    let error = error_of(&connection(&answering(NODES, page), "admin"));
    assert!(error.is_transient(), "{error}");
}

/// Zero means that there is no limit, as in kubectl.
#[test]
fn a_server_may_take_as_long_as_it_wants() {
    let server = ApiServer::start(recorded());
    let cluster = Cluster::connect(&Connection {
        request_timeout: Some(Duration::ZERO),
        ..connection(&server, "admin")
    });
    assert_eq!(count(&cluster.unwrap()).unwrap(), 3);
}

#[test]
fn nodes_come_in_pages_and_are_reduced() {
    let server = ApiServer::start(recorded());
    let (cluster, any) = (connect(&server), Connection::default());
    let mut notes = Notes::default();
    let world = World::of_cluster(Some(cluster), &any, &[], Reader::Check, &mut notes).unwrap();
    let nodes: Vec<Value> = world.nodes.iter().map(|node| json!(node)).collect();
    assert_eq!(nodes.len(), 3);
    let labels = json!({"node-role.kubernetes.io/worker": ""});
    assert_eq!(nodes[0]["metadata"], json!({"name": "a", "labels": labels}));
    let info = &nodes[2]["status"]["nodeInfo"];
    assert_eq!(*info, json!({"architecture": "arm64"}));
    let mut asked = server.asked();
    asked.retain(|asked| asked.contains("/nodes"));
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert_eq!(asked[0], "GET /api/v1/nodes?&limit=500");
    assert!(asked[1].contains("limit=500&continue="), "{asked:?}");
}

/// A server whose API group has other versions than the recorded one.
fn serving(preferred: &str, versions: &[&str]) -> ApiServer {
    let versions = versions.iter().map(|version| json!({"version": version}));
    let versions: Value = versions.collect();
    let body = json!({"preferredVersion": {"version": preferred}, "versions": versions});
    let group = json!({"status": 200, "body": body});
    answering("GET /apis/hco.kubevirt.io", group)
}

#[rstest]
#[case::the_old_one("v1beta1", &["v1beta1", "v1"], "v1beta1")]
#[case::one_that_is_not_read("v2", &["v2", "v1"], "v1")]
fn objects_are_asked_for_in_a_version_that_is_read(
    #[case] preferred: &str,
    #[case] versions: &[&str],
    #[case] asked: &str,
) {
    let server = serving(preferred, versions);
    // The list in v1beta1 was not recorded. Only the request matters.
    let _ = connect(&server).hyperconvergeds(None);
    let request = format!("GET /apis/hco.kubevirt.io/{asked}/hyperconvergeds?&limit=500");
    assert_eq!(server.asked()[1], request);
}

#[test]
fn a_cluster_without_the_operator_has_no_objects() {
    for server in [ApiServer::start(Vec::new()), serving("v2", &["v2"])] {
        let objects = connect(&server).hyperconvergeds(None);
        assert_eq!(objects.unwrap(), [Value::Null; 0]);
    }
}

#[test]
fn a_live_object_has_the_version_of_its_manifest() {
    let server = ApiServer::start(recorded());
    let live = |version: &str, name: &str| {
        let metadata = json!({"namespace": "kubevirt-hyperconverged", "name": name});
        let manifest =
            json!({"apiVersion": version, "kind": "HyperConverged", "metadata": metadata});
        let (cluster, any) = (connect(&server), Connection::default());
        let mut notes = Notes::default();
        let read = World::of_cluster(Some(cluster), &any, &[&manifest], Reader::Check, &mut notes);
        read.unwrap().object(&Identity::of(&manifest), None)
    };
    for version in ["hco.kubevirt.io/v1", "hco.kubevirt.io/v1beta1"] {
        let object = live(version, "kubevirt-hyperconverged").unwrap();
        assert_eq!(object.unwrap()["apiVersion"], version);
        assert_eq!(live(version, "other").unwrap(), None);
    }
    let error = live("hco.kubevirt.io/v9", "kubevirt-hyperconverged").unwrap_err();
    let expected = "the manifest is hco.kubevirt.io/v9, but the object of the cluster is hco.kubevirt.io/v1: only objects of the same version can be compared";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn invalid_names_are_not_requested() {
    let server = ApiServer::start(recorded());
    for (namespace, name) in [("a/b", "a"), ("a", ".."), ("a", "")] {
        let metadata = json!({"namespace": namespace, "name": name});
        let machine =
            json!({"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": metadata});
        let (cluster, any) = (connect(&server), Connection::default());
        let mut notes = Notes::default();
        World::of_cluster(Some(cluster), &any, &[&machine], Reader::Check, &mut notes).unwrap();
    }
    let asked = server.asked();
    assert!(
        !asked.iter().any(|asked| asked.contains("virtualmachines")),
        "{asked:?}"
    );
}

/// A proxy can answer like the last two. A list without items must not be read as an empty cluster.
#[rstest]
#[case::forbidden(
    ApiServer::start(recorded()),
    "limited",
    "you are not allowed to list nodes: nodes is forbidden: User \"limited\" cannot list resource \"nodes\" in API group \"\" at the cluster scope; request a role with the verb `list` on `nodes`, or use another account"
)]
#[case::rejected(
    ApiServer::start(recorded()),
    "wrong",
    "the API server https://SERVER/ rejects the credentials (status 401); log in again, or choose another context with --context"
)]
#[case::no_items(answering(NODES, json!({"status": 200, "body": r#"{"error": "session expired"}"#})), "admin", "the response of https://SERVER/ to list nodes does not come from an API server: it has no items; check the address, and look for a proxy or a login page in between")]
#[case::not_json(answering(NODES, json!({"status": 200, "body": "{"})), "admin", "the response of https://SERVER/ to list nodes does not come from an API server: it is not valid JSON; check the address, and look for a proxy or a login page in between")]
fn an_error_says_what_to_do(
    #[case] server: ApiServer,
    #[case] context: &str,
    #[case] expected: &str,
) {
    let error = error_of(&connection(&server, context)).to_string();
    assert_eq!(error.replace(&server.address(), "SERVER"), expected);
}

#[test]
fn a_server_that_is_not_there_is_reported() {
    let address = e2e_tests::ports::free_address().unwrap();
    let error = error_of(&connection(&ApiServer::at(address), "admin")).to_string();
    let start = format!("the API server https://{address}/ cannot be reached: ");
    assert!(error.starts_with(&start), "{error}");
    assert!(error.contains("onnection refused"), "{error}");
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
    let error = cluster.err().unwrap().to_string();
    let path = path.display();
    let start = format!(
        "the kubeconfig cannot be used: {path}: failed to parse kubeconfig YAML: error: line 1 column "
    );
    assert!(error.starts_with(&start), "{error}");
    assert!(!error.contains("secret"), "{error}");
}
