//! Scenario 21: a client sends the object of each case to the API server, with the CRD of the case's version of HCO, and
//! the policy evaluates the request that arrives. HCO's and KubeVirt's own webhooks do not run.

use std::collections::{BTreeMap, BTreeSet};

use e2e_tests::{Arrival, Case};
use serde_json::{Value, json};

use super::stored::{Stored, manifest};
use crate::api::Api;
use crate::crd::together;
use crate::policy::{Policy, manifests};
use crate::waiting::until;
use crate::webhook::{CaseWebhook, Evaluated};
use crate::world::{World, grant};

/// The cases that kubectl sends too, in all of its ways.
const BY_KUBECTL: [&str; 10] = [
    "documentation/readme",
    "node-sources/update-with-the-same-placement",
    "placement-drops-architecture/one-architecture",
    "placement-invalid/operator-v1",
    "ratchet/turning-the-import-off",
    "ratchet/turning-the-import-off-v1",
    "repair/carried",
    "repair/normalise",
    "virtual-machines/update-of-the-node-selector",
    "vm-placement-contradicts/node-selector",
];

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
        // There are cases of versions that HCO does not have.
        let crd = serving(file, &version);
        if let Some(crd) = &crd {
            replace_crd(world, crd);
        }
        let crd = crd.unwrap_or_default();
        let mistake = |case: &&Case| {
            Some(format!(
                "{}: {}",
                case.name,
                runner.check(case, &crd).err()?
            ))
        };
        mistakes.extend(cases.iter().filter_map(mistake));
    }
    let is_case = |name: &&str| cases.iter().any(|case| case.name == *name);
    assert!(BY_KUBECTL.iter().all(is_case), "{BY_KUBECTL:?} are cases");
    assert!(
        mistakes.is_empty(),
        "{} cases differ:\n{}",
        mistakes.len(),
        mistakes.join("\n")
    );
    println!("{}; {} also by kubectl", summary(&cases), BY_KUBECTL.len());
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
        let request = case.request();
        let operation = request["operation"].as_str().unwrap_or_default();
        *numbers.entry(format!("{operation} {key}")).or_default() += 1;
    }
    let numbers: Vec<String> = numbers
        .iter()
        .map(|(key, number)| format!("{number} {key}"))
        .collect();
    format!("{} cases: {}", cases.len(), numbers.join(", "))
}

/// The file of the CRD for a case, and the version that it serves.
pub(super) fn crd_of(case: &Case) -> (&'static str, String) {
    let request = case.request();
    let version = request["kind"]["version"].as_str().unwrap_or_default();
    let version = version.to_owned();
    if request["kind"]["kind"] == "VirtualMachine" {
        return ("kubevirt-virtualmachines", version);
    }
    let report = Evaluated::new(case, request).report;
    let hco = report.audit_annotations.get("hco-version");
    let file = match hco.and_then(|hco| hco.get(..4)) {
        Some("1.16" | "1.17") => "hco-v1.17.0",
        Some("1.18") => "hco-v1.18.0",
        _ => "hco-main-2026-08-21",
    };
    (file, version)
}

/// The CRD with only this version, if it has it.
pub(super) fn serving(file: &str, version: &str) -> Option<Value> {
    let mut crd: Value = yaml_serde::from_str(&e2e_tests::crd(file)).expect("a manifest");
    let versions = crd["spec"]["versions"].as_array_mut().expect("versions");
    versions.retain(|served| served["name"] == version);
    versions.first_mut()?["storage"] = json!(true);
    crd["spec"]["conversion"] = json!({"strategy": "None"});
    Some(crd)
}

/// Creates a CRD in place of the previous one, whose objects the API server serves for a moment after the deletion.
pub(super) fn replace_crd(world: &World<'_>, crd: &Value) {
    let api = world.api();
    let name = crd["metadata"]["name"].as_str().expect("a name");
    let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
    let (status, old) = api.try_to("GET", &path, None).expect("an answer");
    if status.is_success() {
        api.must("DELETE", &path, None);
        let objects = collection(&old, None);
        until("the old CRD is deleted", || {
            let is_deleted = |path| api.text(path).map(|(status, _)| status == 404);
            let deleted = is_deleted(&path)? && is_deleted(&objects)?;
            deleted.then_some(()).ok_or_else(|| "it exists".to_owned())
        });
    }
    world.serves(crd);
}

