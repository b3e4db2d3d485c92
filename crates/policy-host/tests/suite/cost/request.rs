//! A request of several kinds of content.

use std::fmt::Write as _;

use super::content::{Generator, Place};

/// What happens to the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Situation {
    pub(super) change: Change,
    /// Whether the multi-architecture import is on.
    pub(super) import: bool,
    pub(super) has_many_nodes: bool,
}

/// What the user does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// The object is new.
    Created,
    /// The first item of each kind is another one.
    First,
    /// Each item is another one.
    Each,
}

/// An amount of one kind of content.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) generator: &'static Generator,
    pub(super) count: usize,
    /// After so many items they repeat.
    pub(super) period: usize,
}

impl Part {
    /// As many items as have so many bytes.
    pub(super) fn of(generator: &'static Generator, bytes: usize) -> Self {
        /// The number of an item that is neither short nor long.
        const USUAL: usize = 1_000;
        let count = match generator.place {
            Place::Settings => 1,
            _ => bytes / ((generator.item)(USUAL).len() + 1),
        };
        Self {
            generator,
            count: count.max(1),
            period: usize::MAX,
        }
    }
}

/// The payload of `validate`.
pub(super) fn payload(parts: &[Part], situation: Situation) -> Vec<u8> {
    let new = Object {
        parts,
        import: situation.import,
        change: None,
    };
    let version = new.version();
    let mut text = format!(
        r#"{{"request":{{"uid":"0","kind":{{"group":"hco.kubevirt.io","version":"{version}","kind":"HyperConverged"}},"object":{}"#,
        new.text()
    );
    // Writing to a String cannot fail.
    let _ = match situation.change {
        Change::Created => write!(text, r#","operation":"CREATE""#),
        change => {
            let old = Object {
                change: Some(change),
                ..new
            };
            write!(text, r#","operation":"UPDATE","oldObject":{}"#, old.text())
        }
    };
    let _ = write!(
        text,
        r#"}},"settings":{{{}}}}}"#,
        new.items(Place::Settings)
    );
    text.into_bytes()
}

/// One object.
#[derive(Clone, Copy)]
struct Object<'p> {
    parts: &'p [Part],
    import: bool,
    /// What differs, in the object before an update.
    change: Option<Change>,
}

impl Object<'_> {
    fn is_v1(&self) -> bool {
        self.has(Place::Gates)
    }

    fn version(&self) -> &'static str {
        if self.is_v1() { "v1" } else { "v1beta1" }
    }

    fn has(&self, place: Place) -> bool {
        self.parts.iter().any(|part| part.generator.place == place)
    }

    /// The items at a place.
    fn list(&self, place: Place) -> Vec<String> {
        let parts = self.parts.iter();
        let parts = parts.filter(|part| part.generator.place == place);
        let items = parts.flat_map(|part| {
            (0..part.count).map(|item| {
                let number = match self.change {
                    Some(Change::First) if item == 0 => 1_000_000,
                    Some(Change::Each) => item + 1,
                    _ => item,
                };
                (part.generator.item)(number % part.period)
            })
        });
        items.collect()
    }

    /// The same, separated by commas.
    fn items(&self, place: Place) -> String {
        self.list(place).join(",")
    }

    fn text(&self) -> String {
        let version = self.version();
        let name = self.list(Place::Name).concat();
        let annotations = self.annotations();
        let spec = self.spec();
        let [templates, objects, conditions, versions] = [
            Place::StatusTemplates,
            Place::RelatedObjects,
            Place::Conditions,
            Place::Versions,
        ]
        .map(|place| self.items(place));
        format!(
            r#"{{"apiVersion":"hco.kubevirt.io/{version}","kind":"HyperConverged","metadata":{{"name":"h{name}","namespace":"kubevirt-hyperconverged","annotations":{{{annotations}}}}},"spec":{spec},"status":{{"dataImportCronTemplates":[{templates}],"relatedObjects":[{objects}],"conditions":[{conditions}],"versions":[{versions}]}}}}"#
        )
    }

    fn annotations(&self) -> String {
        let mut members = self.list(Place::Annotations);
        for (place, name) in [
            (Place::SspPatch, "ssp.kubevirt.io/jsonpatch"),
            (Place::KubeVirtPatch, "kubevirt.kubevirt.io/jsonpatch"),
            (
                Place::CdiPatch,
                "containerizeddataimporter.kubevirt.io/jsonpatch",
            ),
            (Place::StoredGates, "hco.kubevirt.io/v1-only-fields"),
        ] {
            if self.has(place) {
                let mut value = format!("[{}]", self.items(place));
                if place == Place::StoredGates {
                    value = format!(r#"{{"featureGates":{value}}}"#);
                }
                members.push(format!(r#""{name}":"{}""#, value.replace('"', "\\\"")));
            }
        }
        members.join(",")
    }

    fn spec(&self) -> String {
        let mut templates = self.list(Place::Templates);
        if self.has(Place::Entries) {
            let entries = self.items(Place::Entries);
            // The first one: what was needed for its entries must not cost for each of the others.
            let template = format!(
                r#"{{"metadata":{{"name":"e","annotations":{{"ssp.kubevirt.io/dict.architectures":"{entries}"}}}},"spec":{{}}}}"#
            );
            templates.insert(0, template);
        }
        let templates = templates.join(",");
        let placement = format!(
            r#"{{"nodeSelector":{{{}}},"tolerations":[{}],"affinity":{{"nodeAffinity":{{"preferredDuringSchedulingIgnoredDuringExecution":[{}]{}}}}}}}"#,
            self.items(Place::NodeSelector),
            self.items(Place::Tolerations),
            self.items(Place::Preferred),
            required(&self.terms()),
        );
        let infra = required(&self.list(Place::InfraTerms));
        let infra = format!(
            r#"{{"affinity":{{"nodeAffinity":{{"preferredDuringSchedulingIgnoredDuringExecution":[]{infra}}}}}}}"#
        );
        let mut fields = self.list(Place::UnknownFields);
        fields.push(format!(r#""unknown":[{}]"#, self.items(Place::UnknownList)));
        if self.is_v1() {
            // Without the field, the gates decide.
            let import = if self.import {
                r#""enableMultiArchBootImageImport":true,"#
            } else {
                ""
            };
            fields.push(format!(
                r#""featureGates":[{}],"workloadSources":{{{import}"dataImportCronTemplates":[{templates}]}},"deployment":{{"nodePlacements":{{"workload":{placement},"infra":{infra}}}}}"#,
                self.items(Place::Gates)
            ));
        } else {
            fields.push(format!(
                r#""featureGates":{{"enableMultiArchBootImageImport":{}}},"dataImportCronTemplates":[{templates}],"workloads":{{"nodePlacement":{placement}}},"infra":{{"nodePlacement":{infra}}}"#,
                self.import
            ));
        }
        format!("{{{}}}", fields.join(","))
    }

    /// The terms of the required affinity of the workloads.
    fn terms(&self) -> Vec<String> {
        const REQUIREMENTS: usize = 200;
        let zone = |operator: &str, values: &str| {
            format!(
                r#"{{"matchExpressions":[{{"key":"zone","operator":"{operator}","values":[{values}]}}]}}"#
            )
        };
        let mut terms = self.list(Place::Terms);
        for (place, operator) in [
            (Place::In, "In"),
            (Place::NotIn, "NotIn"),
            (Place::Gt, "Gt"),
        ] {
            if self.has(place) {
                terms.push(zone(operator, &self.items(place)));
            }
        }
        let values = self.list(Place::ValuesOf200);
        let size = values.len().div_ceil(REQUIREMENTS).max(1);
        for values in values.chunks(size) {
            // Every zone is among the values, so that each requirement is compared with each node.
            terms.push(zone(
                "NotIn",
                &format!(r#""0","1","2",{}"#, values.join(",")),
            ));
        }
        if self.has(Place::Requirements) || self.has(Place::Fields) {
            let [requirements, fields] =
                [Place::Requirements, Place::Fields].map(|place| self.items(place));
            terms.push(format!(
                r#"{{"matchExpressions":[{requirements}],"matchFields":[{fields}]}}"#
            ));
        }
        terms
    }
}

/// The member of a node affinity with these terms; nothing without any.
fn required(terms: &[String]) -> String {
    if terms.is_empty() {
        return String::new();
    }
    let terms = terms.join(",");
    format!(
        r#","requiredDuringSchedulingIgnoredDuringExecution":{{"nodeSelectorTerms":[{terms}]}}"#
    )
}

/// A list of nodes of two architectures, in three zones.
pub(super) fn nodes(count: usize) -> Vec<u8> {
    let node = |number: usize| {
        let (architecture, zone) = (["amd64", "arm64"][number % 2], number % 3);
        format!(
            r#"{{"metadata":{{"name":"node-{number}","labels":{{"kubernetes.io/arch":"{architecture}","kubernetes.io/hostname":"node-{number}","node-role.kubernetes.io/worker":"","zone":"{zone}"}}}},"status":{{"nodeInfo":{{"architecture":"{architecture}"}}}}}}"#
        )
    };
    let items: Vec<String> = (0..count).map(node).collect();
    format!(r#"{{"kind":"NodeList","items":[{}]}}"#, items.join(",")).into_bytes()
}
