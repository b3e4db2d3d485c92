//! The output of a check as GitHub's workflow commands, which show a finding at its line in the pull request.

use crate::check::entry::Entry;
use crate::prose::line;
use crate::report::Level;
use crate::verdict::Verdicts;

pub(crate) fn render(verdicts: &Verdicts) -> String {
    let mut text = String::new();
    for entry in Entry::all(verdicts) {
        let word = match entry.level {
            None | Some(Level::Deny) => "error",
            Some(Level::Warn) => "warning",
            Some(Level::Carried) => "notice",
        };
        let (title, path) = match (entry.object, entry.finding) {
            (None, _) => ("not checked".to_owned(), String::new()),
            (Some(object), None) => (object, String::new()),
            (_, Some(finding)) => (entry.rule.to_owned(), format!("\n{}", finding.path)),
        };
        let at = entry.place.map_or_else(String::new, |(file, line)| {
            format!("file={},line={line},", property(&file))
        });
        let (title, message) = (property(&title), data(&(entry.text + &path)));
        line!(text, "::{word} {at}title={title}::{message}");
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
