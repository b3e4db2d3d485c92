//! Kubewarden's own programs: kwctl and policy-server. They answer every case as the engine does, and exchange the module
//! with a registry.
//!
//! - `make e2e-cases`: the cases. For some of them: `cargo test -p e2e-tests --test kubewarden -- cases ratchet/`.
//! - `make e2e-registry`: a registry, and the images of templates.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that panics fails, and this one prints its results itself"
)]

mod images;
mod kwctl;
mod policy_server;
mod registry;
mod results;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use e2e_tests::{DockerRegistry, Judged, cases, module};

use crate::results::Results;

/// The programs of a machine.
struct Programs {
    kwctl: PathBuf,
    policy_server: PathBuf,
}

impl Programs {
    fn find() -> Result<Self, String> {
        let find = |name: &str| {
            module::on_path(name).ok_or_else(|| {
                format!(
                    "{name} is not on PATH: https://github.com/kubewarden/adm-controller/releases"
                )
            })
        };
        Ok(Self {
            kwctl: find("kwctl")?,
            policy_server: find("policy-server")?,
        })
    }
}

fn main() -> ExitCode {
    // libtest's flags have no effect here.
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    let begun = Instant::now();
    let results = match arguments.split_first() {
        Some((group, names)) if group == "cases" => run_cases(names),
        Some((group, [])) if group == "registry" => run_registry(),
        _ => Err("expected `cases [NAME]...` or `registry`".to_owned()),
    };
    let results = match results {
        Ok(results) => results,
        Err(error) => {
            println!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let (mut passed, mut failed) = (0, 0);
    for (runner, results) in &results {
        for left_out in &results.left_out {
            println!("{runner} leaves out {left_out}");
        }
        for wrong in &results.wrong {
            println!("{runner}: {wrong}");
        }
        println!(
            "{runner}: {} run, {} wrong",
            results.count,
            results.wrong.len()
        );
        failed += results.wrong.len();
        passed += results.count.saturating_sub(results.wrong.len());
    }
    let word = if failed == 0 { "ok" } else { "FAILED" };
    println!(
        "test result: {word}. {passed} passed; {failed} failed; 0 ignored; 0 measured; 0 filtered out; finished in {:.2}s",
        begun.elapsed().as_secs_f64()
    );
    ExitCode::from(u8::from(failed > 0))
}

type AllResults = Vec<(&'static str, Results)>;

fn run_cases(names: &[String]) -> Result<AllResults, String> {
    let programs = Programs::find()?;
    let mut cases = cases();
    for name in names {
        if !cases.iter().any(|case| case.name.starts_with(name)) {
            return Err(format!("there is no case {name}"));
        }
    }
    cases.retain(|case| names.is_empty() || names.iter().any(|name| case.name.starts_with(name)));
    let cases: Vec<Judged<'_>> = cases.iter().map(Judged::new).collect();
    Ok(vec![
        ("kwctl", kwctl::run(&programs.kwctl, &cases)),
        ("policy-server", policy_server::run(&programs, &cases)),
    ])
}

fn run_registry() -> Result<AllResults, String> {
    let programs = Programs::find()?;
    let docker_registry = DockerRegistry::installed().ok_or(DockerRegistry::MISSING)?;
    Ok(vec![
        ("registry", registry::run(&programs, &docker_registry)),
        ("images", images::run(&programs, &docker_registry)),
    ])
}
