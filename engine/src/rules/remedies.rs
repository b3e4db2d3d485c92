//! The remedies that several rules use: enable the import, place the workloads, correct an annotation.

use std::collections::{BTreeMap, BTreeSet};

use kubernetes::edit::Edits;
use kubernetes::json::{Field, Kind};
use kubernetes::path::FieldPath;
use kubernetes::placement::ARCHITECTURE_LABEL;
use kubernetes::sorted;
use kubernetes::text::{self, escape};
use kubernetes::value::Value;
use operators::hco::api_version::ApiVersion;
use operators::hco::architectures::Architectures;
use operators::hco::golden_image::{Annotation, GoldenImage};
use operators::hco::hyperconverged::HyperConverged;
use operators::hco::import::{GATE, Import};
use operators::hco::node::Census;
use operators::hco::template::{ARCHITECTURES, ENABLE, Template};
use operators::kubevirt::default_architecture::default_architecture;
use operators::ssp::architecture::is_known;

use super::{
    RULES, architectures_missing, architectures_partial, architectures_unsupported,
    control_plane_architecture_differs, multi_arch_import_disabled,
};
use crate::architecture::{Correction, corrected, is_architecture};
use crate::facts::Facts;
use crate::findings::Identities;
use crate::remedy::{Remedy, Repair, merge_command};
use crate::rule::{Level, Rule};
use crate::settings::Updates;

/// Enable the import, and in the same change correct the annotations that HCO then reads.
pub(super) fn enable_import(facts: &Facts<'_>) -> Remedy {
    enable_import_if(true, facts)
}

/// Complete only if the import is needed. If it is not, or if the problem is carried over, no image is looked up.
fn enable_import_if(is_needed: bool, facts: &Facts<'_>) -> Remedy {
    let is_existing = || {
        let old = facts
            .old
            .filter(|_| facts.settings.updates == Updates::Ratchet);
        old.is_some_and(|old| old.import == Import::Disabled)
    };
    let remedy = facts.enable_import.get_or_init(|| {
        let is_offline = !is_needed || is_existing();
        let offline = is_offline.then(|| facts.without_registries());
        new_enable_import(offline.as_ref().unwrap_or(facts))
    });
    remedy.clone().complete_if(remedy.complete && is_needed)
}

fn new_enable_import(facts: &Facts<'_>) -> Remedy {
    let hco = facts.hco;
    let corrections = corrections(facts);
    let is_all = corrections.is_some();
    let corrections = corrections.unwrap_or_default();
    let revealed = revealed(facts, &corrections);
    let is_flag_alone = is_all && corrections.is_empty() && revealed.is_empty();
    let mut edits = set_import(hco);
    for (template, value) in corrections {
        edits = match value {
            Some(value) => set_annotation(facts, edits, template, ARCHITECTURES, value),
            None => edits.remove(facts.architectures_path(template)),
        };
    }

    // Before HCO 1.19, the field does not exist; the object does not contain the version of HCO.
    let needs_gate = hco.version == ApiVersion::V1 && hco.import.field.is_none();
    let mut summary = "enable the multi-architecture import".to_owned();
    if needs_gate {
        summary += " (HCO 1.19 and later read the field; earlier versions read the feature gate)";
    }
    if revealed.contains(architectures_missing::RULE.id) {
        summary += ", and in the same change add the architectures annotation to each template without one";
    } else if !revealed.is_empty() {
        let rules: Vec<&str> = revealed.iter().copied().collect();
        summary += ", and in the same change fix the problems that this reveals (";
        summary += &text::list(&rules, rules.len());
        summary += ")";
    }
    let command =
        (is_flag_alone && !needs_gate).then(|| merge_command(hco, &hco.fields.import.path(), true));
    Remedy::edits(summary, edits.finish())
        .complete_if(is_all && revealed.is_empty() && !facts.skips_images())
        .with_command(command)
        .with_repair(Repair::EnableImport)
}

/// Sets the field for the import, and in v1 the feature gate if it is listed or if there is no field: HCO 1.18 drops
/// the field silently, HCO 1.19 accepts both if they agree.
pub(crate) fn set_import(hco: &HyperConverged<'_>) -> Edits {
    let gate = |name: &str| Value::object([("name", name.into()), ("state", "Enabled".into())]);
    let list = &hco.fields.gates;
    let mut edits = Edits::default().set(&hco.fields.import, true);
    for (index, entry) in hco.import.gates.iter().enumerate() {
        if entry.is_import && !entry.enabled {
            edits = edits.replace(list.path().index(index), gate(&entry.name));
        }
    }
    let is_nowhere = hco.import.field.is_none() && hco.import.gate_index().is_none();
    if hco.version == ApiVersion::V1 && is_nowhere {
        // The empty object that an upgrade from HCO 1.18 leaves is not a list.
        if list.json().is_none_or(|json| json.kind() == Kind::Object) {
            edits = edits.set(list, Value::List(Vec::new()));
        }
        edits = edits.add(list.path().index(hco.import.gates.len()), gate(GATE));
    }
    edits
}

