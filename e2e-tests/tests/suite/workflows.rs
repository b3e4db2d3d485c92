//! The release: permissions are least, and digests are compared before anything is published.

use e2e_tests::repository::{documents, text};
use serde_json::{Map, Value, json};

fn jobs(workflow: &str) -> Map<String, Value> {
    let workflow = documents(&text(&format!(".github/workflows/{workflow}.yml"))).remove(0);
    assert_eq!(
        workflow["permissions"],
        json!({}),
        "a job lists its permissions"
    );
    workflow["jobs"].as_object().unwrap().clone()
}

fn may_write(job: &Value) -> Vec<&str> {
    let permissions = job["permissions"].as_object().unwrap();
    let written = permissions.iter().filter(|(_, access)| *access == "write");
    written.map(|(permission, _)| permission.as_str()).collect()
}

fn steps(job: &Value) -> impl Iterator<Item = &Value> {
    job["steps"].as_array().into_iter().flatten()
}

#[test]
fn permissions_are_least() {
    let release = jobs("release");
    let writing: Vec<(&str, Vec<&str>)> = release
        .iter()
        .map(|(name, job)| (name.as_str(), may_write(job)))
        .filter(|(_, written)| !written.is_empty())
        .collect();
    assert_eq!(
        writing,
        [
            ("deploy-pages", vec!["id-token", "pages"]),
            ("publish", vec!["attestations", "id-token", "packages"]),
            ("release", vec!["contents"]),
        ]
    );
    // A job that can write runs no program of this repository, and nothing that builds one. The release has its steps in
    // .ci/release, so that `make release-dry-run` can run them.
    for (name, _) in writing {
        for step in steps(&release[name]) {
            let script = step["run"].as_str().unwrap_or_default();
            let words =
                script.split(|sign: char| !(sign.is_alphanumeric() || "./-".contains(sign)));
            for word in words {
                let builds = ["make", "cargo", "npm", "node", "go"].contains(&word);
                let is_step = name == "release" && word == ".ci/release";
                let is_program = word.contains(".ci/") && !is_step;
                assert!(!builds && !is_program, "{name} runs {word}");
            }
        }
    }
    for workflow in ["build", "ci", "drift", "weekly"] {
        for (name, job) in jobs(workflow) {
            let written = may_write(&job);
            let opens_issues = workflow == "drift" && name == "report";
            assert_eq!(
                written,
                ["issues"][..usize::from(opens_issues)],
                "{workflow}: {name}"
            );
        }
    }
}

/// Every job of a run can replace the artifacts of another job, but not its outputs.
#[test]
fn digests_are_compared_before_anything_is_published() {
    let mut downloads = 0;
    for (name, job) in jobs("release") {
        let mut waiting = false;
        for step in steps(&job) {
            let uses = step["uses"].as_str().unwrap_or_default();
            let script = step["run"].as_str();
            if uses.starts_with("actions/download-artifact@") {
                downloads += 1;
                waiting = true;
            } else if let Some(script) = script.filter(|_| waiting) {
                let digests = step["env"]["DIGESTS"].as_str().unwrap();
                assert!(digests.contains(".outputs."), "{name}: {digests}");
                assert!(
                    script.contains("sha256sum --check --strict <<< \"$DIGESTS\""),
                    "{name}"
                );
                waiting = false;
            }
        }
        assert!(!waiting, "{name} does not compare what it downloads");
    }
    assert_eq!(downloads, 4);
}
