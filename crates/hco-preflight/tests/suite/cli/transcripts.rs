//! Command lines with their exit codes and outputs: a few complete outputs in `snapshots/`, which `INSTA_UPDATE=always`
//! writes, and lines of many others in `runs/`.

use std::path::Path;

use rstest::{Context, rstest};

use super::{Run, command, command_on, run, run_of};
use e2e_tests::{ApiServer, recorded};

#[rstest]
#[case::check_cluster("check --from status-cluster.yaml")]
#[case::plan_loss("plan -f plan.yaml --from plan-objects.yaml")]
#[case::fix("fix -f fixable.yaml --arch amd64=3,arm64=2")]
fn the_output_is_as_reviewed(#[case] words: &str, #[context] context: Context) {
    reviewed(context.description.unwrap(), words, &run(words));
}

/// Compares the complete output of a run with its snapshot.
#[track_caller]
pub(super) fn reviewed(name: &str, words: &str, run: &Run) {
    let (stdout, stderr, code) = run.result();
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_description(format!("hco-preflight {words}"));
    settings.set_omit_expression(true);
    let shown = format!("exit {code}\n--- stdout\n{stdout}--- stderr\n{stderr}");
    settings.bind(|| insta::assert_snapshot!(name, shown));
}

/// Each file has the exit code and the arguments of runs, and below, lines of the output in their order. `[..]` stands for
/// the rest of a line.
#[rstest]
fn a_run_prints_these_lines(
    #[values("check", "cluster", "fix", "output", "plan", "usage")] group: &str,
) {
    let server = ApiServer::start(recorded());
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/runs");
    let text = std::fs::read_to_string(directory.join(format!("{group}.txt"))).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let mut wrong = Vec::new();
    for lines in lines.chunk_by(|_, next| next.starts_with(' ')) {
        let (code, words) = lines[0].split_once(" |").unwrap();
        let command = match group {
            "cluster" => command_on(&server),
            _ => command(),
        };
        let run = run_of(command, words.split_whitespace());
        let missing = run.missing(&lines[1..]);
        if run.code.to_string() != code || missing.is_some() {
            wrong.push(format!(
                "{missing:?} is missing, or not exit {code}: {run:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
