//! Compares the changes with the results of the operators' own code for generated updates.

use std::collections::BTreeSet;

use operator_models::forecast::{Changes, Cron, Disk, Forecast, State, changes};
use serde_json::{Value, json};
use test_data::Difference;

use super::cluster::Texts;
use super::data_import_crons::polling;
use super::forecast;
use super::{PATCH, TYPE, corpus, keys, strings, unreadable};

const NODE_PULL: &str = "a new cron with node pull, for which CDI first runs a pod";
const UNUSED: &str = "a new cron imports for a DataSource that it may not change";

#[test]
fn the_changes_agree_with_the_operators() {
    corpus(
        "chain-pairs",
        &[(TYPE, 0), (PATCH, 6), (NODE_PULL, 8), (UNUSED, 1)],
        compare,
    );
}

fn compare(row: &Value) -> Result<Option<&'static str>, Difference> {
    let before = Texts::new(&row["before"], &row["nodesBefore"]);
    let after = Texts::new(&row["after"], &row["nodesAfter"]);
    let (Some(before), Some(after)) = (before.cluster(), after.cluster()) else {
        return unreadable(row, &["schemaErrorBefore", "schemaErrorAfter"]);
    };
    let expected = &row["expected"];
    for (cluster, side) in [(&before, "before"), (&after, "after")] {
        if let Some(class) = forecast::compare(cluster, &expected[side])? {
            return Ok(Some(class));
        }
    }
    let before = before.forecast();
    let after = after.forecast();
    let state = before.as_ref().map(State::new).unwrap_or_default();
    // A rejected object changes nothing. HCO itself rejects an object that contradicts itself, which the forecast does
    // not cover.
    let is_rejected = !expected["after"]["error"].is_null();
    let Some(after) = after.as_ref().ok().filter(|_| !is_rejected) else {
        return Ok(None);
    };
    let changes = changes(&state, after);

    let Some(crons) = &changes.crons else {
        return if expected["crons"].is_null() {
            Ok(None)
        } else {
            Err(("crons", "they never settle".to_owned()))
        };
    };
    let sources = &changes.data_sources;
    let retargeted: Vec<_> = sources
        .retargeted
        .iter()
        .map(|source| json!({"name": source.key.to_string(), "from": source.from, "to": source.to}))
        .collect();
    let lags = lags(&changes, after);
    let columns = [
        ("crons", "created", keys(&crons.created)),
        ("crons", "deleted", keys(&crons.deleted)),
        ("crons", "recreated", keys(crons.recreated.keys())),
        ("dataSources", "created", keys(&sources.created)),
        ("dataSources", "deleted", keys(&sources.deleted)),
        ("dataSources", "retargeted", json!(retargeted)),
        ("images", "deleted", disks(&changes.deleted_disks)),
        ("images", "imported", disks(&changes.imported_disks)),
        ("images", "leftover", disks(&changes.leftover_disks)),
        ("emptyMeanwhile", "", keys(&changes.empty_meanwhile)),
        ("lostImage", "", keys(&changes.lost_image)),
    ];
    for (column, set, ours) in columns {
        if lags.is_some() && column != "crons" && !["created", "deleted"].contains(&set) {
            continue;
        }
        let theirs = if set.is_empty() {
            &expected[column]
        } else {
            &expected[column][set]
        };
        let theirs = if column == "images" {
            without_digests(theirs)
        } else {
            theirs.clone()
        };
        if ours != theirs {
            return Err((column, format!("{set}: theirs {theirs}, ours {ours}")));
        }
    }
    Ok(lags)
}

/// Why disks differ in a row whose controllers took turns until no object changed: CDI had not begun all imports there.
fn lags(changes: &Changes, after: &Forecast<'_>) -> Option<&'static str> {
    let created = &changes.crons.as_ref()?.created;
    let is_by_pod = |cron: &Cron| {
        let template = &after.templates[cron.template];
        let volume = template.spec.template.object().object("spec");
        let registry = volume.object("source").object("registry");
        polling(&cron.verdict) == Some("controller") && registry.field("url").is_present()
    };
    let mut created = after
        .crons
        .iter()
        .filter(|cron| created.contains(&cron.key));
    if created.any(is_by_pod) {
        return Some(NODE_PULL);
    }
    let are_used = changes.imported_disks.is_disjoint(&changes.leftover_disks);
    (!are_used).then_some(UNUSED)
}

fn disks(disks: &BTreeSet<Disk>) -> Value {
    keys(disks.iter().map(|disk| &disk.data_source))
}

fn without_digests(disks: &Value) -> Value {
    let mut names: Vec<_> = strings(disks)
        .into_iter()
        .map(|name| name.rsplit_once('-').unwrap().0)
        .collect();
    names.sort_unstable();
    json!(names)
}
