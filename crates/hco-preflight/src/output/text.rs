//! The text output of a check: the verdict first, then the table of images, then the fixes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anstyle::Style;

use crate::exit::Exit;
use crate::foreign::{self, one_line};
use crate::prose::{Line, count, lines, wrap};
use crate::report::{Boot, Finding, Level, Report, Template, architecture, counted, listed};
use crate::terminal::{BOLD, CYAN, DIM, GREEN, RED, YELLOW};
use crate::verdict::{Against, Judged, Verdicts};

/// Writing to a String cannot fail.
macro_rules! line {
    ($text:expr, $($arg:tt)*) => {{ let _ = writeln!($text, $($arg)*); }};
}

/// All objects, then the next steps.
pub(crate) fn render(verdicts: &Verdicts, width: usize, name: &str) -> String {
    let mut text = String::new();
    for object in &verdicts.objects {
        block(&mut text, object, width);
    }
    if !verdicts.objects.is_empty() {
        closing(&mut text, verdicts, width, name);
    }
    text
}

/// The number of objects by result, for example `2 accepted, 1 denied`.
fn came_to(exits: &[Exit]) -> String {
    let mut came_to = Vec::new();
    for (exit, word, style) in [
        (Exit::Accepted, "accepted", GREEN),
        (Exit::Denied, "denied", RED),
        (Exit::Unjudged, "not checked", RED),
    ] {
        match exits.iter().filter(|it| **it == exit).count() {
            0 => {}
            all if all == exits.len() => came_to.push(format!("{style}{word}{style:#}")),
            some => came_to.push(format!("{some} {style}{word}{style:#}")),
        }
    }
    came_to.join(", ")
}

fn block(text: &mut String, object: &Judged, width: usize) {
    let (style, sign, word) = match object.exit() {
        Exit::Accepted => (GREEN, '✔', "accepted"),
        Exit::Denied => (RED, '✘', "denied"),
        Exit::Unjudged => (RED, '!', "not checked"),
    };
    let name = object.name();
    let problems = object.of(Level::Deny).count();
    let is_live = object.place.is_none() && object.exit() == Exit::Denied && problems > 0;
    let word = if is_live {
        format!("{} in the live object", count(problems, "problem"))
    } else {
        word.to_owned()
    };
    line!(text, "{style}{sign} {word}{style:#}  {BOLD}{name}{BOLD:#}");
    let against = match &object.against {
        Against::Nothing if is_live => "existing: updates are not blocked".to_owned(),
        Against::Nothing => "checked as a new object".to_owned(),
        Against::File(file) => format!("checked as an update of {}", one_line(file)),
        Against::Live => "checked as an update of the live object".to_owned(),
    };
    let mut version = one_line(&object.identity.api_version);
    if object.identity.is_virtual_machine() {
        version.push_str(" VirtualMachine");
    }
    let at = object.at();
    line!(text, "  {DIM}{at} · {version} · {against}{DIM:#}");
    if let Some(policy) = &object.policy {
        line!(text, "  {DIM}by {}{DIM:#}", policy.with_mode());
    }
    text.push('\n');
    facts(text, &object.report);
    if let Some(templates) = &object.report.templates {
        matrix(text, templates, object.report.nodes.as_ref());
    }
    if let Some(message) = object.message() {
        let message = foreign::lines(message);
        let (sentences, fixes) = message.split_once("\nfix: ").unwrap_or((&message, ""));
        for line in wrap(sentences, width.saturating_sub(4)) {
            line!(text, "    {line}");
        }
        fix(text, fixes, width);
        text.push('\n');
    }
    for level in [Level::Deny, Level::Warn] {
        let found: Vec<&Finding> = object.of(level).collect();
        for group in by_rule(&found) {
            rule(text, object, group, width);
        }
    }
    carried(text, object);
}

/// Facts about the cluster and the import.
fn facts(text: &mut String, report: &Report) {
    let nodes = report.nodes.as_ref().map(|nodes| match nodes.len() {
        0 => "none".to_owned(),
        _ => counted(nodes),
    });
    let machine = report.virtual_machine.as_ref();
    let rows = [
        ("architecture", machine.map(architecture)),
        ("workload nodes", nodes),
        (
            "control plane",
            report
                .control_plane_architectures
                .as_deref()
                .map(|list| match list {
                    [] => "none".to_owned(),
                    list => listed(list),
                }),
        ),
        (
            "multi-architecture import",
            report.multi_arch_import.map(|it| it.name().to_owned()),
        ),
    ];
    let mut any = false;
    for (label, value) in rows {
        if let Some(value) = value {
            line!(text, "  {label:<27}{value}");
            any = true;
        }
    }
    if any {
        text.push('\n');
    }
}

/// The table of templates and workload architectures. The padding is computed here, because comfy-table depends on
/// twelve crates to measure cells with colors.
fn matrix(text: &mut String, templates: &[Template], nodes: Option<&BTreeMap<String, usize>>) {
    let Some(nodes) = nodes.filter(|nodes| !nodes.is_empty() && !templates.is_empty()) else {
        return;
    };
    let label = "golden images";
    let names = templates
        .iter()
        .map(|template| template.name.to_string().chars().count());
    let first = names.chain([label.len()]).max().unwrap_or_default().min(48) + 2;
    let heads: Vec<String> = nodes
        .iter()
        .map(|(name, count)| format!("{} ({count})", one_line(name)))
        .collect();
    let wide = |head: &String| head.chars().count().max("✘ not imported".chars().count()) + 2;
    let mut head = format!("{label:<first$}");
    for column in &heads {
        let _ = write!(head, "{column:<0$}", wide(column));
    }
    line!(text, "  {BOLD}{}{BOLD:#}", head.trim_end());
    for template in templates {
        let mut row = format!("  {:<first$}", template.name);
        for (name, column) in nodes.keys().zip(&heads) {
            let boots = template.architectures.get(name).copied();
            let (style, cell) = cell(boots.unwrap_or(Boot::Unknown));
            let pad = wide(column).saturating_sub(cell.chars().count());
            let _ = write!(row, "{style}{cell}{style:#}{:pad$}", "");
        }
        line!(text, "{}", row.trim_end());
    }
    text.push('\n');
}

