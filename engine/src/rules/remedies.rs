//! The remedies that more than one rule gives: enable the import, place the workloads, correct an annotation.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{
    RULES, architectures_missing, architectures_partial, architectures_unsupported,
    control_plane_architecture_differs, multi_arch_import_disabled,
};
use crate::architecture::{Architectures, is_accepted_by_ssp};
use crate::edit::{self, Edit, Edits, Located};
use crate::facts::Facts;
use crate::findings;
use crate::golden_image::Annotation;
use crate::hyperconverged::{ARCHITECTURES, ENABLE, HyperConverged, Sent, Template};
use crate::import::Import;
use crate::json::{Json, Kind};
use crate::node::Census;
use crate::path::FieldPath;
use crate::remedy::{Remedy, merge_command};
use crate::request::Version;
use crate::rule::Level;
use crate::sorted;
use crate::text::{self, escape};

/// The node label with the architecture.
const ARCHITECTURE_LABEL: &str = "kubernetes.io/arch";

/// Enable the import, and in the same change correct the annotations that HCO reads from then on.
pub(super) fn enable_import(facts: &Facts<'_>) -> Remedy {
    let remedy = || {
        let hco = facts.hco;
        let flag = set_import(hco, Edits::default()).finish();
        let edits = correct_all(facts, set_import(hco, Edits::default())).finish();
        let revealed = revealed(facts, &edits);

        // Before HCO 1.19 the field does not exist; nothing in the object tells which version runs.
        let needs_gate = hco.version == Version::V1 && hco.import.field.is_none();
        let mut summary = "enable the multi-architecture import".to_owned();
        if needs_gate {
            summary += " (HCO 1.19 and later read the field, earlier versions the feature gate)";
        }
        if revealed.contains(architectures_missing::RULE.id) {
            summary += ", and in the same change add the architectures annotation to each template without one";
        } else if !revealed.is_empty() {
            let rules: Vec<&str> = revealed.iter().copied().collect();
            summary += &format!(
                ", and in the same change resolve what the import makes a problem ({})",
                text::list(&rules, rules.len())
            );
        }
        let is_flag_alone = edits == flag && revealed.is_empty() && !needs_gate;
        let command = is_flag_alone.then(|| merge_command(hco, &hco.fields.import.path, true));
        Remedy::edits(summary, edits)
            .complete_if(revealed.is_empty())
            .with_command(command)
    };
    facts.enable_import.get_or_init(remedy).clone()
}

/// The same for a rule that does not need the import: complete only if the import is enabled anyway.
pub(super) fn enable_import_if_needed(facts: &Facts<'_>) -> Remedy {
    let needs_import = [
        &multi_arch_import_disabled::RULE,
        &control_plane_architecture_differs::RULE,
    ];
    let is_needed = facts.census_if_read().is_some_and(has_known_architectures)
        && needs_import
            .iter()
            .any(|rule| !findings::identities(rule, facts).is_empty());
    let remedy = enable_import(facts);
    let complete = remedy.complete && is_needed;
    remedy.complete_if(complete)
}

/// Sets the field of the import, and in v1 the feature gate if it is listed or if there is no field: HCO 1.18 drops
/// the field silently, HCO 1.19 accepts both when they agree.
fn set_import(hco: &HyperConverged<'_>, edits: Edits) -> Edits {
    let gate = |name: &str| json!({"name": name, "state": "Enabled"});
    let list = &hco.fields.gates;
    let mut edits = edits.set(&hco.object, &hco.fields.import.path, true);
    for (index, entry) in hco.import.gates.iter().enumerate() {
        if entry.has_name(crate::import::GATE) && !entry.enabled {
            edits = edits.replace(list.path.index(index), gate(&entry.name));
        }
    }
    let is_listed = hco.import.gate_indices().next().is_some();
    if hco.version == Version::V1 && hco.import.field.is_none() && !is_listed {
        // The empty object that an upgrade from HCO 1.18 leaves behind is no list.
        if list.json().is_some_and(|json| json.kind() == Kind::Object) {
            edits = edits.replace(list.path.clone(), json!([]));
        }
        let end = list.path.index(hco.import.gates.len());
        edits = edits.set(&hco.object, &end, gate(crate::import::GATE));
    }
    edits
}

