//! Measures the time of `hco-preflight check` for one manifest with a cached module: the whole program, compared with a
//! program that only starts and ends.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Enough runs to make delays by the scheduler irrelevant.
const RUNS: usize = 100;

fn main() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/examples");
    let home = tempfile::tempdir().unwrap();
    let time = |words: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hco-preflight"));
        command.args(words.split(' ')).current_dir(&examples);
        command
            .env("HOME", home.path())
            .env("XDG_CACHE_HOME", home.path())
            .env("KUBECONFIG", "/nonexistent")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let begun = Instant::now();
        command.status().unwrap();
        begun.elapsed()
    };
    let check = "check -f hyperconverged.yaml --nodes mixed-nodes.yaml";
    let shown = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1000.0);
    println!(
        "the first check, which compiles the module: {}",
        shown(time(check))
    );
    let runs = (0..RUNS).map(|_| (time(check), time("version")));
    let (mut checks, mut starts): (Vec<Duration>, Vec<Duration>) = runs.unzip();
    for (what, times) in [
        ("check of one manifest", &mut checks),
        ("version", &mut starts),
    ] {
        times.sort_unstable();
        let (least, median) = (times.first().unwrap(), times.get(RUNS / 2).unwrap());
        println!(
            "{what}: {} at the least, {} in the median",
            shown(*least),
            shown(*median)
        );
    }
}
