//! Repairs at admission: applies the fixes that the settings name to the object that was sent.

use std::collections::BTreeSet;

use kube_objects::edit::{self, PatchOperation};
use kube_objects::json::Json;
use kube_objects::text::{cut, quote};
use operator_models::ssp::architecture::knows_all;
use operator_models::ssp::data_sources::Key;

use crate::change::Change;
use crate::evaluate::{Detection, Outcome, evaluate};
use crate::fixes::{Fixes, set_import};
use crate::inputs::Inputs;
use crate::request::HyperConvergedRequest;
use crate::rule::{Repair, Rule};
use crate::settings::Settings;
use crate::violation::Description;

#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) rule: &'static Rule,
    pub(crate) template: Option<String>,
    pub(crate) repair: Repair,
    patch: Vec<PatchOperation>,
}

impl Step {
    pub(crate) fn warning(&self) -> String {
        let what = match self.repair {
            Repair::EnableImport => "the multi-architecture import is enabled".to_owned(),
            Repair::PlaceOn(architecture) => {
                format!("the workloads are placed on {architecture} nodes")
            }
            Repair::Normalise | Repair::FromImage => {
                let template = self.template.as_deref().unwrap_or_default();
                let value = (self.patch.iter().rev())
                    .find_map(|operation| operation.value.as_ref()?.as_str());
                format!(
                    "the architectures annotation of template {} is {}",
                    quote(template),
                    quote(value.unwrap_or_default())
                )
            }
        };
        format!("repaired {}: {what}", self.rule.id)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Repaired {
    /// The object with the repairs; `None` if nothing was repaired.
    pub(crate) object: Option<String>,
    pub(crate) steps: Vec<Step>,
    /// Why a repair that the settings ask for was not applied.
    pub(crate) obstacle: Option<String>,
}

/// Applies repairs until nothing is left to repair. If one of them is not possible, or if the result is still denied, the
/// object remains unchanged.
pub(crate) fn repair<'f>(
    change: &'f Change<'f>,
    inputs: &'f Inputs<'f>,
    request: &HyperConvergedRequest<'_>,
) -> Repaired {
    if request.settings.repairs.is_empty() {
        return Repaired::default();
    }
    apply(change, inputs, request).unwrap_or_else(|obstacle| Repaired {
        obstacle: Some(obstacle),
        ..Repaired::default()
    })
}

/// Why none of the repairs that the settings ask for was applied to a large object.
pub(crate) fn obstacle_of_size(
    request: &HyperConvergedRequest<'_>,
    detections: &[Detection<'_>],
) -> Option<String> {
    let mut repairable = detections.iter().filter(|detection| {
        detection.outcome != Outcome::Carried && request.too_large_for.contains(&detection.rule.id)
    });
    repairable
        .next()
        .map(|_| "No repair was applied: the object has more than 128 KiB.".to_owned())
}

fn apply<'f>(
    change: &'f Change<'f>,
    inputs: &'f Inputs<'f>,
    request: &HyperConvergedRequest<'_>,
) -> Result<Repaired, String> {
    /// More passes than a chain of repairs can need.
    const PASSES: usize = 8;
    let settings = &request.settings;
    let detections = evaluate(change, settings);
    let fixes = Fixes::new(change, inputs, settings, request.object, &detections);
    let mut next = steps(&fixes)?;
    let mut repaired = Repaired::default();
    for _ in 0..PASSES {
        if next.is_empty() {
            return Ok(repaired);
        }
        let object = repaired.object.as_deref().unwrap_or(request.object.text());
        let patch = next.iter().flat_map(|step| &step.patch);
        let object = Json::parse(object.as_bytes())
            .ok()
            .and_then(|object| edit::apply(object, patch))
            .ok_or("No repair was applied: the changes cannot be applied to the object.")?;
        repaired.steps.append(&mut next);
        let object = repaired.object.insert(object);
        let (json, hco) = request
            .parse_again(object)
            .ok_or("No repair was applied: the repaired object cannot be read.")?;
        let change = inputs.corrected(change, &hco);
        let detections = evaluate(&change, settings);
        next = steps(&Fixes::new(&change, inputs, settings, json, &detections))?;
        if next.is_empty() {
            still_denied(&detections)?;
            check_disks(&fixes.lost(&change))?;
        }
    }
    Err("No repair was applied: each repair made another repair necessary.".to_owned())
}

/// The next repairs of an object, or why one that the settings ask for is not possible.
fn steps(fixes: &Fixes<'_, '_>) -> Result<Vec<Step>, String> {
    let (settings, detections) = (fixes.settings, fixes.detections);
    let configuration = fixes.configuration();
    let mut repairs = settings.repairs.iter();
    let enable_import = repairs
        .any(|(_, repair)| *repair == Repair::EnableImport)
        .then(|| fixes.enable_import_if_proposed())
        .flatten();
    let untouchable = untouchable(settings, detections);
    let mut steps = Vec::new();
    // All findings of a rule at one path have the same fix.
    let mut done = BTreeSet::new();
    for detection in detections {
        let rule = detection.rule;
        let template = detection.violation.template;
        let Some(wanted) = settings.repair(rule) else {
            continue;
        };
        let is_of_annotation = matches!(wanted, Repair::Normalise | Repair::FromImage);
        let Description {
            path,
            fixes: proposals,
            ..
        } = (detection.violation.describe)();
        if detection.outcome == Outcome::Carried
            || is_of_annotation && template.is_some_and(|name| untouchable.contains(name))
            || !done.insert((rule.id, path.to_string()))
        {
            continue;
        }
        let proposed = fixes.of(proposals, enable_import.as_ref());
        let fix = proposed.iter().find(|fix| fix.repair == Some(wanted));
        if let Some(fix) = fix {
            steps.push(Step {
                rule,
                template: template.map(str::to_owned),
                repair: wanted,
                patch: match wanted {
                    // Annotations have separate repairs.
                    Repair::EnableImport => set_import(configuration),
                    Repair::PlaceOn(_) | Repair::Normalise | Repair::FromImage => fix.patch.clone(),
                },
            });
        } else if (wanted != Repair::FromImage || detection.outcome == Outcome::Deny)
            && let Some(why) = obstacle(fixes, template, wanted)
        {
            // An image that cannot be read does not prevent the repair of other images, unless it denies the request.
            let (repair, id) = (wanted.into_str(), rule.id);
            return Err(format!(
                "The repair {repair} of {id} was not applied: {why}."
            ));
        }
    }
    Ok(steps)
}

/// The templates whose annotation has an entry that no repair may change: it is an existing problem, or its rule has no
/// repair.
fn untouchable<'d>(settings: &Settings, detections: &'d [Detection<'_>]) -> BTreeSet<&'d str> {
    detections
        .iter()
        .filter(|detection| {
            detection.rule.repair == Some(Repair::Normalise)
                && (detection.outcome == Outcome::Carried
                    || settings.repair(detection.rule).is_none())
        })
        .filter_map(|detection| detection.violation.template)
        .collect()
}

/// Why a repair is not possible. If an annotation cannot be normalized, a person has to correct it, and the finding
/// explains how.
fn obstacle(fixes: &Fixes<'_, '_>, template: Option<&str>, repair: Repair) -> Option<String> {
    let configuration = fixes.configuration();
    let census = fixes.change.after.census;
    let why = match repair {
        Repair::EnableImport if census.is_some_and(knows_all) => {
            "the fix cannot be applied automatically"
        }
        Repair::EnableImport => {
            "the SSP operator does not support the architectures of the cluster"
        }
        Repair::PlaceOn(architecture)
            if configuration
                .accepted_by_kubevirt(census?)
                .is_some_and(|accepted| !accepted.contains(architecture)) =>
        {
            return Some(format!(
                "KubeVirt rejects VMs of {architecture}, because virt-api runs on another architecture"
            ));
        }
        Repair::PlaceOn(architecture) if census?.workload.contains_key(architecture) => {
            return Some(format!(
                "with the existing placement, the label kubernetes.io/arch does not select exactly the {architecture} nodes"
            ));
        }
        Repair::PlaceOn(architecture) => {
            return Some(format!(
                "no workload node reports the architecture {architecture}"
            ));
        }
        Repair::FromImage => {
            let mut images = configuration.golden_images.iter();
            let image = images.find(|image| Some(image.name) == template)?;
            let images = fixes.change.images;
            let why = match images.architectures_of(configuration, image) {
                Some(Ok(_)) => "no workload node can run its image",
                Some(Err(_)) => "its image cannot be read",
                None => "its image was not looked up",
            };
            return Some(format!("template {}: {why}", quote(image.name)));
        }
        Repair::Normalise => return None,
    };
    Some(why.to_owned())
}

/// Why the object is not repaired although its findings can be repaired.
fn still_denied(detections: &[Detection<'_>]) -> Result<(), String> {
    let mut rules: Vec<&str> = detections
        .iter()
        .filter(|detection| detection.outcome == Outcome::Deny)
        .map(|detection| detection.rule.id)
        .collect();
    rules.dedup();
    if rules.is_empty() {
        return Ok(());
    }
    let list = rules.join(", ");
    let text = format!("No repair was applied, because the object would still be denied: {list}");
    Err(cut(text, 400) + ".")
}

/// Why the object is not repaired although it would be accepted: the repairs delete disks.
fn check_disks(lost: &[Key]) -> Result<(), String> {
    let Some(lost) = lost.first() else {
        return Ok(());
    };
    Err(format!(
        "No repair was applied, because the boot source {} would lose its disk.",
        quote(&lost.name)
    ))
}
