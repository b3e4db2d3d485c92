//! `.github/`: what can publish runs nothing that others could have changed, and everything can run again.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Map, Value};

use crate::{is_there, root, text};

/// The workflows by file name.
fn workflows() -> Vec<(String, Value)> {
    let mut workflows = Vec::new();
    for entry in std::fs::read_dir(root().join(".github/workflows")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let workflow = text(&format!(".github/workflows/{name}"));
        workflows.push((name, yaml_serde::from_str(&workflow).unwrap()));
    }
    assert!(workflows.len() > 3);
    workflows
}

/// The jobs of release.yml.
fn release() -> Map<String, Value> {
    let workflow: Value = yaml_serde::from_str(&text(".github/workflows/release.yml")).unwrap();
    workflow["jobs"].as_object().unwrap().clone()
}

fn steps(job: &Value) -> impl Iterator<Item = &Value> {
    job["steps"].as_array().unwrap().iter()
}

/// The steps that run an action, for example `actions/checkout`.
fn uses<'j>(job: &'j Value, action: &'j str) -> impl Iterator<Item = &'j Value> {
    steps(job).filter(move |step| {
        let used = step["uses"].as_str().unwrap_or_default();
        used.split_once('@').is_some_and(|(used, _)| used == action)
    })
}

/// All that the steps of a job run.
fn scripts(job: &Value) -> String {
    let scripts: Vec<&str> = steps(job).filter_map(|step| step["run"].as_str()).collect();
    scripts.join("\n")
}

/// The commands that the steps of a job run, each with its arguments.
fn commands(job: &Value) -> Vec<Vec<String>> {
    let scripts = scripts(job);
    let lines = scripts.lines().filter(|line| !line.trim().starts_with('#'));
    lines
        .flat_map(|line| line.split(['|', ';', '&', '(', '`']))
        .map(|command| command.split_whitespace().map(str::to_owned).collect())
        .filter(|command: &Vec<String>| !command.is_empty())
        .collect()
}

fn may_write(job: &Value, permission: &str) -> bool {
    job["permissions"][permission] == "write"
}

/// One release of Kubewarden in `.ci`, in the workflows, and in the manifests.
#[test]
fn one_release_of_kubewarden_is_used() {
    let file = text(".ci/kubewarden");
    let release = file
        .lines()
        .find_map(|line| line.strip_prefix("KUBEWARDEN="));
    let release = release.unwrap();
    assert!(!release.contains('-'), "{release} is not a release");
    let mut seen = 0;
    for (name, workflow) in workflows() {
        let jobs = workflow["jobs"].as_object().unwrap().values();
        for job in jobs.filter(|job| job["steps"].is_array()) {
            for step in uses(job, "kubewarden/github-actions/kwctl-installer") {
                assert_eq!(step["with"]["kwctl-version"], release, "{name}");
                seen += 1;
            }
        }
    }
    assert!(seen >= 3, "{seen} steps");
    let image = format!("adm-controller/policy-server:{release}\n");
    for file in ["deploy/base/kubewarden.yaml", "docs/images.md"] {
        assert!(text(file).contains(&image), "{file}: {image}");
    }
    for script in [".ci/kind", ".ci/policy-server"] {
        let script = text(script);
        assert!(script.contains("/kubewarden\"\n") || script.contains(". .ci/kubewarden\n"));
        assert!(script.contains("$KUBEWARDEN"));
    }
}

const ALL_WRITE: [&str; 5] = ["contents", "packages", "id-token", "attestations", "pages"];

/// Whether npm runs in a job, by itself or for a target of the Makefile.
fn runs_npm(job: &Value) -> bool {
    commands(job)
        .iter()
        .any(|command| match command[0].as_str() {
            "npm" | "npx" | "node" => true,
            "make" => command[1..]
                .iter()
                .any(|target| target.starts_with("handbook") || target.starts_with("playground")),
            _ => false,
        })
}

