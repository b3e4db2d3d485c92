//! The fixes that more than one rule gives: how to turn the import on, where to place the workloads, what
//! to write into an annotation.

use crate::architecture;
use crate::facts::Facts;
use crate::golden_image::Annotation;
use crate::hyperconverged::{ARCHITECTURES, Field};
use crate::import::GATE;
use crate::name::{is_dns1123_label, is_dns1123_subdomain};
use crate::node::Census;
use crate::request::Version;
use crate::text::plain;

/// How to turn the import on, in the version that was sent.
pub(super) fn enable_import(facts: &Facts<'_>) -> String {
    let field = facts.hco.path(Field::Import);
    // One edit for both, or the next answer is `architectures-missing`.
    let unsaid = facts.images.iter().any(|image| {
        image.template.is_some() && matches!(image.annotation, Annotation::Users(None | Some("")))
    });
    let together = if unsaid {
        format!(" and in the same edit annotate each template with {ARCHITECTURES}")
    } else {
        String::new()
    };
    let set = match (facts.hco.version, facts.hco.import.field) {
        (Version::V1beta1, _) | (Version::V1, Some(_)) => format!("set {field}: true{together}"),
        // The field exists since HCO 1.19; nothing in the object tells which one runs.
        (Version::V1, None) => match facts.hco.import.gate_index() {
            Some(index) => format!(
                "from HCO 1.19 on replace {gates}[{index}] by {field}: true, before that set its state to Enabled{together}",
                gates = facts.hco.path(Field::Gates)
            ),
            None => format!(
                "from HCO 1.19 on set {field}: true, before that add `- name: {GATE}` to {gates}{together}",
                gates = facts.hco.path(Field::Gates)
            ),
        },
    };
    // The version must be named: the preferred one is v1 from HCO 1.18 on, and it has no such gate.
    let patch = match (facts.hco.version, facts.hco.import.field) {
        (Version::V1beta1, _) => format!(r#"{{"spec":{{"featureGates":{{"{GATE}":true}}}}}}"#),
        (Version::V1, Some(_)) => format!(r#"{{"spec":{{"workloadSources":{{"{GATE}":true}}}}}}"#),
        (Version::V1, None) => return set,
    };
    if unsaid {
        // A patch of the import alone would be denied.
        return set;
    }
    let version = facts.hco.version.name();
    let name = &facts.hco.name;
    let name = if is_dns1123_subdomain(name) {
        name
    } else {
        "NAME"
    };
    let namespace = &facts.hco.namespace;
    let namespace = if is_dns1123_label(namespace) {
        namespace
    } else {
        "NAMESPACE"
    };
    format!(
        "{set} (on a live object: kubectl patch hyperconvergeds.{version}.hco.kubevirt.io {name} -n {namespace} --type merge -p '{patch}')"
    )
}

/// How to keep the workloads on one architecture.
pub(super) fn place_on(facts: &Facts<'_>, architecture: &str) -> String {
    format!(
        "set {}: {{kubernetes.io/arch: {}}}",
        facts.hco.path(Field::NodeSelector),
        plain(architecture, 32)
    )
}

/// The workloads' placement as a whole.
pub(super) fn placement_path(facts: &Facts<'_>) -> String {
    let selector = facts.hco.path(Field::NodeSelector);
    match selector.rsplit_once('.') {
        Some((placement, _)) => placement.to_owned(),
        None => selector,
    }
}

/// The architecture that HCO takes for VMs that ask for none.
///
/// MIRRORS: hyperconverged-cluster-operator pkg/internal/nodeinfo/architectures.go, set: the first of the
/// control plane if the workloads have it, else the most common of the workloads, ties by name.
pub(super) fn default_architecture(census: &Census) -> Option<&str> {
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

/// `ssp.kubevirt.io/dict.architectures: "amd64,arm64"`.
pub(super) fn annotation(value: &str) -> String {
    format!("{ARCHITECTURES}: \"{}\"", plain(value, 120))
}

/// The workload architectures as the value of an annotation.
pub(super) fn workload_value(census: &Census) -> String {
    let names: Vec<&str> = census.workload.keys().map(String::as_str).collect();
    names.join(",")
}

/// What to write instead of an annotation whose entries are not as they were meant.
pub(super) fn write_cleaned(value: &str, census: Option<&Census>) -> String {
    match (cleaned(value, census), census) {
        (cleaned, _) if !cleaned.is_empty() => format!("write {}", annotation(&cleaned)),
        (_, Some(census)) if !census.workload.is_empty() => {
            format!("write names as in {}", annotation(&workload_value(census)))
        }
        _ => format!("write names as in {}", annotation("amd64,arm64")),
    }
}

/// An annotation as it was meant: entries cleaned, none empty, none twice.
fn cleaned(value: &str, census: Option<&Census>) -> String {
    let mut entries: Vec<&str> = Vec::new();
    // Nobody pastes a value with more architectures than there are.
    for entry in value.split(',').take(64) {
        let is_workload = census.is_some_and(|census| census.workload.contains_key(entry));
        let entry = if is_workload || architecture::is_known(entry) {
            entry
        } else {
            architecture::meant(entry).unwrap_or_default()
        };
        if !entry.is_empty() && !entries.contains(&entry) {
            entries.push(entry);
        }
    }
    entries.join(",")
}

/// Names for people: at most six, each bounded.
pub(super) fn names<'n>(names: impl IntoIterator<Item = &'n String>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| plain(name, 32)).collect();
    crate::text::list(&names, 6)
}
