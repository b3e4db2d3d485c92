//! Scenario 21: a client sends the object of each case to the API server, with the CRD of the case's version of HCO, and
//! the policy evaluates the request that arrives. HCO's and KubeVirt's own webhooks do not run.

use std::collections::{BTreeMap, BTreeSet};

use e2e_tests::{Arrival, Case};
use serde_json::{Value, json};

use crate::api::Api;
use crate::policy::{Policy, manifests};
use crate::waiting::until;
use crate::webhook::{CaseWebhook, Evaluated};
use crate::world::{World, grant};

pub(crate) fn run(world: &World<'_>) {
    let runner = Runner::new(world);
    let cases = e2e_tests::cases();
    create_namespaces(world.api(), &cases);
    let mut by_crd = BTreeMap::<_, Vec<&Case>>::new();
    for case in &cases {
        by_crd.entry(crd_of(case)).or_default().push(case);
    }
    let mut mistakes = Vec::new();
    for ((file, version), cases) in by_crd {
        // The CRD has no such version, or the kind none.
        let crd = serving(file, &version);
        if let Some(crd) = &crd {
            replace_crd(world, crd);
        }
        for case in cases {
            let found = match &crd {
                Some(crd) if case.apiserver != Arrival::Never => runner.arrival(case, crd),
                _ => Ok(Arrival::Never),
            };
            match found {
                Ok(found) if found == case.apiserver => {}
                Ok(found) => mistakes.push(format!(
                    "{}: {found:?}, and not {:?}",
                    case.name, case.apiserver
                )),
                Err(why) => mistakes.push(format!("{}: {why}", case.name)),
            }
        }
    }
    println!("{}", summary(&cases));
    assert!(
        mistakes.is_empty(),
        "{} cases:\n{}",
        mistakes.len(),
        mistakes.join("\n")
    );
}

/// The number of cases by operation and by key.
fn summary(cases: &[Case]) -> String {
    let mut numbers = BTreeMap::<_, usize>::new();
    for case in cases {
        let key = match case.apiserver {
            Arrival::Equal => "equal",
            Arrival::Refused => "refused",
            Arrival::Never => "never",
            Arrival::Stored => "stored",
            Arrival::Differs(_) => "differs",
        };
        let operation = case.request()["operation"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        *numbers.entry((operation, key)).or_default() += 1;
    }
    let numbers: Vec<String> = numbers
        .iter()
        .map(|((operation, key), number)| format!("{operation} {key} {number}"))
        .collect();
    format!("{} cases: {}", cases.len(), numbers.join(", "))
}

/// The file of the CRD for a case, and the version that it serves.
fn crd_of(case: &Case) -> (&'static str, String) {
    let request = case.request();
    let kind = &request["kind"];
    let version = kind["version"].as_str().unwrap_or_default().to_owned();
    let file = match kind["kind"].as_str() {
        Some("VirtualMachine") => "kubevirt-virtualmachines",
        _ => {
            let evaluated = Evaluated::new(case, request);
            let hco = evaluated.report.audit_annotations.get("hco-version");
            match hco.map(|version| version.get(..4)) {
                Some(Some("1.16" | "1.17")) => "hco-v1.17.0",
                Some(Some("1.18")) => "hco-v1.18.0",
                _ => "hco-main-2026-08-21",
            }
        }
    };
    (file, version)
}

/// The CRD with only this version, if it has it.
fn serving(file: &str, version: &str) -> Option<Value> {
    let mut crd: Value = yaml_serde::from_str(&e2e_tests::crd(file)).expect("a manifest");
    let versions = crd["spec"]["versions"].as_array_mut().expect("versions");
    versions.retain(|served| served["name"] == version);
    versions.first_mut()?["storage"] = json!(true);
    crd["spec"]["conversion"] = json!({"strategy": "None"});
    Some(crd)
}

/// Creates a CRD in place of the previous one. The API server notices both with a delay.
fn replace_crd(world: &World<'_>, crd: &Value) {
    let api = world.api();
    let name = crd["metadata"]["name"].as_str().expect("a name");
    let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
    let (status, old) = api.try_to("GET", &path, None).expect("an answer");
    if status.is_success() {
        api.must("DELETE", &path, None);
        let served = collection(&old, None);
        until("the old CRD is deleted", || {
            let gone = |path: &str| api.text(path).map(|(status, _)| status == 404);
            (gone(&path)? && gone(&served)?)
                .then_some(())
                .ok_or_else(|| "it is there".to_owned())
        });
    }
    world.serves(crd);
}

/// The path of the objects of a CRD.
fn collection(crd: &Value, namespace: Option<&str>) -> String {
    let spec = &crd["spec"];
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let namespace = namespace.map(|name| format!("namespaces/{name}/"));
    format!(
        "/apis/{}/{}/{}{}",
        text(&spec["group"]),
        text(&spec["versions"][0]["name"]),
        namespace.unwrap_or_default(),
        text(&spec["names"]["plural"])
    )
}

fn create_namespaces(api: &Api, cases: &[Case]) {
    let names: BTreeSet<String> = cases.iter().map(namespace).collect();
    for name in names {
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let path = format!("/api/v1/namespaces/{name}");
        if api.text(&path).expect("an answer").0 == 404 {
            api.must("POST", "/api/v1/namespaces", Some(&namespace));
        }
    }
}

/// The namespace of a case. An API server has no object without one.
fn namespace(case: &Case) -> String {
    let request = case.request();
    let namespace = request["object"]["metadata"]["namespace"].as_str();
    namespace
        .filter(|name| !name.is_empty())
        .unwrap_or("default")
        .to_owned()
}

struct Runner<'w> {
    world: &'w World<'w>,
    webhook: CaseWebhook,
}

