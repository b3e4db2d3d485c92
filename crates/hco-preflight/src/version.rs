//! `--version`: prints the version of the program, and the number of rules.

use anyhow::Result;
use engine::RULES;

use crate::exit::Exit;
use crate::terminal::Terminal;

pub(crate) fn run(terminal: &Terminal) -> Result<Exit> {
    let version = env!("CARGO_PKG_VERSION");
    let rules = RULES.len();
    terminal.print(&format!("hco-preflight {version}\nrules {rules}\n"))?;
    Ok(Exit::Accepted)
}
