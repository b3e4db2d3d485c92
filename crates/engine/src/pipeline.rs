//! Evaluates a payload step by step, and returns a report.

use kube_objects::json::Json;
use operator_models::hco::api_version::is_hyperconverged;
use operator_models::kubevirt::virtual_machine::is_virtual_machine;

use crate::change::{Change, Comparison, Side};
use crate::cluster::{Cluster, OnlyNodes};
use crate::evaluate::evaluate;
use crate::fixes::Fixes;
use crate::inputs::Inputs;
use crate::render;
use crate::repair::{Repaired, obstacle_of_size, repair};
use crate::report::Report;
use crate::request::{self, HyperConvergedRequest, VirtualMachineRequest};
use crate::settings::Settings;
use crate::virtual_machine;

/// Evaluates the payload of waPC's `validate`: `{"request": …, "settings": …}`.
///
/// Never fails: if the object cannot be evaluated, the report says so.
pub fn validate(payload: &[u8], cluster: &dyn Cluster) -> Report {
    evaluate_payload(payload, false, None, cluster).unwrap_or_else(|report| *report)
}

/// Evaluates a request for the `report` operation: the report also contains the golden images.
pub fn report(payload: &[u8], cluster: &dyn Cluster) -> Report {
    evaluate_payload(payload, true, None, cluster).unwrap_or_else(|report| *report)
}

/// Evaluates a request against a list of nodes as JSON, without looking up images. With a comparison, the report contains
/// the changes.
pub fn report_change(payload: &[u8], nodes: &str, comparison: Option<&Comparison<'_>>) -> Report {
    evaluate_payload(payload, true, comparison, &OnlyNodes(nodes)).unwrap_or_else(|report| *report)
}

/// Reads and evaluates a payload. The error is the answer to a request that needs no evaluation.
fn evaluate_payload(
    payload: &[u8],
    wants_report: bool,
    comparison: Option<&Comparison<'_>>,
    host: &dyn Cluster,
) -> Result<Report, Box<Report>> {
    let (request, settings) = request::read(payload)?;
    if is_virtual_machine(&request) {
        let request = VirtualMachineRequest::read(&request, &settings, wants_report)?;
        Ok(virtual_machine::evaluate(&request, host))
    } else if is_hyperconverged(&request) {
        let request = HyperConvergedRequest::read(&request, &settings, comparison, wants_report)?;
        Ok(evaluate_hyperconverged(&request, host))
    } else {
        Ok(Report::accepted())
    }
}

/// The way of a request: what is read, the change, the repairs that the settings name, and the report.
fn evaluate_hyperconverged(request: &HyperConvergedRequest<'_>, host: &dyn Cluster) -> Report {
    let installation = request.installation(None);
    let upgraded = request
        .comparison
        .and_then(|comparison| comparison.version)
        .map(|version| request.installation(Some(version)));
    let old = request.before(&installation);
    let new = request.after(upgraded.as_ref().unwrap_or(&installation), old.as_ref());
    let inputs = Inputs::read(request, old.as_ref(), &new, host);
    let before = old.as_ref().map(|old| {
        let census = inputs.census_before(&old.hco.placement);
        Side::new(old.clone(), census)
    });
    let change = inputs.change(before.as_ref(), new.clone());
    let repaired = repair(&change, &inputs, request);
    let text = repaired.object.clone();
    let corrected = text.as_deref().and_then(|text| request.parse_again(text));
    let Some((json, hco)) = corrected else {
        return conclude(request, &inputs, &change, request.object, repaired);
    };
    let change = inputs.corrected(&change, &hco);
    conclude(request, &inputs, &change, json, repaired)
}

/// Evaluates a change, pairs the findings with fixes, and writes the report.
fn conclude(
    request: &HyperConvergedRequest<'_>,
    inputs: &Inputs<'_>,
    change: &Change<'_>,
    object: Json<'_>,
    mut repaired: Repaired,
) -> Report {
    let detections = evaluate(change, &request.settings);
    let of_size = || obstacle_of_size(request, &detections);
    repaired.obstacle = repaired.obstacle.or_else(of_size);
    let fixes = Fixes::new(change, inputs, &request.settings, object, &detections);
    let report = render::report(change, inputs, request.wants_report);
    let (name, settings) = (&request.name, &request.settings);
    render::with_findings(
        report,
        name,
        settings,
        &detections,
        fixes.findings(),
        repaired,
    )
}

/// Evaluates settings for the operation `validate_settings`.
///
/// # Errors
///
/// All problems in the settings, one on each line.
pub fn validate_settings(payload: &[u8]) -> Result<(), String> {
    let settings = Json::parse(payload)
        .map_err(|error| format!("the settings are not valid JSON: {error}"))?;
    Settings::read(Some(settings)).map(drop)
}
