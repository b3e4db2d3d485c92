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

use anyhow::Result;
use quick_xml::Writer;
use quick_xml::events::BytesText;

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
pub(crate) fn render(verdicts: &Verdicts) -> Result<String> {
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
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    writer
        .create_element("testsuites")
        .with_attribute(("name", "hco-preflight"))
        .write_inner_content(|writer| {
            for (file, cases) in &suites {
                write_suite(writer, file, cases)?;
            }
            Ok(())
        })?;
    let body = String::from_utf8(writer.into_inner())?;
    Ok(format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{body}\n"
    ))
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

fn write_suite(writer: &mut Writer<Vec<u8>>, file: &str, cases: &[Case]) -> std::io::Result<()> {
    let wrong = |kind: &str| {
        let of_kind = |case: &&Case| case.wrong.as_ref().is_some_and(|(it, ..)| *it == kind);
        cases.iter().filter(of_kind).count().to_string()
    };
    let (tests, failures, errors) = (cases.len().to_string(), wrong("failure"), wrong("error"));
    let file = &*clean(file);
    writer
        .create_element("testsuite")
        .with_attribute(("name", file))
        .with_attribute(("tests", &*tests))
        .with_attribute(("failures", &*failures))
        .with_attribute(("errors", &*errors))
        .write_inner_content(|writer| {
            for case in cases {
                write_case(writer, file, case)?;
            }
            Ok(())
        })?;
    Ok(())
}

fn write_case(writer: &mut Writer<Vec<u8>>, file: &str, case: &Case) -> std::io::Result<()> {
    let name = clean(&case.name);
    let element = writer
        .create_element("testcase")
        .with_attribute(("name", &*name))
        .with_attribute(("classname", file))
        .with_attribute(("file", file));
    if case.wrong.is_none() && case.out.is_empty() {
        return element.write_empty().map(drop);
    }
    element
        .write_inner_content(|writer| {
            if let Some((kind, in_short, in_full)) = &case.wrong {
                writer
                    .create_element(*kind)
                    .with_attribute((
                        "type",
                        if *kind == "failure" {
                            "denied"
                        } else {
                            "not checked"
                        },
                    ))
                    .with_attribute(("message", &*clean(in_short)))
                    .write_text_content(BytesText::new(&clean(in_full)))?;
            }
            if !case.out.is_empty() {
                writer
                    .create_element("system-out")
                    .write_text_content(BytesText::new(&clean(&case.out)))?;
            }
            Ok(())
        })
        .map(drop)
}

/// XML cannot represent most control characters.
fn clean(text: &str) -> String {
    let shown = |letter: char| match letter {
        '\n' | '\t' => letter,
        control if control.is_control() || matches!(control, '\u{fffe}' | '\u{ffff}') => '\u{fffd}',
        letter => letter,
    };
    text.chars().map(shown).collect()
}
