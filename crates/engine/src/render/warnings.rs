//! The warnings: one line for each repair, for each finding that warns, for each reason why images were not
//! looked up, and for each rule that carries existing problems over.

use kube_objects::text::cut;

use super::RuleSection;
use crate::evaluate::Outcome;
use crate::report::Report;
use crate::unevaluated::{DENIED, MAX_WARNING_LENGTH};

const LINES: usize = 4096;

pub(super) fn warnings(
    report: &Report,
    rules: &[RuleSection<'_>],
    denials_as_warnings: bool,
    obstacle: Option<&str>,
) -> Vec<String> {
    let mut lines = Lines::default();
    lines.extend(report.repairs.iter().cloned());
    lines.extend(obstacle.map(str::to_owned));
    if denials_as_warnings {
        for rule in rules {
            lines.findings(rule, Outcome::Deny, DENIED);
        }
    }
    for rule in rules {
        lines.findings(rule, Outcome::Warn, "");
    }
    lines.extend(report.not_checked.iter().cloned());
    for rule in rules {
        if let Some(first) = rule.with(Outcome::Carried).0.first() {
            let more = match rule.count(Outcome::Carried) - 1 {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            let (id, fact) = (rule.rule.id, &first.fact);
            lines.extend([format!("[{id}] Existing problem{more}: {fact}")]);
        }
    }
    if lines.omitted > 0 {
        lines.shown.push(format!("and {} more", lines.omitted));
    }
    lines.shown
}

/// Lines up to the limit, and the number of omitted lines.
#[derive(Default)]
struct Lines {
    shown: Vec<String>,
    length: usize,
    omitted: usize,
}

impl Lines {
    fn findings(&mut self, rule: &RuleSection<'_>, outcome: Outcome, meaning: &str) {
        let (shown, more) = rule.with(outcome);
        let id = rule.rule.id;
        self.extend(
            shown
                .iter()
                .map(|finding| format!("[{id}] {meaning}{}", finding.fact)),
        );
        self.omitted += more;
    }

    fn extend(&mut self, lines: impl IntoIterator<Item = String>) {
        /// Space for the line with the number of omitted lines.
        const REST: usize = 32;
        for line in lines {
            let line = cut(line, MAX_WARNING_LENGTH);
            if self.omitted == 0 && self.length + line.len() <= LINES - REST {
                self.length += line.len();
                self.shown.push(line);
            } else {
                self.omitted += 1;
            }
        }
    }
}
