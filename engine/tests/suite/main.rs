//! The engine, tested from outside: cases, pages, properties, and what HCO's own code says.
//!
//! The same tests run natively and in wasm (`make test-wasm`), but for those that need files.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that panics is a test that fails"
)]

mod absurd;
mod affinity;
mod cases;
mod catalogue;
#[cfg(not(target_arch = "wasm32"))]
mod chain;
mod conformance;
mod drift;
#[cfg(not(target_arch = "wasm32"))]
mod fuzzed;
#[cfg(not(target_arch = "wasm32"))]
mod generated;
mod grants;
mod images;
#[cfg(not(target_arch = "wasm32"))]
mod law;
mod pages;
#[cfg(not(target_arch = "wasm32"))]
mod properties;
#[cfg(not(target_arch = "wasm32"))]
mod ratchet;
#[cfg(not(target_arch = "wasm32"))]
mod remedies;
mod requests;
mod templates;
mod updates;
mod versions;
#[cfg(not(target_arch = "wasm32"))]
mod wording;

/// The spec of a template that SSP and CDI accept, with this source.
fn template_spec(managed_data_source: &str, source: &serde_json::Value) -> serde_json::Value {
    serde_json::json!({
        "managedDataSource": managed_data_source,
        "schedule": "0 */12 * * *",
        "template": {"spec": {
            "source": source,
            "storage": {"resources": {"requests": {"storage": "10Gi"}}},
        }},
    })
}

/// The rows of a corpus.
fn rows(compressed: impl std::io::Read) -> impl Iterator<Item = serde_json::Value> {
    let text = std::io::BufReader::new(flate2::read::GzDecoder::new(compressed));
    let lines = std::io::BufRead::lines(text);
    lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap())
}

/// Compares all rows, and returns how many there are.
fn all_agree(
    rows: impl Iterator<Item = serde_json::Value>,
    compare: impl Fn(&serde_json::Value) -> Result<(), drift::Difference>,
) -> usize {
    let (mut count, mut different, mut tags) = (0, Vec::new(), drift::Tags::default());
    for row in rows {
        count += 1;
        tags.add(&row);
        if let Err(difference) = compare(&row) {
            different.push((row, difference));
        }
    }
    assert_ne!(count, 0, "there are no rows to compare");
    assert!(
        different.is_empty(),
        "{}",
        drift::describe(&different, count, &tags)
    );
    count
}

/// Checks the whole corpus of a name: in the directory `HCO_ROWS` if it is set, else in `../shared` if that is there.
#[cfg(not(target_arch = "wasm32"))]
#[expect(clippy::print_stderr, reason = "a check that did not run must be seen")]
fn corpus(name: &str, check: impl Fn(std::fs::File) -> usize) {
    let rows = std::env::var("HCO_ROWS");
    let is_required = rows.is_ok();
    let directory =
        rows.unwrap_or_else(|_| format!("{}/../../shared/conformance", env!("CARGO_MANIFEST_DIR")));
    let file = std::fs::File::open(format!("{directory}/{name}.jsonl.gz"));
    if file.is_err() && !is_required {
        eprintln!("conformance {name}: not run: ../shared/conformance is not there");
        return;
    }
    let file = file.expect("the rows are in the directory HCO_ROWS");
    eprintln!("conformance {name}: {} rows agree", check(file));
}
