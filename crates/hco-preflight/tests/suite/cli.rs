//! The command as a user runs it.

mod agreement;
mod boot_sources;
mod changes;
mod cluster;
mod deployed;
mod documentation;
mod files;
mod fix;
mod from;
mod images;
mod large;
mod machines;
mod objects;
mod outputs;
mod plan;
mod schemas;
mod situations;
mod status;
mod transcripts;
mod verdicts;
mod words;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use assert_cmd::cargo::CommandCargoExt as _;
use serde_json::Value;

use e2e_tests::ApiServer;

/// The directory with the manifests of these tests. Tests run the command there, so that paths in the output are
/// relative.
fn files() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files")
}

/// The text of one of these manifests.
fn file(name: &str) -> String {
    std::fs::read_to_string(files().join(name)).unwrap()
}

/// A new empty directory for the files of a test.
fn scratch() -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("scratch/{number}"));
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).unwrap();
    directory
}

/// A new file with this text, and its path.
fn written(name: &str, text: impl AsRef<[u8]>) -> String {
    let path = scratch().join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// The command.
fn command() -> Command {
    let mut command = isolated(Command::cargo_bin("hco-preflight").unwrap());
    command.current_dir(files());
    command
}

/// A command without the environment of the machine that it runs on.
fn isolated(mut command: Command) -> Command {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("home");
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", &home)
        // All tests share a cache. Otherwise, each of them would compile the module.
        .env("XDG_CACHE_HOME", home.join(".cache"))
        .env("KUBECONFIG", "/nonexistent/kubeconfig")
        // For git, scratch directories do not belong to the repository of the project, which ignores them.
        .env("GIT_CEILING_DIRECTORIES", env!("CARGO_TARGET_TMPDIR"));
    command
}

/// A run with its result.
struct Run {
    words: Vec<OsString>,
    stdout: String,
    stderr: String,
    code: i32,
}

impl Run {
    fn new(command: Command, input: &str) -> Self {
        let words = command.get_args().map(OsStr::to_owned).collect();
        let output = assert_cmd::Command::from_std(command)
            .write_stdin(input)
            .output()
            .unwrap();
        Self {
            words,
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            code: output.status.code().unwrap(),
        }
    }

    /// The run, which must have ended with this code.
    #[track_caller]
    fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }

    /// The run, which must have printed this as a note, a warning, or an error.
    #[track_caller]
    fn notes(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "`{text}` is not in {self:?}");
        self
    }

    /// Whether the output contains a text, on one line or folded at the width of the terminal.
    fn has(&self, text: &str) -> bool {
        self.stdout.contains(text) || e2e_tests::unfolded(&self.stdout).contains(text)
    }

    /// The run, whose output must contain these texts.
    #[track_caller]
    fn prints(self, texts: &[&str]) -> Self {
        for text in texts {
            assert!(self.has(text), "`{text}` is not in {self:?}");
        }
        self
    }

    /// The run, whose output must not contain these texts.
    #[track_caller]
    fn lacks(self, texts: &[&str]) -> Self {
        for text in texts {
            assert!(!self.has(text), "`{text}` is in {self:?}");
        }
        self
    }

    /// The first of these lines that the output does not have, in this order. `[..]` stands for the rest of a line.
    fn missing<'l>(&self, lines: &[&'l str]) -> Option<&'l str> {
        let printed = e2e_tests::unfolded(&self.stdout) + &self.stderr;
        // Escape sequences for colors, in a form that a reviewer can read.
        let printed = printed.replace('\u{1b}', "\\e");
        let mut printed = printed.lines().map(str::trim);
        lines.iter().copied().find(|line| {
            let is_there = match line.trim().strip_suffix("[..]") {
                Some(start) => printed.any(|printed| printed.starts_with(start)),
                None => printed.any(|printed| printed == line.trim()),
            };
            !is_there
        })
    }

    /// The run, whose output must have these lines.
    #[track_caller]
    fn shows(self, lines: &[&str]) -> Self {
        assert_eq!(self.missing(lines), None, "it is not in {self:?}");
        self
    }

    fn result(&self) -> (&str, &str, i32) {
        (&self.stdout, &self.stderr, self.code)
    }

    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (stdout, stderr, code) = self.result();
        write!(f, "{:?}: exit {code}\n{stdout}\n{stderr}", self.words)
    }
}

/// Runs the command with these arguments.
fn run_of<W: AsRef<OsStr>>(mut command: Command, words: impl IntoIterator<Item = W>) -> Run {
    command.args(words);
    Run::new(command, "")
}

/// Runs a command line.
fn run(words: &str) -> Run {
    run_of(command(), words.split_whitespace())
}

/// Runs a command line with this standard input.
fn run_with(words: &str, input: &str) -> Run {
    let mut command = command();
    command.args(words.split_whitespace());
    Run::new(command, input)
}

/// Runs a command line in a scratch directory.
fn run_in(directory: impl AsRef<Path>, words: &str) -> Run {
    let mut command = command();
    command.current_dir(directory);
    run_of(command, words.split_whitespace())
}

/// The command, with a cluster.
fn command_on(server: &ApiServer) -> Command {
    let mut command = command();
    command.env("KUBECONFIG", server.kubeconfig());
    command
}

/// Runs a command line with a cluster.
fn run_on(server: &ApiServer, words: &str) -> Run {
    run_of(command_on(server), words.split_whitespace())
}

/// A snapshot of a cluster.
fn snapshot(server: &ApiServer) -> String {
    let file = scratch().join("snapshot.json").display().to_string();
    run_on(server, &format!("snapshot --cluster -o {file}")).exits(0);
    file
}

/// The text of a plan or a status, with each folded line on one line.
fn text_of(words: &str) -> String {
    let run = run(words);
    assert!(run.stdout.len() > 1, "{words}: {run:?}");
    e2e_tests::unfolded(&run.stdout)
}

/// The JSON of a plan or a status.
#[track_caller]
fn json_of(words: &str) -> Value {
    run(&format!("{words} -q -o json")).json()
}

/// The rows about objects of this kind.
fn rows(document: &Value, kind: &str) -> Vec<Value> {
    let rows = document["rows"].as_array().unwrap().iter();
    let rows = rows.filter(|row| row["kind"] == kind && row["effect"] != "not-read");
    rows.cloned().collect()
}

/// The names and effects of the rows about objects of this kind.
fn effects(document: &Value, kind: &str) -> Vec<String> {
    let text = |row: &Value, field: &str| row[field].as_str().unwrap().to_owned();
    let rows = rows(document, kind).into_iter();
    rows.map(|row| format!("{}: {}", text(&row, "name"), text(&row, "effect")))
        .collect()
}

/// The rows about golden images, which name a DataImportCron.
fn images(document: &Value) -> Vec<Value> {
    let mut rows = rows(document, "DataSource");
    rows.retain(|row| row.get("dataImportCron").is_some());
    rows
}

/// The kinds that were not read.
fn unread(document: &Value) -> Vec<Value> {
    let rows = document["rows"].as_array().unwrap().iter();
    let rows = rows.filter(|row| row["effect"] == "not-read");
    rows.cloned().collect()
}
