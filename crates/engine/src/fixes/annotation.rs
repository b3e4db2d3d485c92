//! Correct, complete, or remove the annotations of a template.

use std::collections::{BTreeMap, BTreeSet};

use kube_objects::edit::Edits;
use kube_objects::json::Field;
use kube_objects::name::is_dns1123_subdomain;
use kube_objects::value::Value;
use operator_models::hco::architectures::{Architectures, Coverage};
use operator_models::hco::golden_image::GoldenImage;
use operator_models::hco::node::Census;
use operator_models::hco::template::{ARCHITECTURES, ENABLE, Template};

use super::Fixes;
use crate::architecture::{Correction, corrected, is_architecture};
use crate::fix::{Fix, Repair};
use crate::rule::{Level, Rule};
use crate::rules::{architectures_partial, architectures_unsupported};
use crate::words::names;

/// Whether an annotation agrees with the image of its template. The values list what the image supports, starting with
/// the architectures of the nodes.
pub(super) enum ImageAgreement {
    Right,
    /// It omits architectures of the nodes that the image supports.
    Partial(String),
    /// It lists an architecture that the image does not support, or none of the nodes.
    Wrong(String),
    /// No node can run the image.
    Unusable,
}

impl Fixes<'_, '_> {
    /// Correct the entries of an annotation. Complete if the intended value is clear, and if no other rule denies the
    /// template with the correction.
    pub(super) fn correct(&self, template: &Template<'_>) -> Vec<Fix> {
        let none = Census::default();
        let census = self.facts.census().unwrap_or(&none);
        let correction = intended(template, census);
        match self.fit(template, &census.workload, &correction.value) {
            Some(ImageAgreement::Wrong(value)) => vec![self.set_supported(template, census, value)],
            // Adding architectures is a decision, which the repair `normalise` does not make.
            Some(ImageAgreement::Partial(value)) => vec![
                self.set_supported(template, census, value),
                self.set_corrected(template, census, correction),
            ],
            Some(ImageAgreement::Unusable) => {
                vec![self.another_image_or_placement(template, census)]
            }
            _ if correction.value.is_empty() => {
                vec![self.list_workload(template, census, "set the annotation")]
            }
            Some(ImageAgreement::Right) | None => {
                vec![self.set_corrected(template, census, correction)]
            }
        }
    }

    /// List the workload architectures that the image supports. If the image is not looked up, only a person knows them.
    pub(super) fn list(&self, template: &Template<'_>, summary: &str) -> Fix {
        let none = Census::default();
        let census = self.facts.census().unwrap_or(&none);
        let correction = intended(template, census);
        match self.fit(template, &census.workload, &correction.value) {
            None if census.workload.is_empty() => Fix::advice(format!(
                "{summary} with the architectures of the image, for example {ARCHITECTURES}: \"amd64,arm64\""
            )),
            None => self.list_workload(template, census, summary),
            Some(ImageAgreement::Wrong(value) | ImageAgreement::Partial(value)) => {
                self.set_supported(template, census, value)
            }
            Some(ImageAgreement::Right) => self.set_corrected(template, census, correction),
            Some(ImageAgreement::Unusable) => self.another_image_or_placement(template, census),
        }
    }

    /// Add architectures to the annotation. Complete if the registry confirms that the image supports all nodes.
    pub(super) fn add_missing(&self, template: &Template<'_>) -> Fix {
        let none = Census::default();
        let workload = &self.facts.census().unwrap_or(&none).workload;
        let fix = self.list(template, "set the annotation");
        let Some(image) = self.supported(template) else {
            return fix;
        };
        let value = Architectures(template.architectures.as_deref().unwrap_or_default());
        let listed = value.supported(workload);
        let mut missing = workload
            .keys()
            .filter(|name| !listed.contains(name.as_str()));
        if !missing.any(|name| image.contains(name)) {
            return Fix::advice(format!(
                "use an image that supports {}; this one supports only {}",
                names(workload.keys()),
                names(image)
            ));
        }
        let is_whole = workload.keys().all(|name| image.contains(name));
        let complete = fix.complete && is_whole;
        fix.complete_if(complete)
    }

    /// Remove the architectures annotation of a template.
    pub(super) fn remove_annotation(&self, template: &Template<'_>) -> Fix {
        let path = self.facts.architectures_path(template);
        Fix::edits(
            "remove the annotation",
            Edits::default().remove(path).finish(),
        )
    }

    /// Enable a template of the spec.
    pub(super) fn enable(&self, template: &Template<'_>) -> Fix {
        let edits = self.set_annotation(Edits::default(), template, ENABLE, "true");
        Fix::edits("enable the template", edits.finish())
    }

    /// Disable a template of the spec.
    pub(super) fn disable(&self, template: &Template<'_>) -> Fix {
        let edits = self.set_annotation(Edits::default(), template, ENABLE, "false");
        Fix::edits("disable the template", edits.finish())
    }

    /// Add an entry that disables a common template. Its name can come from the status, which is not validated.
    pub(super) fn disable_common(&self, name: &str) -> Fix {
        let hco = self.facts.hco;
        let templates = &hco.fields.templates;
        let list = templates.path();
        if !is_dns1123_subdomain(name) {
            return Fix::advice(format!(
                "disable the template: add an entry with its name and the annotation {ENABLE}: \"false\" to {list}"
            ));
        }
        let annotations = Value::object([(ENABLE, "false".into())]);
        let metadata = Value::object([("annotations", annotations), ("name", name.into())]);
        let entry = Value::object([("metadata", metadata)]);
        let mut edits = Edits::default();
        if !templates.is_present() {
            edits = edits.set(templates, Value::List(Vec::new()));
        }
        let edits = edits.add(list.index(hco.templates.len()), entry);
        Fix::edits("disable the template", edits.finish())
    }

