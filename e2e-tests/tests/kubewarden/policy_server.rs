//! policy-server over HTTP, with a watch on the nodes of a stub API server. There is one policy-server for each cluster,
//! and one policy for each group of settings.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use e2e_tests::ports::free_address;
use e2e_tests::{Answer, Call, Judged, NodeServer, Refusal, Starter, http, module};
use policy_host::Policy;
use serde_json::{Map, Value, json};

use crate::Programs;
use crate::results::Results;

/// The time limit for a policy-server to notice a change.
const START: Duration = Duration::from_mins(10);

/// The case in which a node joins.
const ON_ONE_ARCHITECTURE: &str = "documentation/defaults-on-one-architecture";
/// A case in which the object is repaired.
const REPAIRED: &str = "repair/normalise";

pub(crate) fn run(programs: &Programs, cases: &[Judged<'_>]) -> Results {
    let mut results = Results::default();
    if let Err(error) = serve_all(programs, cases, &mut results) {
        results.wrong(error);
    }
    results
}

/// A policy-server that loads the module from a registry responds like the engine.
pub(crate) fn loads(
    program: &Path,
    module: &str,
    sources: &Path,
    judged: &Judged<'_>,
) -> Result<(), String> {
    let starter = Starter {
        program: program.to_owned(),
        module: module.to_owned(),
        sources: Some(sources.to_owned()),
        docker_config: None,
        directory: module::scratch("policy-server-registry")?,
    };
    let nodes = judged.case.cluster.list_of_api_server()?;
    let api_server = NodeServer::start(&nodes, Vec::new()).map_err(|error| error.to_string())?;
    let policies = Map::from_iter([("policy".to_owned(), starter.policy(judged))]);
    let server = starter.start(&policies, Some(api_server.address))?;
    mistake(server.address, "validate", "policy", judged).map_or(Ok(()), Err)
}

/// The API server that a policy-server is connected to.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Cluster {
    None,
    /// An API server that does not exist.
    Gone,
    /// An API server with this list of nodes, which denies these permissions, and with this list of other objects.
    Nodes(String, Vec<String>, String),
}

fn serve_all(
    programs: &Programs,
    cases: &[Judged<'_>],
    results: &mut Results,
) -> Result<(), String> {
    let starter = Starter {
        program: programs.policy_server.clone(),
        module: format!(
            "file://{}",
            module::annotated(&programs.kwctl, Policy::embedded_module())?.display()
        ),
        sources: None,
        docker_config: None,
        directory: module::scratch("policy-server")?,
    };
    let mut clusters: BTreeMap<Cluster, Vec<&Judged<'_>>> = BTreeMap::new();
    for judged in cases {
        match cluster_of(judged) {
            Ok(_) if judged.refused_settings().is_some() => {
                let mistake = starter.refusal_mistake(judged);
                results.case(judged.case, mistake);
            }
            Ok(cluster) => clusters.entry(cluster).or_default().push(judged),
            Err(why) => results.left_out(judged.case, &why),
        }
    }
    for (cluster, cases) in &clusters {
        serve(&starter, cluster, cases, results)?;
    }
    for (name, shown) in [
        (
            ON_ONE_ARCHITECTURE,
            a_node_that_joins_is_seen as fn(&_, &_) -> _,
        ),
        (REPAIRED, a_repair_needs_a_mutating_policy),
    ] {
        match cases.iter().find(|judged| judged.case.name == name) {
            Some(judged) => shown(&starter, judged)?,
            // Only some cases are selected.
            None if cases.len() < e2e_tests::cases().len() => {}
            None => return Err(format!("there is no case {name}")),
        }
    }
    Ok(())
}

/// Without `mutating: true`, policy-server rejects repairs.
fn a_repair_needs_a_mutating_policy(starter: &Starter, judged: &Judged<'_>) -> Result<(), String> {
    let nodes = judged.case.cluster.list_of_api_server()?;
    let api_server = NodeServer::start(&nodes, Vec::new()).map_err(|error| error.to_string())?;
    let mut policy = starter.policy(judged);
    policy["allowedToMutate"] = json!(false);
    let policies = Map::from_iter([("policy".to_owned(), policy)]);
    let server = starter.start(&policies, Some(api_server.address))?;
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": judged.case.request()});
    let answer = http::send(
        server.address,
        "POST",
        "/validate/policy",
        &review.to_string(),
    );
    let (_, body) = answer.map_err(|error| error.to_string())?;
    let error = "The policy attempted to mutate the request, but it is currently configured to not allow mutations.";
    let answer: Value = serde_json::from_str(&body).map_err(|error| error.to_string())?;
    let response = &answer["response"];
    let message = response["status"]["message"].as_str().unwrap_or_default();
    if response["allowed"] == false && message.ends_with(error) {
        Ok(())
    } else {
        Err(format!("wanted a rejection, came to {body}"))
    }
}

/// An object that is accepted on one architecture is denied after the watch reports a node of another one.
fn a_node_that_joins_is_seen(starter: &Starter, judged: &Judged<'_>) -> Result<(), String> {
    let nodes = judged.case.cluster.list_of_api_server()?;
    let api_server = NodeServer::start(&nodes, Vec::new()).map_err(|error| error.to_string())?;
    let policies = Map::from_iter([("policy".to_owned(), starter.policy(judged))]);
    let server = starter.start(&policies, Some(api_server.address))?;
    if let Some(mistake) = mistake(server.address, "validate", "policy", judged) {
        return Err(format!("before a node joins:\n{mistake}"));
    }
    api_server.join(json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "joined",
            "resourceVersion": "2",
            "labels": {"node-role.kubernetes.io/worker": ""},
        },
        "status": {"nodeInfo": {"architecture": "s390x"}},
    }));
    let begun = Instant::now();
    while begun.elapsed() < START {
        let difference = mistake(server.address, "validate", "policy", judged).unwrap_or_default();
        if difference.contains("multi-arch-import-disabled=deny") {
            return Ok(());
        }
    }
    Err("a node that joins is never seen".to_owned())
}

