//! The output of a check as GitHub's workflow commands, which show a finding at its line in the pull request.

use crate::check::entry::{Entry, Severity};
use crate::prose::line;
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
            (Some(object), None) => object.name(),
            (Some(_), Some(_)) => entry.rule.to_owned(),
            (None, _) => "not checked".to_owned(),
        };
        let at = entry.in_repository().map(|(file, line)| {
            let file = property(&file);
            format!("file={file},line={line},")
        });
        let path = entry
            .finding
            .map(|finding| format!("\n{}", finding.path))
            .unwrap_or_default();
        let message = entry.named() + &path;
        line!(
            text,
            "::{word} {}title={}::{}",
            at.unwrap_or_default(),
            property(&title),
            data(&message)
        );
    }
    text
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
        assert_eq!(property("a,b:c.yaml"), "a%2Cb%3Ac.yaml");
        assert_eq!(data("50 %\nnext::line"), "50 %25%0Anext::line");
    }
}
