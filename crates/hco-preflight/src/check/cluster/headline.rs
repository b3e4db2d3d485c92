//! The first line of a check of a cluster.

use std::collections::BTreeSet;

use anstyle::Style;

use super::{Checked, problems};
use crate::prose::count;
use crate::rows::no_forecast::NoForecast;
use crate::rows::{Effect, Row, Severity, stops};
use crate::terminal::{GREEN, RED, YELLOW};

/// Where the rows of an effect stand in the headline.
const PARTS: [(&[Effect], &str, [&str; 2]); 8] = [
    (&[Effect::Failing], "import", [" fails", " fail"]),
    (
        &[
            Effect::Rejected,
            Effect::NeverImported,
            Effect::NotCreated,
            Effect::SourceNotCreated,
            Effect::Waiting,
            Effect::SourceNotReady,
        ],
        "boot source",
        [" has no disk", " have no disk"],
    ),
    (
        &[Effect::NotManaged, Effect::NotUpdated],
        "boot source",
        [" is not updated", " are not updated"],
    ),
    (
        &[Effect::Outdated],
        "boot source",
        [
            " has an outdated DataImportCron",
            " have outdated DataImportCrons",
        ],
    ),
    (
        &[Effect::Unwanted, Effect::SourceUnwanted],
        "boot source",
        [" is still to be deleted", " are still to be deleted"],
    ),
    (
        &[
            Effect::CannotStart,
            Effect::WaitsForDisk,
            Effect::Unschedulable,
            Effect::NoNode,
            Effect::RejectedByKubeVirt,
        ],
        "VM",
        [" cannot start", " cannot start"],
    ),
    (
        &[Effect::AlreadyOrphaned],
        "VM",
        [" is orphaned", " are orphaned"],
    ),
    (&[Effect::Importing], "import", [" runs", " run"]),
];

/// The headline, with the style of its first word.
pub(super) fn of(checked: &Checked) -> (Style, String) {
    let rows = &checked.rows;
    let number = number_of_problems(rows);
    let mut parts = problems::names(&checked.situation.current().report.findings);
    let stops: BTreeSet<&str> = checked.stops.iter().map(stops::template).collect();
    if !stops.is_empty() {
        let templates = Vec::from_iter(stops).join(", ");
        let alert = Effect::StopsSsp.alert().unwrap_or_default();
        parts.push(format!("SSP is stopped by {templates} ({alert})"));
    }
    let mut unhealthy: Vec<&str> = of_effects(rows, &[Effect::Unhealthy])
        .map(|row| row.kind)
        .collect();
    unhealthy.dedup();
    if !unhealthy.is_empty() {
        let alert = Effect::Unhealthy.alert().unwrap_or_default();
        let kinds = unhealthy.join(" and ");
        parts.push(format!("see the conditions of {kinds} ({alert})"));
    }
    for (effects, what, [one, several]) in PARTS {
        let is_older = |row: &&Row| row.effect == Effect::Waiting && row.severity == Severity::Info;
        let objects: BTreeSet<_> = of_effects(rows, effects)
            .filter(|row| !is_older(row))
            .map(Row::key)
            .collect();
        let number = objects.len();
        let end = if number == 1 { one } else { several };
        if number > 0 {
            let alert = effects
                .iter()
                .find_map(|effect| effect.alert())
                .map_or_else(String::new, |alert| format!(" ({alert})"));
            parts.push(format!("{}{end}{alert}", count(number, what)));
        }
    }
    let rejected = of_effects(rows, &[Effect::StopsSsp]).filter(|row| row.kind == "HyperConverged");
    let reasons = of_effects(rows, &[Effect::NoForecast]).chain(rejected);
    parts.extend(reasons.map(|row| row.detail.to_string()));
    if parts.is_empty() {
        parts.push(disks(checked));
    }
    let unread: Vec<&str> = of_effects(rows, &[Effect::NotRead])
        .map(|row| row.kind)
        .collect();
    if !unread.is_empty() {
        parts.push(format!("not read: {}", unread.join(", ")));
    }
    let warnings = of_effects(rows, &[Effect::MinorProblem]).count();
    let what = parts.join("; ");
    let worst = rows.iter().map(|row| row.severity).max();
    match (number, worst) {
        (1.., _) => (RED, format!("{}: {what}", count(number, "problem"))),
        (0, Some(Severity::Unknown)) => (YELLOW, format!("not everything is known: {what}")),
        (0, _) if !unread.is_empty() => (YELLOW, format!("no problem in what was read: {what}")),
        (0, _) if warnings > 0 => (
            YELLOW,
            format!("no problem, {}: {what}", count(warnings, "warning")),
        ),
        (0, _) => (GREEN, format!("no problem: {what}")),
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
    let number = |effects| of_effects(&checked.rows, effects).count();
    let with_disk = number(&[Effect::Ready, Effect::ExistingDisk]);
    match with_disk {
        0 if number(&[Effect::Unknown]) > 0 => "golden images are unknown".to_owned(),
        0 => "there are no golden images".to_owned(),
        1 => "1 golden image has a disk".to_owned(),
        _ => format!("{with_disk} golden images have a disk"),
    }
}

fn of_effects<'r>(rows: &'r [Row], effects: &'r [Effect]) -> impl Iterator<Item = &'r Row> {
    rows.iter().filter(|row| effects.contains(&row.effect))
}
