//! The text output of a status.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anstyle::Style;
use engine::{Import, Stopped};

use super::Status;
use super::conditions::{Cause, Condition};
use super::golden_images::{GoldenImage, NotImported, SourceState, State};
use crate::foreign::{self, Foreign, one_line};
use crate::headroom::Headroom;
use crate::plan::machines::Counted;
use crate::prose::{count, folded};
use crate::report::{LABEL_FIRST, counted, some};
use crate::terminal::{BOLD, DIM, GREEN, RED, YELLOW};

pub(super) fn render(status: &Status, program: &str) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{BOLD}HyperConverged {}{BOLD:#}\n", status.object);
    result(&mut text, status);
    text.push('\n');
    head(&mut text, status);
    if let Some(unnoticed) = &status.unnoticed {
        let _ = writeln!(text, "\n{YELLOW}!{YELLOW:#} {unnoticed}");
    }
    conditions(&mut text, &status.conditions, program);
    stops(&mut text, status, program);
    golden_images(&mut text, status);
    not_imported(&mut text, status);
    data_sources(&mut text, status);
    machines(&mut text, status);
    text.extend(status.headroom.iter().map(Headroom::render));
    if !status.unread.is_empty() {
        let _ = writeln!(text, "\n{BOLD}not read{BOLD:#}");
        for unread in &status.unread {
            let line = format!("  {}: {}", unread.kind, one_line(&unread.reason));
            let _ = writeln!(text, "{}", folded(&line, 6));
        }
    }
    text
}