/// The jobs that a job waits for.
fn needs(job: &Value) -> BTreeSet<&str> {
    let needs = &job["needs"];
    let list = needs.as_array().into_iter().flatten();
    list.chain(Some(needs)).filter_map(Value::as_str).collect()
}

/// The jobs that a job waits for, and those that they wait for.
fn all_needs<'j>(jobs: &'j Map<String, Value>, job: &'j Value) -> BTreeSet<&'j str> {
    let mut all = needs(job);
    loop {
        let further = all.iter().flat_map(|needed| needs(&jobs[*needed]));
        let further: BTreeSet<&str> = further.chain(all.iter().copied()).collect();
        if further.len() == all.len() {
            return all;
        }
        all = further;
    }
}

/// The name of an artifact, for each part of the matrix of its job.
fn names(job: &Value, step: &Value) -> Vec<String> {
    let name = step["with"]["name"].as_str().unwrap();
    let Some(start) = name.strip_suffix("${{ matrix.name }}") else {
        return vec![name.to_owned()];
    };
    let parts = job["strategy"]["matrix"]["include"].as_array().unwrap();
    let name = |part: &Value| format!("{start}{}", part["name"].as_str().unwrap());
    parts.iter().map(name).collect()
}

#[test]
fn a_failing_command_in_a_pipe_fails_its_step() {
    for (name, workflow) in workflows() {
        assert_eq!(workflow["defaults"]["run"]["shell"], "bash", "{name}");
        for (job, it) in workflow["jobs"].as_object().unwrap() {
            let shell = steps(it).find(|step| step.get("shell").is_some());
            assert_eq!(shell, None, "{name}: {job}");
        }
    }
}

#[test]
fn no_job_has_permissions_that_it_does_not_list() {
    for (name, workflow) in workflows() {
        assert_eq!(workflow["permissions"], serde_json::json!({}), "{name}");
        for (job, it) in workflow["jobs"].as_object().unwrap() {
            let permissions = it["permissions"].as_object().unwrap();
            for (permission, access) in permissions {
                let known = ALL_WRITE.contains(&permission.as_str());
                // What only comments on an issue publishes nothing.
                let known = known || permission == "issues" || access == "read";
                assert!(
                    known,
                    "{name}: {job}: is {permission} a permission to publish?"
                );
            }
        }
    }
}

#[test]
fn actions_are_pinned_to_a_commit() {
    let mut files: Vec<String> = workflows()
        .iter()
        .map(|(name, _)| format!(".github/workflows/{name}"))
        .collect();
    files.push("action.yml".to_owned());
    for file in files {
        for line in text(&file).lines() {
            let line = line.trim_start_matches([' ', '-']);
            let Some(action) = line.strip_prefix("uses: ") else {
                continue;
            };
            let (_, pin) = action.split_once('@').unwrap();
            let (commit, version) = pin.split_once(" # v").unwrap_or((pin, ""));
            let is_commit = commit.len() == 40 && commit.chars().all(|it| it.is_ascii_hexdigit());
            assert!(is_commit && !version.is_empty(), "{file}: {action}");
        }
    }
}

/// An artifact that is downloaded without its name, or together with others, can replace a file of another one.
#[test]
fn artifacts_are_downloaded_by_name_from_a_job_that_has_ended() {
    let jobs = release();
    let mut downloaded = BTreeSet::new();
    for (name, job) in &jobs {
        for step in uses(job, "actions/download-artifact") {
            let with = step["with"].as_object().unwrap();
            let keys: Vec<&str> = with.keys().map(String::as_str).collect();
            assert_eq!(keys, ["name", "path"], "{name}");
            let artifact = with["name"].as_str().unwrap();
            let found = needs(job).into_iter().any(|needed| {
                uses(&jobs[needed], "actions/upload-artifact")
                    .any(|step| names(&jobs[needed], step).iter().any(|it| it == artifact))
            });
            assert!(found, "{name} needs no job that uploads {artifact}");
            downloaded.insert(artifact.to_owned());
        }
    }
    assert!(downloaded.len() > 7, "{downloaded:?}");
}

