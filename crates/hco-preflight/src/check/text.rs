//! The text output of a check: the verdict first, then the table of images, then the fixes.

use std::collections::BTreeSet;

use anstyle::Style;
use cluster::foreign::{self, one_line};

use crate::exit::Exit;
use crate::prose::{count, findings, fix, folded, line, table};
use crate::report::{Boot, Finding, Level, Template, architecture, counted, listed, unexplained};
use crate::terminal::{BOLD, CYAN, DIM, GREEN, RED, YELLOW};
use crate::verdict::{Judged, Verdicts};

pub(crate) fn render(verdicts: &Verdicts, name: &str) -> String {
    let mut text = String::new();
    for object in &verdicts.objects {
        block(&mut text, object);
    }
    if !verdicts.objects.is_empty() {
        closing(&mut text, verdicts, name);
    }
    text
}

fn sign(exit: Exit) -> (Style, char, &'static str) {
    match exit {
        Exit::Accepted => (GREEN, '✔', "accepted"),
        Exit::Denied => (RED, '✘', "denied"),
        Exit::Unjudged => (RED, '!', "not checked"),
    }
}

fn block(text: &mut String, object: &Judged) {
    let (style, sign, word) = sign(object.exit());
    let name = object.name();
    line!(text, "{style}{sign} {word}{style:#}  {BOLD}{name}{BOLD:#}");
    let identity = &object.question.identity;
    let mut version = one_line(&identity.api_version);
    if identity.is_virtual_machine() {
        version.push_str(" VirtualMachine");
    }
    let (at, comparison) = (object.at(None), &object.question.against);
    line!(text, "  {DIM}{at} · {version} · {comparison}{DIM:#}");
    if let Some(policy) = &object.policy {
        line!(text, "  {DIM}by {policy}{DIM:#}");
    }
    text.push('\n');
    facts(text, object);
    images(text, object);
    let mut shown = BTreeSet::new();
    if let Some(message) = unexplained(&object.report) {
        let message = foreign::lines(message);
        let (sentences, fixes) = message.split_once("\nfix: ").unwrap_or((&message, ""));
        line!(text, "{}", folded(&format!("    {sentences}"), 4));
        fix(text, &mut shown, fixes);
        text.push('\n');
    }
    for (level, style, sign) in [
        (Level::Deny, RED, "✘ deny"),
        (Level::Warn, YELLOW, "! warn"),
    ] {
        let found: Vec<&Finding> = object.of(level).collect();
        // The findings are sorted by rule.
        for group in found.chunk_by(|one, other| one.rule == other.rule) {
            let rule = group.first().map_or("", |finding| &finding.rule);
            line!(text, "  {style}{sign}{style:#}  {BOLD}{rule}{BOLD:#}");
            let mut told = Vec::new();
            for finding in group {
                let (fact, at, path) = (&finding.fact, object.at(Some(finding)), &finding.path);
                told.push((*finding, format!("    {fact}\n{CYAN}{at}{CYAN:#}  {path}")));
            }
            findings(text, &mut shown, &told);
            text.push('\n');
        }
    }
    let existing: Vec<&Finding> = object.of(Level::Carried).collect();
    if !existing.is_empty() {
        let title = "· existing problems, which do not cause a denial";
        line!(text, "  {DIM}{title}{DIM:#}");
        for finding in existing {
            let (rule, fact, at) = (&finding.rule, &finding.fact, object.at(Some(finding)));
            line!(text, "    {DIM}{rule}: {fact} ({at}){DIM:#}");
        }
        text.push('\n');
    }
}

fn facts(text: &mut String, object: &Judged) {
    let report = &object.report;
    let machine = report.virtual_machine.as_ref();
    let control_plane = report.control_plane_architectures.as_deref();
    let import = report.multi_arch_import.map(|import| import.into_str());
    let facts = [
        ("architecture", machine.map(architecture)),
        ("workload nodes", report.nodes.as_ref().map(counted)),
        ("control plane", control_plane.map(listed)),
        ("multi-architecture import", import.map(str::to_owned)),
    ];
    let before = text.len();
    for (name, fact) in facts {
        if let Some(fact) = fact {
            let fact = if fact.is_empty() { "none" } else { &fact };
            line!(text, "  {name:<27}{fact}");
        }
    }
    if text.len() > before {
        text.push('\n');
    }
}

fn images(text: &mut String, object: &Judged) {
    let (Some(templates), Some(nodes)) = (&object.report.templates, &object.report.nodes) else {
        return;
    };
    if templates.is_empty() || nodes.is_empty() {
        return;
    }
    let heads: Vec<String> = nodes
        .iter()
        // All columns have space for the longest common state.
        .map(|(name, count)| format!("{:<14}", format!("{} ({count})", one_line(name))))
        .collect();
    let row = |template: &Template| {
        let cell = |name: &String| match template.architectures.get(name) {
            Some(Boot::InImage) => (GREEN, format!("✔ image has {}", one_line(name))),
            Some(Boot::Expected) => (GREEN, "✔ expected".to_owned()),
            Some(Boot::NotImported) => (RED, "✘ not imported".to_owned()),
            Some(Boot::Unknown) | None => (YELLOW, "? unknown".to_owned()),
        };
        let cells = nodes.keys().map(cell).collect();
        (template.name.to_string(), cells)
    };
    let rows: Vec<(String, Vec<_>)> = templates.iter().map(row).collect();
    table(text, ("  ", 48), "golden images", &heads, &rows);
    text.push('\n');
}

fn results(objects: &[Judged]) -> String {
    let mut results = Vec::new();
    for exit in [Exit::Accepted, Exit::Denied, Exit::Unjudged] {
        let (style, _, word) = sign(exit);
        let is_same = |object: &&Judged| object.exit() == exit;
        match objects.iter().filter(is_same).count() {
            0 => {}
            all if all == objects.len() => results.push(format!("{style}{word}{style:#}")),
            some => results.push(format!("{some} {style}{word}{style:#}")),
        }
    }
    results.join(", ")
}

fn closing(text: &mut String, verdicts: &Verdicts, name: &str) {
    let objects = &verdicts.objects;
    let of = |level| objects.iter().map(|object| object.of(level).count()).sum();
    let (problems, warnings): (usize, usize) = (of(Level::Deny), of(Level::Warn));
    let denials = count(problems, "denial");
    let are_denied = objects.iter().all(|object| object.exit() == Exit::Denied);
    let mut parts = vec![match (problems, are_denied) {
        (0, _) => results(objects),
        (_, true) => format!("{RED}{denials}{RED:#}"),
        (_, false) => format!("{}: {denials}", results(objects)),
    }];
    for (number, what) in [(warnings, "warning"), (verdicts.failures.len(), "error")] {
        if number > 0 {
            parts.push(count(number, what));
        }
    }
    let mut fixable = 0;
    for object in objects {
        let can_fix = |finding: &&Finding| object.question.can_fix(finding);
        fixable += object.report.findings.iter().filter(can_fix).count();
    }
    let mut summary = parts.join(", ");
    if fixable > 0 {
        let fix = format!("; {fixable} fixable: `{name} fix` with the same files and options");
        summary.push_str(&fix);
    }
    let number = count(objects.len(), "object");
    line!(text, "{BOLD}{number}{BOLD:#}: {summary}");
    if verdicts.exit() == Exit::Denied && problems > 0 {
        line!(text, "`{name} explain RULE` shows the page of a rule.");
    }
}
