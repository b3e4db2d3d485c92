//! The ways to install hco-preflight: each one has the file names of the release, this version, and the project's home.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use packaging::{BINARIES, Home, Metadata};
use serde_json::{Value, json};

use crate::{is_there, root, text};

fn home() -> Home {
    Home::parse(&text("Cargo.toml")).unwrap()
}

fn tag() -> String {
    let metadata = Metadata::parse(&text("policy-metadata.yml")).unwrap();
    format!("v{}", metadata.version().unwrap())
}

fn yaml(path: &str) -> Value {
    yaml_serde::from_str(&text(path)).unwrap()
}

fn image() -> String {
    format!("{}:{}", home().image(), tag())
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
    if !is_there("make") {
        return;
    }
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
fn the_release_builds_each_binary_for_its_platform() {
    let workflow = yaml(".github/workflows/release.yml");
    let matrix = workflow["jobs"]["preflight"]["strategy"]["matrix"]["include"].as_array();
    let built: BTreeMap<&str, &str> = matrix
        .unwrap()
        .iter()
        .map(|it| (it["name"].as_str().unwrap(), it["target"].as_str().unwrap()))
        .collect();
    let wanted = BINARIES.iter().map(|binary| (binary.name, binary.target));
    assert_eq!(built, wanted.collect());
}

#[test]
fn cargo_binstall_finds_each_archive() {
    let manifest: toml::Table = toml::from_str(&text("crates/hco-preflight/Cargo.toml")).unwrap();
    let package = &manifest["package"];
    // The template `{ repo }`.
    assert_eq!(package["repository"]["workspace"].as_bool(), Some(true));
    let binstall = &package["metadata"]["binstall"];
    assert_eq!(binstall["pkg-fmt"].as_str(), Some("tgz"));
    assert_eq!(binstall["bin-dir"].as_str(), Some("{ bin }"));
    let overrides = binstall["overrides"].as_table().unwrap();
    let named: BTreeMap<&str, &str> = overrides
        .iter()
        .map(|(target, it)| (target.as_str(), it["pkg-url"].as_str().unwrap()))
        .collect();
    let urls: Vec<String> = BINARIES
        .iter()
        .map(|binary| {
            let archive = binary.archive();
            format!("{{ repo }}/releases/download/v{{ version }}/{archive}")
        })
        .collect();
    let targets = BINARIES.iter().map(|binary| binary.target);
    assert_eq!(
        named,
        targets.zip(urls.iter().map(String::as_str)).collect()
    );
}

#[test]
fn the_image_is_that_of_this_version() {
    let hooks = yaml(".pre-commit-hooks.yaml");
    let entry = hooks[1]["entry"].as_str().unwrap();
    assert_eq!(hooks[1]["language"], "docker_image");
    assert_eq!(entry.split(' ').next().unwrap(), image());
    assert!(text("deploy/preflight-job/job.yaml").contains(&format!("image: {}\n", image())));
}

#[test]
fn the_jobs_are_restricted() {
    if !is_there("kubectl") {
        return;
    }
    for (folder, command) in [("preflight-job", "check"), ("preflight-plan", "plan")] {
        let output = Command::new("kubectl")
            .current_dir(root())
            .args(["kustomize", &format!("deploy/{folder}")])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        is_restricted(&crate::manifests::documents(&text), command);
    }
}

/// The rules of the role are those that `rbac --for plan` prints, as reviewed in the command's tests.
#[test]
fn the_job_of_plan_has_the_permissions_of_plan() {
    let printed = text("crates/hco-preflight/tests/suite/snapshots/rbac-for-plan.snap");
    let (_, printed) = printed.split_once("--- stdout\n").unwrap();
    let printed = printed.split("--- stderr").next().unwrap();
    let printed = crate::manifests::documents(printed);
    let kustomization = yaml("deploy/preflight-plan/kustomization.yaml");
    let patches = kustomization["patches"].as_array().unwrap();
    let patch = patches
        .iter()
        .find(|it| it["target"]["kind"] == "ClusterRole")
        .unwrap();
    let patch = crate::manifests::documents(patch["patch"].as_str().unwrap());
    let deployed = &patch[0][0]["value"];
    let printed = &printed[0]["rules"];
    // The patch is sorted as the output is.
    assert_eq!(deployed, printed);
}

/// It meets the Pod Security Standard `restricted`, and has only read permissions.
fn is_restricted(manifests: &[Value], command: &str) {
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
    let all = [
        "admissionpolicies",
        "admissionpolicygroups",
        "clusteradmissionpolicies",
        "clusteradmissionpolicygroups",
    ];
    assert_eq!(policies, all);
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
    assert_eq!(
        container["args"],
        json!([command, "--cluster", "--no-cache"])
    );
    // The architectures of the image.
    let terms = &pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    let architectures = &terms["nodeSelectorTerms"][0]["matchExpressions"][0]["values"];
    let with_musl: Vec<&str> = BINARIES
        .iter()
        .filter(|binary| binary.target.ends_with("-linux-musl"))
        .map(|binary| binary.name.trim_start_matches("linux-"))
        .collect();
    assert_eq!(architectures, &json!(with_musl));
}

/// The hook passes all manifests to one run of hco-preflight, and fails if hco-preflight fails.
#[test]
fn pre_commit_runs_the_hook() {
    if !is_there("pre-commit") || !is_there("git") {
        return;
    }
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
    assert_eq!(log, "check --allow-empty a.yaml b.json\n".repeat(2));
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
        let names = BINARIES.map(|binary| binary.archive()).join(" ");
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
    if !is_there("shasum") {
        return;
    }
    let platforms = [
        ("Linux", "X64"),
        ("Linux", "ARM64"),
        ("Linux", "S390X"),
        ("macOS", "ARM64"),
        ("macOS", "X64"),
    ];
    for ((system, architecture), binary) in platforms.into_iter().zip(&BINARIES) {
        let action = Action::new();
        let variables = [("RUNNER_OS", system), ("RUNNER_ARCH", architecture)];
        let output = action.step(0, &variables);
        assert!(output.status.success(), "{output:?}");
        let installed = action.file("path");
        assert!(Path::new(installed.trim()).join("hco-preflight").is_file());
        // Both commands request this version, and the release workflow must have made the attestation.
        let log = action.file("log");
        let asked: Vec<&str> = log.lines().collect();
        let slug = home().repository.replace("https://github.com/", "");
        let (tag, archive) = (tag(), binary.archive());
        assert_eq!(
            asked,
            [
                format!(
                    "release download {tag} --repo {slug} --clobber --pattern SHA256SUMS --pattern {archive}"
                ),
                format!(
                    "attestation verify {archive} --repo {slug} --signer-workflow \
                     github.com/{slug}/.github/workflows/release.yml --source-ref refs/tags/{tag}"
                ),
            ]
        );
    }
}

#[test]
fn the_action_runs_nothing_that_is_not_verified() {
    if !is_there("shasum") {
        return;
    }
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

#[test]
fn the_handbook_lists_the_ways() {
    let (home, tag) = (home(), tag());
    let pages = text("docs/install.md") + &text("docs/pipelines.md");
    let slug = home.repository.replace("https://github.com/", "");
    for way in [
        "make hco-preflight".to_owned(),
        "make static".to_owned(),
        format!(
            "{}/releases/download/{tag}/hco-preflight-linux-amd64.tar.gz",
            home.repository
        ),
        format!("cargo binstall --git {} hco-preflight", home.repository),
        format!(
            "kubectl krew install --manifest-url {}/releases/download/{tag}/hco-preflight.yaml",
            home.repository
        ),
        format!("uses: {slug}@{tag}"),
        format!("repo: {}\n  rev: {tag}", home.repository),
        image(),
        "kubectl apply -k deploy/preflight-job".to_owned(),
    ] {
        assert!(
            pages.contains(&way),
            "docs/install.md or pipelines.md: `{way}` is missing"
        );
    }
}