/// Any job of the run can replace an artifact, but not an output of another job.
#[test]
fn what_is_downloaded_is_compared_with_the_digests_of_the_job_that_built_it() {
    let jobs = release();
    for (name, job) in &jobs {
        let all: Vec<&Value> = steps(job).collect();
        for (number, step) in all.iter().enumerate() {
            let is_download = uses(job, "actions/download-artifact").any(|it| it == *step);
            if !is_download {
                continue;
            }
            let artifact = step["with"]["name"].as_str().unwrap();
            let (from, _) = jobs
                .iter()
                .find(|(_, it)| {
                    uses(it, "actions/upload-artifact")
                        .any(|step| names(it, step).iter().any(|it| it == artifact))
                })
                .unwrap();
            // The next script is the comparison: nothing runs before it.
            let next = all[number..].iter().find(|step| step.get("run").is_some());
            let next = next.unwrap();
            let script = next["run"].as_str().unwrap();
            assert!(
                script.ends_with("sha256sum --check --strict <<< \"$DIGESTS\"\n"),
                "{name}: {script}"
            );
            let digests = next["env"]["DIGESTS"].as_str().unwrap();
            let of = format!("${{{{ needs.{from}.outputs.");
            assert!(digests.contains(&of), "{name}: {artifact}: {digests}");
            for line in digests.lines() {
                let output = line.trim_start_matches("${{ needs.");
                let (job, output) = output.split_once(".outputs.").unwrap();
                let output = output.trim_end_matches(" }}");
                assert!(jobs[job]["outputs"].get(output).is_some(), "{name}: {line}");
            }
        }
    }
}

/// With such a permission, a program can publish something else in the project's name.
#[test]
fn what_publishes_builds_nothing_and_runs_nothing_that_npm_touched() {
    const BUILDS: [&str; 12] = [
        "make", "cargo", "rustup", "rustc", "npm", "npx", "node", "pip", "pipx", "go", "apt-get",
        "curl",
    ];
    let jobs = release();
    let mut publishing = 0;
    for (name, job) in &jobs {
        if !ALL_WRITE.iter().any(|it| may_write(job, it)) {
            continue;
        }
        publishing += 1;
        for command in commands(job) {
            let words = command.iter().take(2).map(String::as_str);
            let builds = words.filter(|word| BUILDS.contains(word)).count();
            assert_eq!(builds, 0, "{name} runs {command:?}");
        }
        if !may_write(job, "packages") && !may_write(job, "id-token") {
            continue;
        }
        for needed in all_needs(&jobs, job) {
            assert!(!runs_npm(&jobs[needed]), "{name} needs {needed}");
        }
    }
    assert_eq!(publishing, 5);
    // The test knows what it looks for.
    assert!(runs_npm(&jobs["handbook"]) && !runs_npm(&jobs["files"]));
    // Who can push is not who can sign, and neither of them changes the repository.
    for (name, job) in &jobs {
        let pushes_or_signs = may_write(job, "packages") || may_write(job, "id-token");
        assert!(!(pushes_or_signs && may_write(job, "contents")), "{name}");
        assert!(
            !scripts(job).contains("${{"),
            "{name}: a script is not a template"
        );
    }
}

#[test]
fn what_is_needed_by_what_is_needed_is_seen() {
    let jobs = serde_json::json!({
        "a": {"needs": "b"}, "b": {"needs": ["c", "d"]}, "c": {"needs": "e"}, "d": {}, "e": {}, "f": {},
    });
    let jobs = jobs.as_object().unwrap();
    let all: Vec<&str> = all_needs(jobs, &jobs["a"]).into_iter().collect();
    assert_eq!(all, ["b", "c", "d", "e"]);
}

