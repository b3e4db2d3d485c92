//! From a request to a report: what is judged at all, by which rules, and what an update inherits.

use std::collections::BTreeSet;

use crate::facts::{Cluster, Facts, Nodes};
use crate::golden_image;
use crate::hyperconverged::{self, HyperConverged, Sent};
use crate::json::Raw;
use crate::report::{Judged, JudgedFinding, Report};
use crate::request::{Kind, Operation, Request, Version};
use crate::rule::{Finding, Level};
use crate::rules::{NEVER_CARRIED, RULES};
use crate::settings::{Settings, Updates};

/// Judges the payload of waPC's `validate`: `{"request": …, "settings": …}`.
///
/// Never fails: what cannot be judged is a report that says so.
///
/// ```
/// struct Unreachable;
/// impl engine::Cluster for Unreachable {
///     fn nodes(&self) -> Result<Vec<u8>, String> {
///         Err("no route to host".to_owned())
///     }
///     fn may(&self, _: &engine::ServiceAccount, _: &str) -> Option<Vec<u8>> {
///         None
///     }
/// }
/// let pod = r#"{"request": {"kind": {"group": "", "version": "v1", "kind": "Pod"}}, "settings": {}}"#;
/// assert!(engine::judge(pod.as_bytes(), &Unreachable).allowed);
/// ```
pub fn judge(payload: &[u8], cluster: &dyn Cluster) -> Report {
    let payload = match Raw::document(payload) {
        Ok(payload) => payload,
        Err(fault) => return Report::undecodable("", "", &format!("the request: {fault}")),
    };
    let (request, settings) = match Request::parse(payload) {
        Ok((Some(request), settings)) => (request, settings),
        Ok((None, _)) => return Report::undecodable("", "", "the payload has no request"),
        Err(error) => return Report::undecodable("", "", &error.to_string()),
    };
    if request.operation == Operation::Other || request.sub_resource {
        return Report::accepted();
    }
    let undecodable = |what: &str| Report::undecodable(&request.namespace, &request.name, what);
    let kind = match &request.kind {
        Kind::HyperConverged { version } => version,
        Kind::Other => return Report::accepted(),
        Kind::Missing => return undecodable("the request does not say of what kind it is"),
    };
    let Some(object) = request.object else {
        return undecodable("the request has no object");
    };
    let api_version = hyperconverged::api_version(object);
    let Some(version) = Version::of(api_version.as_deref(), kind) else {
        return undecodable(&format!(
            "its version {} is none of v1beta1 and v1, which this policy knows",
            crate::text::quote(api_version.as_deref().unwrap_or(kind))
        ));
    };
    let sent = Sent::new(object, version);
    let old = request
        .old_object
        .filter(|_| request.operation == Operation::Update)
        .and_then(|old| {
            let version = Version::of(hyperconverged::api_version(old).as_deref(), kind)?;
            Some(Sent::new(old, version))
        });
    if sent.is_being_deleted() || old.as_ref().is_some_and(|old| sent.judged_same_as(old)) {
        return Report::accepted();
    }
    let settings = match Settings::parse(settings) {
        Ok(settings) => settings,
        Err(message) => {
            return Report::invalid_settings(&request.namespace, &request.name, &message);
        }
    };
    let hco = match sent.decode() {
        Ok(hco) => hco,
        Err(error) => return undecodable(&error.to_string()),
    };
    let old = old.and_then(|old| old.decode().ok());
    judge_object(&request, &settings, &hco, old.as_ref(), cluster)
}

fn judge_object(
    request: &Request<'_>,
    settings: &Settings,
    hco: &HyperConverged,
    old: Option<&HyperConverged>,
    cluster: &dyn Cluster,
) -> Report {
    let nodes = Nodes::new(cluster, settings, hco, old);
    let common = golden_image::common_templates(hco, settings.common_templates.as_ref());
    let facts = Facts::new(hco, old, &common, &nodes);

    let mut findings = Vec::new();
    for rule in RULES {
        let level = settings.level(rule);
        if level != Level::Ignore {
            let judged = Judged::by(level);
            let found = (rule.check)(&facts).into_iter();
            findings.extend(found.map(|finding| (rule.id, judged, finding)));
        }
    }
    if let Some(old) = old
        && settings.updates == Updates::Ratchet
    {
        let common = golden_image::common_templates(old, settings.common_templates.as_ref());
        carry(&mut findings, &Facts::new(old, None, &common, &nodes));
    }

    let or = |said: &String, other: &String| if said.is_empty() { other } else { said }.clone();
    Report::judged(
        &or(&request.namespace, &hco.namespace),
        &or(&request.name, &hco.name),
        &facts,
        findings
            .into_iter()
            .map(|(rule, level, finding)| JudgedFinding::new(rule, level, finding))
            .collect(),
    )
}

/// Marks as carried what the old object had already, judged against the same nodes: an update is never
/// denied for what was so before it.
fn carry(findings: &mut [(&'static str, Judged, Finding)], old: &Facts<'_>) {
    // No name or value has a NUL that matters: what is told apart by one only is the same to a reader.
    let key = |finding: &Finding| {
        let part = |part: &Option<String>| part.clone().unwrap_or_default();
        format!("{}\0{}", part(&finding.template), part(&finding.value))
    };
    for rule in RULES {
        let fired = |(id, _, _): &(&str, Judged, Finding)| *id == rule.id;
        if NEVER_CARRIED.contains(&rule.id) || !findings.iter().any(fired) {
            continue;
        }
        let mut before = BTreeSet::new();
        for finding in (rule.check)(old) {
            before.insert(key(&finding));
        }
        for (_, level, finding) in findings.iter_mut().filter(|finding| fired(finding)) {
            if before.contains(&key(finding)) {
                *level = Judged::Carried;
            }
        }
    }
}

/// Judges settings alone, as waPC's `validate_settings` asks.
///
/// # Errors
///
/// Every mistake in them, a line each.
pub fn validate_settings(payload: &[u8]) -> Result<(), String> {
    let settings = Raw::document(payload).map_err(|fault| format!("the settings: {fault}"))?;
    Settings::parse(Some(settings)).map(drop)
}
