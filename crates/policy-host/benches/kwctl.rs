//! The result of `kwctl bench` for the same module and the smallest request, if kwctl is on PATH.

use std::path::Path;
use std::process::Command;

use crate::requests::POD_FOR_KWCTL;

/// The minimum and the mean time, as kwctl prints them.
pub(crate) fn bench(module: &[u8]) -> Result<(String, String), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap();
    let directory = std::env::temp_dir().join(format!("hco-kwctl-bench-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let file = |name: &str| directory.join(name);
    std::fs::write(file("policy.wasm"), module).unwrap();
    std::fs::write(file("request.json"), POD_FOR_KWCTL).unwrap();
    // kwctl reads the execution mode from the metadata.
    let mut annotate = Command::new("kwctl");
    annotate
        .args(["annotate", "--metadata-path"])
        .arg(root.join("policy-metadata.yml"))
        .arg("--output-path")
        .args([file("annotated.wasm"), file("policy.wasm")]);
    let mut bench = Command::new("kwctl");
    bench
        .args(["bench", "--sigstore-trust-config", "/dev/null"])
        .args(["--warm-up-time", "1", "--measurement-time", "3"])
        .arg("--request-path")
        .args([file("request.json"), file("annotated.wasm")]);
    let said = run(&mut annotate).and_then(|_| run(&mut bench));
    std::fs::remove_dir_all(&directory).unwrap();
    figures(&said?).ok_or_else(|| "kwctl bench prints something else than it did".to_owned())
}

fn run(command: &mut Command) -> Result<String, String> {
    match command.env("NO_COLOR", "1").output() {
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Ok(output) => Err(format!("kwctl fails: {}", output.status)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err("kwctl is not on PATH".to_owned())
        }
        Err(error) => Err(format!("kwctl cannot be started: {error}")),
    }
}

/// The minimum and the mean of the last line `elapsed [min mean max]: [10µs 20µs 30µs] (sample data: …)`, which is that of `validate`.
fn figures(said: &str) -> Option<(String, String)> {
    let line = without_colours(said);
    let line = line.lines().rfind(|line| line.contains("elapsed"))?;
    let (_, figures) = line.split_once("]:")?;
    let mut figures = figures.trim().trim_start_matches('[').split_whitespace();
    Some((figures.next()?.to_owned(), figures.next()?.to_owned()))
}

/// kwctl prints colors even if the output is not a terminal.
fn without_colours(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| {
        plain + part.split_once('m').map_or("", |(_, rest)| rest)
    })
}
