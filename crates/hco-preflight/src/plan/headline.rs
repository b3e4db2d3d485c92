//! The first line of a plan.

use std::collections::BTreeSet;

use anstyle::Style;
use cluster::foreign::one_line;
use operator_models::ssp::data_sources::Key;

use super::Plan;
use crate::prose::count;
use crate::report::some;
use crate::rows::text::with_effects;
use crate::rows::{Effect, Row, Severity};
use crate::terminal::{BOLD, GREEN, RED, YELLOW};

impl Plan<'_> {
    pub(super) fn headline(&self) -> String {
        let (_, what) = self.consequences();
        let who = self.who_denies();
        if self.denied.is_none() {
            what
        } else if self.is_denied_by_hco {
            format!("{who}: nothing changes")
        } else {
            format!("{who}; without the policy: {what}")
        }
    }

    pub(super) fn who_denies(&self) -> &'static str {
        if self.situation.after.report.allowed {
            "denied by HCO"
        } else {
            "denied by the policy"
        }
    }

    /// The consequences, with the style of the first part.
    pub(super) fn consequences(&self) -> (Style, String) {
        if let Some(unknown) = self.unknown() {
            return (YELLOW, format!("no forecast: {}", one_line(unknown)));
        }
        let lost = self.lost();
        let severities = [Severity::Change, Severity::Loss];
        let changes = (self.rows.iter()).any(|row| severities.contains(&row.severity));
        let mut style = if lost.is_empty() { GREEN } else { BOLD };
        let mut what = match self.situation.leaving().as_slice() {
            _ if !lost.is_empty() => lost.join(", "),
            _ if changes => "no disk is lost".to_owned(),
            [] => "nothing changes".to_owned(),
            leaving => format!("nothing changes: {} can leave", some(leaving)),
        };
        let unread = self.of_effects(&[Effect::NotRead]);
        if !unread.is_empty() {
            style = if lost.is_empty() { YELLOW } else { style };
            let kinds: Vec<&str> = unread.into_iter().map(|(kind, ..)| kind).collect();
            what = format!("{what}; not read: {}", kinds.join(", "));
        }
        if let Some(doubt) = self.situation.doubt_about_version() {
            style = YELLOW;
            what = format!("{what}; {doubt}");
        }
        let problems = with_effects(&self.rows, &[Effect::Problem]);
        if problems.is_empty() {
            return (style, what);
        }
        let rules: BTreeSet<&str> = (problems.iter())
            .filter_map(|row| Some(row.about.get("rule")?.raw()))
            .collect();
        let rules = Vec::from_iter(rules).join(", ");
        let new = count(problems.len(), "new problem");
        (RED, format!("{new}: {rules}; {what}"))
    }

    fn lost(&self) -> Vec<String> {
        let pending: BTreeSet<_> = self
            .rows
            .iter()
            .filter(|row| row.is_pending)
            .map(Row::key)
            .collect();
        let imports = self.sources.imported().filter(|source| {
            let Key { namespace, name } = &source.key;
            !pending.contains(&("DataSource", &**namespace, &**name))
        });
        let number = |effect| self.of_effects(&[effect]).len();
        let orphaned = self.of_effects(&[Effect::Orphaned]);
        let affected = self.of_effects(&[
            Effect::NoNode,
            Effect::RejectedByKubeVirt,
            Effect::ArchitectureChanges,
        ]);
        let mut parts: Vec<String> = [
            (imports.count(), "import", ""),
            (
                number(Effect::EmptyMeanwhile),
                "boot source",
                " empty until done",
            ),
            (number(Effect::Lost), "boot source", " lost"),
            (number(Effect::NotUpdated), "boot source", " never updated"),
            (orphaned.len(), "running VM", " orphaned"),
            ((&affected - &orphaned).len(), "VM", " affected"),
        ]
        .into_iter()
        .filter(|(number, ..)| *number > 0)
        .map(|(number, what, end)| format!("{}{end}", count(number, what)))
        .collect();
        if !self.of_effects(&[Effect::StopsSsp]).is_empty() {
            parts.push("SSP stops".to_owned());
        }
        if !self.of_effects(&[Effect::NeverSettles]).is_empty() {
            parts.push("boot sources are unknown".to_owned());
        }
        parts
    }

    fn of_effects(&self, effects: &[Effect]) -> BTreeSet<(&str, &str, &str)> {
        with_effects(&self.rows, effects)
            .into_iter()
            .filter(|row| !row.is_pending)
            .map(Row::key)
            .collect()
    }
}
