//! The text output of a status.

use super::Status;
use super::conditions::Condition;
use crate::facts::Fact;
use crate::foreign::{Foreign, one_line};
use crate::headroom::Headroom;
use crate::no_forecast::NoForecast;
use crate::prose::{count, fix, folded, line};
use crate::report::{Finding, NAMED};
use crate::row::{Effect, Severity, by_effect, by_namespace, not_read, of_kind};
use crate::stops;
use crate::terminal::{BOLD, DIM, GREEN, RED, WIDTH, YELLOW};

pub(super) fn render(status: &Status, program: &str) -> String {
    let mut text = String::new();
    line!(text, "{}\n", folded(&answer(status), 2));
    let report = &status.observed.will_be;
    let facts = Fact::all(&status.observed, [report, report]);
    text.extend(facts.iter().map(Fact::render));
    conditions(&mut text, &status.conditions);
    stops(&mut text, status, program);
    let images = of_kind(&status.rows, "DataSource");
    if images.is_empty() {
        let none = status.unknown.as_ref().map_or("none", |_| "unknown");
        line!(text, "\n{BOLD}golden images{BOLD:#}\n  {none}");
    }
    by_namespace(&mut text, "golden images", &images, "", true);
    let left_out = of_kind(&status.rows, "DataImportCronTemplate");
    let title = "templates that are not imported";
    by_effect(&mut text, title, &left_out, NAMED, "");
    let machines = of_kind(&status.rows, "VirtualMachine");
    by_effect(&mut text, "virtual machines", &machines, NAMED, "");
    text.extend(status.headroom.iter().map(Headroom::render));
    not_read(&mut text, &status.rows);
    text
}

fn conditions(text: &mut String, conditions: &[Condition]) {
    if conditions.is_empty() {
        return;
    }
    line!(text, "\n{BOLD}conditions{BOLD:#}");
    let mut messages: Vec<&Foreign> = Vec::new();
    // Several conditions can show the same problem.
    for alike in conditions.chunk_by(|one, other| one.problem() == other.problem()) {
        let [condition, ..] = alike else { continue };
        let words = alike.iter().map(|condition| match condition.r#type {
            "Degraded" => "is degraded",
            "Available" => "is not available",
            _ => "does not complete its reconcile",
        });
        let words = words.collect::<Vec<_>>().join(" and ");
        let (kind, namespace, name) = (condition.kind, &condition.namespace, &condition.name);
        let since = condition.since.as_ref();
        let since = since.map_or_else(String::new, |time| format!(" since {time}"));
        let line = format!("  {RED}✘{RED:#} {kind} {namespace}/{name} {words}{since}");
        line!(text, "{}", folded(&line, 6));
        if let Some(message) = &condition.message {
            // The HyperConverged repeats SSP's message.
            let mut repeated = messages.iter();
            let own = repeated.find_map(|it| message.raw().strip_suffix(it.raw()));
            let message = match own.map(|own| one_line(own.trim_end_matches([':', ' ']))) {
                Some(own) => format!("{own} (the message above)"),
                None => message.to_string(),
            };
            line!(text, "{}", folded(&format!("      {message}"), 6));
        }
        messages.extend(&condition.message);
    }
}

/// The rule about nodes because of which SSP rejects the object.
const NODES: &str = "cluster-architecture-unknown";

/// The reasons why SSP stops, with the fixes.
fn stops(text: &mut String, status: &Status, program: &str) {
    stops::render(text, status.stopped, &status.stopped_by);
    let situation = &status.observed;
    let rejected = situation
        .no_forecast()
        .filter(|it| matches!(it, NoForecast::RejectedBySsp(_)));
    let of_nodes = situation.is.iter().flat_map(|is| &is.findings);
    let of_nodes = of_nodes.filter(|it| rejected.is_some() && it.rule == NODES);
    let stops = status.stopped_by.iter();
    let of_templates = stops.filter_map(|it| stops::finding(&situation.will_be, &it.template));
    let mut shown = Vec::new();
    for Finding { rule, fix: how, .. } in of_templates.chain(of_nodes) {
        if !shown.contains(&(rule, how)) {
            shown.push((rule, how));
            fix(text, how, WIDTH);
            line!(text, "         {DIM}{program} explain {rule}{DIM:#}");
        }
    }
}

fn answer(status: &Status) -> String {
    let images = &status.golden_images;
    let are_imported = images.iter().all(|it| it.state == Effect::Ready);
    let or = if are_imported {
        ""
    } else {
        ", or have a disk of their own"
    };
    let why = status.unknown.clone().unwrap_or_default();
    let none = "there are no golden images".to_owned();
    let (style, word, mut what) = match status.reached {
        Some(true) if images.is_empty() => (GREEN, "ready", none),
        Some(true) => (
            GREEN,
            "ready",
            format!("all golden images are imported{or}"),
        ),
        Some(false) => (YELLOW, "not ready", not_ready(status)),
        None => (YELLOW, "unknown", why),
    };
    let mut unhealthy: Vec<&str> = status.conditions.iter().map(|it| it.kind).collect();
    unhealthy.dedup();
    if !unhealthy.is_empty() {
        what = format!("{what}; see the conditions of {}", unhealthy.join(" and "));
    }
    format!("{style}{word}{style:#}: {}", one_line(&what))
}

/// The golden images and objects that are not ready yet, as a sentence.
fn not_ready(status: &Status) -> String {
    let stopped = status.stopped_by.first();
    let stopped = stopped.map(|stop| format!("SSP stopped by {}", stop.template));
    let images = status.golden_images.iter();
    let missing = images.filter(|it| it.severity() == Severity::Loss);
    let missing = [
        (missing.count(), "import"),
        (status.data_sources.len(), "DataSource"),
    ];
    let missing = missing.into_iter().filter(|(number, _)| *number > 0);
    let missing: Vec<String> = missing.map(|(number, what)| count(number, what)).collect();
    let missing = (!missing.is_empty()).then(|| format!("{} outstanding", missing.join(", ")));
    let parts: Vec<String> = stopped.into_iter().chain(missing).collect();
    parts.join("; ")
}
