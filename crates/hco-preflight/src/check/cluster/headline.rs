//! The first line of a check of a cluster.

use std::collections::BTreeSet;

use anstyle::Style;
use cluster::foreign::Foreign;

use super::Checked;
use crate::prose::count;
use crate::rows::no_forecast::NoForecast;
use crate::rows::{Effect, Row, Severity, stops};
use crate::terminal::{GREEN, RED, YELLOW};

/// The phrases of the headline for one object, and for several, with one of these effects.
const PARTS: [(&[Effect], [&str; 2]); 8] = [
    (&[Effect::Failing], ["import fails", "imports fail"]),
    (
        &[
            Effect::Rejected,
            Effect::NeverImported,
            Effect::NotCreated,
            Effect::SourceNotCreated,
            Effect::Waiting,
            Effect::SourceNotReady,
        ],
        ["boot source has no disk", "boot sources have no disk"],
    ),
    (
        &[Effect::NotManaged, Effect::NotUpdated],
        ["boot source is not updated", "boot sources are not updated"],
    ),
    (
        &[Effect::Outdated],
        [
            "boot source has an outdated DataImportCron",
            "boot sources have outdated DataImportCrons",
        ],
    ),
    (
        &[Effect::Unwanted, Effect::SourceUnwanted],
        [
            "boot source is still to be deleted",
            "boot sources are still to be deleted",
        ],
    ),
    (
        &[
            Effect::CannotStart,
            Effect::WaitsForDisk,
            Effect::Unschedulable,
            Effect::NoNode,
            Effect::RejectedByKubeVirt,
        ],
        ["VM cannot start", "VMs cannot start"],
    ),
    (
        &[Effect::AlreadyOrphaned],
        ["VM is orphaned", "VMs are orphaned"],
    ),
    (&[Effect::Importing], ["import runs", "imports run"]),
];

pub(super) fn of(checked: &Checked) -> (Style, String, String) {
    let rows = &checked.rows;
    let mut parts = Vec::new();
    for row in checked.of_effects(&[Effect::Problem]) {
        match (row.about.get("alert"), row.about.get("rule")) {
            (Some(alert), _) => parts.push(format!("{alert} fires")),
            (None, rule) => parts.extend(rule.map(Foreign::to_string)),
        }
    }
    parts.dedup();
    let stops: BTreeSet<&str> = checked.stops().map(stops::template).collect();
    if !stops.is_empty() {
        let templates = Vec::from_iter(stops).join(", ");
        let what = format!("SSP is stopped by {templates}");
        parts.push(with_alert(what, &[Effect::StopsSsp]));
    }
    let kinds = |effect, separator: &str| {
        let mut kinds: Vec<&str> = checked.of_effects(&[effect]).map(|row| row.kind).collect();
        kinds.dedup();
        kinds.join(separator)
    };
    let unhealthy = kinds(Effect::Unhealthy, " and ");
    if !unhealthy.is_empty() {
        let what = format!("see the conditions of {unhealthy}");
        parts.push(with_alert(what, &[Effect::Unhealthy]));
    }
    for (effects, [one, several]) in PARTS {
        let is_older = |row: &&Row| row.effect == Effect::Waiting && row.severity == Severity::Info;
        let objects: BTreeSet<_> = checked
            .of_effects(effects)
            .filter(|row| !is_older(row))
            .map(Row::key)
            .collect();
        let what = match objects.len() {
            0 => continue,
            1 => format!("1 {one}"),
            number => format!("{number} {several}"),
        };
        parts.push(with_alert(what, effects));
    }
    for row in rows {
        let is_rejected = row.effect == Effect::StopsSsp && row.kind == "HyperConverged";
        if is_rejected || row.effect == Effect::NoForecast {
            parts.push(row.detail.to_string());
        }
    }
    if parts.is_empty() {
        parts.push(disks(checked));
    }
    let unread = kinds(Effect::NotRead, ", ");
    if !unread.is_empty() {
        parts.push(format!("not read: {unread}"));
    }
    let warnings = checked.of_effects(&[Effect::MinorProblem]).count();
    let is_unknown = rows.iter().any(|row| row.severity == Severity::Unknown);
    let (style, result) = match number_of_problems(rows) {
        0 if is_unknown => (YELLOW, "not everything is known".to_owned()),
        0 if !unread.is_empty() => (YELLOW, "no problem in what was read".to_owned()),
        0 if warnings > 0 => (
            YELLOW,
            format!("no problem, {}", count(warnings, "warning")),
        ),
        0 => (GREEN, "no problem".to_owned()),
        number => (RED, count(number, "problem")),
    };
    (style, result, parts.join("; "))
}

fn with_alert(what: String, effects: &[Effect]) -> String {
    match effects.iter().find_map(|effect| effect.alert()) {
        Some(alert) => format!("{what} ({alert})"),
        None => what,
    }
}

/// A problem of the HyperConverged counts, and otherwise each object once, whatever is wrong with it. An object that stops
/// SSP does not count again if a problem is about its template.
fn number_of_problems(rows: &[Row]) -> usize {
    let (problems, others): (Vec<&Row>, Vec<&Row>) = rows
        .iter()
        .filter(|row| row.severity == Severity::Loss)
        .partition(|row| row.effect == Effect::Problem);
    let told: BTreeSet<&str> = problems.iter().map(|row| stops::template(row)).collect();
    let objects: BTreeSet<_> = others
        .iter()
        .filter(|row| row.effect != Effect::StopsSsp || !told.contains(stops::template(row)))
        .map(|row| row.key())
        .collect();
    problems.len() + objects.len()
}

fn disks(checked: &Checked) -> String {
    if let Err(NoForecast::NotDeployed) = checked.situation.outlook {
        return NoForecast::NotDeployed.why().to_owned();
    }
    let number = |effects: &[Effect]| checked.of_effects(effects).count();
    match number(&[Effect::Ready, Effect::ExistingDisk]) {
        0 if number(&[Effect::Unknown]) > 0 => "golden images are unknown".to_owned(),
        0 => "there are no golden images".to_owned(),
        1 => "1 golden image has a disk".to_owned(),
        number => format!("{number} golden images have a disk"),
    }
}
