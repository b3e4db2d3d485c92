//! The text output of a status.

use super::Status;
use crate::facts::Fact;
use crate::foreign::one_line;
use crate::headroom::Headroom;
use crate::no_forecast::NoForecast;
use crate::prose::{count, fix, folded, line};
use crate::report::NAMED;
use crate::row::{Effect, Row, Severity, by_effect, by_namespace, of_effect, of_kind};
use crate::stage::Situation;
use crate::stops;
use crate::terminal::{BOLD, DIM, GREEN, WIDTH, YELLOW};

pub(super) fn render(status: &Status, situation: &Situation, program: &str) -> String {
    let mut text = String::new();
    line!(text, "{}\n", folded(&answer(status), 2));
    let report = &situation.after.report;
    let facts = Fact::all(situation, [report, report]);
    text.extend(facts.iter().map(Fact::render));
    problems(&mut text, &status.rows);
    of_effect(&mut text, "conditions", &status.rows, Effect::Unhealthy);
    stops(&mut text, status, situation, program);
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
    of_effect(&mut text, "not read", &status.rows, Effect::NotRead);
    text
}

/// The problems of the HyperConverged.
fn problems(text: &mut String, rows: &[Row]) {
    let mut title = format!("\n{BOLD}problems{BOLD:#}\n");
    for effect in [Effect::Problem, Effect::MinorProblem] {
        let (style, sign) = effect.sign();
        for row in rows.iter().filter(|row| row.effect == effect) {
            let line = format!("  {style}{sign}{style:#} {}", row.detail);
            line!(text, "{title}{}", folded(&line, 4));
            title.clear();
        }
    }
}

/// The rule about nodes because of which SSP rejects the object.
const NODES: &str = "cluster-architecture-unknown";

/// The reasons why SSP stops, with the fixes.
fn stops(text: &mut String, status: &Status, situation: &Situation, program: &str) {
    stops::render(text, status.stopped, &status.stopped_by);
    let is_rejected = matches!(situation.outlook, Err(NoForecast::RejectedBySsp(_)));
    let of_nodes = situation.current().report.findings.iter();
    let of_nodes = of_nodes.filter(|it| is_rejected && it.rule == NODES);
    let stops = status.stopped_by.iter();
    let of_templates = stops.filter_map(|it| stops::finding(&situation.after.report, &it.template));
    let mut shown = Vec::new();
    for finding in of_templates.chain(of_nodes) {
        let shown_finding = (&finding.rule, finding.fix_text());
        if !shown.contains(&shown_finding) {
            fix(text, &shown_finding.1, WIDTH);
            line!(
                text,
                "         {DIM}{program} explain {}{DIM:#}",
                finding.rule
            );
            shown.push(shown_finding);
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
    let why = status.unknown.as_ref().and_then(|why| why.lines().next());
    let none = "there are no golden images".to_owned();
    let (mut style, mut word, mut what) = match status.reached {
        Some(true) if images.is_empty() => (GREEN, "ready", none),
        Some(true) => (
            GREEN,
            "ready",
            format!("all golden images are imported{or}"),
        ),
        Some(false) => (YELLOW, "not ready", not_ready(status)),
        None => (YELLOW, "unknown", why.unwrap_or_default().to_owned()),
    };
    if let Some(problems) = &status.problems {
        what = format!("{problems}; {what}");
        if word == "ready" {
            (style, word) = (YELLOW, "not ready");
        }
    }
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
    let (unwanted, missing): (Vec<_>, Vec<_>) =
        missing.partition(|it| it.state == Effect::Unwanted);
    let missing = [
        (missing.len(), "import"),
        (unwanted.len(), "deletion"),
        (status.data_sources.len(), "DataSource"),
    ];
    let missing = missing.into_iter().filter(|(number, _)| *number > 0);
    let missing: Vec<String> = missing.map(|(number, what)| count(number, what)).collect();
    let missing = (!missing.is_empty()).then(|| format!("{} outstanding", missing.join(", ")));
    let parts: Vec<String> = stopped.into_iter().chain(missing).collect();
    parts.join("; ")
}
