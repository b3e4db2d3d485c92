//! The JSON output of a check. It is a contract with programs: `docs/preflight.schema.json`.

use std::collections::BTreeMap;

use anyhow::Result;
use engine::Import;
use serde::Serialize;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::foreign::Foreign;
use crate::policy::Policy;
use crate::report::{Finding, Level, Machine, Remedy};
use crate::verdict::{Judged, Origin, Verdicts};

/// The document.
#[derive(Serialize)]
struct Document<'v> {
    allowed: bool,
    objects: Vec<Object<'v>>,
    errors: Vec<Error<'v>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<&'v Origin>,
}

/// Something that could not be read or requested. Unknown values are null.
#[derive(Serialize)]
struct Error<'v> {
    file: Option<&'v str>,
    line: Option<usize>,
    what: &'v str,
}

/// An object. Unknown values are null.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Object<'v> {
    file: Option<&'v str>,
    line: Option<usize>,
    api_version: &'v str,
    kind: &'v str,
    namespace: Option<&'v str>,
    name: Option<&'v str>,
    policy: Option<&'v Policy>,
    /// Only if the user may not list all policies.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    policies_unread: bool,
    allowed: bool,
    code: Option<u16>,
    nodes: Option<&'v BTreeMap<String, usize>>,
    workload_architectures: Option<&'v [Foreign]>,
    control_plane_architectures: Option<&'v [Foreign]>,
    multi_arch_import: Option<Import>,
    /// Only for a VirtualMachine.
    #[serde(skip_serializing_if = "Option::is_none")]
    virtual_machine: Option<&'v Machine>,
    findings: Vec<InFile<'v>>,
    more_findings: usize,
    repairs: &'v [String],
    /// Why images were not checked.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    not_checked: &'v [String],
    /// Only if no finding gives the reason, because the object cannot be read or another module denied it.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'v str>,
}

/// A finding, and its line in the file.
#[derive(Serialize)]
struct InFile<'v> {
    rule: &'v str,
    level: Level,
    path: &'v Foreign,
    template: Option<&'v Foreign>,
    fact: &'v str,
    fix: &'v str,
    fixes: &'v [Remedy],
    line: Option<usize>,
}

/// The output has one line for each key, because people read it too.
pub(crate) fn render(verdicts: &Verdicts) -> Result<String> {
    let mut text = serde_json::to_string_pretty(&document(verdicts))?;
    text.push('\n');
    Ok(text)
}

fn document(verdicts: &Verdicts) -> Document<'_> {
    Document {
        allowed: verdicts.exit() == Exit::Accepted,
        objects: verdicts.objects.iter().map(object).collect(),
        errors: verdicts.failures.iter().map(error).collect(),
        cluster: verdicts.cluster.as_ref(),
    }
}

fn error(failure: &Failure) -> Error<'_> {
    Error {
        file: failure.file.as_deref(),
        line: failure.line,
        what: &failure.what,
    }
}

fn object(judged: &Judged) -> Object<'_> {
    let report = &judged.report;
    Object {
        file: judged.place.as_ref().map(|place| place.file.as_str()),
        line: judged.place.as_ref().map(|place| place.line),
        api_version: &judged.identity.api_version,
        kind: &judged.identity.kind,
        namespace: judged.identity.namespace.as_deref(),
        name: judged.identity.name.as_deref(),
        policy: judged.policy.as_ref(),
        policies_unread: judged.policies_unread,
        allowed: report.allowed,
        code: report.code,
        nodes: report.nodes.as_ref(),
        workload_architectures: report.workload_architectures.as_deref(),
        control_plane_architectures: report.control_plane_architectures.as_deref(),
        multi_arch_import: report.multi_arch_import,
        virtual_machine: report.virtual_machine.as_ref(),
        findings: report
            .findings
            .iter()
            .map(|it| finding(judged, it))
            .collect(),
        more_findings: report.more_findings,
        repairs: &report.repairs,
        not_checked: &report.not_checked,
        message: judged.message(),
    }
}

fn finding<'v>(object: &Judged, finding: &'v Finding) -> InFile<'v> {
    InFile {
        rule: &finding.rule,
        level: finding.level,
        path: &finding.path,
        template: finding.template.as_ref(),
        fact: &finding.fact,
        fix: &finding.fix,
        fixes: &finding.fixes,
        line: object.line_of(finding),
    }
}
