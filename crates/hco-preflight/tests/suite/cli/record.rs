//! `record`: the real kwctl repeats a check.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use policy_host::{Policy, Replay, Session};
use serde_json::{Value, json};

use super::{command, run, scratch};

#[test]
fn what_is_recorded_can_be_repeated() {
    let to = scratch("record");
    let output = command()
        .args(["record", "-f", "several.yaml", "--nodes", "nodes.yaml"])
        .args(["--settings", "policy.yaml", "--to"])
        .arg(&to)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let printed = String::from_utf8(output.stdout).unwrap();
    let printed = printed.replace(&*to.display().to_string(), "DIR");
    super::compare("record", &printed);
    let mut files: Vec<String> = std::fs::read_dir(&to)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(
        files,
        [
            "request-1.json",
            "request-2.json",
            "session-1.yml",
            "session-2.yml",
            "settings-1.json",
            "settings-2.json",
        ]
    );
    let session = Session::from_file(&to.join("session-1.yml")).unwrap();
    // May it list and watch nodes, then the nodes: the settings name the account.
    assert_eq!(session.exchanges.len(), 3);
}

#[test]
fn what_cannot_be_recorded_is_reported() {
    let output = run("record -f broken.yaml -f accepted.yaml --arch amd64=1 --to nowhere");
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.starts_with("error: broken.yaml:"), "{error}");
    assert!(
        !super::files().join("nowhere").exists(),
        "nothing was written"
    );
}

#[test]
fn nothing_is_written_over() {
    let to = scratch("record-over");
    let record = |more: &[&str]| {
        let mut command = command();
        command.args(["record", "-f", "accepted.yaml", "--arch", "amd64=1", "--to"]);
        command.arg(&to).args(more).output().unwrap()
    };
    let theirs = to.join("request.json");
    std::fs::write(&theirs, "theirs").unwrap();
    let output = record(&[]);
    assert_eq!(output.status.code(), Some(2));
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(printed.contains("request.json already exists"), "{printed}");
    assert_eq!(std::fs::read_to_string(&theirs).unwrap(), "theirs");
    assert_eq!(record(&["--force"]).status.code(), Some(0));
    assert!(std::fs::read_to_string(&theirs).unwrap().starts_with('{'));
}

/// Without `--images` no image is looked up: the settings that are recorded look up none either, so that the replay ends as
/// the check does.
#[test]
fn look_ups_that_are_not_made_are_not_recorded() {
    let to = scratch("record-images");
    let settings = to.join("settings-of-the-policy.yaml");
    let record = |settings: &Path, more: &[&str]| {
        let mut command = command();
        command.args(["record", "-f", "denied.yaml", "--arch", "amd64=1,arm64=1"]);
        command.arg("--settings").arg(settings);
        command.arg("--force").arg("--to").arg(&to).args(more);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let settings = std::fs::read(to.join("settings.json")).unwrap();
        serde_json::from_slice::<Value>(&settings).unwrap()
    };
    std::fs::write(&settings, "images: verify\nrepair: {architectures-missing: from-image, architectures-malformed: normalise}\n").unwrap();
    assert_eq!(
        record(&settings, &[]),
        json!({"repair": {"architectures-malformed": "normalise"}})
    );
    let session = Session::from_file(&to.join("session.yml")).unwrap();
    let replay = Arc::new(Replay::new(session).unwrap());
    let read = |file: &str| std::fs::read_to_string(to.join(file)).unwrap();
    let payload = format!(
        r#"{{"settings":{},"request":{}}}"#,
        read("settings.json"),
        read("request.json")
    );
    let verdict = Policy::embedded()
        .unwrap()
        .validate(payload.as_bytes(), replay);
    assert_eq!(verdict.result.unwrap().code, Some(403));
    for text in ["images: ignore\n", "{}\n"] {
        std::fs::write(&settings, text).unwrap();
        let wanted = if text == "{}\n" {
            json!({})
        } else {
            json!({"images": "ignore"})
        };
        assert_eq!(record(&settings, &[]), wanted);
    }
}

/// The printed command, with the policy as it is deployed.
#[test]
fn kwctl_says_the_same() {
    if Command::new("kwctl").arg("--version").output().is_err() {
        return e2e_tests::not_run("kwctl", "kwctl is not on PATH");
    }
    let to = scratch("record-kwctl");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let (plain, annotated) = (to.join("policy.wasm"), to.join("annotated-policy.wasm"));
    std::fs::write(&plain, Policy::embedded_module()).unwrap();
    let kwctl = |arguments: &[&str]| {
        let output = Command::new("kwctl")
            .args(arguments)
            .current_dir(&to)
            .output();
        let output = output.unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let metadata = format!("{root}/policy-metadata.yml");
    let usage = format!("{root}/README.md");
    kwctl(&[
        "annotate",
        "-m",
        &metadata,
        "-u",
        &usage,
        "-o",
        "annotated-policy.wasm",
        "policy.wasm",
    ]);
    assert!(annotated.is_file());

    let output = command()
        .args([
            "record",
            "-f",
            "denied.yaml",
            "--nodes",
            "nodes.yaml",
            "--to",
        ])
        .arg(&to)
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let mut words: Vec<&str> = printed.split_whitespace().skip(1).collect();
    // Without it kwctl fetches keys that nothing here is verified with.
    words.extend(["--sigstore-trust-config", "/dev/null"]);
    let answer: Value = serde_json::from_str(&kwctl(&words)).unwrap();
    assert_eq!(answer["allowed"], false);
    let ours = run("check -f denied.yaml --nodes nodes.yaml -o json");
    let ours: Value = serde_json::from_slice(&ours.stdout).unwrap();
    let fact = ours
        .pointer("/objects/0/findings/0/fact")
        .unwrap()
        .as_str()
        .unwrap();
    let message = answer.pointer("/status/message").unwrap().as_str().unwrap();
    assert!(message.contains(fact), "{message}");
}
