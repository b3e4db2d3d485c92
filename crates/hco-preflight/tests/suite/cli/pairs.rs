//! Compares `plan` with the results of the code of HCO, SSP, and CDI after generated changes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use serde_json::{Value, json};

use super::{run, scratch};

/// Rows that are left out, and why.
type Class = &'static str;
const VERSIONS: Class = "two versions of the API, which the command does not compare";
const UNREADABLE: Class = "a type that HCO's schema refuses";
const PATCH: Class = "HCO's mutating webhook fails, and writes a patch that does not apply";
const NODE_PULL: Class = "a new DataImportCron with node pull, for which CDI first runs a pod";
const NO_NODES: Class = "no nodes, for which the command makes no plan";
const UPDATE: Class = "an update that HCO's webhook refuses; the rows are two creations";
const LEFT: Class = "a new DataImportCron imports for a DataSource that it may not change";

/// The number of rows in each class.
const LEFT_OUT: [(Class, usize); 7] = [
    (VERSIONS, 26),
    (UNREADABLE, 0),
    (PATCH, 5),
    (NODE_PULL, 6),
    (NO_NODES, 4),
    (UPDATE, 7),
    (LEFT, 0),
];

#[test]
fn a_plan_agrees_with_the_operators() {
    let rows: Vec<Value> = test_data::rows("chain-pairs").collect();
    let directory = scratch();
    let classes: Mutex<BTreeMap<Class, usize>> = Mutex::default();
    let different: Mutex<Vec<String>> = Mutex::default();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for number in 0..threads {
            let rows = rows.iter().skip(number).step_by(threads);
            let (directory, classes, different) = (&directory, &classes, &different);
            scope.spawn(move || {
                for row in rows {
                    match compare(row, &directory.join(number.to_string())) {
                        Ok(None) => {}
                        Ok(Some(class)) => *classes.lock().unwrap().entry(class).or_default() += 1,
                        Err(why) => different
                            .lock()
                            .unwrap()
                            .push(format!("{}: {why}", row["id"])),
                    }
                }
            });
        }
    });
    let different = different.into_inner().unwrap();
    let (classes, count) = (classes.into_inner().unwrap(), rows.len());
    let shown: Vec<_> = different.iter().take(8).collect();
    assert!(
        different.is_empty(),
        "{} of {count} rows differ: {shown:#?}",
        different.len()
    );
    test_data::assert_left_out(&classes, &LEFT_OUT);
}

/// Compares a row; returns the class if it is left out.
fn compare(row: &Value, directory: &Path) -> Result<Option<Class>, String> {
    let expected = &row["expected"];
    if row["before"]["apiVersion"] != row["after"]["apiVersion"] {
        return Ok(Some(VERSIONS));
    }
    let fails_at = |side: &str| expected[side]["error"]["at"] == "mutating-webhook-patch";
    if fails_at("before") || fails_at("after") {
        return Ok(Some(PATCH));
    }
    std::fs::create_dir_all(directory).unwrap();
    let write = |name: &str, value: &Value| {
        let path = directory.join(name);
        std::fs::write(&path, value.to_string()).unwrap();
        path.display().to_string()
    };
    let list = |items: &Value| json!({"apiVersion": "v1", "kind": "NodeList", "items": items});
    let is = json!({"apiVersion": "v1", "kind": "List", "items": [
        list(&row["nodesBefore"]), row["before"],
    ]});
    let words = format!(
        "plan -q -o json --from {} -f {} --as-if replace --nodes {}",
        write("is.json", &is),
        write("after.json", &row["after"]),
        write("nodes.json", &list(&row["nodesAfter"])),
    );
    let run = run(&words);
    let is_empty = |nodes: &Value| nodes.as_array().is_none_or(Vec::is_empty);
    if is_empty(&row["nodesBefore"]) || is_empty(&row["nodesAfter"]) {
        let says = run.stderr.contains("there are no nodes");
        return says.then_some(Some(NO_NODES)).ok_or(format!("{run:?}"));
    }
    let Ok(plan) = serde_json::from_str::<Value>(&run.stdout) else {
        let is_refused = !row["schemaErrorBefore"].is_null() || !row["schemaErrorAfter"].is_null();
        return if is_refused {
            Ok(Some(UNREADABLE))
        } else {
            Err(format!("no plan: {run:?}"))
        };
    };
    let denied = plan["rows"].to_string();
    if denied.contains("[import-contradiction]") && expected["after"]["error"].is_null() {
        return Ok(Some(UPDATE));
    }
    if expected["crons"].is_null() || plan["crons"].is_null() {
        let is_same = expected["crons"] == plan["crons"];
        return is_same
            .then_some(None)
            .ok_or("crons: they never settle".to_owned());
    }
    for column in ["crons", "dataSources"] {
        for set in ["created", "deleted", "recreated"] {
            let ours = names(&plan[column][set]);
            // For a DataSource that SSP deletes and immediately creates again, the plan shows that it stays.
            if column == "crons" || set != "recreated" {
                same(
                    &format!("{column} {set}"),
                    &sorted(&expected[column][set]),
                    &ours,
                )?;
            }
        }
    }
    let retargeted = |list: &Value, name: &dyn Fn(&Value) -> String| {
        let list = list.as_array().into_iter().flatten();
        let texts = list.map(|it| format!("{}: {} → {}", name(it), it["from"], it["to"]));
        let mut texts: Vec<String> = texts.collect();
        texts.sort();
        texts
    };
    let theirs = &expected["dataSources"]["retargeted"];
    let theirs = retargeted(theirs, &|it| it["name"].as_str().unwrap().to_owned());
    let ours = retargeted(&plan["dataSources"]["retargeted"], &key);
    let disks = ["emptyMeanwhile", "lostImage"].into_iter();
    let mut disks = disks.map(|list| same(list, &sorted(&expected[list]), &sorted(&plan[list])));
    let lagging = same("retargeted", &theirs, &ours).and_then(|()| disks.try_for_each(|it| it));
    lagging
        .map(|()| None)
        .or_else(|why| lags(row).map(Some).ok_or(why))
}

/// Why disks differ: the controllers took turns until no object changed, and CDI had not begun all imports by then.
fn lags(row: &Value) -> Option<Class> {
    let expected = &row["expected"];
    let created = sorted(&expected["crons"]["created"]);
    let crons = expected["after"]["crons"].as_array()?;
    let mut new = crons.iter().filter(|cron| created.contains(&key(cron)));
    if new.any(|cron| cron["polling"] == "controller") {
        return Some(NODE_PULL);
    }
    let left = sorted(&expected["images"]["leftover"]);
    let imported = sorted(&expected["images"]["imported"]);
    let mut imported = imported.iter();
    imported.any(|image| left.contains(image)).then_some(LEFT)
}

fn same(what: &str, theirs: &[String], ours: &[String]) -> Result<(), String> {
    if theirs == ours {
        return Ok(());
    }
    Err(format!("{what}: theirs {theirs:?}, ours {ours:?}"))
}

fn key(object: &Value) -> String {
    let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
    format!("{}/{}", text("namespace"), text("name"))
}

fn names(objects: &Value) -> Vec<String> {
    let mut names: Vec<String> = objects.as_array().into_iter().flatten().map(key).collect();
    names.sort();
    names
}

fn sorted(texts: &Value) -> Vec<String> {
    let texts = texts.as_array().into_iter().flatten();
    let mut texts: Vec<String> = texts
        .filter_map(|it| it.as_str().map(str::to_owned))
        .collect();
    texts.sort();
    texts
}
