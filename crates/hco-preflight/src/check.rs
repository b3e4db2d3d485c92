//! `check`: evaluates every HyperConverged of the files, or of the cluster, with the module.

use anyhow::Result;

use crate::args::{self, FailOn};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::notes::Notes;
use crate::output;
use crate::stage::{Check, Purpose, Unread};
use crate::terminal::Terminal;
use crate::verdict::Verdicts;

/// Evaluates the objects, prints the verdicts, and returns the most severe exit code.
pub(crate) fn run(args: &args::Check, terminal: &Terminal) -> Result<Exit> {
    let mut notes = Notes::default();
    let check = Check::read(&args.subject, Purpose::Check, &mut notes);
    let verdicts = check.map(|check| check.judge(&mut notes));
    let verdicts = or_failures(verdicts, args, &mut notes);
    if !args.quiet {
        verdicts.add_notes(&mut notes);
        terminal.notes(&notes);
    }
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

/// The verdicts, or the errors in their place, because a program that reads the report must find the errors in it.
fn or_failures(verdicts: Result<Verdicts>, args: &args::Check, notes: &mut Notes) -> Verdicts {
    verdicts.unwrap_or_else(|error| {
        let mut verdicts = Verdicts::default();
        match error.downcast() {
            Ok(Unread::Nothing(what)) if args.allow_empty => {
                verdicts.may_be_empty = true;
                notes.push_lines(what.to_string());
            }
            Ok(Unread::Nothing(what)) => verdicts.failures.push(what),
            Ok(Unread::Failures(failures)) => verdicts.failures = failures,
            Err(error) => verdicts.failures.push(Failure::of(&error)),
        }
        verdicts
    })
}
