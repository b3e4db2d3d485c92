//! The rules of the forecast, compared with the code of HCO, SSP, and CDI on generated objects and updates. The suite of the
//! crate `operator-models` compares the forecasts and the changes in the same rows.
//!
//! `e2e-tests/test-data/conformance/README.md` explains the columns. They map to rules:
//!
//! | column | rule |
//! | --- | --- |
//! | a cron is refused because of a name, a CronJob because of its name, or a DataSource | `template-name-invalid` |
//! | a cron is refused for another reason | `data-import-cron-rejected` |
//! | nothing polls, or the CronJob is refused because of a time zone | `schedule-never-runs` |
//! | `lost`, `sameName` | `data-source-shared` |
//! | the DataSource of a template's managedDataSource points to an empty one | `boot-source-empty` |
//! | `emptyMeanwhile`, or a disk that is deleted and imported | `boot-source-replaced` |
//! | `lostImage` | `boot-source-removed` |
//! | another `defaultArchitecture` | `default-architecture-changes` |

use std::collections::{BTreeMap, BTreeSet};

use e2e_tests::FakeCluster;
use engine::Report;
use serde_json::{Value, json};
use test_data::Difference;

use super::{fired, payload, request, string};

const GOLDEN: &str = "kubevirt-os-images";
const OF_TEMPLATES: [&str; 5] = [
    "template-name-invalid",
    "data-import-cron-rejected",
    "schedule-never-runs",
    "data-source-shared",
    "boot-source-empty",
];

/// Why a row is left out, in whole or in part.
type Class = Option<&'static str>;
const TYPE: &str = "a type that HCO's schema refuses";
const PATCH: &str = "HCO's mutating webhook writes a patch that does not apply";
const VERSIONS: &str = "the API version changes, so the request has converted objects";
const NODES: &str = "the nodes change, which a request does not show";
const REFUSED: &str = "HCO refuses the update because of the import, but not the new object alone";
const NODE_PULL: &str = "a new cron with node pull, for which CDI first runs a pod";
const UNSETTLED: &str =
    "in part: polling is not known, because two crons have one name or SSP stops before";

#[test]
fn the_rules_fire_where_the_operators_refuse_or_lose_something() {
    let left_out = [(TYPE, 0), (PATCH, 10), (UNSETTLED, 20)];
    test_data::compare(test_data::rows("chain"), &left_out, compare_create);
}

#[test]
fn the_rules_of_updates_fire_where_the_operators_replace_or_remove_something() {
    let left_out = [
        (REFUSED, 7),
        (PATCH, 4),
        (NODE_PULL, 6),
        (VERSIONS, 26),
        (NODES, 89),
    ];
    test_data::compare(test_data::rows("chain-pairs"), &left_out, compare_update);
}

fn report(object: &Value, old: Option<&Value>, nodes: &Value) -> Report {
    let nodes = nodes.as_array().unwrap();
    let cluster = FakeCluster::with_nodes(nodes.iter().cloned());
    engine::report(&payload(&request(object, old), &json!({})), &cluster)
}

fn compare_create(row: &Value) -> Result<Class, Difference> {
    let report = report(&row["hco"], None, &row["nodes"]);
    let expected = &row["expected"];
    if report.code == Some(400) {
        return if row["schemaError"].is_null() {
            Err(("error", format!("{:?}", report.message)))
        } else {
            Ok(Some(TYPE))
        };
    }
    let error = &expected["error"];
    if error["at"] == "mutating-webhook-patch" {
        return Ok(Some(PATCH));
    }
    let is_nameless = string(&error["message"]).contains("missing name");
    if !error.is_null() {
        let mut rules = OF_TEMPLATES.iter();
        let fired = rules.find(|rule| !fired(&report, rule).is_empty());
        let expected = match string(&error["at"]) {
            _ if is_nameless => Some(&"template-name-invalid"),
            "schema" => Some(&"data-import-cron-rejected"),
            _ => None,
        };
        if fired != expected {
            return Err(("error", format!("{error}, fired: {fired:?}")));
        }
        return Ok(None);
    }
    let managed = managed_data_sources(&row["hco"]);
    let wanted = Wanted::of(expected, &managed);
    let listed: BTreeSet<&str> = templates(&row["hco"])
        .iter()
        .map(|template| string(&template["metadata"]["name"]))
        .collect();
    // A finding shows the longest name that a template can have.
    let cut = |name| str::get(name, ..253).unwrap_or(name);
    for rule in OF_TEMPLATES {
        // The names of templates that HCO adds are valid, even if a template of the object takes over their DataSource.
        let is_of_object = |name: &&str| rule != "template-name-invalid" || listed.contains(name);
        let theirs = wanted.0.get(rule).into_iter().flatten().copied();
        let theirs: BTreeSet<&str> = theirs.filter(is_of_object).map(cut).collect();
        let ours: BTreeSet<&str> = fired(&report, rule).into_iter().map(cut).collect();
        let is_polling_unknown = wanted.0.contains_key(UNKNOWN_POLLING);
        let agrees = match rule {
            "template-name-invalid" | "schedule-never-runs" if is_polling_unknown => {
                theirs.is_subset(&ours)
            }
            _ => theirs == ours,
        };
        if !agrees {
            return Err((rule, format!("theirs {theirs:?}, ours {ours:?}")));
        }
    }
    Ok(wanted.0.contains_key(UNKNOWN_POLLING).then_some(UNSETTLED))
}

