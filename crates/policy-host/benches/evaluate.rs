//! The cost of an evaluation, as ratios that are measured in one run: `make bench`, or `cargo bench -p policy-host`
//! for the numbers alone. `make bench` writes the tables in docs/developers/performance.md.
//!
//! Criterion runs the measurements (`-- --save-baseline NAME`, `--baseline NAME` and filters work). Each of its iterations
//! runs a pair in turns, see `measure.rs`. The tables show the minimum time of each and the ratio of the two, because
//! a busy machine affects these least. `native` is the time in which `serde_json` skips the same bytes as `IgnoredAny`,
//! without an engine around it.
//!
//! The time of a module includes the whole call by the host: the new instance, and copying the payload, the list, and the
//! answer. A guest that does not read the list shows the cost of the host and the engine, most of which are page faults in
//! the new instance's memory. `the module alone` is the difference.
//!
//! `HCO_BENCH_MODULE=ours.wasm` measures another build of the policy instead of the embedded module.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::arithmetic_side_effects,
    reason = "a program that measures, run by hand: it prints, and it stops when something is wrong"
)]

mod guests;
mod measure;
mod requests;
mod tables;

use e2e_tests::{figures, nodes};
use policy_host::Policy;
use serde_json::json;

use self::guests::{Host, compile, judge};
use self::measure::{Measurements, skip};

/// The sizes of the list.
const NODES: [usize; 6] = [0, 10, 100, 1_000, 5_000, 15_000];

/// A request on a cluster of three nodes: its name and its payload.
type Small = (&'static str, Vec<u8>);

fn main() {
    // `cargo test --benches` runs this too, without the argument.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let ours = guests::ours();
    let usual = guests::build("usual-way", &[]);
    let mut measured = Measurements::new();
    let policy = compile(&ours);
    let usual_policy = usual.as_deref().map(compile);
    for count in NODES {
        growth(&mut measured, &policy, usual_policy.as_ref(), count);
    }
    many_terms(&mut measured, &policy);
    let small = small_requests();
    for (name, payload) in &small {
        small_request(&mut measured, &policy, usual_policy.as_ref(), name, payload);
    }
    let names: Vec<&str> = small.iter().map(|(name, _)| *name).collect();
    let is_all = measured.is_complete() && usual.is_some();
    let text = [
        tables::growth(&measured),
        tables::terms(&measured),
        tables::memory(&ours, usual.as_deref()),
        tables::small(&measured, &names),
    ]
    .join("\n");
    if is_all {
        figures::publish("module", &text);
    } else {
        println!("\n{text}\nThe page would lose rows, because something was not run.");
    }
}

fn growth(measured: &mut Measurements, policy: &Policy, usual: Option<&Policy>, count: usize) {
    let group = tables::size(count);
    let host = Host::new(nodes::node_list(count));
    let native = || skip(&[host.list()]);
    let blind = compile(guests::BLIND.as_bytes());
    let plain = requests::create(&json!({}));
    let affinity = requests::create(&requests::affinity());
    let mut run = |name: &str, policy: &Policy, payload: &[u8]| {
        measured.run(&group, name, &native, &|| judge(policy, payload, &host));
    };
    run(tables::BLIND, &blind, &plain);
    run(tables::PLAIN, policy, &plain);
    run(tables::AFFINITY, policy, &affinity);
    if let Some(usual) = usual {
        run(tables::USUAL, usual, &plain);
    }
}

/// Affinities of many terms.
fn many_terms(measured: &mut Measurements, policy: &Policy) {
    let host = Host::new(nodes::node_list(tables::NODES_FOR_TERMS));
    let native = || skip(&[host.list()]);
    for (kind, requirement) in requests::KINDS_OF_TERMS {
        for count in tables::TERMS {
            let payload = requests::create(&requests::terms(requirement, count));
            let run = || judge(policy, &payload, &host);
            measured.run(kind, &tables::term_count(count), &native, &run);
        }
    }
}

fn small_requests() -> Vec<Small> {
    let unchanged = requests::imported(10);
    vec![
        ("smallest request", requests::POD.into()),
        (
            "unchanged UPDATE, 10 templates",
            requests::update(&unchanged, &unchanged),
        ),
        ("1 template", requests::create(&requests::imported(1))),
        ("10 templates", requests::create(&requests::imported(10))),
        (
            "1,000 templates",
            requests::create(&requests::imported(1_000)),
        ),
    ]
}

fn small_request(
    measured: &mut Measurements,
    policy: &Policy,
    usual: Option<&Policy>,
    name: &str,
    payload: &[u8],
) {
    let host = Host::new(nodes::node_list(3));
    let native = || skip(&[payload, host.list()]);
    measured.run(name, tables::PLAIN, &native, &|| {
        judge(policy, payload, &host)
    });
    if let Some(usual) = usual {
        measured.run(name, tables::USUAL, &native, &|| {
            judge(usual, payload, &host)
        });
    }
}
