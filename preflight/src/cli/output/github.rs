//! A check as GitHub's workflow commands: a finding is shown at its line of the pull request.

use std::fmt::Write as _;

use crate::cli::verdict::{Judged, Level, Verdicts};

/// A command a line.
pub(crate) fn render(verdicts: &Verdicts) -> String {
    let mut text = String::new();
    for object in &verdicts.objects {
        render_object(&mut text, object);
    }
    for failure in &verdicts.failures {
        let at = failure.file.as_deref().map(|file| (file, failure.line));
        command(&mut text, "error", at, "not checked", &failure.what);
    }
    text
}

fn render_object(text: &mut String, object: &Judged) {
    let at = |line: Option<usize>| {
        let place = object.place.as_ref()?;
        Some((place.file.as_str(), line.or(Some(place.line))))
    };
    let name = object.unique_name();
    if let Some(message) = object.message() {
        let word = if object.is_only_reported() {
            "warning"
        } else {
            "error"
        };
        let message = object.with_mode(Level::Deny, message.to_owned());
        command(text, word, at(None), &name, &message);
    }
    for finding in &object.report.findings {
        let word = match finding.level {
            Level::Deny if !object.is_only_reported() => "error",
            Level::Deny | Level::Warn => "warning",
            Level::Carried => "notice",
        };
        let message = format!(
            "{name}: {}\n{}\nfix: {}",
            finding.fact, finding.path, finding.fix
        );
        let message = object.with_mode(finding.level, message);
        command(
            text,
            word,
            at(finding.line),
            &finding.rule.to_string(),
            &message,
        );
    }
}

fn command(
    text: &mut String,
    word: &str,
    at: Option<(&str, Option<usize>)>,
    title: &str,
    message: &str,
) {
    let mut properties = String::new();
    if let Some((file, line)) = at {
        let _ = write!(properties, "file={},", property(file));
        if let Some(line) = line {
            let _ = write!(properties, "line={line},");
        }
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
            Some(("a,b:c.yaml", Some(3))),
            "x:y",
            "50 %\nnext::line",
        );
        assert_eq!(
            text,
            "::error file=a%2Cb%3Ac.yaml,line=3,title=x%3Ay::50 %25%0Anext::line\n"
        );
    }
}
