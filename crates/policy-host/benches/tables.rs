//! The tables, as the benchmark prints them and as docs/developers/performance.md contains them.

use std::fmt::Write as _;
use std::time::Duration;

use e2e_tests::nodes;
use serde_json::json;

use crate::guests::{Host, least_memory};
use crate::measure::{Measurements, Pair};
use crate::{NODES, requests};

pub(crate) const BLIND: &str = "list not read";
pub(crate) const PLAIN: &str = "this policy";
pub(crate) const AFFINITY: &str = "affinity of 4 terms";
pub(crate) const USUAL: &str = "the usual way";

/// How many terms an affinity has, and on how many nodes.
pub(crate) const TERMS: [usize; 3] = [1, 100, 250];
pub(crate) const NODES_FOR_TERMS: usize = 5_000;

const NOT_RUN: &str = "not run";

/// The name of a size.
pub(crate) fn size(count: usize) -> String {
    format!("{count:05} nodes")
}

pub(crate) fn growth(measured: &Measurements) -> String {
    let mut table = String::from(
        "| nodes | list | native `IgnoredAny` | a guest that does not read the list | this policy | for each node | the module alone \
         | with an affinity of 4 terms | the module alone | the usual way |\n\
         | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for count in NODES {
        let group = size(count);
        let pair = |name: &str| measured.get(&group, name);
        let cell = |name: &str| pair(name).map_or_else(|| NOT_RUN.to_owned(), beside_native);
        let alone = |name: &str| match (pair(name), pair(BLIND)) {
            (Some(policy), Some(blind)) if count > 0 => beside_native(Pair {
                time: policy.time.saturating_sub(blind.time),
                ..policy
            }),
            _ => String::new(),
        };
        let each = match pair(PLAIN) {
            Some(policy) if count > 0 => time(policy.time / u32::try_from(count).unwrap()),
            _ => String::new(),
        };
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} | {} | {each} | {} | {} | {} | {} |",
            thousands(count),
            megabytes(nodes::node_list(count).len()),
            pair(PLAIN).map_or_else(|| NOT_RUN.to_owned(), |pair| time(pair.beside)),
            cell(BLIND),
            cell(PLAIN),
            alone(PLAIN),
            cell(AFFINITY),
            alone(AFFINITY),
            cell(USUAL),
        );
    }
    table
}

/// The name of a number of terms.
pub(crate) fn term_count(count: usize) -> String {
    format!("{count:04} terms")
}

pub(crate) fn terms(measured: &Measurements) -> String {
    let mut table = format!("| affinity, {} nodes |", thousands(NODES_FOR_TERMS));
    for count in TERMS {
        let _ = write!(table, " terms: {} |", thousands(count));
    }
    let _ = writeln!(table, "\n| --- |{}", " ---: |".repeat(TERMS.len()));
    for (kind, _) in requests::KINDS_OF_TERMS {
        let _ = write!(table, "| {kind} |");
        for count in TERMS {
            let pair = measured.get(kind, &term_count(count));
            let cell = pair.map_or_else(|| NOT_RUN.to_owned(), |pair| time(pair.time));
            let _ = write!(table, " {cell} |");
        }
        table.push('\n');
    }
    table
}

/// A time, and its ratio to the native time unless that is close to zero.
fn beside_native(pair: Pair) -> String {
    if pair.times() < 100.0 {
        format!("{} ({:.2})", time(pair.time), pair.times())
    } else {
        time(pair.time)
    }
}

pub(crate) fn memory(ours: &[u8], usual: Option<&[u8]>) -> String {
    let host = Host::new(nodes::node_list(5_000));
    let list = host.list().len();
    let payload = requests::create(&json!({}));
    let needs = |module: &[u8]| megabytes(least_memory(module, &payload, &host));
    format!(
        "Linear memory for the list of {}: {}, the usual way {}; the limit is {}.\n",
        megabytes(list),
        needs(ours),
        usual.map_or_else(|| NOT_RUN.to_owned(), needs),
        megabytes(list + list / 10 + (4 << 20)),
    )
}

pub(crate) fn small(measured: &Measurements, names: &[&str]) -> String {
    let mut table = String::from(
        "| 3 nodes | native `IgnoredAny` | this policy | the usual way |\n| --- | ---: | ---: | ---: |\n",
    );
    for name in names {
        let pair = |column: &str| measured.get(name, column);
        let cell =
            |pair: Option<Pair>| pair.map_or_else(|| NOT_RUN.to_owned(), |pair| time(pair.time));
        let native = pair(PLAIN).map_or_else(|| NOT_RUN.to_owned(), |pair| time(pair.beside));
        let _ = writeln!(
            table,
            "| {name} | {native} | {} | {} |",
            cell(pair(PLAIN)),
            cell(pair(USUAL))
        );
    }
    table
}

fn thousands(count: usize) -> String {
    match (count / 1_000, count % 1_000) {
        (0, rest) => rest.to_string(),
        (thousands, rest) => format!("{thousands},{rest:03}"),
    }
}

fn megabytes(bytes: usize) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

fn time(duration: Duration) -> String {
    match duration.as_secs_f64() {
        seconds if seconds < 1e-5 => format!("{:.1} µs", seconds * 1e6),
        seconds if seconds < 1e-3 => format!("{:.0} µs", seconds * 1e6),
        seconds => format!("{:.1} ms", seconds * 1e3),
    }
}
