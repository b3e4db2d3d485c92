//! The text output of a check: the verdict first, then the table of images, then the fixes.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anstyle::Style;
use cluster::foreign::{self, one_line};

use crate::exit::Exit;
use crate::prose::{count, fix, fix_once, line, table, wrap};
use crate::report::{Boot, Finding, Level};
use crate::terminal::{BOLD, CYAN, DIM, GREEN, RED, YELLOW, width};
use crate::verdict::{Judged, Verdicts};

/// All objects, then the next steps.
pub(crate) fn render(verdicts: &Verdicts, name: &str) -> String {
    let mut text = String::new();
    for object in &verdicts.objects {
        block(&mut text, object);
    }
    legend(&mut text, &verdicts.objects);
    if !verdicts.objects.is_empty() {
        closing(&mut text, verdicts, name);
    }
    text
}

fn block(text: &mut String, object: &Judged) {
    let (style, sign, word) = match object.exit() {
        Exit::Accepted => (GREEN, '✔', "accepted"),
        Exit::Denied => (RED, '✘', "denied"),
        Exit::Unjudged => (RED, '!', "not checked"),
    };
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
    let before = text.len();
    for (name, fact) in object.facts() {
        line!(text, "  {name:<27}{fact}");
    }
    if text.len() > before {
        text.push('\n');
    }
    images(text, object);
    if let Some(message) = object.message() {
        let message = foreign::lines(message);
        let (sentences, fixes) = message.split_once("\nfix: ").unwrap_or((&message, ""));
        for line in wrap(sentences, 4) {
            line!(text, "    {line}");
        }
        fix(text, fixes);
        text.push('\n');
    }
    let mut shown = BTreeSet::new();
    for level in [Level::Deny, Level::Warn] {
        let found: Vec<&Finding> = object.of(level).collect();
        // The findings are sorted by rule.
        for group in found.chunk_by(|one, other| one.rule == other.rule) {
            rule(text, object, group, &mut shown);
        }
    }
    let mut existing = object.of(Level::Carried).peekable();
    if existing.peek().is_some() {
        let title = "· existing problems, which do not cause a denial";
        line!(text, "  {DIM}{title}{DIM:#}");
        for finding in existing {
            let (rule, fact, at) = (&finding.rule, &finding.fact, object.at(Some(finding)));
            line!(text, "    {DIM}{rule}: {fact} ({at}){DIM:#}");
        }
        text.push('\n');
    }
}

/// The table of templates and workload architectures.
fn images(text: &mut String, object: &Judged) {
    let Some((templates, nodes)) = object.images() else {
        return;
    };
    let heads: Vec<String> = nodes
        .iter()
        .map(|(name, count)| format!("{} ({count})", one_line(name)))
        // All columns have space for the longest common state.
        .map(|head| format!("{head:<14}"))
        .collect();
    let rows: Vec<(String, Vec<_>)> = templates
        .iter()
        .map(|template| {
            let boot = |name| template.architectures.get(name).copied();
            let cells = nodes.keys().map(|name| {
                let boot = boot(name).unwrap_or(Boot::Unknown);
                cell(name, boot)
            });
            (template.name.to_string(), cells.collect())
        })
        .collect();
    table(text, ("  ", 48), "golden images", &heads, &rows);
    text.push('\n');
}

/// The state of a golden image on an architecture.
fn cell(architecture: &str, boot: Boot) -> (Style, String) {
    match boot {
        Boot::InImage => (GREEN, format!("✔ image has {}", one_line(architecture))),
        Boot::Expected => (GREEN, "✔ expected".to_owned()),
        Boot::NotImported => (RED, "✘ not imported".to_owned()),
        Boot::Unknown => (YELLOW, "? unknown".to_owned()),
    }
}

/// The states in the tables of images, with their meanings.
const LEGEND: [(Boot, &str); 4] = [
    (
        Boot::InImage,
        "image has: imported, and the registry has the image for the architecture",
    ),
    (
        Boot::Expected,
        "expected: imported, if the image has the architecture; with the import on, --images looks it up",
    ),
    (
        Boot::NotImported,
        "not imported: no disk of this architecture, or the image lacks it",
    ),
    (
        Boot::Unknown,
        "unknown: the node that imports the image decides, or the image could not be read",
    ),
];

