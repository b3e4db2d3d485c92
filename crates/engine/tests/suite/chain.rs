//! The rules of the forecast, compared with the code of HCO, SSP, and CDI on generated objects and updates.
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

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use engine::{Comparison, Report};
use serde_json::{Value, json};

use super::drift::Difference;

const GOLDEN: &str = "kubevirt-os-images";
const OF_TEMPLATES: [&str; 5] = [
    "template-name-invalid",
    "data-import-cron-rejected",
    "schedule-never-runs",
    "data-source-shared",
    "boot-source-empty",
];
const OF_UPDATES: [&str; 3] = [
    "boot-source-replaced",
    "boot-source-removed",
    "default-architecture-changes",
];

/// Why a row is left out, in whole or in part.
type Class = Option<&'static str>;
const TYPE: &str = "a type that HCO's schema refuses";
const PATCH: &str = "HCO's mutating webhook writes a patch that does not apply";
const VERSIONS: &str = "the API version changes, so the request has converted objects";
const NODES: &str = "the nodes change, which a request does not show";
const RESOLVED: &str = "HCO resolves the import of an update otherwise than that of a new object";
const REFUSED: &str = "HCO refuses the update because of the import, but not the new object alone";
const NODE_PULL: &str = "a new cron with node pull, for which CDI first runs a pod";
const UNUSED: &str = "a new cron imports for a DataSource that it may not change";
const SAME_NAME: &str = "in part: two crons with one name never settle";
const UNSETTLED: &str =
    "in part: polling is not known, because two crons have one name or SSP stops before";

#[test]
fn the_rules_fire_where_the_operators_refuse_or_lose_something() {
    agree("chain", CREATED, compare_create);
}

#[test]
fn the_rules_of_updates_fire_where_the_operators_replace_or_remove_something() {
    agree("chain-pairs", UPDATED, compare_update);
}

#[test]
fn with_what_was_before_the_changes_are_those_of_the_operators() {
    agree("chain-pairs", WITH_BEFORE, compare_with_before);
}

