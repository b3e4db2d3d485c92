//! The cases in `e2e-tests/cases/` through every door. The response of a door must be that of the engine, and the engine's
//! response must be the expected one.
//!
//! `make e2e-tests`; for some cases only: `cargo test -p e2e-tests --test doors -- ratchet/ host/no-client`.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that panics is a test that fails, and this one reports by itself"
)]

mod door;
mod images;
mod kwctl;
mod policy_server;
mod registry;
mod wasm;

use std::process::ExitCode;

use e2e_tests::{Judged, cases, is_required, module};
use policy_host::Options;

use crate::door::{Outcome, Through};

/// As policy-server runs a module, but with a cache.
fn options() -> Options {
    Options {
        cache: Some(module::caches().join("hco-preflight")),
        ..Options::default()
    }
}

/// Runs the cases through a door.
type Door = fn(&[Judged<'_>]) -> Outcome;

/// The doors in the order in which they run.
const DOORS: [(&str, Door); 6] = [
    ("engine", engine),
    ("wasm", wasm::run),
    ("kwctl", kwctl::run),
    ("policy-server", policy_server::run),
    ("registry", registry::run),
    ("images", images::run),
];

fn main() -> ExitCode {
    // Flags of libtest (`--nocapture`, …) are passed to every test binary: they have no effect here.
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    let mut cases = cases();
    for wanted in &wanted {
        if !cases.iter().any(|case| case.name.starts_with(wanted)) {
            println!("there is no case {wanted}");
            return ExitCode::FAILURE;
        }
    }
    cases.retain(|case| {
        wanted.is_empty() || wanted.iter().any(|wanted| case.name.starts_with(wanted))
    });
    let cases: Vec<Judged<'_>> = cases.iter().map(Judged::new).collect();

    let mut failed = false;
    let mut last_words = Vec::new();
    for (name, run) in DOORS {
        let (result, is_green) = result(name, run(&cases), !wanted.is_empty());
        failed |= !is_green;
        last_words.push(format!("door {name}: {result}"));
    }
    for line in last_words {
        println!("{line}");
    }
    ExitCode::from(u8::from(failed))
}

/// What a door came to, and whether that is green. With `some`, only some cases are wanted, and a door can have none of them.
fn result(name: &str, outcome: Outcome, some: bool) -> (String, bool) {
    let not_run = |why: &str| {
        let required = is_required(name);
        let more = if required {
            ", and REQUIRE_DOORS lists it"
        } else {
            ""
        };
        (format!("not run: {why}{more}"), !required)
    };
    let mut through = match outcome {
        Outcome::NotRun(why) => return not_run(&why),
        Outcome::Ran(through) => through,
    };
    // CI requires the registry, and has no kwctl.
    for (program, steps) in &through.missing {
        if is_required(program) {
            let wrong = format!("{steps} did not run: {program} is not on PATH");
            through.wrong.push(wrong);
        } else {
            let why = format!("{steps}: {program} is not on PATH");
            through.left_out.push(why);
        }
    }
    for wrong in &through.wrong {
        println!("door {name}: {wrong}");
    }
    for left_out in &through.left_out {
        println!("door {name} leaves out {left_out}");
    }
    let (cases, called) = (through.cases, through.called);
    match through.wrong.len() {
        0 if cases == 0 && !some => not_run(&format!("there are no {called}")),
        0 => (format!("{cases} {called}"), true),
        wrong => (format!("{cases} {called}, {wrong} wrong"), false),
    }
}

fn engine(cases: &[Judged<'_>]) -> Outcome {
    let mut through = Through::default();
    for judged in cases {
        through.case(judged.case, judged.mistake());
    }
    Outcome::Ran(through)
}
