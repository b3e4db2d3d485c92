//! Six clusters, as an administrator meets them, and what `check`, `check -f`, `plan`, and `fix` say about them: headline,
//! exit code, and alert agree.

use rstest::rstest;
use serde_json::{Value, json};

use super::objects::{copy, object};
use super::{run, written};

/// A text in the output of a command, and its exit code.
struct Answer(&'static str, i32);

const ARM64_NODE: &str = r#"  - {apiVersion: v1, kind: Node, metadata: {name: n2, labels: {kubernetes.io/arch: arm64, node-role.kubernetes.io/worker: ""}}, status: {nodeInfo: {architecture: arm64}}}"#;
const BOTH: &str = "workloadsArchitectures: [amd64, arm64]";
const UP_TO_DATE: &str = r#""type": "UpToDate", "status": "True", "reason": "UpToDate", "message": "Latest import is up to date""#;
const FAILS: &str =
    r#""type": "UpToDate", "status": "False", "reason": "Failed", "message": "manifest unknown""#;
const NO_IMPORT: &str = r#""reason": "NoImport", "message": "No current import""#;
const FAILED: &str = r#""reason": "Failed", "message": "manifest unknown""#;
const SCHEDULE: &str = r#""managedDataSource": "good", "schedule": "0 */12 * * *""#;
const WRONG_SCHEDULE: &str = r#""managedDataSource": "good", "schedule": "0 */12 * *""#;
const CONTROL_PLANE: &str = r#""name": "cp-1", "labels": {"#;
const COMPACT: &str = r#""name": "cp-1", "labels": {"node-role.kubernetes.io/infra": "", "node-role.kubernetes.io/worker": "", "#;

const ACCEPTED: Answer = Answer("1 object: accepted", 0);
const NOTHING_CHANGES: Answer = Answer("nothing changes\n", 0);
const TWO_DISKS: Answer = Answer("no problem: 2 golden images have a disk\n", 0);
const NOTHING_TO_FIX: Answer = Answer("nothing to fix", 0);

/// A cluster is a file with the output of `kubectl get -o yaml`, with other texts. An update of an object with an existing
/// problem is accepted, and a plan of the same object changes nothing.
#[rstest]
#[case::amd64_only(
    "status-import-off.yaml",
    &[(ARM64_NODE, ""), (BOTH, "workloadsArchitectures: [amd64]")],
    Answer("no problem: 1 golden image has a disk\n", 0),
    NOTHING_TO_FIX
)]
#[case::arm64_has_joined(
    "status-import-off.yaml",
    &[],
    Answer("1 problem: HCOMultiArchGoldenImagesDisabled fires\n", 1),
    Answer("1 finding for you to decide: run again with --enable-import", 1)
)]
#[case::import_on_and_done("status-ready.yaml", &[], TWO_DISKS, NOTHING_TO_FIX)]
#[case::import_on_and_failing(
    "status-ready.yaml",
    &[(UP_TO_DATE, FAILS), (NO_IMPORT, FAILED)],
    Answer("2 problems: 2 imports fail (CDIDataImportCronOutdated)\n", 1),
    NOTHING_TO_FIX
)]
#[case::ssp_stopped(
    "status-ready.yaml",
    &[(SCHEDULE, WRONG_SCHEDULE)],
    Answer("3 problems: data-import-cron-rejected; SSP is stopped by good-cron", 1),
    Answer("1 finding to fix manually", 1)
)]
#[case::compact_with_infra_nodes("status-ready.yaml", &[(CONTROL_PLANE, COMPACT)], TWO_DISKS, NOTHING_TO_FIX)]
fn all_commands_agree(
    #[case] file: &str,
    #[case] edits: &[(&str, &str)],
    #[case] check: Answer,
    #[case] fix: Answer,
) {
    let ssp = object("SSP", "kubevirt-hyperconverged/ssp", json!({}));
    let cluster = copy(file, edits, &[ssp]);
    let all: Value = yaml_serde::from_str(&std::fs::read_to_string(&cluster).unwrap()).unwrap();
    let mut items = all["items"].as_array().unwrap().iter();
    let own = items.find(|item| item["kind"] == "HyperConverged").unwrap();
    let file = written("hco.json", own.to_string());
    let mut wrong = Vec::new();
    for (Answer(first, code), words) in [
        (check, format!("check --from {cluster}")),
        (ACCEPTED, format!("check -f {file} --from {cluster}")),
        (NOTHING_CHANGES, format!("plan -f {file} --from {cluster}")),
        (fix, format!("fix --from {cluster} -o commands")),
    ] {
        let run = run(&words);
        let printed = [&*run.stdout, &*run.stderr].concat();
        if run.code != code || !printed.contains(first) {
            wrong.push(format!("{run:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