impl<'w> Runner<'w> {
    /// Deploys the policies, all with the same webhook.
    fn new(world: &'w World<'w>) -> Self {
        let webhook = CaseWebhook::start(&world.control_plane.certificates);
        let machines = manifests("deploy/components/virtual-machines/policy.yaml");
        let machines = Policy::among(machines).with("failurePolicy", json!("Fail"));
        for policy in [Policy::of_deploy(), Policy::that_repairs(), machines] {
            world.configure(&policy, &webhook.server.url);
        }
        // The users of the cases.
        let everyone = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:authenticated"});
        let rules: [(_, _, &[&str]); 2] = [
            ("hco.kubevirt.io", "hyperconvergeds", &["*"]),
            ("kubevirt.io", "virtualmachines", &["*"]),
        ];
        grant(world.api(), "users-of-cases", &rules, &everyone);
        Self { world, webhook }
    }

    /// How the request of a case arrives.
    fn arrival(&self, case: &Case, crd: &Value) -> Result<Arrival, String> {
        let collection = collection(crd, Some(&namespace(case)));
        let request = case.request();
        let update = request["operation"] == "UPDATE";
        let before = match (&case.apiserver, update) {
            (Arrival::Stored, _) => &request["object"],
            (_, true) => &request["oldObject"],
            (_, false) => {
                return self.sent(
                    case,
                    "POST",
                    &format!("{collection}?dryRun=All"),
                    &request["object"],
                );
            }
        };
        let stored = Stored::new(self.world.api(), &collection, before)?;
        let Some(stored) = stored else {
            return Ok(Arrival::Refused);
        };
        if case.apiserver == Arrival::Stored {
            let mut request = request.clone();
            request["object"] = stored.object.clone();
            return Ok(
                match self.difference(case, &Evaluated::new(case, request)) {
                    None => Arrival::Stored,
                    Some(findings) => Arrival::Differs(findings),
                },
            );
        }
        let mut object = request["object"].clone();
        for field in ["resourceVersion", "uid"] {
            object["metadata"][field] = stored.object["metadata"][field].clone();
        }
        self.sent(case, "PUT", &format!("{}?", stored.path), &object)
    }

