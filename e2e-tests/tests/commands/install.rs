//! The ways to install and run hco-preflight: make, the GitHub action, the hook for pre-commit, and the jobs in a cluster.

use std::path::Path;
use std::process::{Command, Output};

use e2e_tests::repository::{documents, root, text};
use serde_json::{Value, json};

/// The platforms of the release, and the names of their archives.
const PLATFORMS: [(&str, &str, &str); 5] = [
    ("Linux", "X64", "hco-preflight-linux-amd64.tar.gz"),
    ("Linux", "ARM64", "hco-preflight-linux-arm64.tar.gz"),
    ("Linux", "S390X", "hco-preflight-linux-s390x.tar.gz"),
    ("macOS", "ARM64", "hco-preflight-macos-arm64.tar.gz"),
    ("macOS", "X64", "hco-preflight-macos-amd64.tar.gz"),
];

/// The repository of the action, which GitHub knows.
const SLUG: &str = "owner/hco-architecture-guard";

fn yaml(path: &str) -> Value {
    yaml_serde::from_str(&text(path)).unwrap()
}

pub(crate) fn executable(path: &Path, script: &str) {
    std::fs::write(path, script).unwrap();
    let status = Command::new("chmod").arg("+x").arg(path).status().unwrap();
    assert!(status.success());
}

/// On a machine with these programs and no others, `make setup`, and what they were called with. They print this version.
fn setup_with(programs: &[&str], version: &str) -> (Output, String) {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    for program in programs {
        let script = format!(
            "#!/bin/sh\necho {program} \"$@\" >> {}\necho '{program} {version} (0123abcd 2025-03-02)'\n",
            log.display()
        );
        executable(&place.path().join(program), &script);
    }
    let path = std::env::var_os("PATH").unwrap();
    let mut make = std::env::split_paths(&path).map(|directory| directory.join("make"));
    let output = Command::new(make.find(|file| file.is_file()).unwrap())
        .current_dir(root())
        .args(["--silent", "--no-print-directory", "setup"])
        .env_remove("MAKEFLAGS")
        .env("PATH", place.path())
        .output()
        .unwrap();
    (output, std::fs::read_to_string(log).unwrap_or_default())
}

/// The first command of the README, on a new machine: missing programs are reported before anything is compiled, and
/// the toolchain is installed, even if rustup does not install it automatically.
#[test]
fn the_machine_is_checked_first() {
    for (programs, why) in [
        (&["cc"][..], "rustup is missing"),
        (&["rustup"], "A C compiler is missing"),
    ] {
        let (output, log) = setup_with(programs, "1.28.0");
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && printed.contains(why),
            "{printed}"
        );
        assert_eq!(log, "");
    }
    for version in ["0.9.9", "1.9.0", "1.19.0", "1.27.1"] {
        let (output, log) = setup_with(&["cc", "rustup"], version);
        let printed = String::from_utf8_lossy(&output.stderr);
        let why = "rustup is older than 1.28";
        assert!(!output.status.success() && printed.contains(why));
        assert_eq!(log, "rustup --version\n", "{version}");
    }
    for version in ["1.28.0", "1.30.1", "2.0.0"] {
        let (output, log) = setup_with(&["cc", "rustup"], version);
        assert!(output.status.success(), "{version}: {output:?}");
        assert_eq!(log, "rustup --version\nrustup --quiet toolchain install\n");
    }

    for target in [
        "run",
        "test",
        "lint",
        "hco-preflight",
        "static",
        "policy.wasm",
    ] {
        let output = Command::new("make")
            .current_dir(root())
            .args(["--dry-run", "--always-make", "--no-print-directory", target])
            .env_remove("MAKEFLAGS")
            .output()
            .unwrap();
        let planned = String::from_utf8(output.stdout).unwrap();
        let first = planned.lines().next().unwrap_or_default();
        assert!(
            first.starts_with("command -v rustup"),
            "{target}: {planned}"
        );
    }
}

#[test]
fn the_jobs_are_restricted() {
    is_restricted(
        &kustomized("preflight-job"),
        &["check", "--cluster", "--allow-unread"],
    );
    is_restricted(&kustomized("preflight-plan"), &["plan", "--cluster"]);
}

