//! The measured figures in docs/developers/performance.md.

use std::path::Path;
use std::process::Command;

use crate::module::ROOT;

/// Prints figures. With `HCO_BENCH_WRITE`, it also writes them between the markers with this name in
/// docs/developers/performance.md, below the machine, the date, and the commit.
///
/// # Panics
///
/// If the page cannot be read or written, or has no such markers.
#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
pub fn publish(name: &str, figures: &str) {
    println!("\n{figures}");
    if std::env::var_os("HCO_BENCH_WRITE").is_none() {
        return;
    }
    let (begin, end) = (format!("<!-- bench {name} -->\n"), "<!-- /bench -->");
    let path = Path::new(ROOT).join("docs/developers/performance.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(&begin).expect("the first marker");
    let (_, after) = rest.split_once(end).expect("the last marker");
    let origin = origin();
    let page = format!("{before}{begin}{origin}\n\n{figures}{end}{after}");
    std::fs::write(path, page).unwrap();
}

/// Where and when the figures were measured.
fn origin() -> String {
    let output = |program: &str, arguments: &[&str]| {
        let output = Command::new(program)
            .args(arguments)
            .current_dir(ROOT)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let processors = read("/proc/cpuinfo");
    let model = processors
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("unknown processor", |(_, model)| model);
    let cores = std::thread::available_parallelism().unwrap();
    let load = read("/proc/loadavg");
    let load = load.split(' ').next().unwrap_or_default();
    let date = output("date", &["-u", "+%F"]);
    let commit = output("git", &["describe", "--always", "--dirty", "--abbrev=12"]);
    format!("Measured on {date} at commit {commit}: {model}, {cores} cores, load {load}.")
}
