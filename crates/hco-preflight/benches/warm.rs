//! Measures the time of `hco-preflight check` for one manifest with a cached module: the whole program, compared with a
//! program that only starts and ends.

#![expect(clippy::unwrap_used, reason = "a measurement")]

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use e2e_tests::figures;

/// Enough runs to make delays by the scheduler irrelevant.
const RUNS: usize = 100;

fn main() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/examples");
    let home = tempfile::tempdir().unwrap();
    let time = |words: &str, status: i32| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hco-preflight"));
        command.args(words.split(' ')).current_dir(&examples);
        command
            .env("HOME", home.path())
            .env("XDG_CACHE_HOME", home.path())
            .env("KUBECONFIG", "/nonexistent")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let begun = Instant::now();
        let ended = command.status().unwrap();
        let time = begun.elapsed();
        assert_eq!(ended.code(), Some(status), "{words}");
        time
    };
    let check = || time("check -f hyperconverged.yaml --nodes mixed-nodes.yaml", 1);
    let shown = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1000.0);
    let mut table = format!(
        "| `hco-preflight` | minimum | median |\n| --- | ---: | ---: |\n| the first `check`, which compiles the module | {} | |\n",
        shown(check())
    );
    let runs = (0..RUNS).map(|_| (check(), time("--version", 0)));
    let (mut checks, mut starts): (Vec<Duration>, Vec<Duration>) = runs.unzip();
    for (what, times) in [
        ("`check` of one manifest", &mut checks),
        ("`--version`", &mut starts),
    ] {
        times.sort_unstable();
        let (least, median) = (times.first().unwrap(), times.get(RUNS / 2).unwrap());
        let _ = writeln!(table, "| {what} | {} | {} |", shown(*least), shown(*median));
    }
    figures::publish("command", &table);
}
