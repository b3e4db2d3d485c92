//! Tests the commands in README.md and the handbook: commands of hco-preflight are run, and other commands must name
//! existing files or targets. `explain` shows the pages of the rules in a terminal.

use std::path::{Path, PathBuf};

use super::{Run, command, file, isolated, run, run_of, scratch};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The pages for users, with their path.
fn pages() -> Vec<(String, String)> {
    let mut paths = vec!["README.md".to_owned(), "CONTRIBUTING.md".to_owned()];
    for directory in ["docs", "docs/developers", "crates/engine/src/rules"] {
        for entry in std::fs::read_dir(root().join(directory)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|end| end == "md") {
                let name = path.file_name().unwrap().display();
                paths.push(format!("{directory}/{name}"));
            }
        }
    }
    paths.sort();
    let read = |path: &String| std::fs::read_to_string(root().join(path)).unwrap();
    let pages = paths.iter().map(|path| (path.clone(), read(path)));
    pages.collect()
}

/// The commands of a page: lines that begin with `$ `, and the steps of pipelines, without comments.
fn commands(text: &str) -> Vec<String> {
    let text = text.replace("\\\n", " ");
    let lines = text.lines().map(str::trim_start);
    let commands = lines.filter_map(|line| {
        let step = line
            .strip_prefix("- run: ")
            .or_else(|| line.strip_prefix("- "));
        let step = step.filter(|step| step.starts_with("hco-preflight "));
        let step = step.filter(|step| !step.ends_with(" at"));
        let arguments = line
            .strip_prefix("args: ")
            .filter(|it| it.starts_with("check "));
        let in_groovy = line
            .strip_prefix("sh '")
            .map(|it| it.trim_end_matches('\''));
        let command = line.strip_prefix("$ ").or(step).or(in_groovy);
        let command = command.map(str::to_owned);
        command.or_else(|| arguments.map(|it| format!("hco-preflight {it}")))
    });
    commands
        .map(|line| line.split(" #").next().unwrap().trim().to_owned())
        .collect()
}

/// A copy of the files that the commands name, and of other files of a user.
fn clone() -> PathBuf {
    let clone = scratch();
    for directory in ["deploy/examples", "deploy/base"] {
        std::fs::create_dir_all(clone.join(directory)).unwrap();
        for entry in std::fs::read_dir(root().join(directory)).unwrap() {
            let entry = entry.unwrap();
            std::fs::copy(entry.path(), clone.join(directory).join(entry.file_name())).unwrap();
        }
    }
    std::fs::create_dir_all(clone.join("clusters/production")).unwrap();
    for (example, copy) in [
        ("hyperconverged", "deploy/hyperconverged.yaml"),
        ("hyperconverged", "clusters/production/hyperconverged.yaml"),
        ("hyperconverged", "hyperconverged.yaml"),
        ("hyperconverged", "old.yaml"),
        ("mixed-nodes", "nodes.yaml"),
        ("mixed-nodes", "nodes.json"),
    ] {
        let example = clone.join(format!("deploy/examples/{example}.yaml"));
        std::fs::copy(example, clone.join(copy)).unwrap();
    }
    let settings =
        "spec: {module: hco-architecture-guard, settings: {}}\nkind: ClusterAdmissionPolicy\n";
    std::fs::write(clone.join("policy.yaml"), settings).unwrap();
    clone
}

/// The command line accepts each command. A command that needs neither a cluster nor a registry reaches a verdict.
#[test]
fn the_commands_of_the_pages_run() {
    let (mut parsed, mut judged) = (0, 0);
    let example = file("../../../../deploy/examples/hyperconverged.yaml");
    for (page, text) in pages() {
        for line in commands(&text) {
            for part in line.split(" | ") {
                let (part, _) = part.split_once(" > ").unwrap_or((part, ""));
                let part = part.trim();
                let words = part
                    .strip_prefix("target/debug/")
                    .unwrap_or(part)
                    .strip_prefix("hco-preflight ");
                let Some(words) = words else { continue };
                let mut command = command();
                command.args(words.split_whitespace()).current_dir(clone());
                // There are neither clusters nor registries.
                command.env("HTTPS_PROXY", "http://127.0.0.1:1");
                let Run { stderr, code, .. } = Run::new(command, &example);
                let is_usage = stderr.contains("For more information, try");
                assert!(!is_usage, "{page}: {line}\n{stderr}");
                parsed += 1;
                let remote = ["--cluster", "images ", "--images"];
                let place = format!("{page}: {line}\n{stderr}");
                if remote.iter().any(|word| words.contains(word)) {
                    let reason = ["kubeconfig", "registr", "in-cluster", "Usage"];
                    let is_reason = reason.iter().any(|word| stderr.contains(word));
                    assert!(is_reason || code != 2, "{place}");
                } else {
                    assert!(code < 2, "{place}");
                    judged += 1;
                }
            }
        }
    }
    assert!(
        parsed >= 25 && judged >= 5,
        "{parsed} parsed, {judged} judged"
    );
}

