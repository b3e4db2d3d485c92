//! `hco-preflight`: evaluates manifests before you apply them. It reads existing manifests and nodes, runs the module
//! of the deployed policy, and reports the result with fixes. It makes no decisions.

#![forbid(unsafe_code)]

mod args;
mod check;
mod exit;
mod explain;
mod failure;
mod fix;
mod images;
mod input;
mod kubectl;
mod plan;
mod prose;
mod report;
mod rows;
mod settings;
mod snapshot;
mod templates;
mod terminal;
mod verdict;

use std::io::Write as _;
use std::process::ExitCode;

use args::{Args, Command};
use clap::CommandFactory as _;
use cluster::foreign;
use exit::Exit;
use failure::chain;
use terminal::Terminal;

fn main() -> ExitCode {
    let args = match Args::read(std::env::args_os().collect()) {
        Ok(args) => args,
        // For help and for mistakes, clap knows the output stream and the exit code.
        Err(error) => {
            let code = error.exit_code();
            let text = error.render().to_string();
            // The text repeats the command line.
            let escaped = foreign::inert(&foreign::masked(&foreign::lines(&text)));
            if error.use_stderr() && escaped != text {
                let _ = std::io::stderr().write_all(escaped.as_bytes());
            } else {
                let _ = error.print();
            }
            return ExitCode::from(u8::try_from(code).unwrap_or(2));
        }
    };
    let terminal = Terminal::new(args.color, args.quiet, args.name.to_owned());
    let done = match &args.command {
        Command::Check(check) => check::run(check, &terminal),
        Command::Fix(fix) => fix::run(fix, &terminal),
        Command::Explain { rule } => explain::run(rule.as_deref(), &terminal),
        Command::Settings(settings) => settings::run(settings, &terminal),
        Command::Images(images) => images::run(images, &terminal),
        Command::Plan(plan) => plan::run(plan, &terminal),
        Command::Snapshot(snapshot) => snapshot::run(snapshot, &terminal),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Args::command(), "hco-preflight", &mut script);
            terminal::print_raw(&script).map(|()| Exit::Accepted)
        }
    };
    let exit = done.unwrap_or_else(|error| {
        terminal.failure(&chain(&error));
        Exit::Unjudged
    });
    ExitCode::from(exit as u8)
}
