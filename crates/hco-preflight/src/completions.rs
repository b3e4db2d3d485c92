//! `completions`: generates the shell completions from the definition of the arguments.

use anyhow::Result;

use crate::args;
use crate::exit::Exit;
use crate::terminal;

/// Writes the script.
pub(crate) fn run(args: &args::Completions) -> Result<Exit> {
    let mut script = Vec::new();
    let mut command = args::Args::command();
    clap_complete::generate(args.shell, &mut command, "hco-preflight", &mut script);
    terminal::print_raw(&script)?;
    Ok(Exit::Accepted)
}