/// A test that did not run is not green.
#[test]
fn ci_requires_all_that_it_installs() {
    let run = text(".ci/run");
    let all = run.lines().find_map(|line| line.strip_prefix("all=\""));
    let all = all.unwrap().trim_end_matches('"').split(' ');
    let workflow: Value = yaml_serde::from_str(&text(".github/workflows/ci.yml")).unwrap();
    let mut jobs = workflow["jobs"].as_object().unwrap().values();
    let (script, required) = jobs
        .find_map(|job| {
            let step = steps(job).find(|step| step["run"] == ".ci/run")?;
            Some((scripts(job), step["env"]["REQUIRE_DOORS"].as_str()?))
        })
        .unwrap();
    let required: BTreeSet<&str> = required.split(' ').collect();
    assert!(script.contains("pipx install pre-commit=="), "{script}");
    for door in all.chain(["kwctl", "policy-server", "pre-commit"]) {
        assert!(required.contains(door), "{door}");
    }
    for door in required {
        assert!(e2e_tests::DOORS.contains(&door), "{door}");
    }
}

/// `actions/upload-artifact` fails if an earlier attempt has uploaded the artifact.
#[test]
fn an_artifact_of_an_earlier_attempt_is_replaced() {
    for (name, workflow) in workflows() {
        for (job, it) in workflow["jobs"].as_object().unwrap() {
            for step in uses(it, "actions/upload-artifact") {
                assert_eq!(step["with"]["overwrite"], true, "{name}: {job}");
            }
        }
    }
}

/// Each binary runs once before it is published: the static ones in `.ci/static`, the others here.
#[test]
fn each_binary_has_denied_the_example() {
    let job = &release()["preflight"];
    let all: Vec<&Value> = steps(job).collect();
    let place = |part: &str| {
        let is_it = |step: &&Value| step["run"].as_str().is_some_and(|it| it.contains(part));
        all.iter().position(is_it).unwrap()
    };
    let denies = all[place(".ci/denies-the-example")];
    assert_eq!(denies["if"], "endsWith(matrix.target, '-musl') == false");
    assert_eq!(
        all[place("make static")]["if"],
        "endsWith(matrix.target, '-musl')"
    );
    assert!(place(".ci/denies-the-example") < place("shasum"));
    // And none is too long.
    let built = all[place("cargo auditable build")]["run"].as_str().unwrap();
    for script in [built, &text(".ci/static")] {
        assert!(script.contains(".ci/at-most-25-mb"), "{script}");
    }
    for part in job["strategy"]["matrix"]["include"].as_array().unwrap() {
        let (target, runner) = (part["target"].as_str(), part["runner"].as_str());
        let emulator = part["emulator"].as_str().unwrap_or_default();
        match target.unwrap().split_once('-').unwrap().0 {
            "s390x" => assert!(emulator.starts_with("qemu-s390x-static ")),
            "aarch64" => assert!(["ubuntu-24.04-arm", "macos-15"].contains(&runner.unwrap())),
            _ => assert_eq!(emulator, ""),
        }
    }
}

/// A step of release.yml, run by bash as GitHub runs it, in a checkout.
fn run(script: &str, checkout: &Path, variables: &[(&str, &str)]) -> Output {
    let place = checkout.parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("bash");
    command
        .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script])
        .current_dir(checkout)
        .env("PATH", format!("{}:{path}", place.join("bin").display()))
        .env("HOME", place)
        .env("LOG", place.join("log"))
        .env("PUBLISHED", place.join("published"))
        .env("RUNNER_TEMP", place.join("temp"))
        .env("GITHUB_WORKSPACE", checkout)
        .env("GITHUB_REPOSITORY", "somebody/project")
        .envs(variables.iter().copied());
    // git sets these variables if the tests run in a hook.
    for variable in ["GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"] {
        command.env_remove(variable);
    }
    command.output().unwrap()
}

/// A `gh` that has one release, if there is a directory `published`.
const GH: &str = r#"#!/bin/sh
echo "$@" >> "$LOG"
case "$1 $2" in
  "release list") [ ! -d "$PUBLISHED" ] || ls "$PUBLISHED" ;;
  "release download") cat "$PUBLISHED/$3/SHA256SUMS" ;;
  "release create") mkdir -p "$PUBLISHED/$3"; cp SHA256SUMS "$PUBLISHED/$3" ;;
