//! `hco-preflight`: asks the policy before the manifest is applied. Everything is in `cli`.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run(std::env::args_os().collect())
}
