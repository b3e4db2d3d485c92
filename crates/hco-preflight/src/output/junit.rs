//! The JUnit XML output of a check: a suite for each file, and a test for each object.
//!
//! There is no test for each finding, because GitLab and Jenkins compare the tests of two runs by name. A fixed finding
//! would appear as a missing test and not as a fixed one. If a test has several failures, GitLab shows only the first
//! one, so each test has one failure with all problems in it.
//!
//! The project has its own writer because quick-junit 0.8 depends on four crates, and writes an attribute that the
//! schema of Jenkins does not allow (`skipped` of `testsuites`).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use quick_xml::escape::escape;

use crate::entry::CLUSTER;
use crate::exit::Exit;
use crate::prose::count;
use crate::report::Level;
use crate::verdict::{Judged, Verdicts};

/// A test.
struct Case {
    name: String,
    /// `failure` or `error`, a summary, and the whole text.
    wrong: Option<(&'static str, String, String)>,
    /// Warnings and existing problems.
    out: String,
}

/// The document.
pub(crate) fn render(verdicts: &Verdicts) -> String {
    let mut suites: BTreeMap<&str, Vec<Case>> = BTreeMap::new();
    for object in &verdicts.objects {
        let file = object.place.as_ref().map_or(CLUSTER, |place| &place.file);
        suites.entry(file).or_default().push(case(object));
    }
    for failure in &verdicts.failures {
        let file = failure.file.as_deref().unwrap_or(CLUSTER);
        suites.entry(file).or_default().push(Case {
            name: "can be checked".to_owned(),
            wrong: Some(("error", failure.what.clone(), failure.to_string())),
            out: String::new(),
        });
    }
    let mut text =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"hco-preflight\">\n"
            .to_owned();
    for (file, cases) in &suites {
        suite(&mut text, file, cases);
    }
    text.push_str("</testsuites>\n");
    text
}

fn case(object: &Judged) -> Case {
    let problems = findings(object, Level::Deny);
    let message = object.message().unwrap_or_default();
    let in_short = match object.of(Level::Deny).count() {
        0 => message.lines().next().unwrap_or("denied").to_owned(),
        number => count(number, "problem"),
    };
    let in_full = format!("{message}{problems}");
    let (in_short, in_full) = if object.is_only_reported() && !object.report.allowed {
        let in_full = object.with_mode(Level::Deny, in_full.trim_end().to_owned());
        let in_short = format!("{in_short}; the cluster would report this, but not deny it");
        (in_short, in_full + "\n")
    } else {
        (in_short, in_full)
    };
    let reported = if object.decides {
        String::new()
    } else {
        in_full.clone()
    };
    Case {
        name: object.kind_and_name(),
        wrong: match object.exit() {
            // A denial that the cluster would only report does not fail a test.
            _ if !object.decides => None,
            Exit::Accepted => None,
            Exit::Denied => Some(("failure", in_short, in_full)),
            Exit::Unjudged => Some(("error", in_short, in_full)),
        },
        out: reported + &findings(object, Level::Warn) + &findings(object, Level::Carried),
    }
}

fn findings(object: &Judged, level: Level) -> String {
    let mut text = String::new();
    for finding in object.of(level) {
        let (rule, level, fact) = (&finding.rule, level.name(), &finding.fact);
        let (at, path, fix) = (object.at_finding(finding), &finding.path, &finding.fix);
        let _ = writeln!(
            text,
            "[{rule}] {level}: {fact}\n  at: {at} {path}\n  fix: {fix}"
        );
    }
    text
}

fn suite(text: &mut String, file: &str, cases: &[Case]) {
    let wrong = |kind: &str| {
        let of_kind = |case: &&Case| case.wrong.as_ref().is_some_and(|(it, ..)| *it == kind);
        cases.iter().filter(of_kind).count()
    };
    let (tests, failures, errors) = (cases.len(), wrong("failure"), wrong("error"));
    let file = escaped(file);
    let _ = writeln!(
        text,
        "  <testsuite name=\"{file}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\">"
    );
    for case in cases {
        let name = escaped(&case.name);
        let _ = writeln!(
            text,
            "    <testcase name=\"{name}\" classname=\"{file}\" file=\"{file}\">"
        );
        if let Some((kind, in_short, in_full)) = &case.wrong {
            let what = if *kind == "failure" {
                "denied"
            } else {
                "not checked"
            };
            let (in_short, in_full) = (escaped(in_short), escaped(in_full));
            let _ = writeln!(
                text,
                "      <{kind} type=\"{what}\" message=\"{in_short}\">{in_full}</{kind}>"
            );
        }
        if !case.out.is_empty() {
            let out = escaped(&case.out);
            let _ = writeln!(text, "      <system-out>{out}</system-out>");
        }
        text.push_str("    </testcase>\n");
    }
    text.push_str("  </testsuite>\n");
}

/// A text for an attribute or an element. XML cannot represent most control characters.
fn escaped(text: &str) -> String {
    let shown = |letter: char| match letter {
        '\n' | '\t' => letter,
        control if control.is_control() || matches!(control, '\u{fffe}' | '\u{ffff}') => '\u{fffd}',
        letter => letter,
    };
    escape(text.chars().map(shown).collect::<String>()).into_owned()
}