/// The output in docs/tutorial.md: each block of text has lines of the output of the command before it, in this order.
#[test]
fn the_tutorial_shows_the_output() {
    let page = std::fs::read_to_string(root().join("docs/tutorial.md")).unwrap();
    let mut shown = 0;
    for step in page.split("```console\n$ hco-preflight ").skip(1) {
        let (words, rest) = step.split_once('\n').unwrap();
        let text = rest.strip_prefix("```\n\n```text\n").expect(words);
        let (text, _) = text.split_once("```").unwrap();
        let mut command = command();
        command.args(words.split(' ')).current_dir(root());
        let stdout = Run::new(command, "").stdout;
        let mut lines = stdout.lines();
        for line in text.lines().filter(|line| *line != "…") {
            let is_there = lines.any(|printed| printed == line);
            assert!(is_there, "{words}: `{line}` is not in:\n{stdout}");
        }
        shown += 1;
    }
    assert!(shown >= 5, "{shown} outputs");
}

/// Each block of commands is run: blocks of hco-preflight and of the Makefile by the tests here and by CI, and blocks
/// with `scenario=N` by `make e2e-cluster`, and blocks with `kubewarden` by `e2e-tests/real-cluster`. Any other block states why it is not run. mdBook and GitHub show only the first word.
#[test]
fn every_block_of_commands_is_run_or_says_why_not() {
    let scenarios = root().join("e2e-tests/tests/cluster/scenarios.rs");
    let scenarios = std::fs::read_to_string(scenarios).unwrap();
    let script = std::fs::read_to_string(root().join("e2e-tests/real-cluster")).unwrap();
    let mut not_run = Vec::new();
    let mut all = 0;
    for (page, text) in pages() {
        let text = text.replace("\\\n", " ");
        let mut lines = text.lines().map(str::trim_start);
        while let Some(line) = lines.next() {
            let Some(info) = line.strip_prefix("```console") else {
                assert!(
                    !line.starts_with("```sh") || page == "docs/pipelines.md",
                    "{page}: {line}"
                );
                continue;
            };
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            let place = format!("{page}: {}", block.first().unwrap_or(&""));
            all += 1;
            match info.split_once('=').unwrap_or((info, "")) {
                (" not-run", reason) => {
                    assert!(reason.len() > 12, "{place}: a reason");
                    not_run.push(place);
                }
                (" kubewarden", _) => {
                    assert!(script_runs(&script, &page, &block), "{place}: real-cluster");
                }
                (" scenario", number) => {
                    let entry = format!("number: {number},\n");
                    assert!(scenarios.contains(&entry), "{place}: {info}");
                }
                (other, _) => {
                    assert_eq!(other, "", "{place}");
                    for line in block.iter().filter_map(|line| line.strip_prefix("$ ")) {
                        let program = line.trim_start_matches("target/debug/").split(' ').next();
                        assert!(
                            ["hco-preflight", "make"].contains(&program.unwrap()),
                            "{page}: add `scenario=N`, or `not-run=\"why\"`, to the block of: {line}"
                        );
                    }
                }
            }
        }
    }
    assert!(2 * not_run.len() < all, "of {all}, not run: {not_run:#?}");
}

/// Whether the script runs the block: it names the page, and a part of a command in quotes.
fn script_runs(script: &str, page: &str, block: &[&str]) -> bool {
    let command = format!("run {page} ");
    let mut parts = script.split(&command).skip(1).filter_map(|words| {
        let quote = words.chars().next()?;
        words.split(quote).nth(1)
    });
    parts.any(|part| block.iter().any(|line| line.contains(part)))
}

