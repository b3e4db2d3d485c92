//! The output of a check as GitHub's workflow commands, which show a finding at its line in the pull request.

use std::fmt::Write as _;

use crate::entry::{Entry, Severity};
use crate::verdict::Verdicts;

/// One command per line.
pub(crate) fn render(verdicts: &Verdicts) -> String {
    let mut text = String::new();
    for entry in Entry::all(verdicts) {
        let word = match entry.severity {
            Severity::Unjudged | Severity::Denied => "error",
            Severity::Reported | Severity::Warning => "warning",
            Severity::Carried => "notice",
        };
        let title = match (entry.object, entry.finding) {
            (Some(object), None) => object.unique_name(),
            (Some(_), Some(_)) => entry.rule.to_owned(),
            (None, _) => "not checked".to_owned(),
        };
        let path = entry.finding.map(|finding| format!("\n{}", finding.path));
        let message = entry.named() + &path.unwrap_or_default();
        command(&mut text, word, entry.in_repository(), &title, &message);
    }
    text
}

fn command(text: &mut String, word: &str, at: Option<(String, usize)>, title: &str, message: &str) {
    let mut properties = String::new();
    if let Some((file, line)) = at {
        let _ = write!(properties, "file={},line={line},", property(&file));
    }
    let (title, message) = (property(title), data(message));
    let _ = writeln!(text, "::{word} {properties}title={title}::{message}");
}

/// MIRRORS: actions/toolkit packages/core/src/command.ts, `escapeData`.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// MIRRORS: actions/toolkit packages/core/src/command.ts, `escapeProperty`.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_command_is_escaped() {
        let mut text = String::new();
        command(
            &mut text,
            "error",
            Some(("a,b:c.yaml".to_owned(), 3)),
            "x:y",
            "50 %\nnext::line",
        );
        assert_eq!(
            text,
            "::error file=a%2Cb%3Ac.yaml,line=3,title=x%3Ay::50 %25%0Anext::line\n"
        );
    }
}
