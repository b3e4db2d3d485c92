//! The JSON output of a check. It is a contract with programs: `docs/preflight.schema.json`.

use serde_json::{Value, json};

use crate::exit::Exit;
use crate::report::unexplained;
use crate::verdict::{Judged, Verdicts};

pub(crate) fn render(verdicts: &Verdicts) -> Value {
    let errors = verdicts.failures.iter().map(|failure| {
        let place = failure.place.as_ref();
        let (file, line) = (
            place.map(|place| &place.file),
            place.map(|place| place.line),
        );
        json!({"file": file, "line": line, "what": failure.what})
    });
    let mut document = json!({
        "allowed": verdicts.exit() == Exit::Accepted,
        "objects": verdicts.objects.iter().map(object).collect::<Value>(),
        "errors": errors.collect::<Value>(),
    });
    if let (Some(cluster), Some(fields)) = (&verdicts.cluster, document.as_object_mut()) {
        fields.insert("cluster".to_owned(), json!(cluster));
    }
    document
}

/// These fields of an object are left out if they are empty. Other unknown values are null.
const OPTIONAL: [&str; 3] = ["virtualMachine", "notChecked", "message"];

fn object(judged: &Judged) -> Value {
    let (report, identity) = (&judged.report, &judged.question.identity);
    let place = judged.place_of(None);
    let findings = report.findings.iter().map(|finding| {
        json!({
            "rule": finding.rule,
            "level": finding.level,
            "path": finding.path,
            "template": finding.template,
            "fact": finding.fact,
            "fixes": finding.fixes,
            "line": judged.line_of(finding),
        })
    });
    let mut object = json!({
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
        "findings": findings.collect::<Value>(),
        "moreFindings": report.more_findings,
        "repairs": report.repairs,
        "notChecked": report.not_checked,
        "message": unexplained(report),
    });
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|name, value| {
            !OPTIONAL.contains(&&**name) || !value.is_null() && *value != json!([])
        });
    }
    object
}
