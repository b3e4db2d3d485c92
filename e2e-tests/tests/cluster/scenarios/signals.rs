//! Scenario 0: a harness that gets SIGTERM leaves no processes or files.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::process;
use crate::waiting::until;
use crate::world::World;

/// Tells a second run of this program to keep its cluster running.
const HOLD: &str = "E2E_HOLD";

/// The prefix of its line that lists the running programs.
const RUNNING: &str = "running: ";

pub(crate) fn run(world: &World<'_>) {
    if std::env::var_os(HOLD).is_some() {
        hold(world);
        return;
    }
    let mut harness = Command::new(std::env::current_exe().expect("a program"))
        .arg("0")
        .env(HOLD, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("this very program starts");
    let output = BufReader::new(harness.stdout.take().expect("its output"));
    let running = output
        .lines()
        .map_while(Result::ok)
        .find_map(|line| serde_json::from_str(line.strip_prefix(RUNNING)?).ok());
    let running: Value = running.expect("what runs");
    let ids = running["ids"].as_array().expect("process ids");
    assert!(ids.len() >= 2, "etcd and kube-apiserver: {running}");
    for id in ids {
        assert!(runs(id), "{id} of {running}");
    }

    assert!(kill("-TERM", &json!(harness.id())), "it runs");
    let status = harness.wait().expect("it ends");
    assert_eq!(status.code(), Some(130), "{status}");
    for id in ids {
        until("it is gone", || {
            (!runs(id)).then_some(()).ok_or_else(|| id.to_string())
        });
    }
    let directory = running["directory"].as_str().expect("a directory");
    assert!(!Path::new(directory).exists(), "{directory}");
}

/// Runs until the process gets a signal, or until its parent exits.
fn hold(world: &World<'_>) {
    world.deploy("amd64");
    let directory = world.control_plane.directory();
    let running = json!({"ids": process::ids(), "directory": directory});
    println!("{RUNNING}{running}");
    // The pipe closes when the parent exits, for any reason.
    std::io::stdin()
        .read_to_end(&mut Vec::new())
        .expect("an end");
}

fn runs(id: &Value) -> bool {
    kill("-0", id)
}

/// The shell's `kill`, because the standard library has none.
fn kill(signal: &str, id: &Value) -> bool {
    let mut kill = Command::new("sh");
    kill.args(["-c", &format!("kill {signal} {id}")]);
    let output = kill.output().expect("a shell");
    output.status.success()
}