const UNKNOWN_POLLING: &str = "polling is not known";

/// The templates for which each rule has to fire.
#[derive(Default)]
struct Wanted<'r>(BTreeMap<&'static str, BTreeSet<&'r str>>);

impl<'r> Wanted<'r> {
    fn add(&mut self, rule: &'static str, template: &'r str) {
        self.0.entry(rule).or_default().insert(template);
    }

    fn of(expected: &'r Value, managed: &BTreeMap<&str, &'r str>) -> Self {
        let managed = |cron: &Value| -> &str {
            let template = string(&cron["template"]);
            managed.get(template).copied().unwrap_or_default()
        };
        let mut wanted = Self::default();
        let crons = items(&expected["crons"]);
        let lost_crons = items(&expected["lostCrons"]);
        // A template that HCO adds is never wrong.
        for cron in crons {
            let template = string(&cron["template"]);
            let refused = string(&cron["refused"]);
            if !refused.is_empty() {
                let rule = if is_about_a_name(refused, managed(cron)) {
                    "template-name-invalid"
                } else {
                    "data-import-cron-rejected"
                };
                wanted.add(rule, template);
            } else if cron["polling"].is_null() {
                wanted.add(UNKNOWN_POLLING, template);
            }
            let polling_refused = string(&cron["pollingRefused"]);
            if cron["polling"] == "none" || polling_refused.contains("spec.schedule") {
                wanted.add("schedule-never-runs", template);
            }
            if polling_refused.contains("metadata.name") {
                wanted.add("template-name-invalid", template);
            }
        }
        for template in items(&expected["lost"]) {
            wanted.add("data-source-shared", string(template));
        }
        for name in items(&expected["sameName"]) {
            let (namespace, name) = string(name).split_once('/').unwrap();
            let same = crons
                .iter()
                .filter(|cron| cron["name"] == name && cron["namespace"] == namespace);
            let same: BTreeSet<&str> = same.map(|cron| string(&cron["template"])).collect();
            for template in same.into_iter().skip(1) {
                wanted.add("data-source-shared", template);
            }
        }
        let sources = items(&expected["dataSources"]);
        let rejected = wanted.0.get("data-import-cron-rejected");
        let rejected = rejected.cloned().unwrap_or_default();
        for cron in crons.iter().chain(lost_crons) {
            let template = string(&cron["template"]);
            let source = |name: &str| {
                let mut sources = sources.iter();
                sources.find(|source| source["namespace"] == GOLDEN && source["name"] == name)
            };
            if let Some(pointer) = source(managed(cron))
                && pointer["pointsTo"].is_string()
                && pointer["filled"] == false
                // `data-import-cron-rejected` reports it.
                && !rejected.contains(template)
            {
                wanted.add("boot-source-empty", template);
            }
        }
        // A DataSource is refused because of the templates that want it, or that point to it.
        for cron in crons {
            let own = string(&cron["managedDataSource"]);
            let is_refused = |source: &Value| {
                let name = string(&source["name"]);
                let is_wanted = source["cron"] == cron["name"] && name == own;
                source["refused"].is_string()
                    && source["namespace"] == GOLDEN
                    && (is_wanted
                        || name == managed(cron)
                        || (name == own && source["by"] == "ssp"))
            };
            if sources.iter().any(is_refused) {
                wanted.add("template-name-invalid", string(&cron["template"]));
            }
        }
        wanted
    }
}