    /// How a value agrees with the image of a template; `None` if the image was not looked up.
    pub(super) fn fit(
        &self,
        template: &Template<'_>,
        workload: &BTreeMap<String, usize>,
        value: &str,
    ) -> Option<ImageAgreement> {
        Some(fit(self.supported(template)?, workload, value))
    }

    /// The architectures of a template's image, if they are known.
    fn supported(&self, template: &Template<'_>) -> Option<&BTreeSet<String>> {
        let image = GoldenImage::of_spec(template);
        self.facts.architectures_of(&image)?.ok()
    }

    fn set_corrected(
        &self,
        template: &Template<'_>,
        census: &Census,
        correction: Correction,
    ) -> Fix {
        let summary = if correction.is_certain {
            "correct the annotation"
        } else {
            "correct the annotation; verify that this is the value that you intend"
        };
        let complete = correction.is_certain
            && !self.skips_images()
            && !self.is_denied(template, census, &correction.value);
        let edits =
            self.set_annotation(Edits::default(), template, ARCHITECTURES, correction.value);
        let fix = Fix::edits(summary, edits.finish()).complete_if(complete);
        // A repair must not make decisions for the user.
        if complete {
            fix.with_repair(Repair::Normalise)
        } else {
            fix
        }
    }

    /// Set the annotation to what the image supports.
    fn set_supported(&self, template: &Template<'_>, census: &Census, value: String) -> Fix {
        let complete = !self.is_denied(template, census, &value);
        let edits = self.set_annotation(Edits::default(), template, ARCHITECTURES, value);
        let summary = "set the annotation to the architectures of the image";
        let fix = Fix::edits(summary, edits.finish()).complete_if(complete);
        fix.with_repair(Repair::FromImage)
    }

    /// List the architectures of the nodes.
    fn list_workload(&self, template: &Template<'_>, census: &Census, summary: &str) -> Fix {
        let value: Vec<&str> = census.workload.keys().map(String::as_str).collect();
        let value = value.join(",");
        let edits = self.set_annotation(Edits::default(), template, ARCHITECTURES, value);
        Fix::edits(
            format!("{summary}, and keep only the architectures that the image supports"),
            edits.finish(),
        )
    }

    /// Recommend another image or placement, because none of these nodes can run this image.
    fn another_image_or_placement(&self, template: &Template<'_>, census: &Census) -> Fix {
        let none = BTreeSet::new();
        let supported = self.supported(template).unwrap_or(&none);
        let another = format!(
            "use an image that supports {}",
            names(census.workload.keys())
        );
        if supported.is_empty() {
            return Fix::advice(another);
        }
        Fix::advice(format!(
            "{another}, or, if no VM runs on the other nodes, place the workloads on nodes that this image supports ({})",
            names(supported)
        ))
    }

    /// Whether another rule denies the template with this value.
    fn is_denied(&self, template: &Template<'_>, census: &Census, value: &str) -> bool {
        let denies = |rule: &Rule| self.settings.level(rule, Some(&template.name)) == Level::Deny;
        let before = Architectures(template.architectures.as_deref().unwrap_or_default());
        match Architectures(value).coverage(&census.workload) {
            Coverage::None => {
                !census.workload.is_empty() && denies(&architectures_unsupported::RULE)
            }
            Coverage::Some => {
                before.coverage(&census.workload) != Coverage::Some
                    && denies(&architectures_partial::RULE)
            }
            Coverage::All => false,
        }
    }

    pub(super) fn set_annotation(
        &self,
        edits: Edits,
        template: &Template<'_>,
        name: &'static str,
        value: impl Into<Value>,
    ) -> Edits {
        // Only the template is read again, because a list of templates can be long.
        let list = self.facts.hco.fields.templates.path();
        let template = Field::item(&list, template.index, template.json);
        let annotations = template.object().object("metadata").object("annotations");
        edits.set(&annotations.field(name), value)
    }
}

/// The intended value of a template's annotation.
fn intended(template: &Template<'_>, census: &Census) -> Correction {
    let value = template.architectures.as_deref().unwrap_or_default();
    corrected(Architectures(value), &census.workload)
}

/// How a value agrees with an image that supports these architectures.
fn fit(
    supported: &BTreeSet<String>,
    workload: &BTreeMap<String, usize>,
    value: &str,
) -> ImageAgreement {
    let (of_nodes, others): (Vec<&str>, Vec<&str>) = supported
        .iter()
        .map(String::as_str)
        .filter(|name| is_architecture(name))
        .partition(|name| workload.contains_key(*name));
    if of_nodes.is_empty() && (others.is_empty() || !workload.is_empty()) {
        return ImageAgreement::Unusable;
    }
    let is_listed = |name: &&&str| Architectures(value).entries().any(|entry| entry == **name);
    let listed = of_nodes.iter().filter(is_listed).count();
    let mut entries = Architectures(value).entries();
    let is_supported = entries.all(|entry| supported.contains(entry));
    if is_supported && listed == of_nodes.len() {
        ImageAgreement::Right
    } else {
        let by_image = [of_nodes, others].concat().join(",");
        if is_supported && listed > 0 {
            ImageAgreement::Partial(by_image)
        } else {
            ImageAgreement::Wrong(by_image)
        }
    }
}