    /// Sends an object as the user of the case.
    fn sent(
        &self,
        case: &Case,
        method: &str,
        path: &str,
        object: &Value,
    ) -> Result<Arrival, String> {
        let api = self.world.api().impersonating(&case.request()["userInfo"]);
        let path = format!("{path}&fieldValidation=Ignore");
        let (answer, arrived) = self
            .webhook
            .during(case, || api.try_to(method, &path, Some(object)));
        let (status, answer) = answer?;
        let message = answer["message"].as_str().unwrap_or_default();
        let Some(evaluated) = arrived else {
            return match status.as_u16() {
                400 | 422 => Ok(Arrival::Refused),
                _ => Err(format!("it reached no webhook: {status}: {message}")),
            };
        };
        let report = &evaluated.report;
        if report.allowed {
            if status.as_u16() == 422 {
                return Ok(Arrival::Refused);
            }
            let same = evaluated
                .repaired()
                .is_none_or(|repaired| repaired["spec"] == answer["spec"]);
            if !status.is_success() || !same {
                return Err(format!(
                    "wanted {:?}: {status}: {answer}",
                    report.repaired_object
                ));
            }
        } else {
            let denied = message
                .split_once("denied the request: ")
                .map(|(_, message)| message);
            if denied != report.message.as_deref() || Some(status.as_u16()) != report.code {
                return Err(format!(
                    "wanted {:?} {:?}: {status}: {message}",
                    report.code, report.message
                ));
            }
        }
        Ok(self
            .difference(case, &evaluated)
            .map_or(Arrival::Equal, Arrival::Differs))
    }

    /// The findings, if the verdict is not that of the case.
    fn difference(&self, case: &Case, evaluated: &Evaluated) -> Option<Vec<String>> {
        let Evaluated {
            request,
            report,
            calls,
        } = evaluated;
        let found = case.expect.of(&request["object"], report, calls);
        let wanted = case.expect.sorted();
        if std::env::var_os("SHOW").is_some() && found != wanted {
            println!("{}: {found:?}\n   {wanted:?}", case.name);
        }
        (found != wanted).then_some(found.findings)
    }
}

/// An object that is stored past the webhook, until this value is dropped.
struct Stored<'a> {
    api: &'a Api,
    path: String,
    object: Value,
}

impl<'a> Stored<'a> {
    /// Stores an object with its status; `None` if the API server refuses it.
    fn new(api: &'a Api, collection: &str, wanted: &Value) -> Result<Option<Self>, String> {
        let mut object = wanted.clone();
        let Some(metadata) = object["metadata"].as_object_mut() else {
            return Ok(None);
        };
        for field in [
            "resourceVersion",
            "uid",
            "creationTimestamp",
            "generation",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
        ] {
            metadata.remove(field);
        }
        let create = format!("{collection}?fieldValidation=Ignore");
        let (status, answer) = api.try_to("POST", &create, Some(&object))?;
        if matches!(status.as_u16(), 400 | 422) {
            return Ok(None);
        }
        if !status.is_success() {
            return Err(format!("the object is not stored: {status}: {answer}"));
        }
        let name = answer["metadata"]["name"].as_str().unwrap_or_default();
        let mut stored = Self {
            api,
            path: format!("{collection}/{name}"),
            object: answer,
        };
        if wanted["metadata"].get("deletionTimestamp").is_some() {
            api.must("DELETE", &stored.path, None);
            stored.object = api.get(&stored.path);
        }
        if let Some(status) = wanted.get("status") {
            stored.object["status"] = status.clone();
            stored.observe_generation(wanted);
            let path = format!("{}/status?fieldValidation=Ignore", stored.path);
            let (status, answer) = api.try_to("PUT", &path, Some(&stored.object))?;
            match status.as_u16() {
                200 => stored.object = answer,
                422 => return Ok(None),
                _ => return Err(format!("the status is not stored: {status}: {answer}")),
            }
        }
        Ok(Some(stored))
    }

    /// The status is as far behind the generation as that of the case.
    fn observe_generation(&mut self, wanted: &Value) {
        let Some(observed) = wanted["status"]["observedGeneration"].as_i64() else {
            return;
        };
        let ahead = wanted["metadata"]["generation"]
            .as_i64()
            .map_or(0, |generation| observed - generation);
        let generation = self.object["metadata"]["generation"]
            .as_i64()
            .unwrap_or_default();
        self.object["status"]["observedGeneration"] = json!(generation + ahead);
    }
}

impl Drop for Stored<'_> {
    fn drop(&mut self) {
        let finalizers = json!({"metadata": {"finalizers": null}});
        let _ = self.api.try_to("PATCH", &self.path, Some(&finalizers));
        let _ = self.api.try_to("DELETE", &self.path, None);
        let (status, _) = self.api.text(&self.path).expect("an answer");
        if !std::thread::panicking() {
            assert_eq!(status, 404, "{} is deleted", self.path);
        }
    }
}
