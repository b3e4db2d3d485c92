//! Writes sections of rows as text.

use std::collections::BTreeMap;

use cluster::foreign::{Foreign, one_line};
use engine::Stopped;
use kube_objects::text::list;

use super::{Effect, Row};
use crate::prose::{count, folded, line};
use crate::report::listed;
use crate::terminal::{BOLD, DIM, RED};

const OF_OTHER_SECTIONS: [Effect; 2] = [Effect::NotRead, Effect::StopsSsp];

pub(crate) fn of_kind<'r>(rows: &'r [Row], kind: &str) -> Vec<&'r Row> {
    rows.iter()
        .filter(|row| row.kind == kind && !OF_OTHER_SECTIONS.contains(&row.effect))
        .collect()
}

pub(crate) fn by_namespace(text: &mut String, what: &str, rows: &[&Row], end: &str) {
    let mut by_namespace: BTreeMap<&Foreign, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        by_namespace.entry(&row.namespace).or_default().push(row);
    }
    for (namespace, rows) in by_namespace {
        let title = format!("{what} in {namespace}{end}");
        by_object(text, &title, &rows);
    }
}

fn by_object(text: &mut String, title: &str, rows: &[&Row]) {
    line!(text, "\n{BOLD}{title}{BOLD:#}");
    let mut by_name: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    let mut counted: BTreeMap<&str, usize> = BTreeMap::new();
    for row in rows {
        match row.effect {
            Effect::TemplateSourceCreated => *counted.entry("created").or_default() += 1,
            Effect::TemplateSourceDeleted => *counted.entry("deleted").or_default() += 1,
            effect => {
                let state = (effect, &row.detail, &row.command);
                by_name.entry(row.name.raw()).or_default().push(state);
            }
        }
    }
    let mut by_states: BTreeMap<Vec<_>, Vec<&str>> = BTreeMap::new();
    for (name, states) in by_name {
        by_states.entry(states).or_default().push(name);
    }
    let alike: BTreeMap<Vec<&str>, Vec<_>> = by_states
        .into_iter()
        .map(|(states, names)| (names, states))
        .collect();
    let width = alike
        .keys()
        .filter_map(|names| match names.as_slice() {
            [name] => Some(one_line(name).chars().count()),
            _ => None,
        })
        .max()
        .unwrap_or_default()
        .min(40);
    for (names, states) in alike {
        let effect = states.iter().map(|(effect, ..)| *effect).max();
        let (style, sign) = effect.unwrap_or(Effect::Unknown).sign();
        let details: Vec<String> = (states.iter())
            .map(|(_, detail, _)| detail.to_string())
            .collect();
        let subject = match names.as_slice() {
            [name] => format!("{:<width$} ", one_line(name)),
            names => listed(names) + ":",
        };
        let line = format!("  {style}{sign}{style:#} {subject} {}", details.join("; "));
        line!(text, "{}", folded(&line, 6));
        for command in states.iter().filter_map(|(.., command)| command.as_ref()) {
            line!(text, "      {}: {}", command.when, command.line);
        }
    }
    for (what, number) in counted {
        let sources = count(number, "DataSource");
        line!(
            text,
            "  {DIM}{what} without a disk: {sources} of SSP's VM templates{DIM:#}"
        );
    }
}

/// A section with a line for each effect, which names at most this number of its objects. The hint is for the others.
pub(crate) fn by_effect(text: &mut String, title: &str, rows: &[&Row], limit: usize, hint: &str) {
    if rows.is_empty() {
        return;
    }
    line!(text, "\n{BOLD}{title}{BOLD:#}");
    let mut alike: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for row in rows {
        let names = alike.entry((row.effect, &row.detail, row.about.get("decides")));
        names.or_default().push(row.subject());
    }
    for ((effect, detail, decides), mut names) in alike {
        // Two templates can have the same problem.
        names.dedup();
        let (style, sign) = effect.sign();
        let hint = if names.len() > limit { hint } else { "" };
        let reason = decides.map_or_else(String::new, |field| format!(" ({field} decides)"));
        let names = list(&names, limit);
        let line = format!("  {style}{sign}{style:#} {names}{hint}: {detail}{reason}");
        line!(text, "{}", folded(&line, 6));
    }
}

pub(crate) fn of_effects(text: &mut String, title: &str, rows: &[Row], effects: &[Effect]) {
    by_effect(text, title, &with_effects(rows, effects), usize::MAX, "");
}

pub(crate) fn with_effects<'r>(rows: &'r [Row], effects: &[Effect]) -> Vec<&'r Row> {
    rows.iter()
        .filter(|row| effects.contains(&row.effect))
        .collect()
}

pub(crate) fn stops(text: &mut String, title: &str, stopped: Option<Stopped>, stops: &[&Row]) {
    let what = match stopped {
        _ if stops.is_empty() => return,
        Some(Stopped::SameName) => {
            "Several DataImportCrons have the same name: SSP creates only one of them, and which one is not determined."
        }
        Some(Stopped::DataSource) => {
            "A DataSource is rejected: until you fix this, SSP creates no DataImportCron, and does not update its VM templates."
        }
        // SSP makes the listed deletions before it stops.
        _ => {
            "A DataImportCron is rejected: until you fix this, SSP deletes no further DataImportCrons that are no longer wanted, and does not update its VM templates."
        }
    };
    let what = folded(&format!("  {RED}✘{RED:#} {what}"), 4);
    line!(text, "\n{BOLD}{title}{BOLD:#}\n{what}");
    for stop in stops {
        line!(text, "{}", folded(&format!("      {}", stop.detail), 8));
    }
}
