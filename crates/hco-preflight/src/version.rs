//! `--version`: prints the versions of the program and of its module.

use anyhow::{Context, Result};
use engine::RULES;
use policy_host::{Policy, module_sha256};

use crate::exit::Exit;
use crate::terminal::Terminal;

/// Prints it.
pub(crate) fn run(terminal: &Terminal) -> Result<Exit> {
    let version = env!("CARGO_PKG_VERSION");
    let module = Policy::embedded_module();
    let sha256 = module_sha256(module).context("the embedded module is invalid")?;
    let rules = RULES.len();
    terminal.print(&format!(
        "hco-preflight {version}\nmodule  sha256:{sha256} (without custom sections)\nrules   {rules}\n"
    ))?;
    Ok(Exit::Accepted)
}