/// The annotations that HCO reads or ignores with the import on, and their new values: corrected if the intended
/// value is clear, and removed if HCO ignores them. `None` if there are more than fit into a message: then a
/// person has to check them.
fn corrections<'a>(facts: &Facts<'a>) -> Option<Vec<(&'a Template<'a>, Option<String>)>> {
    const MOST: usize = 32;
    let none = BTreeMap::new();
    let census = facts.census_if_read();
    let workload = census.map_or(&none, |census| &census.workload);
    let mut corrections = Vec::new();
    for image in &facts.images {
        let Some(template) = image.template else {
            continue;
        };
        let value = template.architectures.as_deref();
        match (image.annotation, value) {
            (Annotation::Spec(value), _) => {
                let corrected = corrected(Architectures(value.unwrap_or_default()), workload);
                let is_clear = corrected.is_certain && !corrected.value.is_empty();
                let supported = supported(facts, template);
                let wanted = match supported.map(|set| fit(set, workload, &corrected.value)) {
                    Some(Fit::Wrong(by_image) | Fit::Partial(by_image)) => Some(by_image),
                    Some(Fit::Unusable) => None,
                    Some(Fit::Right) | None => is_clear.then_some(corrected.value),
                };
                if let Some(wanted) = wanted.filter(|wanted| value != Some(wanted)) {
                    corrections.push((template, Some(wanted)));
                }
            }
            (Annotation::Shipped(shipped), Some(_)) if shipped != value => {
                corrections.push((template, None));
            }
            _ => {}
        }
        if corrections.len() > MOST {
            return None;
        }
    }
    Some(corrections)
}

/// The rules that deny the object with the import on and these corrections for a reason that they do not deny it for
/// now. If there are none, the remedy is complete.
fn revealed(
    facts: &Facts<'_>,
    corrections: &[(&Template<'_>, Option<String>)],
) -> BTreeSet<&'static str> {
    let mut corrections = corrections.iter().peekable();
    let images = facts.images.iter().map(|image| {
        let is_it = |(template, _): &&(&Template<'_>, _)| {
            image.template.is_some_and(|it| std::ptr::eq(it, *template))
        };
        match corrections.next_if(is_it) {
            Some((_, Some(value))) => GoldenImage {
                annotation: Annotation::Spec(Some(value)),
                ..image.clone()
            },
            _ => image.clone(),
        }
    });
    let after = facts.with_import(images.collect());
    let reveals = |rule: &&&'static Rule| {
        Identities::denials(rule, &after).exceed(&Identities::denials(rule, facts))
    };
    sorted::set(RULES.iter().filter(reveals).map(|rule| rule.id))
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
            .any(|rule| Identities::of(rule, facts).is_any());
    enable_import_if(is_needed, facts)
}

/// Place the workloads on one architecture: a remedy for each architecture that golden images support and that a
/// nodeSelector can select, HCO's default first.
pub(super) fn place(facts: &Facts<'_>, census: &Census, summary: &str) -> Vec<Remedy> {
    let default = default_architecture(census);
    let others = census.workload.keys().map(String::as_str);
    let others = others.filter(|name| Some(*name) != default);
    default
        .into_iter()
        .chain(others)
        .filter(|name| is_known(name) && is_selectable(census, name))
        .map(|name| place_on(facts, name, summary))
        .collect()
}

/// Whether nodes of the architecture, and no others, match the placement if it also requires the architecture's label.
/// The label can be missing or wrong, and an existing placement can exclude the architecture.
fn is_selectable(census: &Census, architecture: &str) -> bool {
    let selected = census.by_arch_label.get(architecture);
    selected.is_some_and(|selected| selected.iter().eq([architecture]))
}

fn place_on(facts: &Facts<'_>, architecture: &str, summary: &str) -> Remedy {
    let hco = facts.hco;
    let label = hco.fields.node_selector.object().field(ARCHITECTURE_LABEL);
    let edits = Edits::default().set(&label, architecture).finish();
    let command = merge_command(hco, &label.path(), architecture);
    Remedy::edits(summary, edits)
        .with_command(Some(command))
        .with_repair(Repair::PlaceOn(architecture.to_owned()))
}