/// The templates of the spec in either version.
fn templates(hco: &Value) -> &[Value] {
    match &hco["spec"]["workloadSources"]["dataImportCronTemplates"] {
        Value::Null => items(&hco["spec"]["dataImportCronTemplates"]),
        list => items(list),
    }
}

/// The managedDataSource of each template, without the suffix of an architecture.
fn managed_data_sources(hco: &Value) -> BTreeMap<&str, &str> {
    // The templates that HCO ships.
    let mut managed = BTreeMap::from([
        ("centos-stream10-image-cron", "centos-stream10"),
        ("centos-stream9-image-cron", "centos-stream9"),
        ("fedora-image-cron", "fedora"),
    ]);
    for template in templates(hco) {
        let name = string(&template["metadata"]["name"]);
        managed.insert(name, string(&template["spec"]["managedDataSource"]));
    }
    managed
}

/// Whether the API server or CDI refuses a cron because of its name or its managedDataSource.
fn is_about_a_name(refused: &str, managed: &str) -> bool {
    let is_label =
        refused.starts_with("metadata.labels") && refused.contains(&format!("{managed:?}"));
    is_label
        || refused.starts_with("metadata.name")
        || refused.contains("Name cannot be longer than 63")
        || refused.contains("Illegal ManagedDataSource")
}

fn compare_update(row: &Value) -> Result<Class, Difference> {
    let expected = &row["expected"];
    if row["before"]["apiVersion"] != row["after"]["apiVersion"] {
        return Ok(Some(VERSIONS));
    }
    if row["nodesBefore"] != row["nodesAfter"] {
        return Ok(Some(NODES));
    }
    let report = report(&row["after"], Some(&row["before"]), &row["nodesAfter"]);
    let sides = [&expected["before"], &expected["after"]];
    if sides
        .iter()
        .any(|side| side["error"]["at"] == "mutating-webhook-patch")
    {
        return Ok(Some(PATCH));
    }
    if !fired(&report, "import-contradiction").is_empty() && sides[1]["error"].is_null() {
        return Ok(Some(REFUSED));
    }
    let is_refused = sides.iter().any(|side| !side["error"].is_null());
    if !is_refused && lags(row) {
        return Ok(Some(NODE_PULL));
    }
    let disks = |column: &str| -> BTreeSet<&str> {
        items(&expected["images"][column])
            .iter()
            .map(string)
            .collect()
    };
    let is_replaced = !items(&expected["emptyMeanwhile"]).is_empty()
        || !disks("deleted").is_disjoint(&disks("imported"));
    let [before, after] = sides.map(|side| string(&side["defaultArchitecture"]));
    for (rule, theirs) in [
        ("boot-source-replaced", is_replaced && !is_refused),
        (
            "boot-source-removed",
            !items(&expected["lostImage"]).is_empty() && !is_refused,
        ),
        (
            "default-architecture-changes",
            !before.is_empty() && !after.is_empty() && before != after,
        ),
    ] {
        let ours = !fired(&report, rule).is_empty();
        if ours != theirs {
            let fact = format!("theirs {theirs}, ours {ours}: {:?}", report.findings);
            return Err((rule, fact));
        }
    }
    Ok(None)
}

/// Whether disks differ in a row because its controllers took turns until no object changed: CDI had not begun all imports
/// there.
fn lags(row: &Value) -> bool {
    let expected = &row["expected"];
    let created = items(&expected["crons"]["created"]);
    items(&expected["after"]["crons"]).iter().any(|cron| {
        let key = format!("{}/{}", string(&cron["namespace"]), string(&cron["name"]));
        let mut templates = templates(&row["after"]).iter();
        let template = templates.find(|template| template["metadata"]["name"] == cron["template"]);
        let is_in_registry = template.is_some_and(|template| {
            template["spec"]["template"]["spec"]["source"]["registry"]["url"].is_string()
        });
        is_in_registry && cron["polling"] == "controller" && created.contains(&json!(key))
    })
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