/// Corrects all annotations that HCO reads with the import on, where it is clear what was meant, and removes those
/// that it ignores.
fn correct_all(facts: &Facts<'_>, mut edits: Edits) -> Edits {
    let none = BTreeMap::new();
    let workload = facts
        .census_if_read()
        .map_or(&none, |census| &census.workload);
    for image in &facts.images {
        let Some(template) = image.template else {
            continue;
        };
        match (image.annotation, template.architectures.as_deref()) {
            (Annotation::Spec(Some(value)), _) => {
                let correction = Architectures(value).corrected(workload);
                let is_usable = correction.is_certain && !correction.value.is_empty();
                if is_usable && correction.value != value {
                    edits = set_annotation(facts, edits, template, ARCHITECTURES, correction.value);
                }
            }
            (Annotation::Shipped(shipped), Some(value)) if shipped != Some(value) => {
                edits = edits.remove(facts.architectures_path(template));
            }
            _ => {}
        }
    }
    edits
}

/// The rules that deny the object after the edits for something that they do not deny it for now.
///
/// This is what makes a remedy complete that changes the meaning of the whole object: the object is edited and judged
/// again.
fn revealed(facts: &Facts<'_>, edits: &[Edit]) -> BTreeSet<&'static str> {
    let failed = sorted::set(["the edits do not fit"]);
    let Some(text) = edit::apply(facts.hco.object.json, edits) else {
        return failed;
    };
    let edited = Json::parse(text.as_bytes()).ok();
    let edited = edited.and_then(|json| Sent::new(json, facts.hco.version).read().ok());
    let Some(edited) = edited else {
        return failed;
    };
    let after = Facts::new(
        &edited,
        facts.old,
        facts.common,
        facts.settings,
        facts.nodes,
    );
    if after.import != Import::Enabled {
        return failed;
    }
    let reveals = |rule: &&&'static crate::Rule| {
        let before = findings::denials(rule, facts);
        !findings::denials(rule, &after).is_subset(&before)
    };
    sorted::set(RULES.iter().filter(reveals).map(|rule| rule.id))
}

/// Place the workloads on one architecture: a remedy for each architecture that golden images support and that a
/// nodeSelector can select, the default of HCO first.
pub(super) fn place(facts: &Facts<'_>, census: &Census, summary: &str) -> Vec<Remedy> {
    let default = default_architecture(census);
    let others = census.workload.keys().map(String::as_str);
    let others = others.filter(|name| Some(*name) != default);
    default
        .into_iter()
        .chain(others)
        .filter(|name| is_accepted_by_ssp(name) && is_selectable(census, name))
        .map(|name| place_on(facts, name, summary))
        .collect()
}

/// Whether exactly the nodes of an architecture match the placement that also asks for the architecture's label. The
/// label can be missing or wrong, and an existing placement can exclude the architecture.
fn is_selectable(census: &Census, architecture: &str) -> bool {
    let selected = census.by_label.get(architecture);
    selected.is_some_and(|selected| selected.iter().eq([architecture]))
}

fn place_on(facts: &Facts<'_>, architecture: &str, summary: &str) -> Remedy {
    let hco = facts.hco;
    let path = hco.fields.node_selector.path.key(ARCHITECTURE_LABEL);
    let edits = Edits::default()
        .set(&hco.object, &path, architecture)
        .finish();
    let command = merge_command(hco, &path, architecture);
    Remedy::edits(summary, edits).with_command(Some(command))
}

/// The architecture that HCO takes for VMs that do not ask for one.
///
/// MIRRORS: hyperconverged-cluster-operator pkg/internal/nodeinfo/architectures.go, set: the first architecture of
/// the control plane if the workloads have it, else the most common one of the workloads, ties by name.
fn default_architecture(census: &Census) -> Option<&str> {
    let first = census.control_plane.first();
    if let Some(first) = first.filter(|first| census.workload.contains_key(*first)) {
        return Some(first);
    }
    let most = census.workload.values().max()?;
    let mut workload = census.workload.iter();
    workload
        .find(|(_, count)| *count == most)
        .map(|(name, _)| name.as_str())
}