fn legend(text: &mut String, objects: &[Judged]) {
    for (boot, meaning) in LEGEND {
        if objects
            .iter()
            .filter_map(|object| object.images())
            .flat_map(|(templates, _)| templates)
            .any(|template| template.architectures.values().any(|cell| *cell == boot))
        {
            line!(text, "{DIM}{meaning}{DIM:#}");
        }
    }
}

/// The findings of one rule and level. Findings with the same fix share it.
fn rule(text: &mut String, object: &Judged, group: &[&Finding], shown: &mut BTreeSet<String>) {
    for (index, finding) in group.iter().enumerate() {
        if index == 0 {
            let (style, sign) = match finding.level {
                Level::Deny => (RED, '✘'),
                Level::Warn | Level::Carried => (YELLOW, '!'),
            };
            let (level, rule) = (finding.level.into_str(), &finding.rule);
            let level = format!("{style}{sign} {level}{style:#}");
            line!(text, "  {level}  {BOLD}{rule}{BOLD:#}");
        }
        for line in wrap(&finding.fact, 4) {
            line!(text, "    {line}");
        }
        let (at, path) = (object.at(Some(finding)), finding.path.to_string());
        let both = at.chars().count() + path.chars().count() + 6;
        let between = if both > width() { "\n    " } else { "  " };
        line!(text, "    {CYAN}{at}{CYAN:#}{between}{path}");
        let next = group.get(index + 1);
        if next.is_none_or(|next| next.fix_text() != finding.fix_text()) {
            fix_once(text, shown, &finding.fix_text());
        }
    }
    text.push('\n');
}

/// The number of objects by result, for example `2 accepted, 1 denied`.
fn results(objects: &[Judged]) -> String {
    let mut results = Vec::new();
    for (exit, word, style) in [
        (Exit::Accepted, "accepted", GREEN),
        (Exit::Denied, "denied", RED),
        (Exit::Unjudged, "not checked", RED),
    ] {
        match objects
            .iter()
            .filter(|object| object.exit() == exit)
            .count()
        {
            0 => {}
            all if all == objects.len() => results.push(format!("{style}{word}{style:#}")),
            some => results.push(format!("{some} {style}{word}{style:#}")),
        }
    }
    results.join(", ")
}

/// The counts, and the next steps.
fn closing(text: &mut String, verdicts: &Verdicts, name: &str) {
    let objects = &verdicts.objects;
    let of = |level| objects.iter().map(|object| object.of(level).count()).sum();
    let (problems, warnings): (usize, usize) = (of(Level::Deny), of(Level::Warn));
    let denials = count(problems, "denial");
    let are_denied = objects.iter().all(|object| object.exit() == Exit::Denied);
    let mut summary = format!("{BOLD}{}{BOLD:#}: ", count(objects.len(), "object"));
    match (problems, are_denied) {
        (0, _) => summary += &results(objects),
        (_, true) => drop(write!(summary, "{RED}{denials}{RED:#}")),
        (_, false) => drop(write!(summary, "{}: {denials}", results(objects))),
    }
    for (number, what) in [(warnings, "warning"), (verdicts.failures.len(), "error")] {
        if number > 0 {
            let _ = write!(summary, ", {}", count(number, what));
        }
    }
    let fixable = objects
        .iter()
        .flat_map(|object| {
            let findings = object.report.findings.iter();
            findings.filter(|finding| object.question.can_fix(finding))
        })
        .count();
    if fixable > 0 {
        let _ = write!(
            summary,
            "; {fixable} fixable: `{name} fix` with the same files and options"
        );
    }
    line!(text, "{summary}");
    if verdicts.exit() == Exit::Denied && problems > 0 {
        line!(text, "`{name} explain RULE` shows the page of a rule.");
    }
}
