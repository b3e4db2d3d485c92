//! `artifacthub-pkg.yml`: it is up to date, and equal to what kwctl would write.

use std::process::Command;

use packaging::{Changelog, Created, Metadata, artifact_hub_package};
use yaml_serde::Value;

use crate::{is_there, root, text};

fn written() -> String {
    artifact_hub_package(
        &Metadata::parse(&text("policy-metadata.yml")).unwrap(),
        &text("questions-ui.yml"),
        &Changelog::parse(&text("CHANGELOG.md")).unwrap(),
        Created::Whenever,
    )
    .unwrap()
}

#[test]
fn the_package_is_up_to_date() {
    assert!(
        written() == text("artifacthub-pkg.yml"),
        "artifacthub-pkg.yml is not what its sources make of it: run `make artifacthub-pkg.yml`"
    );
}

#[test]
fn the_package_is_what_kwctl_scaffolds() {
    if !is_there("kwctl") {
        return;
    }
    let output = Command::new("kwctl")
        .current_dir(root())
        .args(["scaffold", "artifacthub", "-m", "policy-metadata.yml"])
        .args(["-q", "questions-ui.yml"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut theirs: Value = yaml_serde::from_slice(&output.stdout).unwrap();
    let mut ours: Value = yaml_serde::from_str(&written()).unwrap();
    // The fields that only we write.
    for key in ["category", "changes"] {
        ours.as_mapping_mut().unwrap().remove(key);
    }
    // kwctl 1.36 recommends the chart of 1.36.
    for package in [&mut ours, &mut theirs] {
        assert!(
            package
                .as_mapping_mut()
                .unwrap()
                .remove("recommendations")
                .is_some()
        );
    }
    // The date, and a manifest without permissions, in protect mode.
    for key in ["createdAt", "install"] {
        ours.as_mapping_mut().unwrap().remove(key);
        assert!(theirs.as_mapping_mut().unwrap().remove(key).is_some());
    }
    assert_eq!(ours, theirs);
}
