//! The cost of the node list with different JSON readers: `make bench-readers`.
//!
//! Each guest counts the same nodes; they differ only in the library that reads the list. The guests and their
//! libraries are in the workspace `benches/readers`, so that Cargo.lock contains only what the policy uses.
//! `evaluate.rs` describes how the time is measured.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "a program that measures, run by hand: it prints, and it stops when something is wrong"
)]
#![expect(dead_code, reason = "the modules are shared with evaluate.rs")]

mod guests;
mod measure;
mod requests;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use e2e_tests::nodes;
use engine::placement::Placement;
use policy_host::{HostCalls, Policy};

use self::guests::{Host, compile, judge, least_memory};
use self::measure::{Measurements, Pair, skip};

const NODES: usize = 5_000;

/// The features of `benches/readers`.
const READERS: [&str; 6] = [
    "json-stream",
    "serde_json",
    "sonic-rs",
    "jiter",
    "hifijson",
    "simd-json",
];

/// The optimization level of the policy, and the one for speed, as TOML.
const OPT_LEVELS: [&str; 2] = ["\"s\"", "3"];

fn main() {
    // `cargo test --benches` runs this too, without the argument.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let host = Host::new(nodes::node_list(NODES));
    let native = || skip(&[host.list()]);
    let mut measured = Measurements::new();
    let mut run = |name: &str, policy: &Policy, payload: &[u8]| {
        let run = || judge(policy, payload, &host);
        measured.run("readers", name, &native, &run);
        measured.get("readers", name).unwrap()
    };

    let affinity = requests::node_affinity().to_string();
    let cases = [("no affinity", "null"), ("affinity", affinity.as_str())]
        .map(|(name, affinity)| (name, affinity.as_bytes(), census(affinity, host.list())));
    let blind = run("list not read", &compile(guests::BLIND.as_bytes()), b"").time;
    let mut table = String::from(
        "| reader | opt-level | module | memory | the module alone | with an affinity of 4 terms |\n\
         | --- | --- | ---: | ---: | ---: | ---: |\n",
    );
    for reader in READERS {
        for level in OPT_LEVELS {
            let profile = format!("profile.wasm.opt-level={level}");
            let options = ["--features", reader, "--config", &profile];
            let module = guests::build("readers", &options).unwrap();
            let policy = compile(&module);
            let alone = cases.each_ref().map(|(case, payload, census)| {
                let calls: Arc<dyn HostCalls> = Arc::clone(&host) as _;
                let answer = policy.call("validate", payload, calls).result.unwrap();
                assert_eq!(str::from_utf8(&answer), Ok(census.as_str()), "{reader}");
                let pair = run(&format!("{reader}, {level}, {case}"), &policy, payload);
                let time = pair.time.saturating_sub(blind);
                Pair { time, ..pair }.times()
            });
            let _ = writeln!(
                table,
                "| `{reader}` | {} | {} kB | {:.1} MB | {:.2} | {:.2} |",
                level.trim_matches('"'),
                module.len() / 1_000,
                least_memory(&module, b"null", &host) as f64 / 1e6,
                alone[0],
                alone[1],
            );
        }
    }
    println!("\n{table}");
}

/// The answer that every guest must give.
fn census(affinity: &str, list: &[u8]) -> String {
    let affinity = serde_json::from_str(affinity).unwrap();
    let placement = Placement::parse(BTreeMap::new(), affinity);
    format!("{:?}", engine::node::census(list, &[&placement]).unwrap())
}
