//! The text output of a status.

use super::Status;
use super::conditions::{Cause, Condition};
use crate::facts::Fact;
use crate::foreign::{self, Foreign, one_line};
use crate::headroom::Headroom;
use crate::plan::machines::Counted;
use crate::prose::{count, folded, line};
use crate::report::{NAMED, some};
use crate::row::{Effect, Severity, by_effect, by_namespace, not_read, of_kind};
use crate::stops::{self, Stop};
use crate::terminal::{BOLD, DIM, GREEN, RED, YELLOW};

pub(super) fn render(status: &Status, program: &str) -> String {
    let mut text = String::new();
    let object = status.observed.object();
    line!(text, "{BOLD}HyperConverged {object}{BOLD:#}\n");
    result(&mut text, status);
    text.push('\n');
    let report = &status.observed.will_be;
    let mut facts = Fact::all(&status.observed, [report, report]);
    let machines = &status.virtual_machine_architectures;
    let machines: Vec<String> = machines.iter().map(architecture).collect();
    if !machines.is_empty() {
        facts.push(Fact::new("VMs", machines.join(", ")));
    }
    text.extend(facts.iter().map(Fact::render));
    if let Some(unnoticed) = &status.unnoticed {
        line!(text, "\n{YELLOW}!{YELLOW:#} {unnoticed}");
    }
    conditions(&mut text, &status.conditions, program);
    stops(&mut text, status, program);
    let images = of_kind(&status.rows, "DataSource");
    if images.is_empty() {
        let none = status.unknown.as_ref().map_or("none", |_| "unknown");
        line!(text, "\n{BOLD}golden images{BOLD:#}\n  {none}");
    }
    by_namespace(&mut text, "golden images", &images, "");
    let left_out = of_kind(&status.rows, "DataImportCronTemplate");
    let title = "templates that are not imported";
    by_effect(&mut text, title, &left_out, NAMED, "");
    let machines = of_kind(&status.rows, "VirtualMachine");
    by_effect(&mut text, "virtual machines", &machines, NAMED, "");
    text.extend(status.headroom.iter().map(Headroom::render));
    not_read(&mut text, &status.rows);
    text
}

fn architecture(of: &Counted) -> String {
    let architecture = of.architecture.as_ref();
    let name = architecture.map_or_else(|| "unknown".to_owned(), Foreign::to_string);
    let decides = match of.reason {
        "explicit" => "",
        "preference" => " by preference",
        "datasource" => " by boot source",
        _ => " by KubeVirt's default",
    };
    format!("{name}{decides} ({})", of.virtual_machines)
}

fn conditions(text: &mut String, conditions: &[Condition], program: &str) {
    if conditions.is_empty() {
        return;
    }
    line!(text, "\n{BOLD}conditions{BOLD:#}");
    let mut messages: Vec<&Foreign> = Vec::new();
    let mut shown: Vec<&Cause> = Vec::new();
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
        line!(
            text,
            "  {RED}✘{RED:#} {kind} {namespace}/{name} {words}{since}"
        );
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
        let Some(cause) = &condition.cause else {
            continue;
        };
        if shown.contains(&cause) {
            line!(text, "    {BOLD}cause{BOLD:#} same as above");
            continue;
        }
        shown.push(cause);
        let nodes = (!cause.nodes.is_empty()).then(|| format!("nodes {}", some(&cause.nodes)));
        let template = cause.template.as_ref().map(|it| format!("template `{it}`"));
        let path = cause.path.as_ref().map(Foreign::to_string);
        let what: Vec<String> = [template, path, nodes].into_iter().flatten().collect();
        line!(text, "    {BOLD}cause{BOLD:#} {}", what.join(", "));
        if let Some(fact) = &cause.fact {
            line!(text, "{}", folded(&format!("      {fact}"), 6));
        }
        if let Some(rule) = &cause.rule {
            fix(text, cause.fix.as_deref().unwrap_or_default());
            line!(text, "      {DIM}{program} explain {rule}{DIM:#}");
        }
    }
}

fn fix(text: &mut String, fix: &str) {
    let mut lead = "fix: ";
    for line in foreign::lines(fix).lines() {
        line!(text, "      {lead}{line}");
        lead = "";
    }
}

/// The reason why SSP stops, if no condition shows it.
fn stops(text: &mut String, status: &Status, program: &str) {
    let is_shown = |stop: &Stop| {
        let mut causes = status.conditions.iter().filter_map(|it| it.cause.as_ref());
        causes.any(|cause| cause.template.as_ref() == Some(&stop.template))
    };
    let mut stops = status.stopped_by.clone();
    stops.retain(|stop| !is_shown(stop));
    stops::render(text, status.stopped, &stops);
    let mut shown = Vec::new();
    for stop in &stops {
        if let Some(finding) = stops::finding(&status.observed.will_be, &stop.template)
            && !shown.contains(&(&finding.rule, &finding.fix))
        {
            shown.push((&finding.rule, &finding.fix));
            fix(text, &finding.fix);
            line!(text, "      {DIM}{program} explain {}{DIM:#}", finding.rule);
        }
    }
}

fn result(text: &mut String, status: &Status) {
    let images = &status.golden_images;
    let are_imported = images.iter().all(|it| it.state == Effect::Ready);
    let (style, word, what) = match status.reached {
        Some(true) if images.is_empty() => (GREEN, "ready", "there are no golden images"),
        Some(true) if are_imported => (GREEN, "ready", "all golden images are imported"),
        Some(true) => (
            GREEN,
            "ready",
            "all golden images are imported, or have a disk of their own",
        ),
        Some(false) => (YELLOW, "not ready", &*not_ready(status)),
        None => {
            let why = status.unknown.as_deref();
            (YELLOW, "unknown", why.unwrap_or_default())
        }
    };
    line!(text, "{style}{word}{style:#}: {what}");
}

/// The golden images and objects that are not ready yet, as a sentence.
fn not_ready(status: &Status) -> String {
    let stopped = status.stopped_by.first();
    let stopped = stopped.map(|stop| format!("SSP stopped by {}", stop.template));
    let images = status.golden_images.iter();
    let missing = images.filter(|it| it.severity() == Severity::Loss);
    let missing = [
        (missing.count(), "DataImportCron"),
        (status.data_sources.len(), "DataSource"),
    ];
    let missing = missing.into_iter().filter(|(number, _)| *number > 0);
    let missing: Vec<String> = missing.map(|(number, what)| count(number, what)).collect();
    let missing = (!missing.is_empty()).then(|| format!("{} outstanding", missing.join(", ")));
    let parts: Vec<String> = stopped.into_iter().chain(missing).collect();
    parts.join("; ")
}
