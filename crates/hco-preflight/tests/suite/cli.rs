//! The command as a user runs it: its output and its exit code, compared with reviewed snapshots.

mod boot_sources;
mod changes;
mod cluster;
mod deployed;
mod documentation;
mod explain;
mod files;
mod fix;
mod from;
mod images;
mod large;
mod machines;
mod outputs;
mod pairs;
mod picture;
mod plan;
mod schemas;
mod status;
mod usage;
mod verdicts;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

use assert_cmd::cargo::CommandCargoExt as _;

use e2e_tests::ApiServer;

/// The directory with the manifests of these tests. Tests run the command there, so that paths in the output are
/// relative.
fn files() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files")
}

/// The objects of a file that has one on each line.
fn objects(file: &str) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(files().join(file)).unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix("  - "));
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// An empty directory for the files of a test.
fn scratch(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).unwrap();
    directory
}

/// The command, without settings of the machine that it runs on.
fn command() -> Command {
    let mut command = Command::cargo_bin("hco-preflight").unwrap();
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("home");
    command
        .current_dir(files())
        .env("HOME", &home)
        // All tests share a cache. Otherwise, each of them would compile the module.
        .env("XDG_CACHE_HOME", home.join(".cache"))
        .env("KUBECONFIG", "/nonexistent/kubeconfig")
        // The files of these tests do not belong to a repository.
        .env("GIT_CEILING_DIRECTORIES", files().parent().unwrap());
    for variable in [
        "NO_COLOR",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "COLUMNS",
        "TERM",
        "REGISTRY_AUTH_FILE",
        "DOCKER_CONFIG",
        "XDG_RUNTIME_DIR",
        "XDG_CONFIG_HOME",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "NO_PROXY",
        "http_proxy",
        "https_proxy",
        "no_proxy",
    ] {
        command.env_remove(variable);
    }
    command
}

/// The command, with a cluster.
fn command_on(server: &ApiServer) -> Command {
    let mut command = command();
    command.env("KUBECONFIG", server.kubeconfig());
    command
}

/// Runs a command line.
fn run(words: &str) -> Output {
    let mut command = command();
    command.args(words.split_whitespace());
    command.output().unwrap()
}

/// Runs a command line with this standard input.
fn run_with(words: &str, input: &str) -> Output {
    let mut command = command();
    command.args(words.split_whitespace());
    assert_cmd::Command::from_std(command)
        .write_stdin(input)
        .output()
        .unwrap()
}

/// The text of a plan or a status, without folds.
fn unfolded(output: &[u8]) -> String {
    e2e_tests::unfolded(std::str::from_utf8(output).unwrap())
}

/// The complete output of a run.
fn shown(words: &str, output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let code = output.status.code().unwrap();
    let mut shown = format!("$ hco-preflight {words}\nexit {code}\n");
    for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        if !bytes.is_empty() {
            write!(shown, "--- {name}\n{}", text(bytes)).unwrap();
        }
    }
    // Escape sequences for colors, in a form that a reviewer can read.
    shown.replace('\u{1b}', "\\e")
}

/// Runs a command line, and compares the output with the snapshot of this name, and the exit code.
#[track_caller]
fn check(name: &str, words: &str, code: i32) {
    let output = run(words);
    compare(name, &shown(words, &output));
    assert_eq!(output.status.code(), Some(code), "{words}");
}

/// Compares the output of a run with the section of this name in `transcripts/`, in the file named after the first word
/// of the name. `INSTA_UPDATE=always` writes the section.
#[track_caller]
fn compare(name: &str, shown: &str) {
    static LOCK: Mutex<()> = Mutex::new(());
    let _lock = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let (group, _) = name.split_once('-').unwrap_or((name, ""));
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/suite/transcripts/{group}.txt"));
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let mut sections: BTreeMap<&str, &str> = text
        .split("=== ")
        .filter_map(|section| section.split_once('\n'))
        .map(|(name, shown)| (name, shown.trim_end_matches('\n')))
        .collect();
    let shown = shown.trim_end_matches('\n');
    if std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always") {
        sections.insert(name, shown);
        let sections = sections
            .iter()
            .map(|(name, shown)| format!("=== {name}\n{shown}\n\n"));
        return std::fs::write(&file, sections.collect::<String>()).unwrap();
    }
    let reviewed = sections.get(name).copied().unwrap_or_default();
    assert!(
        reviewed == shown,
        "{name} differs from transcripts/{group}.txt; `INSTA_UPDATE=always` writes it\n--- reviewed\n{reviewed}\n--- shown\n{shown}"
    );
}