fn kustomized(folder: &str) -> Vec<Value> {
    let output = Command::new("kubectl")
        .current_dir(root())
        .args(["kustomize", &format!("deploy/{folder}")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    documents(&String::from_utf8(output.stdout).unwrap())
}

/// It meets the Pod Security Standard `restricted`, and has only read permissions.
fn is_restricted(manifests: &[Value], command: &[&str]) {
    let one = |kind: &str| manifests.iter().find(|it| it["kind"] == kind).unwrap();
    let pod = &one("Job")["spec"]["template"]["spec"];
    let account = &one("ServiceAccount")["metadata"];
    assert_eq!(pod["serviceAccountName"], account["name"]);
    let subject = &one("ClusterRoleBinding")["subjects"][0];
    assert_eq!(
        (&subject["name"], &subject["namespace"]),
        (&account["name"], &account["namespace"])
    );
    let rules = one("ClusterRole")["rules"].as_array().unwrap();
    let group = json!(["policies.kubewarden.io"]);
    let policies = rules.iter().find(|rule| rule["apiGroups"] == group);
    let mut policies: Vec<&str> = policies.unwrap()["resources"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    policies.sort_unstable();
    assert_eq!(policies, ["admissionpolicies", "clusteradmissionpolicies"]);
    for rule in rules {
        let verbs = rule["verbs"].as_array().unwrap();
        let reads = |verb: &Value| verb == "get" || verb == "list";
        assert!(!verbs.is_empty() && verbs.iter().all(reads), "{rule}");
    }
    assert_eq!(
        pod["securityContext"],
        json!({"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}})
    );
    let container = &pod["containers"][0];
    assert_eq!(
        container["securityContext"],
        json!({
            "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": true,
        })
    );
    assert_eq!(container["args"], json!(command));
    // The architectures of the image.
    let terms = &pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    let architectures = &terms["nodeSelectorTerms"][0]["matchExpressions"][0]["values"];
    assert_eq!(*architectures, json!(["amd64", "arm64"]));
}

/// The hook passes all manifests to one run of hco-preflight, and fails if hco-preflight fails.
#[test]
fn pre_commit_runs_the_hook() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    let run = |directory: &Path, words: &[&str], status: &str| -> Output {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new(words[0]);
        command.current_dir(directory).args(&words[1..]);
        command
            .env("PATH", format!("{}:{path}", place.display()))
            .env("PRE_COMMIT_HOME", place.join("cache"))
            .env("STATUS", status)
            .env("LOG", place.join("log"))
            // git sets these variables if the tests run in a hook.
            .env_remove("GIT_DIR")
            .env_remove("GIT_INDEX_FILE");
        command.output().unwrap()
    };
    executable(
        &place.join("hco-preflight"),
        "#!/bin/sh\necho \"$@\" >> \"$LOG\"\nexit \"$STATUS\"\n",
    );
    let (hooks, user) = (place.join("hooks"), place.join("user"));
    for (directory, files) in [
        (
            &hooks,
            vec![(".pre-commit-hooks.yaml", text(".pre-commit-hooks.yaml"))],
        ),
        (
            &user,
            ["a.yaml", "b.json", "c.txt"]
                .map(|name| (name, "{}\n".to_owned()))
                .into(),
        ),
    ] {
        std::fs::create_dir(directory).unwrap();
        for (name, content) in files {
            std::fs::write(directory.join(name), content).unwrap();
        }
        for words in [
            "git init --quiet",
            "git add .",
            "git -c user.name=n -c user.email=e commit --quiet --message m",
        ] {
            let words: Vec<&str> = words.split(' ').collect();
            let output = run(directory, &words, "0");
            assert!(output.status.success(), "{words:?}: {output:?}");
        }
    }
    let from = hooks.display().to_string();
    let hook = [
        "pre-commit",
        "try-repo",
        &from,
        "hco-preflight",
        "--all-files",
    ];
    for (status, succeeds) in [("0", true), ("1", false)] {
        let output = run(&user, &hook, status);
        assert_eq!(output.status.success(), succeeds, "{output:?}");
    }
    let log = std::fs::read_to_string(place.join("log")).unwrap();
    assert_eq!(log, "check --allow-empty -R -f .\n".repeat(2));
}

/// A release on disk, and a `gh` that knows only this release.
struct Action {
    place: tempfile::TempDir,
}

impl Action {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let release = place.path().join("release");
        std::fs::create_dir(&release).unwrap();
        executable(
            &release.join("hco-preflight"),
            "#!/bin/sh\nprintf '%s\\n' \"$@\"\n",
        );
        let names = PLATFORMS.map(|(.., archive)| archive).join(" ");
        let script = format!(
            "for archive in {names}; do tar -czf $archive hco-preflight; done; sha256sum *.tar.gz > SHA256SUMS"
        );
        let mut command = Command::new("sh");
        let status = command
            .current_dir(&release)
            .args(["-ec", &script])
            .status();
        assert!(status.unwrap().success());
        let gh = format!(
            "#!/bin/sh\necho \"$@\" >> \"$LOG\"\ncase $1 in\n  release) cp {}/* . ;;\n  attestation) exit \"$ATTESTED\" ;;\nesac\n",
            release.display()
        );
        executable(&place.path().join("gh"), &gh);
        Self { place }
    }

    /// Runs a step of the action.
    fn step(&self, number: usize, variables: &[(&str, &str)]) -> Output {
        let step = &yaml("action.yml")["runs"]["steps"][number];
        assert_eq!(step["shell"], "bash");
        let place = self.place.path();
        let path = std::env::var("PATH").unwrap_or_default();
        Command::new("bash")
            .args(["--noprofile", "--norc", "-eo", "pipefail", "-c"])
            .arg(step["run"].as_str().unwrap())
            .env("PATH", format!("{}:{path}", place.display()))
            .env("LOG", place.join("log"))
            .env("GITHUB_PATH", place.join("path"))
            .env("RUNNER_TEMP", place.join("temp"))
            .env("RUNNER_OS", "Linux")
            .env("RUNNER_ARCH", "X64")
            .env("ATTESTED", "0")
            .env("SLUG", SLUG)
            .env(
                "VERSION",
                step["env"]["VERSION"].as_str().unwrap_or_default(),
            )
            .envs(variables.iter().copied())
            .output()
            .unwrap()
    }

    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.place.path().join(name)).unwrap_or_default()
    }
}

#[test]
fn the_action_verifies_what_it_runs() {
    let tag = format!("v{}", env!("CARGO_PKG_VERSION"));
    for (system, architecture, archive) in PLATFORMS {
        let action = Action::new();
        let variables = [("RUNNER_OS", system), ("RUNNER_ARCH", architecture)];
        let output = action.step(0, &variables);
        assert!(output.status.success(), "{output:?}");
        let installed = action.file("path");
        assert!(Path::new(installed.trim()).join("hco-preflight").is_file());
        // Both commands request this version, and the release workflow must have made the attestation.
        let log = action.file("log");
        let asked: Vec<&str> = log.lines().collect();
        assert_eq!(
            asked,
            [
                format!(
                    "release download {tag} --repo {SLUG} --clobber --pattern SHA256SUMS --pattern {archive}"
                ),
                format!(
                    "attestation verify {archive} --repo {SLUG} --signer-workflow \
                     github.com/{SLUG}/.github/workflows/release.yml --source-ref refs/tags/{tag}"
                ),
            ]
        );
    }
}

#[test]
fn the_action_runs_nothing_that_is_not_verified() {
    let (forged, unattested, elsewhere) = (Action::new(), Action::new(), Action::new());
    let sums = forged.place.path().join("release/SHA256SUMS");
    let other = forged.file("release/SHA256SUMS").replace(['0', '1'], "2");
    std::fs::write(&sums, other).unwrap();
    for (action, variables, why) in [
        (&forged, [("ATTESTED", "0")], "checksum"),
        (&unattested, [("ATTESTED", "1")], "attestation"),
        (&elsewhere, [("RUNNER_OS", "Windows")], "Windows on X64"),
    ] {
        let output = action.step(0, &variables);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(!output.status.success(), "{why}: {output:?}");
        assert!(said.contains("::error::") && said.contains(why), "{said}");
        assert_eq!(action.file("path"), "", "{why}");
    }
}

#[test]
fn the_action_hands_over_its_arguments() {
    let action = Action::new();
    let path = format!(
        "{}:{}",
        action.place.path().join("release").display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let variables = [("ARGS", "check -f * -o github"), ("PATH", &path)];
    let output = action.step(1, &variables);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said, "check\n-f\n*\n-o\ngithub\n");
}