fn head(text: &mut String, status: &Status) {
    let import = status.multi_arch_import;
    let import = import.map(|it| if it == Import::Enabled { "on" } else { "off" });
    let shown = |value: &Option<Foreign>| value.as_ref().map(Foreign::to_string);
    let nodes = (!status.nodes.is_empty()).then(|| counted(&status.nodes));
    let machines = &status.virtual_machine_architectures;
    let machines: Vec<String> = machines.iter().map(architecture).collect();
    for (what, value) in [
        ("multi-architecture import", import.map(str::to_owned)),
        ("HCO", status.hco_version_shown.clone()),
        ("workload nodes", nodes),
        (
            "default architecture of new VMs",
            shown(&status.default_architecture)
                .or_else(|| Some("KubeVirt's own default: HCO sets none".to_owned()))
                .map(|it| {
                    if status.reads_labels {
                        format!("{it} ({LABEL_FIRST})")
                    } else {
                        it
                    }
                }),
        ),
    ] {
        let value = value.unwrap_or_else(|| "none".to_owned());
        let _ = writeln!(text, "{}", folded(&format!("{what:<36}{value}"), 36));
    }
    if !machines.is_empty() {
        let line = format!("{:<36}{}", "VMs", machines.join(", "));
        let _ = writeln!(text, "{}", folded(&line, 36));
    }
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

/// The reason why SSP stops, if no condition shows it, and the changes that SSP makes before it stops.
fn stops(text: &mut String, status: &Status, program: &str) {
    let is_shown = |template: &Foreign| {
        let mut causes = status.conditions.iter().filter_map(|it| it.cause.as_ref());
        causes.any(|cause| cause.template.as_ref() == Some(template))
    };
    let mut stops = status
        .stopped_by
        .iter()
        .filter(|it| !is_shown(&it.template))
        .peekable();
    if stops.peek().is_none() {
        return;
    }
    let what = match status.stopped {
        Some(Stopped::SameName) => {
            "Several DataImportCrons have the same name: SSP creates only one of them, and which one is not determined."
        }
        Some(Stopped::DataSource) => "A DataSource is rejected: SSP creates no DataImportCron.",
        _ => {
            "A DataImportCron is rejected: SSP deletes no DataImportCron that is no longer wanted."
        }
    };
    let what = folded(&format!("  {RED}✘{RED:#} {what}"), 4);
    let _ = writeln!(text, "\n{BOLD}what stops SSP{BOLD:#}\n{what}");
    for stop in stops {
        let _ = writeln!(text, "{}", folded(&format!("      {stop}"), 8));
    }
    for (rule, fix) in &status.fixes {
        self::fix(text, fix);
        let _ = writeln!(text, "      {DIM}{program} explain {rule}{DIM:#}");
    }
}

fn golden_images(text: &mut String, status: &Status) {
    let mut by_namespace: BTreeMap<&Foreign, Vec<&GoldenImage>> = BTreeMap::new();
    for image in &status.golden_images {
        let images = by_namespace.entry(&image.namespace).or_default();
        images.push(image);
    }
    if by_namespace.is_empty() {
        let none = if status.unknown.is_some() {
            "unknown"
        } else {
            "none"
        };
        let _ = writeln!(text, "\n{BOLD}golden images{BOLD:#}\n  {none}");
    }
    for (namespace, images) in by_namespace {
        let _ = writeln!(text, "\n{BOLD}golden images in {namespace}{BOLD:#}");
        let name = |image: &GoldenImage| {
            let name = image.data_source.as_ref().unwrap_or(&image.cron);
            name.to_string()
        };
        let widths = images.iter().map(|image| name(image).chars().count());
        let width = widths.max().unwrap_or_default().min(40);
        for image in images {
            let (style, sign) = shown(image.state);
            let words = words(image, status);
            let line = format!("  {style}{sign}{style:#} {:<width$}  {words}", name(image));
            let _ = writeln!(text, "{}", folded(&line, 6));
            if let Some(command) = &image.command {
                let when = match image.state {
                    State::NotManaged => "fix",
                    _ => "if that does not change",
                };
                let _ = writeln!(text, "      {when}: {command}");
            }
        }
    }
}

fn not_imported(text: &mut String, status: &Status) {
    if !status.not_imported.is_empty() {
        let _ = writeln!(text, "\n{BOLD}templates that are not imported{BOLD:#}");
    }
    for NotImported { template, why } in &status.not_imported {
        let line = format!("  {DIM}·{DIM:#} {template}: {why}");
        let _ = writeln!(text, "{}", folded(&line, 6));
    }
}

fn shown(state: State) -> (Style, char) {
    match state {
        State::Ready | State::ExistingDisk => (GREEN, '✔'),
        State::Importing | State::Waiting => (YELLOW, '…'),
        State::NotCreated => (YELLOW, '+'),
        State::Outdated => (YELLOW, '~'),
        State::Failing
        | State::SourceNotReady
        | State::NotManaged
        | State::Rejected
        | State::NeverImported => (RED, '✘'),
        State::Unwanted => (YELLOW, '-'),
        State::Unknown => (YELLOW, '?'),
    }
}

fn words(image: &GoldenImage, status: &Status) -> String {
    let message = image.message.as_ref();
    let message = message.map_or_else(String::new, |it| match image.state {
        State::Outdated => format!(" ({it})"),
        _ => format!(": {it}"),
    });
    let since = since(image.since.as_ref());
    match image.state {
        State::Ready => format!("ready{since}"),
        State::ExistingDisk => {
            "SSP does not import it: a PersistentVolumeClaim of its name is there, which no DataImportCron created".to_owned()
        },
        State::Importing => format!("importing{message}"),
        State::Waiting => format!("not imported yet{message}"),
        State::Failing if image.has_older_disk => {
            format!("the import fails{message}; the older disk stays in use")
        }
        State::Failing => format!("the import fails{message}"),
        State::SourceNotReady => format!("imported, but its DataSource is not ready{message}"),
        State::NotManaged => format!("CDI does not update its DataSource{message}"),
        State::NotCreated => format!("its DataImportCron {} is not created yet", image.cron),
        State::Outdated => format!(
            "its DataImportCron {} has an old spec{message}: SSP deletes it and creates it again",
            image.cron
        ),
        State::Rejected => format!("its DataImportCron {} is rejected{message}", image.cron),
        State::NeverImported => format!("never imported{message}"),
        State::Unwanted => {
            let cron = &image.cron;
            let when = if status.stops_ssp() {
                " when nothing stops SSP"
            } else {
                ""
            };
            format!("no longer wanted: SSP deletes the DataImportCron {cron}{when}")
        }
        State::Unknown => format!("unknown{message}"),
    }
}

fn data_sources(text: &mut String, status: &Status) {
    if status.data_sources.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{BOLD}DataSources{BOLD:#}");
    for source in &status.data_sources {
        let what = match (source.state, &source.from, &source.to) {
            (SourceState::NotCreated, ..) => "is not created yet".to_owned(),
            (SourceState::Unwanted, ..) => "is no longer wanted, and will be deleted".to_owned(),
            (SourceState::PointsElsewhere, Some(from), Some(to)) => {
                format!("still points to {from}, and not to {to}")
            }
            (SourceState::PointsElsewhere, _, Some(to)) => format!("does not point to {to} yet"),
            (SourceState::PointsElsewhere, Some(from), None) => format!("still points to {from}"),
            (SourceState::PointsElsewhere, None, None) => "is not up to date".to_owned(),
        };
        let _ = writeln!(
            text,
            "  {YELLOW}!{YELLOW:#} {}/{} {what}",
            source.namespace, source.name
        );
    }
}

fn machines(text: &mut String, status: &Status) {
    let mut alike: BTreeMap<(Option<&Foreign>, &Foreign), Vec<Foreign>> = BTreeMap::new();
    for machine in &status.virtual_machines {
        let name = format!("{}/{}", machine.namespace.raw(), machine.name.raw());
        let machines = alike.entry((machine.node.as_ref(), &machine.detail));
        machines.or_default().push(Foreign::from(&*name));
    }
    if !alike.is_empty() {
        let _ = writeln!(text, "\n{BOLD}virtual machines{BOLD:#}");
    }
    for ((node, detail), machines) in alike {
        let why = node.map(|node| format!("the placement excludes its node {node}: "));
        let (machines, why) = (some(&machines), why.unwrap_or_default());
        let line = format!("  {YELLOW}!{YELLOW:#} {machines}: {why}{detail}");
        let _ = writeln!(text, "{}", folded(&line, 6));
    }
}

fn result(text: &mut String, status: &Status) {
    let _ = match (status.reached, &status.unknown) {
        (Some(true), _) => {
            let images = &status.golden_images;
            let are_imported = images.iter().all(|it| it.state == State::Ready);
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
    let mut parts = Vec::new();
    if status.stopped.is_some() {
        let mut by = status.stopped_by.iter().map(|stop| &stop.template);
        let by = by.next().map(|cause| format!(" by {cause}"));
        parts.push(format!("SSP stopped{}", by.unwrap_or_default()));
    }
    let missing = missing(status);
    if !missing.is_empty() {
        parts.push(format!("{} outstanding", missing.join(", ")));
    }
    parts.join("; ")
}

fn missing(status: &Status) -> Vec<String> {
    let (missing, sources) = (status.missing().count(), status.data_sources.len());
    [(missing, "DataImportCron"), (sources, "DataSource")]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| count(number, what))
        .collect()
}

fn since(time: Option<&Foreign>) -> String {
    time.map_or_else(String::new, |time| format!(" since {time}"))
}
