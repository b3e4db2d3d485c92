//! Command lines with their reviewed exit codes and outputs, in `transcripts/`. `INSTA_UPDATE=always` writes them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rstest::rstest;

use super::{Run, command_on, run_of};
use e2e_tests::{ApiServer, recorded};

/// A file in which each section has a command line that runs alone. To add a section, write its name and its command
/// line, and run this with `INSTA_UPDATE=always`.
#[rstest]
fn the_output_is_as_reviewed(
    #[values(
        "check", "cluster", "explain", "fix", "from", "output", "plan", "status", "usage"
    )]
    group: &str,
) {
    let server = ApiServer::start(recorded());
    let text = std::fs::read_to_string(file_of(group)).unwrap();
    let mut different = Vec::new();
    for (name, reviewed) in sections(&text) {
        let line = reviewed.lines().next().unwrap();
        let words = line.strip_prefix("$ hco-preflight").unwrap().trim_start();
        let mut command = super::command();
        if group == "cluster" {
            command = command_on(&server);
        }
        let run = run_of(command, words.split_whitespace());
        let shown = shown(words, &run).replace(&server.address(), "SERVER");
        different.extend(difference(name, &shown));
    }
    assert!(different.is_empty(), "{}", different.concat());
}

/// The complete output of a run.
pub(super) fn shown(words: &str, run: &Run) -> String {
    let mut shown = format!("$ hco-preflight {words}\nexit {}\n", run.code);
    for (name, text) in [("stdout", &run.stdout), ("stderr", &run.stderr)] {
        if !text.is_empty() {
            write!(shown, "--- {name}\n{text}").unwrap();
        }
    }
    // Escape sequences for colors, in a form that a reviewer can read.
    shown.replace('\u{1b}', "\\e")
}

/// Compares the output of a run with the section of this name, in the file named after the first word of the name.
#[track_caller]
pub(super) fn compare(name: &str, shown: &str) {
    let difference = difference(name, shown).unwrap_or_default();
    assert!(difference.is_empty(), "{difference}");
}

fn file_of(group: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/suite/transcripts/{group}.txt"))
}

fn sections(text: &str) -> BTreeMap<&str, &str> {
    text.split("=== ")
        .filter_map(|section| section.split_once('\n'))
        .map(|(name, shown)| (name, shown.trim_end_matches('\n')))
        .collect()
}

fn difference(name: &str, shown: &str) -> Option<String> {
    static LOCK: Mutex<()> = Mutex::new(());
    let _lock = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let file = file_of(name.split('-').next()?);
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let mut sections = sections(&text);
    let shown = shown.trim_end_matches('\n');
    if std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always") {
        sections.insert(name, shown);
        let sections = sections
            .iter()
            .map(|(name, shown)| format!("=== {name}\n{shown}\n\n"));
        std::fs::write(&file, sections.collect::<String>()).unwrap();
        return None;
    }
    let reviewed = sections.get(name).copied().unwrap_or_default();
    (reviewed != shown).then(|| {
        format!("{name} differs; `INSTA_UPDATE=always` writes it\n--- reviewed\n{reviewed}\n--- shown\n{shown}\n")
    })
}