/// The script on the page about pipelines, in a repository. A problem that already exists in the main branch does not
/// fail the pipeline, but a new one does.
#[test]
fn the_script_of_the_pipelines_compares_with_the_main_branch() {
    use std::os::unix::fs::PermissionsExt as _;
    use std::process::Command;

    let page = std::fs::read_to_string(root().join("docs/pipelines.md")).unwrap();
    let (_, script) = page.split_once("```sh\n").unwrap();
    let (script, _) = script.split_once("```").unwrap();
    let clone = clone();
    let executable = |path: &str, text: &str| {
        let path = clone.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    executable(".ci/check", script);
    let policy =
        "kind: ClusterAdmissionPolicy\nspec: {module: hco-architecture-guard, settings: {}}\n";
    executable(
        "bin/kubectl",
        &format!("#!/bin/sh\ncat <<'END'\n{policy}END\n"),
    );
    let preflight = clone.join("bin/hco-preflight");
    std::os::unix::fs::symlink(command().get_program(), &preflight).unwrap();
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", clone.join("bin").display());
    let run = |program: &str, arguments: &[&str]| {
        let output = isolated(Command::new(program))
            .args(arguments)
            .current_dir(&clone)
            .env("PATH", &path)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        (output.status.code(), text)
    };
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
        let (code, text) = run("git", &[&identity, arguments].concat());
        assert_eq!(code, Some(0), "{text}");
    };
    git(&["init", "--quiet"]);
    git(&["commit", "--quiet", "--allow-empty", "-m", "empty"]);
    let check = |branch: &str| run(".ci/check", &[branch, "text"]);
    let (code, text) = check("HEAD");
    assert_eq!(code, Some(1), "a new file has problems: {text}");

    git(&["add", "deploy/hyperconverged.yaml"]);
    git(&["commit", "--quiet", "-m", "with existing problems"]);
    let object = std::fs::read_to_string(clone.join("deploy/hyperconverged.yaml")).unwrap();
    let unrelated = object.replace(
        "\nspec:\n",
        "\nspec:\n  liveMigrationConfig: {parallelMigrationsPerCluster: 3}\n",
    );
    std::fs::write(clone.join("deploy/hyperconverged.yaml"), unrelated).unwrap();
    let (code, text) = check("HEAD");
    assert_eq!(code, Some(0), "the problems are in HEAD: {text}");
    let (code, text) = check("HEAD^");
    assert_eq!(code, Some(1), "the file is not in HEAD^: {text}");
}

/// The screenshot in the README, from a real run. `make generate` updates it.
#[test]
fn the_picture_in_docs_is_that_of_a_real_run() {
    let words =
        "check -f deploy/examples/hyperconverged.yaml --nodes deploy/examples/mixed-nodes.yaml";
    let mut command = command();
    command.current_dir(root()).env("COLUMNS", "100");
    let run = run_of(command, words.split(' ').chain(["--color", "always"]));
    let shown = format!("$ hco-preflight {words}\n{}", run.stdout);
    let drawn = anstyle_svg::Term::new()
        .min_width_px(860)
        .render_svg(&shown)
        // Dimmed text must be readable on black.
        .replace("opacity: 0.4", "opacity: 0.7");
    let path = root().join("docs/check.svg");
    if std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always") {
        std::fs::write(&path, &drawn).unwrap();
    }
    let picture = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        picture == drawn,
        "docs/check.svg is not what the command shows; draw it with: make generate"
    );
}

#[test]
fn no_page_loses_a_word() {
    for rule in engine::RULES {
        let page = file(&format!("../../../engine/src/rules/{}.md", rule.id));
        let (page, _sources) = page.split_once("\n<!-- ").unwrap();
        let words = |text: &str| -> Vec<String> {
            let lines = text.lines().filter(|line| !line.starts_with("```"));
            lines
                .flat_map(|line| line.trim_start_matches('#').split_whitespace())
                .map(str::to_owned)
                .collect()
        };
        let link = format!(
            "\nOn the web: {}/blob/v{}/crates/engine/src/rules/{}.md\n",
            env!("CARGO_PKG_REPOSITORY"),
            env!("CARGO_PKG_VERSION"),
            rule.id
        );
        let shown = run(&format!("explain {}", rule.id)).stdout;
        let shown = shown.strip_suffix(&link).unwrap();
        assert_eq!(words(shown), words(page), "{}", rule.id);
        assert!(!page.contains("\n|"), "a terminal shows no tables");
    }
}

#[test]
fn an_alert_is_explained() {
    let shown = run("explain HCOMultiArchGoldenImagesDisabled").exits(0);
    let end = "/docs/alerts.md#hcomultiarchgoldenimagesdisabled\n";
    shown.prints(&["[Runbook](https://kubevirt.io/", end]);
}