fn cell(boots: Boot) -> (Style, &'static str) {
    match boots {
        Boot::Boots => (GREEN, "✔ boots"),
        Boot::Imported => (GREEN, "✔ imported"),
        Boot::NotImported => (RED, "✘ not imported"),
        Boot::Unknown => (YELLOW, "? unknown"),
    }
}

/// The findings of one rule and level. Findings with the same fix share it.
fn rule(text: &mut String, object: &Judged, group: &[&Finding], width: usize) {
    let Some(first) = group.first() else {
        return;
    };
    let (style, sign) = match first.level {
        Level::Deny => (RED, '✘'),
        Level::Warn | Level::Carried => (YELLOW, '!'),
    };
    let (level, rule) = (first.level.name(), &first.rule);
    line!(
        text,
        "  {style}{sign} {level}{style:#}  {BOLD}{rule}{BOLD:#}"
    );
    let mut findings = group.iter().peekable();
    while let Some(finding) = findings.next() {
        for line in wrap(&finding.fact, width.saturating_sub(4)) {
            line!(text, "    {line}");
        }
        let at = object.at_finding(finding);
        let path = &finding.path;
        let both = at.chars().count() + path.to_string().chars().count() + 6;
        let between = if both > width { "\n    " } else { "  " };
        line!(text, "    {CYAN}{at}{CYAN:#}{between}{path}");
        if findings.peek().is_none_or(|next| next.fix != finding.fix) {
            fix(text, &finding.fix, width);
        }
    }
    text.push('\n');
}

fn fix(text: &mut String, fix: &str, width: usize) {
    let fix = foreign::lines(fix);
    for line in lines(&fix) {
        let (mut label, prose) = match line {
            Line::Paste(paste) => {
                line!(text, "           {paste}");
                continue;
            }
            Line::Fix(prose) => ("fix", prose),
            Line::Or(prose) => ("or", prose),
        };
        for line in wrap(prose, width.saturating_sub(9)) {
            line!(text, "    {GREEN}{label:<3}{GREEN:#}  {line}");
            label = "";
        }
    }
}

/// A short list of existing problems, which do not deny the object.
fn carried(text: &mut String, object: &Judged) {
    let found: Vec<&Finding> = object.of(Level::Carried).collect();
    if found.is_empty() {
        return;
    }
    line!(
        text,
        "  {DIM}· existing problems, which do not cause a denial{DIM:#}"
    );
    for finding in found {
        let (rule, fact, at) = (&finding.rule, &finding.fact, object.at_finding(finding));
        line!(text, "    {DIM}{rule}: {fact} ({at}){DIM:#}");
    }
    text.push('\n');
}

/// The findings are sorted by rule.
fn by_rule<'f, 'a>(findings: &'f [&'a Finding]) -> impl Iterator<Item = &'f [&'a Finding]> {
    findings.chunk_by(|one, other| one.rule == other.rule)
}

/// The counts, and the next steps.
fn closing(text: &mut String, verdicts: &Verdicts, width: usize, name: &str) {
    let exits: Vec<Exit> = verdicts.objects.iter().map(Judged::exit).collect();
    let of = |level: Level| {
        let objects = verdicts.objects.iter();
        objects
            .map(|object| object.of(level).count())
            .sum::<usize>()
    };
    let (problems, warnings) = (of(Level::Deny), of(Level::Warn));
    let what = if verdicts.objects.iter().any(|it| it.is_one_of_several) {
        "verdict"
    } else {
        "object"
    };
    let objects = count(verdicts.objects.len(), what);
    let is_live = verdicts.objects.iter().all(|it| it.place.is_none());
    let denials = count(problems, if is_live { "problem" } else { "denial" });
    let are_denied = exits.iter().all(|exit| *exit == Exit::Denied);
    let mut summary = match (problems, are_denied) {
        (0, _) => format!("{BOLD}{objects}{BOLD:#}: {}", came_to(&exits)),
        (_, true) => format!("{BOLD}{objects}{BOLD:#}: {RED}{denials}{RED:#}"),
        (_, false) => format!("{BOLD}{objects}{BOLD:#}: {}: {denials}", came_to(&exits)),
    };
    if warnings > 0 {
        let _ = write!(summary, ", {}", count(warnings, "warning"));
    }
    if !verdicts.failures.is_empty() {
        let _ = write!(summary, ", {}", count(verdicts.failures.len(), "error"));
    }
    let findings = verdicts.objects.iter().flat_map(|it| &it.report.findings);
    let fixable = findings.filter(|it| it.complete_fix().is_some()).count();
    if fixable > 0 {
        let more = if verdicts.objects.iter().all(|it| it.written.is_none()) {
            " and `-o commands`"
        } else {
            ""
        };
        let _ = write!(
            summary,
            "; {fixable} fixable: `{name} fix` with the same options{more}"
        );
    }
    line!(text, "{summary}");
    let next = match (verdicts.exit(), problems) {
        (Exit::Denied, 1..) => format!("`{name} explain RULE` shows the page of a rule."),
        (Exit::Unjudged, _) => "Some objects could not be checked; see the errors.".to_owned(),
        _ => return,
    };
    for line in wrap(&next, width) {
        line!(text, "{line}");
    }
}
