//! All cases through the module, on the WebAssembly engine of policy-server. Its responses have the same bytes as those of
//! the native engine.

use std::sync::Arc;
use std::time::Duration;

use e2e_tests::{Case, ClusterOf, Images, Judged, Objects, Verdict, cases, module};
use engine::{Permission, Registry, Resource};
use policy_host::{HostCalls, Options, Policy};
use serde_json::{Value, json};

#[test]
fn the_module_answers_as_the_engine() {
    let options = Options {
        deadline: Duration::from_secs(2),
        cache: Some(module::caches().join("hco-preflight")),
    };
    let policy = Policy::from_bytes(Policy::embedded_module(), &options).unwrap();
    let (mut wrong, mut repaired) = (Vec::new(), 0);
    let cases = cases();
    for case in &cases {
        let judged = Judged::new(case);
        let result = difference(&policy, &judged)
            .map_or_else(|| is_repaired(&policy, case).map(usize::from), Err);
        match result {
            Ok(count) => repaired += count,
            Err(mistake) => wrong.push(format!("{} ({})\n{mistake}", case.name, case.about)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        repaired >= cases.len() / 20,
        "only {repaired} cases were repaired"
    );
}

/// Answers host calls from the cluster of a case.
struct CaseHost(ClusterOf, Images, Objects);

impl HostCalls for CaseHost {
    fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String> {
        let request: Value = serde_json::from_slice(payload).map_err(|error| error.to_string())?;
        match (namespace, operation) {
            ("kubernetes", "list_resources_all") => {
                let resource = RESOURCES
                    .into_iter()
                    .find(|resource| request == list(*resource));
                let list = match resource {
                    Some(Resource::Nodes) => self.0.list(),
                    Some(resource) => self.2.list(resource),
                    None => Err(format!("nobody expects {request}")),
                };
                list.map(String::into_bytes)
            }
            ("kubernetes", "get_resource") => {
                let text = |key: &str| request[key].as_str().unwrap_or_default();
                let resource = Resource::DataSources;
                let wanted = json!({
                    "api_version": resource.api_version(), "kind": resource.kind(), "name": text("name"),
                    "namespace": text("namespace"), "disable_cache": false, "field_masks": resource.fields(),
                });
                if request != wanted {
                    return Err(format!("nobody expects {request}"));
                }
                let object = self.2.data_source(text("namespace"), text("name"));
                object.map(String::into_bytes)
            }
            ("kubernetes", "can_i") => {
                let attributes = &request["subject_access_review"]["resource_attributes"];
                let text = |key: &str| attributes[key].as_str().unwrap_or_default();
                let mut resources = RESOURCES.into_iter();
                let resource = resources.find(|resource| {
                    resource.plural() == text("resource")
                        && resource.group_version() == (text("group"), text("version"))
                });
                let permission = Permission {
                    verb: text("verb"),
                    resource: resource.ok_or_else(|| format!("nobody expects {request}"))?,
                    namespace: attributes["namespace"].as_str(),
                };
                Ok(json!({"allowed": self.0.may(&permission)})
                    .to_string()
                    .into_bytes())
            }
            ("oci", "v1/oci_manifest") => self.1.manifest(request.as_str().unwrap_or_default()),
            ("oci", "v1/oci_manifest_config") => self
                .1
                .manifest_and_config(request.as_str().unwrap_or_default()),
            other => Err(format!("nobody expects {other:?}")),
        }
    }
}

/// The resources that the policy reads.
const RESOURCES: [Resource; 4] = [
    Resource::Nodes,
    Resource::HyperConvergeds,
    Resource::KubeVirts,
    Resource::DataSources,
];

/// The only request for a list of these objects.
fn list(resource: Resource) -> Value {
    json!({
        "api_version": resource.api_version(), "kind": resource.kind(),
        "field_masks": resource.fields(),
    })
}

fn host(case: &Case) -> Arc<dyn HostCalls> {
    let (cluster, images) = (case.cluster.clone(), case.images.clone());
    Arc::new(CaseHost(cluster, images, case.objects()))
}

/// Whether the object of a case is repaired if all repairs are on. Then it is accepted, and there is
/// nothing left to repair.
fn is_repaired(policy: &Policy, case: &Case) -> Result<bool, String> {
    let settings = case.settings();
    let with = |repairs: Value| {
        let mut settings = settings.clone();
        let map = settings.as_object_mut()?;
        map.insert("repair".to_owned(), repairs);
        Some(settings)
    };
    let repairs = |import: Value| {
        json!({
            "multi-arch-import-disabled": import,
            "architectures-malformed": "normalise",
            "architectures-untidy": "normalise",
        })
    };
    let judge = |object: &Value, settings: &Value| {
        let mut request = case.request();
        request["object"] = object.clone();
        let payload = json!({"request": request, "settings": settings}).to_string();
        let verdict = policy.decoded::<Verdict>("validate", payload.as_bytes(), host(case));
        verdict.map_err(|error| error.to_string())
    };
    let mut is_repaired = false;
    for import in [json!("enable-import"), json!({"place-on": "amd64"})] {
        // Cases with invalid settings.
        let (Some(repairing), Some(checking)) = (with(repairs(import)), with(json!({}))) else {
            return Ok(false);
        };
        let Some(mut repaired) = judge(&case.request()["object"], &repairing)?.mutated_object
        else {
            continue;
        };
        // Without a resource version, the status doesn't count: it lists the nodes of the placement before the repair.
        if let Some(metadata) = repaired["metadata"].as_object_mut() {
            metadata.remove("resourceVersion");
        }
        let (again, checked) = (judge(&repaired, &repairing)?, judge(&repaired, &checking)?);
        if !again.accepted || again.mutated_object.is_some() || !checked.accepted {
            return Err(format!(
                "the repaired object\n{repaired:#}\nis judged\n{again:?}\n{checked:?}"
            ));
        }
        is_repaired = true;
    }
    Ok(is_repaired)
}

/// The difference between the module and the engine.
fn difference(policy: &Policy, judged: &Judged<'_>) -> Option<String> {
    let host = || host(judged.case);
    let payload = judged.case.payload();
    let native = match serde_json::to_vec(&judged.report) {
        Ok(native) => native,
        Err(error) => return Some(error.to_string()),
    };
    let report = match policy.call("report", &payload, host()) {
        Ok(report) => report,
        Err(error) => return Some(error.to_string()),
    };
    if report != native {
        return Some(format!(
            "the module reports\n{}\nthe engine\n{}",
            String::from_utf8_lossy(&report),
            String::from_utf8_lossy(&native)
        ));
    }
    let validate = || policy.call("validate", &payload, host());
    let (answer, again) = match (validate(), validate()) {
        (Ok(answer), Ok(again)) => (answer, again),
        (Err(error), _) | (_, Err(error)) => return Some(error.to_string()),
    };
    let wanted = json!({
        "accepted": judged.verdict.allowed,
        "message": judged.verdict.message,
        "code": judged.verdict.code,
        "mutated_object": judged.answer().object(),
        "audit_annotations": Some(&judged.verdict.audit_annotations).filter(|map| !map.is_empty()),
        "warnings": Some(&judged.verdict.warnings).filter(|lines| !lines.is_empty()),
    });
    if serde_json::from_slice(&answer).ok().as_ref() != Some(&wanted) {
        let answer = String::from_utf8_lossy(&answer);
        return Some(format!("the module answers\n{answer}\nnot\n{wanted}"));
    }
    (answer != again).then(|| "asked twice, it answers differently".to_owned())
}
