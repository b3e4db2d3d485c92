//! The text output of a status.

use std::fmt::Write as _;

use super::Status;
use super::conditions::{Cause, Condition};
use crate::facts::Fact;
use crate::foreign::{self, Foreign, one_line};
use crate::headroom::Headroom;
use crate::plan::machines::Counted;
use crate::prose::{count, folded};
use crate::report::{NAMED, some};
use crate::row::{Effect, Severity, by_effect, by_namespace, not_read, of_kind};
use crate::stops::{self, Stop};
use crate::terminal::{BOLD, DIM, GREEN, RED, YELLOW};

pub(super) fn render(status: &Status, program: &str) -> String {
    let mut text = String::new();
    let object = status.observed.object();
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{BOLD}HyperConverged {object}{BOLD:#}\n");
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
        let _ = writeln!(text, "\n{YELLOW}!{YELLOW:#} {unnoticed}");
    }
    conditions(&mut text, &status.conditions, program);
    stops(&mut text, status, program);
    let images = of_kind(&status.rows, "DataSource");
    if images.is_empty() {
        let none = match status.unknown {
            Some(_) => "unknown",
            None => "none",
        };
        let _ = writeln!(text, "\n{BOLD}golden images{BOLD:#}\n  {none}");
    }
    by_namespace(&mut text, "golden images", &images, "");
    let left_out = of_kind(&status.rows, "DataImportCronTemplate");
    by_effect(
        &mut text,
        "templates that are not imported",
        &left_out,
        NAMED,
        "",
    );
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
    let _ = writeln!(text, "\n{BOLD}conditions{BOLD:#}");
    // Several conditions can show the same problem.
    let mut by_message: Vec<(&Condition, Vec<String>)> = Vec::new();
    for condition in conditions {
        let words = match condition.r#type {
            "Degraded" => "is degraded",
            "Available" => "is not available",
            _ => "does not complete its reconcile",
        };
        let known = by_message.iter_mut().find(|(known, _)| {
            (known.kind, &known.name, &known.message)
                == (condition.kind, &condition.name, &condition.message)
        });
        match known {
            Some((_, all)) => all.push(words.to_owned()),
            None => by_message.push((condition, vec![words.to_owned()])),
        }
    }
    let mut messages: Vec<&Foreign> = Vec::new();
    let mut shown: Vec<&Cause> = Vec::new();
    for (condition, words) in by_message {
        let (kind, since) = (condition.kind, since(condition.since.as_ref()));
        let (namespace, name) = (&condition.namespace, &condition.name);
        let words = words.join(" and ");
        let _ = writeln!(
            text,
            "  {RED}✘{RED:#} {kind} {namespace}/{name} {words}{since}"
        );
        if let Some(message) = &condition.message {
            // The HyperConverged repeats SSP's message.
            let repeated = messages
                .iter()
                .find_map(|it| message.raw().strip_suffix(it.raw()));
            let message = repeated.map_or_else(
                || message.to_string(),
                |own| {
                    format!(
                        "{} (the message above)",
                        one_line(own.trim_end_matches([':', ' ']))
                    )
                },
            );
            let _ = writeln!(text, "{}", folded(&format!("      {message}"), 6));
        }
        messages.extend(&condition.message);
        let Some(cause) = &condition.cause else {
            continue;
        };
        if shown.contains(&cause) {
            let _ = writeln!(text, "    {BOLD}cause{BOLD:#} same as above");
            continue;
        }
        shown.push(cause);
        let mut what = Vec::new();
        if let Some(template) = &cause.template {
            what.push(format!("template `{template}`"));
        }
        if let Some(path) = &cause.path {
            what.push(path.to_string());
        }
        if !cause.nodes.is_empty() {
            what.push(format!("nodes {}", some(&cause.nodes)));
        }
        let _ = writeln!(text, "    {BOLD}cause{BOLD:#} {}", what.join(", "));
        if let Some(fact) = &cause.fact {
            let _ = writeln!(text, "{}", folded(&format!("      {fact}"), 6));
        }
        if let Some(fix) = &cause.fix {
            self::fix(text, fix);
        }
        if let Some(rule) = &cause.rule {
            let _ = writeln!(text, "      {DIM}{program} explain {rule}{DIM:#}");
        }
    }
}

fn fix(text: &mut String, fix: &str) {
    let fix = foreign::lines(fix);
    for (index, line) in fix.lines().enumerate() {
        let lead = if index == 0 { "fix: " } else { "" };
        let _ = writeln!(text, "      {lead}{line}");
    }
}

/// The reason why SSP stops, if no condition shows it.
fn stops(text: &mut String, status: &Status, program: &str) {
    let is_shown = |stop: &&Stop| {
        let mut causes = status.conditions.iter().filter_map(|it| it.cause.as_ref());
        causes.any(|cause| cause.template.as_ref() == Some(&stop.template))
    };
    let stops = status.stopped_by.iter().filter(|stop| !is_shown(stop));
    let stops: Vec<Stop> = stops.cloned().collect();
    stops::render(text, status.stopped, &stops);
    let mut shown = Vec::new();
    for stop in &stops {
        let Some(finding) = stops::finding(&status.observed.will_be, &stop.template) else {
            continue;
        };
        let (rule, fix) = (&finding.rule, &finding.fix);
        if !shown.contains(&(rule, fix)) {
            shown.push((rule, fix));
            self::fix(text, fix);
            let _ = writeln!(text, "      {DIM}{program} explain {rule}{DIM:#}");
        }
    }
}

fn result(text: &mut String, status: &Status) {
    let _ = match (status.reached, &status.unknown) {
        (Some(true), _) => {
            let images = &status.golden_images;
            let are_imported = images.iter().all(|it| it.state == Effect::Ready);
            let what = match (images.is_empty(), are_imported) {
                (true, _) => "there are no golden images",
                (_, true) => "all golden images are imported",
                (_, false) => "all golden images are imported, or have a disk of their own",
            };
            writeln!(text, "{GREEN}ready{GREEN:#}: {what}")
        }
        (Some(false), _) => {
            let parts = not_ready(status);
            writeln!(text, "{YELLOW}not ready{YELLOW:#}: {parts}")
        }
        (None, why) => writeln!(
            text,
            "{YELLOW}unknown{YELLOW:#}: {}",
            why.as_deref().unwrap_or_default()
        ),
    };
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

fn since(time: Option<&Foreign>) -> String {
    time.map_or_else(String::new, |time| format!(" since {time}"))
}
