//! Rows of a corpus: inputs, and what the operators' own code did with them.

use serde_json::Value;

/// The rows of a compressed file.
pub(super) fn read(compressed: impl std::io::Read) -> impl Iterator<Item = Value> {
    let text = std::io::BufReader::new(flate2::read::GzDecoder::new(compressed));
    let lines = std::io::BufRead::lines(text);
    lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap())
}

/// Compares the rows of the sample, and those of the whole corpus: in the directory `HCO_ROWS` if it is set, else in
/// `../shared` if that is there. The comparison returns what is different.
pub(super) fn all_agree(name: &str, sample: &[u8], compare: impl Fn(&Value) -> Vec<String>) {
    agree(name, read(sample), &compare);
    #[cfg(not(target_arch = "wasm32"))]
    if let Some(file) = corpus(name) {
        agree(name, read(file), &compare);
    }
}

fn agree(name: &str, rows: impl Iterator<Item = Value>, compare: &impl Fn(&Value) -> Vec<String>) {
    let (mut count, mut differences) = (0, Vec::new());
    for row in rows {
        count += 1;
        let different = compare(&row).into_iter();
        differences.extend(different.map(|difference| format!("{}: {difference}", row["id"])));
    }
    assert_ne!(count, 0, "there are no rows of {name}");
    let shown: Vec<_> = differences.iter().take(20).map(String::as_str).collect();
    assert!(
        differences.is_empty(),
        "{} differences in {count} rows of {name}:\n{}",
        differences.len(),
        shown.join("\n")
    );
}

/// The whole corpus of a name.
#[cfg(not(target_arch = "wasm32"))]
#[expect(clippy::print_stderr, reason = "a check that did not run must be seen")]
fn corpus(name: &str) -> Option<std::fs::File> {
    let rows = std::env::var("HCO_ROWS");
    let is_required = rows.is_ok();
    let directory =
        rows.unwrap_or_else(|_| format!("{}/../../shared/conformance", env!("CARGO_MANIFEST_DIR")));
    let file = std::fs::File::open(format!("{directory}/{name}.jsonl.gz")).ok();
    assert!(
        file.is_some() || !is_required,
        "the rows of {name} are in the directory HCO_ROWS"
    );
    if file.is_none() {
        eprintln!("conformance {name}: not run: ../shared/conformance is not there");
    }
    file
}