/// Correct the entries of an annotation. Complete if the intended value is clear, and if no other rule denies the
/// template with the correction.
pub(super) fn correct(
    facts: &Facts<'_>,
    template: &Template<'_>,
    value: Architectures<'_>,
    census: &Census,
) -> Vec<Remedy> {
    let correction = corrected(value, &census.workload);
    let supported = supported(facts, template);
    let fit = supported.map(|set| (set, fit(set, &census.workload, &correction.value)));
    match fit {
        Some((_, Fit::Wrong(value))) => vec![set_supported(facts, template, census, value)],
        // Adding architectures is a decision, which the repair `normalise` does not make.
        Some((_, Fit::Partial(value))) => vec![
            set_supported(facts, template, census, value),
            set_corrected(facts, template, census, correction),
        ],
        Some((supported, Fit::Unusable)) => vec![another_image_or_placement(census, supported)],
        _ if correction.value.is_empty() => {
            vec![list_workload(facts, template, census, "set the annotation")]
        }
        Some((_, Fit::Right)) | None => vec![set_corrected(facts, template, census, correction)],
    }
}

fn set_corrected(
    facts: &Facts<'_>,
    template: &Template<'_>,
    census: &Census,
    correction: Correction,
) -> Remedy {
    let summary = if correction.is_certain {
        "correct the annotation"
    } else {
        "correct the annotation; verify that this is the value that you intend"
    };
    let complete = correction.is_certain
        && !facts.skips_images()
        && !is_denied(facts, template, census, &correction.value);
    let edits = set_annotation(
        facts,
        Edits::default(),
        template,
        ARCHITECTURES,
        correction.value,
    );
    let remedy = Remedy::edits(summary, edits.finish()).complete_if(complete);
    // A repair must not make decisions for the user.
    if complete {
        remedy.with_repair(Repair::Normalise)
    } else {
        remedy
    }
}

/// Whether another rule denies the template with this value.
fn is_denied(facts: &Facts<'_>, template: &Template<'_>, census: &Census, value: &str) -> bool {
    let denies = |rule| facts.settings.level(rule, Some(&template.name)) == Level::Deny;
    let before = Architectures(template.architectures.as_deref().unwrap_or_default());
    let before = before.supported(&census.workload);
    let after = Architectures(value).supported(&census.workload);
    let all = census.workload.len();
    let is_unsupported = after.is_empty() && all > 0 && denies(&architectures_unsupported::RULE);
    let becomes_partial = (before.is_empty() || before.len() == all)
        && after.len() < all
        && denies(&architectures_partial::RULE);
    is_unsupported || becomes_partial
}

/// Whether an annotation agrees with the image of its template. The values list what the image supports, starting with
/// the architectures of the nodes.
enum Fit {
    Right,
    /// It omits architectures of the nodes that the image supports.
    Partial(String),
    /// It lists an architecture that the image does not support, or none of the nodes.
    Wrong(String),
    /// No node can run the image.
    Unusable,
}

/// How a value agrees with an image that supports these architectures.
fn fit(supported: &BTreeSet<String>, workload: &BTreeMap<String, usize>, value: &str) -> Fit {
    let (of_nodes, others): (Vec<&str>, Vec<&str>) = supported
        .iter()
        .map(String::as_str)
        .filter(|name| is_architecture(name))
        .partition(|name| workload.contains_key(*name));
    if of_nodes.is_empty() && (others.is_empty() || !workload.is_empty()) {
        return Fit::Unusable;
    }
    let is_listed = |name: &&&str| Architectures(value).entries().any(|entry| entry == **name);
    let listed = of_nodes.iter().filter(is_listed).count();
    let mut entries = Architectures(value).entries();
    let is_supported = entries.all(|entry| supported.contains(entry));
    if is_supported && listed == of_nodes.len() {
        Fit::Right
    } else {
        let by_image = [of_nodes, others].concat().join(",");
        if is_supported && listed > 0 {
            Fit::Partial(by_image)
        } else {
            Fit::Wrong(by_image)
        }
    }
}

/// The architectures of a template's image, if they are known.
fn supported<'f>(facts: &'f Facts<'_>, template: &Template<'_>) -> Option<&'f BTreeSet<String>> {
    let image = GoldenImage::of_spec(template);
    facts.architectures_of(&image)?.ok()
}

