//! The warnings: one line for each repair, for each finding that warns, for each reason why images were not
//! looked up, and for each rule that carries existing problems over.

use kube_objects::text::cut;

use super::RuleSection;
use crate::evaluate::Outcome;
use crate::finding::Finding;
use crate::report::Report;
use crate::unevaluated::{DENIED, MAX_WARNING_LENGTH};

const LINES: usize = 4096;

pub(super) fn warnings(
    report: &Report,
    rules: &[RuleSection<'_>],
    denials_as_warnings: bool,
    obstacle: Option<&str>,
) -> Vec<String> {
    /// Space for the line with the number of omitted lines.
    const REST: usize = 32;
    let mut lines = report.repairs.clone();
    lines.extend(obstacle.map(str::to_owned));
    let mut omitted = 0;
    let denials = denials_as_warnings.then_some((Outcome::Deny, DENIED));
    for (outcome, meaning) in denials.into_iter().chain([(Outcome::Warn, "")]) {
        for rule in rules {
            let (shown, more) = rule.with(outcome);
            let id = rule.rule.id;
            let line = |finding: &&Finding| format!("[{id}] {meaning}{}", finding.fact);
            lines.extend(shown.iter().map(line));
            omitted += more;
        }
    }
    lines.extend(report.not_checked.iter().cloned());
    for rule in rules {
        if let Some(first) = rule.with(Outcome::Carried).0.first() {
            let more = match rule.count(Outcome::Carried) - 1 {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            let (id, fact) = (rule.rule.id, &first.fact);
            lines.push(format!("[{id}] Existing problem{more}: {fact}"));
        }
    }
    for line in &mut lines {
        *line = cut(std::mem::take(line), MAX_WARNING_LENGTH);
    }
    let mut length = 0;
    let fits = |line: &&String| {
        length += line.len();
        length <= LINES - REST
    };
    let fitting = lines.iter().take_while(fits).count();
    omitted += lines.len() - fitting;
    lines.truncate(fitting);
    if omitted > 0 {
        lines.push(format!("and {omitted} more"));
    }
    lines
}
