//! Scenario 22: the guard in the API server, as docs/without-kubewarden.md describes it, and compared with the policy.

mod comparison;
mod scope;
mod updates;

use std::path::Path;

use e2e_tests::module::ROOT;
use serde_json::{Value, json};

use super::cases::{replace_crd, serving};
use super::commands::{bash, blocks_of};
use crate::crd::template;
use crate::waiting::until;
use crate::world::World;

const PAGE: &str = "docs/without-kubewarden.md";

/// What kubectl prints before the message of the guard.
const WARNING: &str = "Warning: Validation failed for ValidatingAdmissionPolicy 'hco-architecture-guard' with binding 'hco-architecture-guard': ";
const DENIAL: &str = "Error from server (Forbidden): hyperconvergeds.hco.kubevirt.io \"kubevirt-hyperconverged\" is forbidden: ValidatingAdmissionPolicy 'hco-architecture-guard' with binding 'hco-architecture-guard' denied request: ";
const PROBE: &str = "[architectures-missing] template \"probe\": ";

pub(crate) fn run(world: &World<'_>) {
    let crd = serving("hco-v1.17.0", "v1beta1").expect("a CRD");
    replace_crd(world, &crd);
    world.creates(&json!({"featureGates": {"enableMultiArchBootImageImport": true}}));
    let status = json!({"status": {
        "nodeInfo": {"workloadsArchitectures": ["amd64", "arm64"], "controlPlaneArchitectures": ["amd64"]},
        "dataImportCronTemplates": [{"metadata": {"name": "fedora-image-cron"}, "status": {"commonTemplate": true}}],
    }});
    let path = format!("{}/status", world.path());
    world.api().must("PATCH", &path, Some(&status));
    the_page_warns_denies_and_removes(world);
    comparison::run(world);
}

/// Runs the commands of the page in their order.
fn the_page_warns_denies_and_removes(world: &World<'_>) {
    let blocks = blocks_of(PAGE, "console scenario=22");
    let [warn, deny, namespace, probe, remove] = blocks.as_slice() else {
        panic!("{PAGE}: {blocks:?}");
    };
    let probe = format!("{namespace}\n{probe}");
    runs(world, warn);
    until_it_prints(world, &probe, Some(0), &format!("{WARNING}{PROBE}"));
    runs(world, deny);
    until_it_prints(world, &probe, Some(1), &format!("{DENIAL}{PROBE}"));
    names_are_quoted_and_a_long_message_is_cut(world);
    runs(world, remove);
    let accepted = "hyperconverged.hco.kubevirt.io/kubevirt-hyperconverged patched";
    until_it_prints(world, &probe, Some(0), accepted);
    let events = world.control_plane.audited();
    let annotation = "validation.policy.admission.k8s.io/validation_failure";
    let mut annotations = events.iter().map(|event| &event["annotations"][annotation]);
    let is_probe = |text: &Value| text.as_str().is_some_and(|text| text.contains("probe"));
    assert!(annotations.any(is_probe), "the audit log has an annotation");
}

fn runs(world: &World<'_>, commands: &str) {
    println!("  {PAGE}: {commands}");
    let (code, output) = bash(world, Path::new(ROOT), commands);
    assert_eq!(code, Some(0), "{commands}\n{output}");
}

/// A change of the guard takes effect after about a second.
fn until_it_prints(world: &World<'_>, commands: &str, wanted: Option<i32>, start: &str) {
    let line = until(start, || {
        let (code, output) = bash(world, Path::new(ROOT), commands);
        let line = output.lines().find(|line| line.starts_with(start));
        let line = line.filter(|_| {
            code == wanted && output.contains("Warning: ") == start.starts_with(WARNING)
        });
        line.map(str::to_owned).ok_or(output)
    });
    println!("  {line}");
}

fn names_are_quoted_and_a_long_message_is_cut(world: &World<'_>) {
    let templates = (0..60).map(|number| template(&format!("a\n{number}"), None));
    let spec = json!({
        "featureGates": {"enableMultiArchBootImageImport": true},
        "dataImportCronTemplates": templates.collect::<Vec<_>>(),
    });
    let output = world.write("replace", &spec);
    let denial = output.stderr.split_once("denied request: ");
    let message = denial.expect("a denial").1.trim_end();
    assert!(
        message.starts_with(r#"[architectures-missing] template "a\n0": "#),
        "{message}"
    );
    assert!(message.len() < 2048 && !message.contains('\n'), "{message}");
    let shown = message.matches("[architectures-missing]").count();
    assert!(
        message.ends_with(&format!("; and {} more", 60 - shown)),
        "{message}"
    );
}