esac
"#;

/// A checkout with an empty origin.
fn checkout() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    let script = "mkdir bin temp checkout && git init --quiet --bare origin.git && cd checkout \
        && git init --quiet && git remote add origin ../origin.git";
    let status = Command::new("sh")
        .args(["-ec", script])
        .current_dir(place.path())
        .env_remove("GIT_DIR")
        .status();
    assert!(status.unwrap().success());
    crate::install::executable(&place.path().join("bin/gh"), GH);
    place
}

/// The script of the step with this part.
fn script(job: &str, part: &str) -> String {
    let job = &release()[job];
    let mut scripts = steps(job).filter_map(|step| step["run"].as_str());
    let script = scripts.find(|script| script.contains(part)).unwrap();
    script.to_owned()
}

#[test]
fn a_version_that_is_published_does_not_change() {
    let place = checkout();
    let checkout = place.path().join("checkout");
    std::fs::create_dir(checkout.join("release")).unwrap();
    let log = || {
        let log = std::fs::read_to_string(place.path().join("log")).unwrap();
        std::fs::remove_file(place.path().join("log")).unwrap();
        log
    };
    let guard = script("push", "gh release list");
    let release = script("release", "gh release create");
    let sums = format!(
        "{}  policy.wasm\n{}  hco-preflight.yaml",
        "0".repeat(64),
        "1".repeat(64)
    );
    let ours = [
        ("TAG", "v0.1.0"),
        ("POLICY", "p@sha256:0"),
        ("SHA256SUMS", sums.as_str()),
    ];

    // The first attempt, then a second one with the same files.
    for attempt in 1..=2 {
        for script in [&guard, &release] {
            let output = run(script, &checkout, &ours);
            assert!(output.status.success(), "{attempt}: {output:?}");
        }
        let log = log();
        assert_eq!(log.contains("release create"), attempt == 1, "{log}");
        if attempt == 1 {
            assert!(log.ends_with(" SHA256SUMS policy-sbom.cdx.json.bundle.sigstore policy.wasm hco-preflight.yaml\n"), "{log}");
            assert!(!log.contains("--prerelease"), "{log}");
        }
    }
    // Built again with another result.
    let other = sums.replace('1', "2");
    let others = [ours[0], ours[1], ("SHA256SUMS", other.as_str())];
    let output = run(&guard, &checkout, &others);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success() && printed.contains("v0.1.0 is published with other files"));
    // Another version is not published yet.
    let next = [("TAG", "v0.1.0-rc.1"), ours[1], others[2]];
    assert!(run(&guard, &checkout, &next).status.success());
    assert!(run(&release, &checkout, &next).status.success());
    assert!(log().contains("--prerelease"));
}

/// The commits of a branch in the origin, the newest first, and a file of the newest.
fn branch(place: &Path, name: &str, file: &str) -> (Vec<String>, String) {
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command
            .arg("-C")
            .arg(place.join("origin.git"))
            .args(arguments);
        let output = command.env_remove("GIT_DIR").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let log = git(&["log", "--format=%s", name]);
    let commits = log.lines().map(str::to_owned).collect();
    (commits, git(&["show", &format!("{name}:{file}")]))
}