/// Set the annotation to what the image supports.
fn set_supported(
    facts: &Facts<'_>,
    template: &Template<'_>,
    census: &Census,
    value: String,
) -> Remedy {
    let complete = !is_denied(facts, template, census, &value);
    let edits = set_annotation(facts, Edits::default(), template, ARCHITECTURES, value);
    let summary = "set the annotation to the architectures of the image";
    let remedy = Remedy::edits(summary, edits.finish()).complete_if(complete);
    remedy.with_repair(Repair::FromImage)
}

/// Recommend another image, because this one does not support the nodes.
fn another_image(census: &Census, supported: &BTreeSet<String>) -> Remedy {
    Remedy::advice(format!(
        "use an image that supports {}; this one supports only {}",
        names(census.workload.keys()),
        names(supported)
    ))
}

/// Recommend another image or placement, because none of these nodes can run this image.
fn another_image_or_placement(census: &Census, supported: &BTreeSet<String>) -> Remedy {
    Remedy::advice(format!(
        "use an image that supports {}, or place the workloads on nodes that this image supports ({})",
        names(census.workload.keys()),
        names(supported)
    ))
}

/// List the workload architectures that the image supports. If the image is not looked up, only a person knows them.
pub(super) fn list_architectures(
    facts: &Facts<'_>,
    template: &Template<'_>,
    census: &Census,
    summary: &str,
) -> Remedy {
    let Some(supported) = supported(facts, template) else {
        return list_workload(facts, template, census, summary);
    };
    let value = Architectures(template.architectures.as_deref().unwrap_or_default());
    let correction = corrected(value, &census.workload);
    match fit(supported, &census.workload, &correction.value) {
        Fit::Wrong(value) | Fit::Partial(value) => set_supported(facts, template, census, value),
        Fit::Right => set_corrected(facts, template, census, correction),
        Fit::Unusable => another_image_or_placement(census, supported),
    }
}

fn list_workload(
    facts: &Facts<'_>,
    template: &Template<'_>,
    census: &Census,
    summary: &str,
) -> Remedy {
    let value = workload_list(census);
    let edits = set_annotation(facts, Edits::default(), template, ARCHITECTURES, value);
    Remedy::edits(
        format!("{summary}, and keep only the architectures that the image supports"),
        edits.finish(),
    )
}

/// Add architectures to the annotation. Complete if the registry confirms that the image supports all nodes.
pub(super) fn add_architectures<'n>(
    facts: &Facts<'_>,
    template: &Template<'_>,
    census: &Census,
    mut missing: impl Iterator<Item = &'n String>,
) -> Remedy {
    let remedy = list_architectures(facts, template, census, "set the annotation");
    let Some(supported) = supported(facts, template) else {
        return remedy;
    };
    if !missing.any(|name| supported.contains(name)) {
        return another_image(census, supported);
    }
    let is_whole = census.workload.keys().all(|name| supported.contains(name));
    let complete = remedy.complete && is_whole;
    remedy.complete_if(complete)
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
    // Only the template is read again, because a list of templates can be long.
    let template = Field::item(
        &facts.hco.fields.templates.path(),
        template.index,
        template.json,
    );
    let annotations = template.object().object("metadata").object("annotations");
    edits.set(&annotations.field(name), value)
}

/// Remove the architectures annotation of a template.
pub(super) fn remove_annotation(facts: &Facts<'_>, template: &Template<'_>) -> Remedy {
    let path = facts.architectures_path(template);
    let edits = Edits::default().remove(path).finish();
    Remedy::edits("remove the annotation", edits)
}

/// Whether the SSP operator supports all architectures of the cluster. Otherwise, it rejects its configuration,
/// regardless of whether the import is on.
pub(super) fn has_known_architectures(census: &Census) -> bool {
    let mut all = census.workload.keys().chain(&census.control_plane);
    all.all(|name| is_known(name))
}

/// The path of a template's image.
pub(super) fn image_path(facts: &Facts<'_>, template: &Template<'_>) -> FieldPath {
    let source = ["spec", "template", "spec", "source", "registry", "url"];
    facts.path_of(template).keys(&source)
}

/// The path of the complete placement of the workloads.
pub(super) fn placement_path(facts: &Facts<'_>) -> FieldPath {
    let selector = &facts.hco.fields.node_selector.path();
    selector.parent().cloned().unwrap_or_default()
}

/// Names of architectures for users: at most six, each shortened.
pub(super) fn names<'n>(names: impl IntoIterator<Item = &'n String>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| escape(name, 32)).collect();
    text::list(&names, 6)
}
