//! Scenario 19: Kubewarden's own audit scanner asks policy-server about the HyperConverged in the cluster, and writes what
//! docs/operate.md tells you to read. It needs `audit-scanner` and `policy-server` on PATH; both are in one repository:
//! `go build -o DIRECTORY/audit-scanner ./cmd/audit-scanner`.

use std::path::Path;
use std::process::Command;

use e2e_tests::module;
use serde_json::{Value, json};

use crate::policy::manifests;
use crate::world::{NAMESPACE, World};

const KUBEWARDEN: &str = "/apis/policies.kubewarden.io/v1";

pub(super) const KUBEWARDEN_CRDS: [&str; 5] = [
    "kubewarden-policyservers",
    "kubewarden-clusteradmissionpolicies",
    "kubewarden-clusteradmissionpolicygroups",
    "kubewarden-admissionpolicies",
    "kubewarden-admissionpolicygroups",
];

pub(super) const REPORT_CRDS: [&str; 2] = ["openreports-reports", "openreports-clusterreports"];

pub(crate) fn run(world: &World<'_>) {
    let scanner = module::on_path("audit-scanner").expect("audit-scanner is not on PATH");
    what_the_scanner_reads(world);
    world.deploy("amd64");
    world.creates(&json!({}));
    assert_eq!(scanned(world, &scanner), ["pass"]);

    // A new node causes no request, so only the audit reports it.
    world.nodes("mixed");
    assert_eq!(
        scanned(world, &scanner),
        ["fail [multi-arch-import-disabled] spec.featureGates.enableMultiArchBootImageImport"]
    );
    world.replaces(&world.crd.import, &["[boot-source-replaced] "]);
    assert_eq!(scanned(world, &scanner), ["pass"]);
}

/// Kubewarden's objects: our policy, which its controller has reported as active, the `PolicyServer` of it, and its Service.
fn what_the_scanner_reads(world: &World<'_>) {
    world.serves_all(&KUBEWARDEN_CRDS);
    world.serves_all(&REPORT_CRDS);

    let mut policy = manifests("deploy/base/policy.yaml").remove(0);
    // This cluster does not serve v1.
    policy["spec"]["rules"][0]["apiVersions"] = json!(["v1beta1"]);
    let server = policy["spec"]["policyServer"]
        .as_str()
        .unwrap_or("default")
        .to_owned();
    let api = world.api();
    let policies = format!("{KUBEWARDEN}/clusteradmissionpolicies");
    let mut created = api.must("POST", &policies, Some(&policy));
    created["status"] = json!({"policyStatus": "active"});
    let status = format!("{policies}/hco-architecture-guard/status");
    api.must("PUT", &status, Some(&created));

    let policy_server = json!({
        "apiVersion": "policies.kubewarden.io/v1",
        "kind": "PolicyServer",
        "metadata": {"name": server},
        "spec": {"image": "registry.example.com/policy-server", "replicas": 1},
    });
    api.must(
        "POST",
        &format!("{KUBEWARDEN}/policyservers"),
        Some(&policy_server),
    );
    let service = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": format!("policy-server-{server}"),
            "labels": {"app.kubernetes.io/instance": format!("policy-server-{server}")},
        },
        "spec": {"ports": [{"port": 8443}]},
    });
    api.must(
        "POST",
        "/api/v1/namespaces/kubewarden/services",
        Some(&service),
    );
}

/// Runs the scanner; returns the results that kubectl shows then: the result, and the first problem of the message.
fn scanned(world: &World<'_>, scanner: &Path) -> Vec<String> {
    let home = world.control_plane.directory().join("audit-scanner");
    std::fs::create_dir_all(&home).expect("a directory");
    let kubeconfig = world.control_plane.kubeconfig(&home, "admin");
    let output = Command::new(scanner)
        .env_clear()
        .env("HOME", &home)
        .env("KUBECONFIG", kubeconfig)
        .args([
            "--kubewarden-namespace",
            "kubewarden",
            "--namespace",
            NAMESPACE,
        ])
        .args([
            "--policy-server-url",
            &world.url(),
            "--loglevel",
            "info",
            "--report-kind",
            "openreports",
        ])
        .arg("--extra-ca")
        .arg(&world.control_plane.certificates.authority_file)
        .output()
        .expect("audit-scanner runs");
    assert!(output.status.success(), "{output:?}");

    let reports = [
        "get",
        "reports.openreports.io",
        "-n",
        NAMESPACE,
        "-o",
        "json",
    ];
    let reports = world.admin.run(&reports);
    assert_eq!(reports.code, Some(0), "{reports:?}");
    let reports: Value = serde_json::from_str(&reports.stdout).expect("a list");
    let reports = reports["items"].as_array().expect("items");
    let results = reports
        .iter()
        .flat_map(|report| report["results"].as_array().into_iter().flatten());
    results
        .map(|result| {
            let policy = result["policy"].as_str().expect("a policy");
            assert!(policy.contains("hco-architecture-guard"), "{result}");
            let mut shown = result["result"].as_str().expect("a result").to_owned();
            let message = result["message"].as_str().unwrap_or_default();
            if let Some(problem) = message.lines().find(|line| line.starts_with('[')) {
                shown = format!("{shown} {problem}");
            }
            shown
        })
        .collect()
}