/// The cluster of a case, or why no policy-server can have one like it.
fn cluster_of(judged: &Judged<'_>) -> Result<Cluster, String> {
    let of = &judged.case.cluster;
    if judged.case.objects().is_unreadable() {
        return Err("no API server makes the host say this".to_owned());
    }
    let asks = |call: &Call| matches!(call, Call::List(_) | Call::DataSource(..));
    let objects = judged
        .cluster
        .calls()
        .iter()
        .any(asks)
        .then(|| judged.case.objects().all());
    let objects = Value::from(objects.unwrap_or_default()).to_string();
    if !judged.case.images.is_empty() {
        return Err("its images are not in a registry; `make e2e-registry` has one".to_owned());
    }
    match of.refusal() {
        Some(Refusal::Callback(error)) if error.contains("not initialized") => Ok(Cluster::None),
        Some(Refusal::Callback(error)) if error.contains("Connection refused") => Ok(Cluster::Gone),
        Some(Refusal::Callback(_) | Refusal::Unheard) => {
            Err("no API server makes the host say this".to_owned())
        }
        Some(Refusal::Resource | Refusal::Capability) => {
            let empty = json!({"kind": "NodeList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": []});
            Ok(Cluster::Nodes(empty.to_string(), of.denied(), objects))
        }
        None => Ok(Cluster::Nodes(
            of.list_of_api_server()?.to_string(),
            of.denied(),
            objects,
        )),
    }
}

/// Sends all cases of a cluster.
fn serve(
    starter: &Starter,
    cluster: &Cluster,
    cases: &[&Judged<'_>],
    results: &mut Results,
) -> Result<(), String> {
    let mut policies = Map::new();
    let mut ids = BTreeMap::new();
    for judged in cases {
        let policy = starter.policy(judged);
        let id = format!("policy-{}", ids.len());
        let id = ids.entry(policy.to_string()).or_insert(id);
        policies.insert(id.clone(), policy);
    }
    let api_server = match cluster {
        Cluster::None | Cluster::Gone => None,
        Cluster::Nodes(nodes, denied, objects) => {
            let read =
                |text| serde_json::from_str::<Value>(text).map_err(|error| error.to_string());
            let (nodes, objects) = (read(nodes)?, read(objects)?);
            let objects = objects.as_array().cloned().unwrap_or_default();
            let started = NodeServer::with_objects(&nodes, denied.clone(), objects);
            Some(started.map_err(|error| format!("the stub API server: {error}"))?)
        }
    };
    let address = match cluster {
        Cluster::Gone => Some(free_address().map_err(|error| error.to_string())?),
        _ => api_server.as_ref().map(|server| server.address),
    };
    let server = starter.start(&policies, address)?;
    for judged in cases {
        let id = &ids[&starter.policy(judged).to_string()];
        // The audit scanner uses the second endpoint.
        let mistake = ["validate", "audit"]
            .into_iter()
            .find_map(|endpoint| mistake(server.address, endpoint, id, judged));
        results.case(judged.case, mistake);
    }
    if let Some(api_server) = api_server {
        let reads = |judged: &&Judged<'_>| {
            judged.cluster.lists() > 0 && judged.case.cluster.refusal().is_none()
        };
        let wanted = usize::from(cases.iter().any(reads));
        if let Err(asked) = was_asked_for_nodes(&api_server, wanted) {
            results.wrong(format!("the API server was asked {asked:#?}"));
        }
    }
    Ok(())
}

/// For any settings: one list and one watch of the nodes, and nothing else; or none, if no policy needs nodes.
/// Otherwise, the error contains the requests.
fn was_asked_for_nodes(api_server: &NodeServer, wanted: usize) -> Result<(), Vec<String>> {
    let begun = Instant::now();
    loop {
        let mut asked = api_server.asked();
        // The cases compare the requests for VirtualMachines.
        asked.retain(|line| {
            !line.starts_with("GET /apis/")
                && !line.starts_with("POST /apis/authorization.k8s.io/v1/subjectaccessreviews")
        });
        asked.sort();
        let (nodes, others): (Vec<&String>, Vec<&String>) = asked
            .iter()
            .partition(|line| line.starts_with("GET /api/v1/nodes?"));
        let (watches, lists): (Vec<&String>, Vec<&String>) =
            nodes.iter().partition(|line| line.contains("watch=true"));
        let right = lists.len() == wanted && others.iter().all(|line| *line == "GET /api/v1");
        if right && watches.len() == wanted {
            return Ok(());
        }
        // The watch comes after the list, and possibly after the last response.
        if !right || watches.len() > wanted || begun.elapsed() > START {
            return Err(asked);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// The difference between an endpoint and the engine, if there is one.
fn mistake(to: SocketAddr, endpoint: &str, id: &str, judged: &Judged<'_>) -> Option<String> {
    let request = judged.case.request();
    let review =
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
    let path = format!("/{endpoint}/{id}");
    let difference = match http::send(to, "POST", &path, &review.to_string()) {
        Ok((200, body)) => match serde_json::from_str::<Value>(&body) {
            Ok(review) => match Answer::to(&request, &review["response"].to_string()) {
                Ok(answer) => answer.difference(&judged.answer()),
                Err(error) => Some(error),
            },
            Err(error) => Some(format!("{error}: {body}")),
        },
        Ok((status, body)) => Some(format!("status {status}: {body}")),
        Err(error) => Some(error.to_string()),
    };
    difference.map(|difference| format!("  POST {path}\n{difference}"))
}
