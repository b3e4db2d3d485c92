//! `--version`: which program, and which module is in it.

use anyhow::Result;
use engine::RULES;

use super::exit::Exit;
use super::output::Terminal;

/// Prints it.
pub(crate) fn run(terminal: &Terminal) -> Result<Exit> {
    let version = env!("CARGO_PKG_VERSION");
    let (sha256, rules) = (hco_preflight::embedded_sha256(), RULES.len());
    terminal.print(&format!(
        "hco-preflight {version}\nmodule  sha256:{sha256} (without custom sections)\nrules   {rules}\n"
    ))?;
    Ok(Exit::Accepted)
}
