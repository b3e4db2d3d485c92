//! `check -f`: evaluates each object of the files with the module.

use anyhow::{Result, ensure};
use cluster::Notes;

use crate::args::{self, FailOn};
use crate::check::output;
use crate::exit::Exit;
use crate::input::{Check, Purpose, Unread};
use crate::terminal::Terminal;
use crate::verdict::Verdicts;

/// Evaluates the objects, prints the verdicts, and returns the most severe exit code.
pub(crate) fn run(args: &args::Check, terminal: &Terminal) -> Result<Exit> {
    ensure!(
        args.wait.is_none(),
        "--wait is for the golden images of --cluster: remove -f, or --wait"
    );
    let mut notes = Notes::default();
    let verdicts = match Check::read(&args.subject, Purpose::Check, None, &mut notes) {
        Ok(check) => check.judge(),
        Err(Unread::Nothing(what)) => {
            notes.push_lines(what);
            Verdicts::default()
        }
        // A program that reads the report must find the errors in it.
        Err(Unread::Failed(failures)) => Verdicts {
            failures,
            ..Verdicts::default()
        },
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