/// The path of the objects of a CRD.
pub(super) fn collection(crd: &Value, namespace: Option<&str>) -> String {
    let spec = &crd["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
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

/// The namespace of a case, which every object in an API server has.
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
    policies: [Policy; 3],
    webhook: CaseWebhook,
}

impl<'w> Runner<'w> {
    /// Deploys the policies, all with the same webhook.
    fn new(world: &'w World<'w>) -> Self {
        let machines = manifests("deploy/components/virtual-machines/policy.yaml");
        let machines = Policy::among(machines).with("failurePolicy", json!("Fail"));
        let policies = [Policy::of_deploy(), Policy::that_repairs(), machines];
        let webhook = CaseWebhook::start(&world.control_plane.certificates);
        for policy in &policies {
            world.configure(policy, &webhook.server.url);
        }
        // The users of the cases.
        let everyone = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:authenticated"});
        let rules: [(_, _, &[&str]); 2] = [
            ("hco.kubevirt.io", "hyperconvergeds", &["*"]),
            ("kubevirt.io", "virtualmachines", &["*"]),
        ];
        grant(world.api(), "users-of-cases", &rules, &everyone);
        Self {
            world,
            policies,
            webhook,
        }
    }

    /// Compares how the request of a case arrives with the key of the case.
    fn check(&self, case: &Case, crd: &Value) -> Result<(), String> {
        let (found, wanted) = (self.arrival(case, crd)?, &case.apiserver);
        if found != *wanted {
            return Err(format!("wanted {wanted:?}, found {found:?}"));
        }
        if BY_KUBECTL.contains(&case.name.as_str()) {
            self.by_kubectl(case, crd)?;
        }
        Ok(())
    }

    /// How the request of a case arrives.
    fn arrival(&self, case: &Case, crd: &Value) -> Result<Arrival, String> {
        let request = case.request();
        let (object, old_object) = (&request["object"], &request["oldObject"]);
        let collection = collection(crd, Some(&namespace(case)));
        let create = format!("{collection}?fieldValidation=Ignore");
        let store = |object: &Value| self.world.api().try_to("POST", &create, Some(object));
        let stored = |object| Stored::new(self.world.api(), &collection, object, store);
        // The audit scanner sends the object as it is stored.
        let is_audit = !object["metadata"]["resourceVersion"].is_null();
        if is_audit && request["operation"] == "CREATE" {
            let stored = stored(object)?;
            return Ok(stored.map_or(Arrival::Refused, |stored| {
                let mut request = request.clone();
                request["object"] = stored.object.clone();
                let findings = difference(case, &Evaluated::new(case, request));
                findings.map_or(Arrival::Stored, Arrival::Differs)
            }));
        }
        if !self.is_sent(&request) {
            return Ok(Arrival::Never);
        }
        if request["operation"] == "CREATE" {
            return self.send(case, "POST", &format!("{create}&dryRun=All"), object);
        }
        let Some(stored) = stored(old_object)? else {
            return Ok(Arrival::Refused);
        };
        let path = format!("{}?fieldValidation=Ignore", stored.path);
        self.send(case, "PUT", &path, &stored.updated(object))
    }

    /// Whether an API server sends such a request to a policy.
    fn is_sent(&self, request: &Value) -> bool {
        let kind = &request["kind"];
        let resource = json!(format!(
            "{}s",
            kind["kind"].as_str().unwrap_or_default().to_lowercase()
        ));
        let has = |list: &Value, value: &Value| {
            list.as_array().is_some_and(|items| items.contains(value))
        };
        let matches = |rule: &Value| {
            has(&rule["apiGroups"], &kind["group"])
                && has(&rule["apiVersions"], &kind["version"])
                && has(&rule["resources"], &resource)
                && has(&rule["operations"], &request["operation"])
        };
        let mut rules = self
            .policies
            .iter()
            .filter_map(|policy| policy.spec("rules").as_array())
            .flatten();
        rules.any(matches)
            && request["subResource"].is_null()
            && request["object"]["metadata"]["deletionTimestamp"].is_null()
            && (request["operation"] == "CREATE" || request["oldObject"].is_object())
    }

    /// Sends an object as the user of the case.
    fn send(
        &self,
        case: &Case,
        method: &str,
        path: &str,
        object: &Value,
    ) -> Result<Arrival, String> {
        let api = self.world.api().impersonating(&case.request()["userInfo"]);
        let (answer, arrived) = self
            .webhook
            .during(case, || api.try_to(method, path, Some(object)));
        let (status, answer) = answer?;
        let message = answer["message"].as_str().unwrap_or_default();
        let refused = matches!(status.as_u16(), 400 | 422);
        let Some(evaluated) = arrived else {
            let why = || format!("it reached no webhook: {status}: {message}");
            return refused.then_some(Arrival::Refused).ok_or_else(why);
        };
        let report = &evaluated.report;
        if report.allowed && refused {
            return Ok(Arrival::Refused);
        }
        let is_answer = if report.allowed {
            let repaired = evaluated.repaired();
            let repaired = repaired.as_ref().map(|repaired| &repaired["spec"]);
            // The API server adds defaults.
            let is_stored = |spec| together([&answer["spec"], spec]) == answer["spec"];
            status.is_success() && repaired.is_none_or(is_stored)
        } else {
            let (_, denial) = message
                .split_once("denied the request: ")
                .unwrap_or_default();
            Some(status.as_u16()) == report.code && Some(denial) == report.message.as_deref()
        };
        if !is_answer {
            return Err(format!("wanted {report:?}: {status}: {answer}"));
        }
        let findings = difference(case, &evaluated);
        Ok(findings.map_or(Arrival::Equal, Arrival::Differs))
    }

    /// The other ways in which a request can arrive.
    fn by_kubectl(&self, case: &Case, crd: &Value) -> Result<(), String> {
        let dry_run = ["--dry-run=server", "--validate=ignore", "-f", "case.json"];
        let apply = [&["apply", "--server-side"], &dry_run[..]].concat();
        let request = case.request();
        let mut object = manifest(&request["object"]);
        if request["operation"] == "CREATE" {
            let create = [&["create"], &dry_run[..]].concat();
            self.kubectl(case, &object, &create)?;
            self.kubectl(case, &object, &apply)?;
            let metadata = object["metadata"].as_object_mut().expect("metadata");
            metadata.remove("name");
            metadata.insert("generateName".to_owned(), json!("kubevirt-hyperconverged-"));
            return self.kubectl(case, &object, &create);
        }
        let api = self.world.api();
        let collection = collection(crd, Some(&namespace(case)));
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let path = format!("{collection}/{name}?fieldManager=kubectl&fieldValidation=Ignore");
        let applied = |old: &Value| api.apply(&path, old);
        let stored = Stored::new(api, &collection, &request["oldObject"], applied)?;
        let stored = stored.ok_or("the old object is refused")?;
        self.kubectl(case, &object, &apply)?;
        let updated = stored.updated(&object);
        let replace = [&["replace"], &dry_run[..]].concat();
        self.kubectl(case, &updated, &replace)?;
        let mut edited = stored.object.clone();
        edited["spec"] = updated["spec"].clone();
        let resource = crd["spec"]["names"]["plural"].as_str().unwrap_or_default();
        let namespace = format!("--namespace={}", namespace(case));
        let edit = ["edit", "--validate=ignore", &namespace, resource, name];
        self.kubectl(case, &edited, &edit)
    }

    /// kubectl sends an object, and prints the message of the engine.
    fn kubectl(&self, case: &Case, object: &Value, arguments: &[&str]) -> Result<(), String> {
        let kubectl = &self.world.admin;
        kubectl.file("case.json", &object.to_string());
        let editor = [("KUBE_EDITOR", "cp case.json")];
        let (output, arrived) = self
            .webhook
            .during(case, || kubectl.run_with(arguments, &editor));
        let wrong = |why: &str| format!("kubectl {}: {why}: {output:?}", arguments.join(" "));
        let arrived = arrived.ok_or_else(|| wrong("it reached no webhook"))?;
        let report = &arrived.report;
        let message = report.message.as_deref().unwrap_or_default();
        if (output.code == Some(0)) != report.allowed || !output.stderr.contains(message) {
            return Err(wrong(message));
        }
        match difference(case, &arrived) {
            Some(findings) => Err(wrong(&findings.join(" "))),
            None => Ok(()),
        }
    }
}

/// The findings, if the verdict differs from the case.
fn difference(case: &Case, evaluated: &Evaluated) -> Option<Vec<String>> {
    let Evaluated {
        request,
        report,
        calls,
    } = evaluated;
    let mut found = case.expect.of(&request["object"], report, calls);
    let wanted = case.expect.sorted();
    // The API server adds the parents of fields that a repair adds.
    found.changes.clone_from(&wanted.changes);
    (found != wanted).then_some(found.findings)
}
