//! `e2e-tests/real-cluster` changes nothing unless the cluster is a throw-away one and every program is there.

use std::process::Command;

use e2e_tests::repository::root;

use crate::install::executable;

/// The output of the script, and its calls of kubectl, on a machine with these programs. `kubectl` is a script.
fn refusal(programs: &[&str], kubectl: &str) -> (String, String) {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    for program in programs {
        executable(&place.path().join(program), "#!/bin/sh\nexit 1\n");
    }
    let script = format!("#!/bin/sh\necho \"$@\" >> {}\n{kubectl}\n", log.display());
    executable(&place.path().join("kubectl"), &script);
    let path = std::env::var_os("PATH").unwrap();
    let mut bash = std::env::split_paths(&path).map(|directory| directory.join("bash"));
    let output = Command::new(bash.find(|file| file.is_file()).unwrap())
        .arg(root().join("e2e-tests/real-cluster"))
        .arg("kubewarden-crds")
        .env("PATH", place.path())
        .env("REGISTRY", "192.0.2.1:5000")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(output.stdout, b"");
    let called = std::fs::read_to_string(log).unwrap_or_default();
    (String::from_utf8(output.stderr).unwrap(), called)
}

const PROGRAMS: [&str; 5] = ["awk", "helm", "jq", "kwctl", "make"];

#[test]
fn missing_programs_are_named() {
    let (printed, called) = refusal(&["awk", "make"], "");
    assert_eq!(printed, "real-cluster: not on PATH: helm jq kwctl\n");
    assert_eq!(called, "");
}

#[test]
fn a_cluster_without_the_label_is_refused() {
    for label in ["", "false"] {
        let (printed, called) = refusal(&PROGRAMS, &format!("printf '{label}'"));
        let why = "has no label hco-architecture-guard/throw-away=true";
        assert!(printed.contains(why), "{printed}");
        assert_eq!(called.lines().count(), 1, "{called}");
        assert!(called.starts_with("get namespace kube-system "), "{called}");
    }
}

#[test]
fn a_cluster_with_kubewarden_is_refused() {
    let (printed, called) = refusal(&PROGRAMS, "printf true");
    assert!(printed.contains("namespace/kubewarden exists"), "{printed}");
    assert!(
        called.lines().all(|line| line.starts_with("get ")),
        "{called}"
    );
}
