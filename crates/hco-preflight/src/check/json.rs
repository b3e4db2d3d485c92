//! The JSON output of a check. It is a contract with programs: `docs/preflight.schema.json`.

use serde_json::{Value, json};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::report::{Finding, unexplained};
use crate::verdict::{Judged, Verdicts};

pub(crate) fn render(verdicts: &Verdicts) -> Value {
    let document = json!({
        "allowed": verdicts.exit() == Exit::Accepted,
        "objects": verdicts.objects.iter().map(object).collect::<Value>(),
        "errors": verdicts.failures.iter().map(error).collect::<Value>(),
        "cluster": verdicts.cluster,
    });
    without_empty(document, &["cluster"])
}

fn error(failure: &Failure) -> Value {
    let place = failure.place.as_ref();
    json!({
        "file": place.map(|place| &place.file),
        "line": place.map(|place| place.line),
        "what": failure.what,
    })
}

fn object(judged: &Judged) -> Value {
    let (report, identity) = (&judged.report, &judged.question.identity);
    let place = judged.place_of(None);
    let finding = |finding: &Finding| {
        json!({
            "rule": finding.rule,
            "level": finding.level,
            "path": finding.path,
            "template": finding.template,
            "fact": finding.fact,
            "fixes": finding.fixes,
            "line": judged.place_of(Some(finding)).map(|place| place.line),
        })
    };
    let object = json!({
        "file": place.as_ref().map(|place| &place.file),
        "line": place.as_ref().map(|place| place.line),
        "apiVersion": identity.api_version,
        "kind": identity.kind,
        "namespace": identity.namespace,
        "name": identity.name,
        "policy": judged.policy,
        "allowed": report.allowed,
        "code": report.code,
        "nodes": report.nodes,
        "workloadArchitectures": report.workload_architectures,
        "controlPlaneArchitectures": report.control_plane_architectures,
        "multiArchImport": report.multi_arch_import,
        "virtualMachine": report.virtual_machine,
        "findings": report.findings.iter().map(finding).collect::<Value>(),
        "moreFindings": report.more_findings,
        "repairs": report.repairs,
        "notChecked": report.not_checked,
        "message": unexplained(report),
    });
    without_empty(object, &["virtualMachine", "notChecked", "message"])
}

/// Leaves these fields out if they are empty. Other unknown values are null.
fn without_empty(mut object: Value, optional: &[&str]) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|name, value| {
            !optional.contains(&&**name) || !value.is_null() && *value != json!([])
        });
    }
    object
}