#[test]
fn artifact_hub_shows_the_newest_version_whichever_runs_again() {
    if !is_there("git") {
        return;
    }
    let place = checkout();
    let show = script("artifacthub", "artifacthub-pkg.yml");
    for (tag, shown) in [
        ("v0.1.0-rc.1", "0.1.0-rc.1"),
        ("v0.1.0", "0.1.0"),
        ("v0.1.0", "0.1.0"),
        ("v0.1.0-rc.1", "0.1.0"),
        ("v0.10.0", "0.10.0"),
        ("v0.9.0", "0.10.0"),
    ] {
        let checkout = place.path().join(format!("checkout-{tag}"));
        let version = tag.trim_start_matches('v');
        let clone = format!(
            "rm -rf ../checkout-{tag}; git clone --quiet ../origin.git ../checkout-{tag}; cd ../checkout-{tag}; \
             touch artifacthub-repo.yml README.md LICENSE; echo version: {version} > artifacthub-pkg.yml; \
             git add .; git -c user.name=n -c user.email=e commit --quiet --message {tag}"
        );
        let output = run(&clone, &place.path().join("checkout"), &[]);
        assert!(output.status.success(), "{output:?}");
        let output = run(&show, &checkout, &[("TAG", tag)]);
        assert!(output.status.success(), "{tag}: {output:?}");
        let (_, package) = branch(place.path(), "artifacthub", "artifacthub-pkg.yml");
        assert_eq!(package, format!("version: {shown}\n"), "after {tag}");
    }
    let (commits, _) = branch(place.path(), "artifacthub", "README.md");
    assert_eq!(commits, ["Show v0.10.0", "Show v0.1.0", "Show v0.1.0-rc.1"]);
}

#[test]
fn the_handbook_is_published_once_whatever_runs_again() {
    if !is_there("git") {
        return;
    }
    let place = checkout();
    let checkout = place.path().join("checkout");
    let publish = script("pages", "git push origin gh-pages");
    let tag = [("TAG", "v0.1.0")];
    let pack = |content: &str| {
        let script = format!(
            "rm -rf release ../temp; mkdir -p release ../temp ../book/handbook; (cd ../book/handbook; {content}); \
             tar --create --file release/handbook.tar --directory ../book handbook; rm -r ../book"
        );
        let output = run(&script, &checkout, &[]);
        assert!(output.status.success(), "{output:?}");
    };
    for _ in 0..2 {
        pack("echo page > index.html");
        let output = run(&publish, &checkout, &tag);
        assert!(output.status.success(), "{output:?}");
    }
    let (commits, page) = branch(place.path(), "gh-pages", "v0.1.0/index.html");
    assert_eq!(commits, ["Publish the handbook of v0.1.0"]);
    assert_eq!(page, "page\n");
    // A link could show files of the machine that publishes.
    pack("ln -s /etc/passwd index.html");
    let output = run(&publish, &checkout, &tag);
    let printed = String::from_utf8_lossy(&output.stdout);
    let why = "::error::neither files nor directories: ";
    assert!(
        !output.status.success() && printed.contains(why),
        "{output:?}"
    );
}

/// A directory with a list of dependencies that is not listed gets no updates.
#[test]
fn dependabot_updates_every_list_of_dependencies() {
    let dependabot: Value = yaml_serde::from_str(&text(".github/dependabot.yml")).unwrap();
    let mut updated = BTreeSet::new();
    for update in dependabot["updates"].as_array().unwrap() {
        let ecosystem = update["package-ecosystem"].as_str().unwrap();
        assert_eq!(update["cooldown"]["default-days"], 7, "{ecosystem}");
        let directories = update["directories"].as_array();
        let directories = directories.into_iter().flatten();
        for directory in directories.chain(update.get("directory")) {
            updated.insert((ecosystem.to_owned(), directory.as_str().unwrap().to_owned()));
        }
    }
    let output = Command::new("git")
        .current_dir(root())
        .args([
            "ls-files",
            "Cargo.lock",
            "*/Cargo.lock",
            "*/go.mod",
            "*/package-lock.json",
        ])
        .output();
    let mut wanted = BTreeSet::from([("github-actions".to_owned(), "/".to_owned())]);
    for file in String::from_utf8(output.unwrap().stdout).unwrap().lines() {
        let (directory, file) = file.rsplit_once('/').unwrap_or(("", file));
        let ecosystem = match file {
            "Cargo.lock" => "cargo",
            "go.mod" => "gomod",
            _ => "npm",
        };
        wanted.insert((ecosystem.to_owned(), format!("/{directory}")));
    }
    assert_eq!(updated, wanted);
}
