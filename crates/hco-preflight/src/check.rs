//! `check`: whether objects of files would be accepted, or whether a cluster is all right as it is.

mod cluster;
mod entry;
mod output;

use ::cluster::Notes;
use anyhow::Result;

use crate::args::{self, FailOn};
use crate::exit::Exit;
use crate::failure::{Failure, Nothing, chain};
use crate::input::{Check, Purpose};
use crate::terminal::Terminal;
use crate::verdict::Verdicts;

/// Without a file, it is about the live HyperConverged. A check without nodes is a usage error of files.
pub(crate) fn run(args: &args::Check, terminal: &Terminal) -> Result<Exit> {
    if args.subject.filename.is_empty() && args.subject.source.is_live() {
        cluster::run(args, terminal)
    } else {
        files(args, terminal)
    }
}

/// Evaluates the objects, prints the verdicts, and returns the most severe exit code.
fn files(args: &args::Check, terminal: &Terminal) -> Result<Exit> {
    let mut notes = Notes::default();
    let (subject, purpose, mut failures) = (&args.subject, Purpose::Check, Vec::new());
    let verdicts = match Check::read(subject, purpose, None, &mut notes, &mut failures) {
        Ok(check) => check.judge(failures),
        Err(error) if subject.allow_empty && error.is::<Nothing>() => {
            notes.push_lines(error.to_string());
            Verdicts::default()
        }
        // A program that reads the report must find the error in it.
        Err(error) => {
            failures.push(Failure::new(None, chain(&error)));
            Verdicts {
                failures,
                ..Verdicts::default()
            }
        }
    };
    verdicts.add_notes(&mut notes);
    terminal.notes(&notes);
    for failure in &verdicts.failures {
        terminal.failure(&failure.to_string());
    }
    output::print(&verdicts, args.output, terminal)?;
    Ok(match verdicts.exit() {
        Exit::Denied if args.fail_on == FailOn::Never => Exit::Accepted,
        Exit::Accepted if args.fail_on == FailOn::Warn && verdicts.warns() => Exit::Denied,
        exit => exit,
    })
}