/// Correct the entries of an annotation. Complete if it is clear what was meant, and if no other rule denies the
/// template with the correction.
pub(super) fn correct(
    facts: &Facts<'_>,
    template: &Template<'_>,
    value: Architectures<'_>,
    census: &Census,
) -> Remedy {
    let correction = value.corrected(&census.workload);
    if correction.value.is_empty() {
        return list_architectures(
            facts,
            template,
            census,
            "list the architectures of the image",
        );
    }
    let summary = if correction.is_certain {
        "correct the annotation"
    } else {
        "correct the annotation, if this is what it means"
    };
    let denies = |rule| facts.settings.level(rule, Some(&template.name)) == Level::Deny;
    let before = value.supported(&census.workload);
    let after = Architectures(&correction.value).supported(&census.workload);
    let is_unsupported = after.is_empty() && denies(&architectures_unsupported::RULE);
    let becomes_partial = before.is_empty()
        && after.len() < census.workload.len()
        && denies(&architectures_partial::RULE);
    let edits = set_annotation(
        facts,
        Edits::default(),
        template,
        ARCHITECTURES,
        correction.value,
    );
    Remedy::edits(summary, edits.finish())
        .complete_if(correction.is_certain && !is_unsupported && !becomes_partial)
}

/// Set the annotation to the workload architectures. Only a person knows which of them the image supports.
pub(super) fn list_architectures(
    facts: &Facts<'_>,
    template: &Template<'_>,
    census: &Census,
    summary: &str,
) -> Remedy {
    let value = workload_list(census);
    let edits = set_annotation(facts, Edits::default(), template, ARCHITECTURES, value);
    Remedy::edits(
        format!("{summary}; remove architectures that the image does not support"),
        edits.finish(),
    )
}

/// The workload architectures as the value of an annotation.
fn workload_list(census: &Census) -> String {
    let names: Vec<&str> = census.workload.keys().map(String::as_str).collect();
    names.join(",")
}

/// Enable a template of the spec.
pub(super) fn enable(facts: &Facts<'_>, template: &Template<'_>) -> Remedy {
    let edits = set_annotation(facts, Edits::default(), template, ENABLE, "true");
    Remedy::edits("enable the template", edits.finish())
}

/// Disable a template of the spec.
pub(super) fn disable(facts: &Facts<'_>, template: &Template<'_>) -> Remedy {
    let edits = set_annotation(facts, Edits::default(), template, ENABLE, "false");
    Remedy::edits("disable the template", edits.finish())
}

fn set_annotation(
    facts: &Facts<'_>,
    edits: Edits,
    template: &Template<'_>,
    name: &'static str,
    value: impl Into<Value>,
) -> Edits {
    let path = facts.path_of(template);
    let annotation = FieldPath::of(&["metadata", "annotations", name]);
    match template.json {
        // The template alone is looked at: a list of templates can be long.
        Some(json) => edits.set(&Located { path, json }, &annotation, value),
        None => {
            let path = path.keys(&["metadata", "annotations", name]);
            edits.set(&facts.hco.object, &path, value)
        }
    }
}

/// Remove the architectures annotation of a template.
pub(super) fn remove_annotation(facts: &Facts<'_>, template: &Template<'_>) -> Remedy {
    let path = facts.architectures_path(template);
    let edits = Edits::default().remove(path).finish();
    Remedy::edits("remove the annotation", edits)
}

/// Whether the SSP operator knows all architectures of the cluster. Otherwise it rejects its configuration, with the
/// import on or off.
pub(super) fn has_known_architectures(census: &Census) -> bool {
    let mut all = census.workload.keys().chain(&census.control_plane);
    all.all(|name| is_accepted_by_ssp(name))
}

/// The path of the workloads' placement as a whole.
pub(super) fn placement_path(facts: &Facts<'_>) -> FieldPath {
    let selector = &facts.hco.fields.node_selector.path;
    selector.parent().cloned().unwrap_or_default()
}

/// Names of architectures for people: at most six, each bounded.
pub(super) fn names<'n>(names: impl IntoIterator<Item = &'n String>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| escape(name, 32)).collect();
    text::list(&names, 6)
}
