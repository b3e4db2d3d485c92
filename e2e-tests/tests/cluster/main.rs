//! Procedures of users, on a real API server: etcd and kube-apiserver on loopback, with kubectl as the client and the
//! policy as a webhook. Each scenario has its own cluster.
//!
//! `make e2e-cluster`; some scenarios only: `make e2e-cluster SCENARIOS='3 7'`. With `WEBHOOK=policy-server`, a real
//! policy-server is the webhook.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that panics is a test that fails, and this one reports by itself"
)]

mod admission;
mod api;
mod certificates;
mod control_plane;
mod crd;
mod kubectl;
mod policy;
mod process;
mod scenarios;
mod waiting;
mod webhook;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use crate::control_plane::Programs;
use crate::scenarios::SCENARIOS;
use crate::webhook::Kind;
use crate::world::World;

fn main() -> ExitCode {
    let Some(programs) = std::env::var_os("CLUSTER_TOOLS").map(PathBuf::from) else {
        println!("CLUSTER_TOOLS is not set: run `make e2e-cluster`");
        return ExitCode::FAILURE;
    };
    let programs = match Programs::of(&programs) {
        Ok(programs) => programs,
        Err(why) => {
            println!("cluster: {why}");
            return ExitCode::FAILURE;
        }
    };
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    let is_scenario = |wanted: &String| {
        SCENARIOS
            .iter()
            .any(|scenario| *wanted == scenario.number.to_string())
    };
    if let Some(unknown) = wanted.iter().find(|wanted| !is_scenario(wanted)) {
        println!("cluster: there is no scenario {unknown}");
        return ExitCode::FAILURE;
    }
    process::end_all_on_ctrl_c();
    rustls::crypto::ring::default_provider()
        .install_default()
        .expect("nobody else installs one");
    let kind = Kind::wanted().expect("a webhook");
    println!("webhook: {kind}");

    let begun = Instant::now();
    let (mut passed, mut failed, mut left_out) = (0, 0, 0);
    for scenario in SCENARIOS {
        let (number, about) = (scenario.number, scenario.about);
        let other_webhook = match kind {
            Kind::Library => scenarios::AUDIT_SCANNER,
            Kind::PolicyServer { .. } => scenarios::CASES,
        };
        if number == other_webhook || !wanted.is_empty() && !wanted.contains(&number.to_string()) {
            left_out += 1;
            continue;
        }
        for crd in crd::of(scenario.crds) {
            let begun = Instant::now();
            let came = catch_unwind(AssertUnwindSafe(|| {
                (scenario.run)(&World::new(&programs, &kind, &crd));
            }));
            let word = if came.is_ok() { "ok" } else { "FAILED" };
            println!(
                "scenario {number}: {about} ({}): {word} in {:.1} s",
                crd.name,
                begun.elapsed().as_secs_f64()
            );
            *(if came.is_ok() {
                &mut passed
            } else {
                &mut failed
            }) += 1;
        }
    }
    let word = if failed == 0 { "ok" } else { "FAILED" };
    println!(
        "test result: {word}. {passed} passed; {failed} failed; 0 ignored; 0 measured; {left_out} filtered out; finished in {:.2}s",
        begun.elapsed().as_secs_f64()
    );
    ExitCode::from(u8::from(failed > 0))
}
