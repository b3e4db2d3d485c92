//! The JUnit XML output of a check: a suite for each file, and a test for each object.
//!
//! All findings of an object are one failure: GitLab and Jenkins compare the tests of two runs by name, and GitLab shows
//! only the first failure of a test. The writer is our own, because quick-junit 0.8 writes an attribute that the schema of
//! Jenkins does not allow (`skipped` of `testsuites`).

use std::collections::BTreeMap;

use quick_xml::escape::escape;

use crate::check::entry::{CLUSTER, Entry, Severity};
use crate::exit::Exit;
use crate::prose::{count, line};
use crate::verdict::{Judged, Verdicts};

pub(crate) fn render(verdicts: &Verdicts) -> String {
    let objects = verdicts.objects.iter().map(|object| {
        let file = object.place_of(None).map(|place| place.file);
        (file, object.kind_and_name(), elements(object))
    });
    let failures = verdicts.failures.iter().map(|failure| {
        let elements = wrong(Exit::Unjudged, &failure.what, &failure.to_string());
        let name = "can be checked".to_owned();
        (failure.file.clone(), name, (Exit::Unjudged, elements))
    });
    // The outcome and the XML of each test, by file.
    let mut suites: BTreeMap<String, Vec<(Exit, String)>> = BTreeMap::new();
    for (file, name, (exit, elements)) in objects.chain(failures) {
        let file = escaped(file.as_deref().unwrap_or(CLUSTER));
        let name = escaped(&name);
        let test = format!(
            "    <testcase name=\"{name}\" classname=\"{file}\" file=\"{file}\">\n{elements}    </testcase>\n"
        );
        suites.entry(file).or_default().push((exit, test));
    }
    let mut text = String::new();
    line!(text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>");
    line!(text, "<testsuites name=\"hco-preflight\">");
    for (file, tests) in &suites {
        let number = |exit| tests.iter().filter(|test| test.0 == exit).count();
        let (failures, errors) = (number(Exit::Denied), number(Exit::Unjudged));
        let number_of_tests = tests.len();
        line!(
            text,
            "  <testsuite name=\"{file}\" tests=\"{number_of_tests}\" failures=\"{failures}\" errors=\"{errors}\">"
        );
        text.extend(tests.iter().map(|(_, test)| &**test));
        line!(text, "  </testsuite>");
    }
    line!(text, "</testsuites>");
    text
}

/// The outcome of the test of an object, and the elements in the test.
fn elements(object: &Judged) -> (Exit, String) {
    let entries = Entry::of_object(object);
    let is_problem = |entry: &&Entry<'_>| entry.severity <= Severity::Reported;
    let (problems, others): (Vec<_>, Vec<_>) = entries.iter().partition(is_problem);
    let mut summary = match problems.as_slice() {
        [only] if only.finding.is_none() => only.text.lines().next().unwrap_or_default().to_owned(),
        several => count(several.len(), "problem"),
    };
    if object.is_only_reported() {
        summary.push_str("; the cluster would report this, but not deny it");
    }
    let in_full = |entries: Vec<&Entry<'_>>| entries.into_iter().map(paragraph).collect::<String>();
    let (problems, others) = (in_full(problems), in_full(others));
    // A denial that the cluster would only report does not fail a test.
    let (exit, out) = if object.decides {
        (object.exit(), others)
    } else {
        (Exit::Accepted, format!("{problems}{others}"))
    };
    let mut elements = wrong(exit, &summary, &problems);
    if !out.is_empty() {
        let out = escaped(&out);
        line!(elements, "      <system-out>{out}</system-out>");
    }
    (exit, elements)
}

/// The element of a test that fails.
fn wrong(exit: Exit, summary: &str, problems: &str) -> String {
    let (tag, kind) = match exit {
        Exit::Accepted => return String::new(),
        Exit::Denied => ("failure", "denied"),
        Exit::Unjudged => ("error", "not checked"),
    };
    let (summary, problems) = (escaped(summary), escaped(problems));
    format!("      <{tag} type=\"{kind}\" message=\"{summary}\">{problems}</{tag}>\n")
}

fn paragraph(entry: &Entry<'_>) -> String {
    let text = &entry.text;
    match (entry.object, entry.finding) {
        (Some(object), Some(finding)) => {
            let (at, path) = (object.at(Some(finding)), &finding.path);
            let (rule, level) = (&finding.rule, finding.level.into_str());
            format!("{at} {path}\n[{rule}] {level}: {text}\n")
        }
        _ => format!("{text}\n"),
    }
}

/// A text for an attribute or an element. XML cannot represent most control characters.
fn escaped(text: &str) -> String {
    let is_lost = |letter: char| {
        letter.is_control() && !matches!(letter, '\n' | '\t')
            || matches!(letter, '\u{fffe}' | '\u{ffff}')
    };
    escape(&*text.replace(is_lost, "\u{fffd}")).into_owned()
}