/// Compares all rows of a corpus, except rows in these classes.
fn agree(
    corpus: &str,
    left_out: &[(&'static str, usize)],
    compare: impl Fn(&Value) -> Result<Class, Difference>,
) {
    let classes = RefCell::new(BTreeMap::<&'static str, usize>::new());
    super::all_agree(test_data::rows(corpus), |row| {
        if let Some(class) = compare(row)? {
            *classes.borrow_mut().entry(class).or_default() += 1;
        }
        Ok(())
    });
    test_data::assert_left_out(&classes.into_inner(), left_out);
}

/// How many rows each class has.
const CREATED: &[(&str, usize)] = &[(TYPE, 0), (PATCH, 10), (UNSETTLED, 20)];
const UPDATED: &[(&str, usize)] = &[
    (TYPE, 0),
    (RESOLVED, 0),
    (UNUSED, 0),
    (SAME_NAME, 0),
    (REFUSED, 7),
    (PATCH, 4),
    (NODE_PULL, 6),
    (VERSIONS, 26),
    (NODES, 89),
];
const WITH_BEFORE: &[(&str, usize)] = &[
    (TYPE, 0),
    (RESOLVED, 0),
    (UNUSED, 0),
    (SAME_NAME, 0),
    (REFUSED, 7),
    (PATCH, 5),
    (NODE_PULL, 8),
    (VERSIONS, 26),
];

fn report(operation: &str, object: &Value, old: &Value, nodes: &Value) -> Report {
    compared(None, operation, object, old, nodes)
}

/// The report on a request, compared with these nodes before it.
fn compared(
    before: Option<&Value>,
    operation: &str,
    object: &Value,
    old: &Value,
    nodes: &Value,
) -> Report {
    let (group, version) = object["apiVersion"]
        .as_str()
        .unwrap()
        .split_once('/')
        .unwrap();
    let request = json!({
        "kind": {"group": group, "version": version, "kind": "HyperConverged"},
        "operation": operation,
        "object": object,
        "oldObject": old,
    });
    let payload = json!({"request": request, "settings": {}}).to_string();
    let before = before.map(|nodes| list(nodes).to_string());
    let comparison = before.as_deref().map(|nodes| Comparison {
        nodes_before: Some(nodes),
        ..Comparison::default()
    });
    let nodes = list(nodes).to_string();
    engine::report_change(payload.as_bytes(), &nodes, comparison.as_ref())
}

fn list(nodes: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "NodeList", "items": nodes})
}

fn compare_create(row: &Value) -> Result<Class, Difference> {
    let report = report("CREATE", &row["hco"], &Value::Null, &row["nodes"]);
    let expected = &row["expected"];
    if report.code == Some(400) {
        return if row["schemaError"].is_null() {
            Err(Difference::new("error", format!("{:?}", report.message)))
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
        let fired = OF_TEMPLATES
            .iter()
            .find(|rule| !fired(&report, rule).is_empty());
        return match fired {
            Some(&"template-name-invalid") if is_nameless => Ok(None),
            None if !is_nameless => Ok(None),
            fired => Err(Difference::new(
                "error",
                format!("{error}, fired: {fired:?}"),
            )),
        };
    }
    compare_forecast(expected, &report)?;
    let managed = managed_data_sources(&row["hco"]);
    let wanted = Wanted::of(expected, &managed);
    let listed = templates(&row["hco"]).iter();
    let listed: BTreeSet<&str> = listed.map(|it| string(&it["metadata"]["name"])).collect();
    for rule in OF_TEMPLATES {
        // The names of templates that HCO adds are valid, even if a template of the object takes over their DataSource.
        let is_of_object =
            |name: &&&str| rule != "template-name-invalid" || listed.contains(**name);
        let theirs = wanted
            .0
            .get(rule)
            .into_iter()
            .flatten()
            .filter(is_of_object);
        // A finding shows the longest name that a template can have.
        let theirs: BTreeSet<&str> = theirs.map(|name| name.get(..253).unwrap_or(name)).collect();
        let ours = fired(&report, rule);
        let ours: BTreeSet<&str> = ours
            .into_iter()
            .map(|name| name.get(..253).unwrap_or(name))
            .collect();
        let is_polling_unknown = wanted.0.contains_key(UNKNOWN_POLLING);
        let agrees = match rule {
            "template-name-invalid" | "schedule-never-runs" if is_polling_unknown => {
                theirs.is_subset(&ours)
            }
            _ => theirs == ours,
        };
        if !agrees {
            let column = match rule {
                "template-name-invalid" | "data-import-cron-rejected" => "crons.refused",
                "schedule-never-runs" => "crons.polling",
                "data-source-shared" => "lost",
                _ => "dataSources",
            };
            let fact = format!("{rule}: theirs {theirs:?}, ours {ours:?}");
            return Err(Difference::new(column, fact));
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
                sources.find(|it| it["namespace"] == GOLDEN && it["name"] == name)
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

fn compare_forecast(expected: &Value, report: &Report) -> Result<(), Difference> {
    let forecast = serde_json::to_value(&report.forecast).unwrap();
    let default = report.default_architecture.as_deref().unwrap_or_default();
    if expected["defaultArchitecture"] != default {
        return Err(Difference::new("defaultArchitecture", default));
    }
    let polls = items(&expected["crons"])
        .iter()
        .any(|cron| !cron["polling"].is_null());
    let crons = |list: &Value, ours: bool| {
        set(items(list).iter().map(|cron| {
            let (is_rejected, never_runs) = if ours {
                (!cron["rejected"].is_null(), !cron["neverRuns"].is_null())
            } else {
                let polling = string(&cron["polling"]);
                (
                    !cron["refused"].is_null(),
                    ["none", "refused"].contains(&polling),
                )
            };
            json!([
                cron["template"],
                cron["namespace"],
                cron["name"],
                cron["architecture"],
                cron["managedDataSource"],
                is_rejected,
                polls && never_runs
            ])
        }))
    };
    let sources = |list: &Value| {
        set(items(list).iter().map(|it| {
            json!([
                it["namespace"],
                it["name"],
                it["pointsTo"],
                it["architectureLabel"],
                it["filled"]
            ])
        }))
    };
    for (column, theirs, ours) in [
        (
            "crons",
            crons(&expected["crons"], false),
            crons(&forecast["crons"], true),
        ),
        (
            "dataSources",
            sources(&expected["dataSources"]),
            sources(&forecast["dataSources"]),
        ),
        (
            "lost",
            set(items(&expected["lost"]).iter().cloned()),
            set(items(&forecast["lost"]).iter().cloned()),
        ),
        (
            "stopped",
            set([expected["stopped"].clone()]),
            set([forecast["stopped"].clone()]),
        ),
    ] {
        if theirs != ours {
            let fact = format!(
                "theirs {:?}, ours {:?}",
                theirs.difference(&ours).next(),
                ours.difference(&theirs).next()
            );
            return Err(Difference::new(column, fact));
        }
    }
    Ok(())
}

fn compare_update(row: &Value) -> Result<Class, Difference> {
    let expected = &row["expected"];
    if row["before"]["apiVersion"] != row["after"]["apiVersion"] {
        return Ok(Some(VERSIONS));
    }
    if row["nodesBefore"] != row["nodesAfter"] {
        return Ok(Some(NODES));
    }
    let report = report("UPDATE", &row["after"], &row["before"], &row["nodesAfter"]);
    if let Some(class) = left_out(row, &report)? {
        return Ok(Some(class));
    }
    let sides = [&expected["before"], &expected["after"]];
    let is_refused = sides.iter().any(|side| !side["error"].is_null());
    if !is_refused && let Some(class) = lags(row) {
        return Ok(Some(class));
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
    let changes_default = !before.is_empty() && !after.is_empty() && before != after;
    for (rule, theirs) in OF_UPDATES.into_iter().zip([
        is_replaced && !is_refused,
        !items(&expected["lostImage"]).is_empty() && !is_refused,
        changes_default,
    ]) {
        let ours = !fired(&report, rule).is_empty();
        if ours != theirs {
            return Err(Difference::new(
                rule,
                format!("theirs {theirs}, ours {ours}: {:?}", report.findings),
            ));
        }
    }
    if is_refused || report.changes.is_none() {
        let is_quiet = report.changes.is_none() && !is_replaced;
        return if is_quiet || is_refused {
            Ok(None)
        } else {
            Err(Difference::new("changes", "null"))
        };
    }
    compare_changes(expected, &report)
}

/// The same rows with the nodes before. Objects that HCO or SSP refused before did not exist.
fn compare_with_before(row: &Value) -> Result<Class, Difference> {
    let expected = &row["expected"];
    if row["before"]["apiVersion"] != row["after"]["apiVersion"] {
        return Ok(Some(VERSIONS));
    }
    let (before, after) = (&row["before"], &row["after"]);
    let nodes_before = Some(&row["nodesBefore"]);
    let report = compared(nodes_before, "UPDATE", after, before, &row["nodesAfter"]);
    if let Some(class) = left_out(row, &report)? {
        return Ok(Some(class));
    }
    if !expected["after"]["error"].is_null() {
        return match report.changes {
            None => Ok(None),
            Some(changes) => Err(Difference::new("changes", format!("{changes:?}"))),
        };
    }
    if let Some(class) = lags(row) {
        return Ok(Some(class));
    }
    if report.changes.is_none() {
        return Err(Difference::new("changes", "null"));
    }
    compare_changes(expected, &report)
}

/// Why an update does not get to the operators as the objects of the row did.
fn left_out(row: &Value, report: &Report) -> Result<Class, Difference> {
    let [before, after] = ["before", "after"].map(|side| &row["expected"][side]);
    if report.code == Some(400) {
        return if row["schemaErrorAfter"].is_null() {
            Err(Difference::new("error", format!("{:?}", report.message)))
        } else {
            Ok(Some(TYPE))
        };
    }
    if [before, after]
        .iter()
        .any(|side| side["error"]["at"] == "mutating-webhook-patch")
    {
        return Ok(Some(PATCH));
    }
    let import = report
        .multi_arch_import
        .map(|import| serde_json::to_value(import).unwrap() == "enabled");
    let theirs = after["multiArch"].as_bool();
    if import.is_some_and(|import| theirs.is_some_and(|theirs| import != theirs)) {
        return Ok(Some(RESOLVED));
    }
    if !fired(report, "import-contradiction").is_empty() && after["error"].is_null() {
        return Ok(Some(REFUSED));
    }
    Ok(None)
}

/// Why disks differ in a row whose controllers took turns until no object changed: CDI had not begun all imports there.
/// The tests of the crate `operator-models` compare the rest of such a row.
fn lags(row: &Value) -> Class {
    let expected = &row["expected"];
    let created = items(&expected["crons"]["created"]);
    let templates = templates(&row["after"]);
    let is_by_pod = |cron: &&Value| {
        let key = format!("{}/{}", string(&cron["namespace"]), string(&cron["name"]));
        let mut templates = templates.iter();
        let template = templates.find(|it| it["metadata"]["name"] == cron["template"]);
        let registry = template.map(|it| &it["spec"]["template"]["spec"]["source"]["registry"]);
        created.iter().any(|name| name == key.as_str())
            && cron["polling"] == "controller"
            && registry.is_some_and(|registry| registry["url"].is_string())
    };
    if items(&expected["after"]["crons"])
        .iter()
        .any(|cron| is_by_pod(&cron))
    {
        return Some(NODE_PULL);
    }
    let leftover = items(&expected["images"]["leftover"]);
    let imported = items(&expected["images"]["imported"]);
    let is_unused = imported.iter().any(|disk| leftover.contains(disk));
    is_unused.then_some(UNUSED)
}

fn compare_changes(expected: &Value, report: &Report) -> Result<Class, Difference> {
    let changes = serde_json::to_value(&report.changes).unwrap();
    if expected["crons"].is_null() != changes["crons"].is_null() {
        return Err(Difference::new("crons", "whether they settle"));
    }
    if expected["crons"].is_null() {
        return Ok(Some(SAME_NAME));
    }
    for (object, kind) in [
        ("crons", "created"),
        ("crons", "deleted"),
        ("crons", "recreated"),
        ("dataSources", "created"),
        ("dataSources", "deleted"),
        ("dataSources", "retargeted"),
        ("emptyMeanwhile", ""),
        ("lostImage", ""),
    ] {
        let of = |value: &Value| {
            let list = if kind.is_empty() {
                &value[object]
            } else {
                &value[object][kind]
            };
            set(items(list).iter().cloned())
        };
        let (theirs, ours) = (of(expected), of(&changes));
        if theirs != ours {
            return Err(Difference::new(
                object,
                format!("{kind}: theirs {theirs:?}, ours {ours:?}"),
            ));
        }
    }
    Ok(None)
}

fn fired<'r>(report: &'r Report, rule: &str) -> BTreeSet<&'r str> {
    let findings = report
        .findings
        .iter()
        .filter(|finding| finding.rule == rule);
    findings
        .map(|finding| finding.template.as_deref().unwrap_or_default())
        .collect()
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn set(values: impl IntoIterator<Item = Value>) -> BTreeSet<String> {
    values.into_iter().map(|value| value.to_string()).collect()
}
