//! What an evaluation costs, as ratios that were measured in one run: `make bench`, or `cargo bench -p hco-preflight`
//! for the figures alone. The tables in README.md and the picture in docs/ are what `make bench` writes.
//!
//! Criterion drives it and judges the ratios (`-- --save-baseline NAME`, `--baseline NAME` and filters work as ever);
//! each of its iterations runs a pair in turns, see `measure.rs`. The tables show the least time of each and the ratio
//! of those, which a busy machine disturbs least. `native` is `serde_json` skipping the same bytes by `IgnoredAny` with
//! no engine around it: nobody who looks at each byte with it can be quicker.
//!
//! A module's time is a whole call by the host: a fresh instance, payload and list copied into the guest, the verdict
//! taken out. The guest that looks at nothing shows what of it is the host's and the engine's: it is handed the same
//! list. Of that most is page faults, because the memory of a fresh instance is fresh, 244 pages for each megabyte.
//! `the module alone` is the difference of the two.
//!
//! `HCO_BENCH_MODULES=one.wasm:other.wasm` measures the cold load of other modules beside ours, and
//! `HCO_BENCH_MODULE=ours.wasm` another build of ours in place of the embedded one.

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
mod kwctl;
mod measure;
mod nodes;
mod picture;
mod requests;
mod tables;

use std::time::Duration;

use hco_preflight::Policy;
use serde::de::IgnoredAny;
use serde_json::json;

use self::guests::{Host, compile, judge};
use self::measure::{Measurements, timed, timed_by_the_wall};

/// The sizes of the list.
const NODES: [usize; 6] = [0, 10, 100, 1_000, 5_000, 15_000];

/// What is asked of a cluster of three nodes: a name and the payload.
type Small = (&'static str, Vec<u8>);

fn main() {
    // `cargo test --benches` runs this too, and wants no figures.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let ours = guests::ours();
    let usual = guests::usual_way();
    let mut others = guests::others();
    others.extend(
        usual
            .clone()
            .map(|module| ("the usual way".to_owned(), module)),
    );

    let mut measured = Measurements::new();
    let policy = compile(&ours);
    let usual_policy = usual.as_deref().map(compile);
    for count in NODES {
        growth(&mut measured, &policy, usual_policy.as_ref(), count);
    }
    let small = small_requests();
    for (name, payload) in &small {
        small_request(&mut measured, &policy, usual_policy.as_ref(), name, payload);
    }
    for (name, module) in &others {
        measured.run(
            "cold load",
            name,
            &|| timed_by_the_wall(|| drop(compile(&ours))),
            &|| timed_by_the_wall(|| drop(compile(module))),
        );
    }

    let names: Vec<&str> = small.iter().map(|(name, _)| *name).collect();
    let of_kwctl = kwctl::bench(&ours);
    // README.md is not to lose rows to a machine that lacks something.
    let is_all = measured.is_complete()
        && of_kwctl.is_ok()
        && usual.is_some()
        && std::env::var_os("HCO_BENCH_MODULES").is_some();
    let text = [
        tables::growth(&measured),
        tables::memory(&ours, usual.as_deref()),
        tables::small(&measured, &names, of_kwctl),
        tables::cold(&measured, &ours, &others),
    ]
    .join("\n");
    println!("\n{text}");
    if std::env::var_os("HCO_BENCH_WRITE").is_some() {
        if is_all {
            tables::write(&text);
            picture::write(&measured);
        } else {
            println!("not written: something was not run, and the tables in README.md have it");
        }
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

/// What little takes is measured many times over, because a clock is read as well.
fn skip(documents: &[&[u8]]) -> Duration {
    let bytes: usize = documents.iter().map(|document| document.len()).sum();
    let repeats = 1 + 100_000 / (bytes as u32 + 1);
    timed(|| {
        for document in (0..repeats).flat_map(|_| documents) {
            let IgnoredAny = serde_json::from_slice(std::hint::black_box(document)).unwrap();
        }
    }) / repeats
}
