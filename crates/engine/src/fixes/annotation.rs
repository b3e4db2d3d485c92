//! Correct, complete, or remove the annotations of a template.

use std::borrow::Cow;
use std::collections::BTreeSet;

use kube_objects::edit::{PatchOperation, set};
use kube_objects::json::{Field, Object};
use kube_objects::name::is_dns1123_subdomain;
use kube_objects::text::quote;
use operator_models::hco::architectures::{entries, is_partial, lists, supported};
use operator_models::hco::golden_image::GoldenImage;
use operator_models::hco::template::{ARCHITECTURES, ENABLE, Source, Template};
use operator_models::ssp::architecture::is_known;
use serde_json::{Value, json};

use super::Fixes;
use crate::architecture::{corrected, is_architecture};
use crate::change::Side;
use crate::fix::Fix;
use crate::rule::{Level, Repair, Rule};
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
    Unusable,
}

#[derive(Clone)]
pub(crate) struct Annotations<'f> {
    object: Object<'f>,
    intended: String,
    /// Whether it is clear that this is the intended value.
    is_certain: bool,
}

impl<'f> Fixes<'_, 'f> {
    /// Correct the entries of an annotation. Complete if the intended value is clear, and if no other rule denies the
    /// template with the correction.
    pub(super) fn correct(&self, template: &Template<'f>) -> Vec<Fix> {
        let annotations = self.annotations_of(template);
        match self.fit(template, &annotations.intended) {
            Some(ImageAgreement::Wrong(value)) => vec![self.set_supported(template, value)],
            // Adding architectures is a decision, which the repair `normalise` does not make.
            Some(ImageAgreement::Partial(value)) => vec![
                self.set_supported(template, value),
                self.set_corrected(template),
            ],
            Some(ImageAgreement::Unusable) => {
                vec![self.another_image_or_placement(template)]
            }
            _ if annotations.intended.is_empty() => {
                vec![self.list_workload(template, "set the annotation")]
            }
            Some(ImageAgreement::Right) | None => {
                vec![self.set_corrected(template)]
            }
        }
    }

    /// List the workload architectures that the image supports. If the image is not looked up, only a person knows them.
    pub(super) fn list(&self, template: &Template<'f>, summary: &str) -> Fix {
        let annotations = self.annotations_of(template);
        match self.fit(template, &annotations.intended) {
            None => self.list_workload(template, summary),
            Some(ImageAgreement::Wrong(value) | ImageAgreement::Partial(value)) => {
                self.set_supported(template, value)
            }
            Some(ImageAgreement::Right) => self.set_corrected(template),
            Some(ImageAgreement::Unusable) => self.another_image_or_placement(template),
        }
    }

    /// Add architectures to the annotation. Complete if the registry confirms that the image supports all nodes.
    pub(super) fn add_missing(&self, template: &Template<'f>) -> Fix {
        let workload = self.workload();
        let fix = self.list(template, "set the annotation");
        let listed = supported(template.stated_architectures(), workload);
        let mut missing = workload
            .keys()
            .filter(|name| !listed.contains(name.as_str()));
        let Some(image) = self.supported(template) else {
            if missing.any(|name| is_known(name)) {
                return fix;
            }
            return Fix::advice("leave it, because SSP does not support the other architectures");
        };
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

    /// Add an entry that disables a common template. Its name can come from the status, which is not validated.
    pub(super) fn disable_common(&self, name: &str) -> Fix {
        let hco = self.configuration().hco;
        let templates = &hco.fields.templates;
        let list = templates.path();
        if !is_dns1123_subdomain(name) {
            return Fix::advice(format!(
                "disable the template: add an entry with its name and the annotation {ENABLE}: \"false\" to {list}"
            ));
        }
        let entry = json!({"metadata": {"annotations": {(ENABLE): "false"}, "name": name}});
        let mut patch = if templates.is_present() {
            Vec::new()
        } else {
            set(templates, json!([]))
        };
        let position = list.index(hco.templates.len());
        patch.push(PatchOperation::add(&position, entry));
        Fix::edits("disable the template", patch)
    }

    /// Whether a corrected annotation makes the policy look up the image of a template for the first time.
    pub(super) fn is_image_skipped(&self, template: &Template<'_>) -> bool {
        let images = self.change.images;
        images.is_skipped(self.configuration(), template)
    }

    /// How a value agrees with the image of a template; `None` if the image was not looked up.
    pub(super) fn fit(&self, template: &Template<'f>, value: &str) -> Option<ImageAgreement> {
        let (supported, workload) = (self.supported(template)?, self.workload());
        let (mut of_nodes, mut others): (Vec<&str>, Vec<&str>) = supported
            .iter()
            .map(String::as_str)
            .filter(|name| is_architecture(name))
            .partition(|name| workload.contains_key(*name));
        if let Some((_, only)) = self.configuration().preferred_architecture(template)
            && of_nodes.contains(&only)
        {
            // Disks can exist for the other architectures that are listed.
            of_nodes.retain(|name| *name == only || lists(value, name));
            others.clear();
        }
        if of_nodes.is_empty() && (others.is_empty() || !workload.is_empty()) {
            return Some(ImageAgreement::Unusable);
        }
        let listed = of_nodes.iter().filter(|name| lists(value, name)).count();
        let is_supported = entries(value).all(|entry| supported.contains(entry));
        let count = of_nodes.len();
        let by_image = [of_nodes, others].concat().join(",");
        Some(match (is_supported, listed) {
            (true, all) if all == count => ImageAgreement::Right,
            (true, 1..) => ImageAgreement::Partial(by_image),
            _ => ImageAgreement::Wrong(by_image),
        })
    }

    fn supported(&self, template: &Template<'f>) -> Option<&BTreeSet<String>> {
        let image = GoldenImage::of_spec(template);
        self.change
            .images
            .architectures_of(self.configuration(), &image)?
            .ok()
    }

    /// The advice for a template with one disk, if the value has several workload architectures.
    fn of_one_disk(&self, template: &Template<'f>, value: &str) -> Option<Fix> {
        let supported = supported(value, self.workload());
        let is_wrong = matches!(template.source, Source::Pvc) && supported.len() > 1;
        is_wrong.then(|| {
            Fix::advice("list only the architecture of the disk in the architectures annotation")
        })
    }

    fn set_corrected(&self, template: &Template<'f>) -> Fix {
        let annotations = self.annotations_of(template);
        let intended = annotations.intended.as_str();
        if let Some(fix) = self.of_one_disk(template, intended) {
            return fix;
        }
        let summary = if annotations.is_certain {
            "correct the annotation"
        } else {
            "correct the annotation; verify that this is the value that you intend"
        };
        let complete = annotations.is_certain
            && !self.is_image_skipped(template)
            && !self.is_denied(template, intended);
        let fix = self
            .annotate(summary, template, ARCHITECTURES, intended)
            .complete_if(complete);
        // A repair must not make decisions for the user.
        if complete {
            fix.with_repair(Repair::Normalise)
        } else {
            fix
        }
    }

    fn set_supported(&self, template: &Template<'f>, value: String) -> Fix {
        let complete = !self.is_denied(template, &value);
        let summary = match self.configuration().preferred_architecture(template) {
            Some((preference, only)) if value == only => format!(
                "set the annotation to {only}, because the default preference {} is for {only}",
                quote(preference)
            ),
            Some((_, only)) if lists(&value, only) => {
                format!("set the annotation to {value}")
            }
            _ => "set the annotation to the architectures of the image".to_owned(),
        };
        self.annotate(summary, template, ARCHITECTURES, value)
            .complete_if(complete)
            .with_repair(Repair::FromImage)
    }

    fn list_workload(&self, template: &Template<'f>, summary: &str) -> Fix {
        let names = self.workload().keys().map(String::as_str);
        // SSP does not support the others.
        let mut names: Vec<&str> = names.filter(|name| is_known(name)).collect();
        if names.is_empty() {
            return Fix::advice(format!(
                "{summary} with the architectures of the image, for example {ARCHITECTURES}: \"amd64,arm64\""
            ));
        }
        if let Some((preference, only)) = self.configuration().preferred_architecture(template)
            && names.contains(&only)
        {
            let intended = &self.annotations_of(template).intended;
            let listed = supported(intended, self.workload());
            names.retain(|name| *name == only || listed.contains(name));
            let kept = if names.len() > 1 {
                ", and keep the other listed architectures"
            } else {
                ""
            };
            let summary = format!(
                "{summary} with {only}, because its default preference {} is for {only}{kept}",
                quote(preference)
            );
            let value = names.join(",");
            return self
                .of_one_disk(template, &value)
                .unwrap_or_else(|| self.annotate(summary, template, ARCHITECTURES, value));
        }
        let value = names.join(",");
        self.of_one_disk(template, &value).unwrap_or_else(|| {
            let summary =
                format!("{summary}, and keep only the architectures that the image supports");
            self.annotate(summary, template, ARCHITECTURES, value)
        })
    }

    /// Recommend another image or placement, because none of these nodes can run this image.
    fn another_image_or_placement(&self, template: &Template<'f>) -> Fix {
        let none = BTreeSet::new();
        let supported = self.supported(template).unwrap_or(&none);
        let workload = names(self.workload().keys());
        let another = format!("use an image that supports {workload}");
        if supported.is_empty() {
            return Fix::advice(another);
        }
        Fix::advice(format!(
            "{another}, or, if no VM runs on the other nodes, place the workloads on nodes that this image supports ({})",
            names(supported)
        ))
    }

    /// Whether another rule denies the template with this value.
    fn is_denied(&self, template: &Template<'f>, value: &str) -> bool {
        let workload = self.workload();
        let denies = |rule: &Rule| self.settings.level(rule, Some(&template.name)) == Level::Deny;
        if supported(value, workload).is_empty() {
            return !workload.is_empty() && denies(&architectures_unsupported::RULE);
        }
        is_partial(value, workload)
            && !is_partial(template.stated_architectures(), workload)
            && denies(&architectures_partial::RULE)
    }

    pub(super) fn annotate(
        &self,
        summary: impl Into<String>,
        template: &Template<'f>,
        name: &'static str,
        value: impl Into<Value>,
    ) -> Fix {
        Fix::edits(summary, self.set_annotation(template, name, value))
    }

    pub(super) fn set_annotation(
        &self,
        template: &Template<'f>,
        name: &'static str,
        value: impl Into<Value>,
    ) -> Vec<PatchOperation> {
        set(&self.annotations_of(template).object.field(name), value)
    }

    fn annotations_of(&self, template: &Template<'f>) -> Cow<'_, Annotations<'f>> {
        match self.annotations.get(&template.index) {
            Some(annotations) => Cow::Borrowed(annotations),
            None => Cow::Owned(Annotations::new(&self.change.after, template)),
        }
    }
}

impl<'f> Annotations<'f> {
    /// Only the template is read again, because a list of templates can be long.
    pub(super) fn new(side: &Side<'f>, template: &Template<'f>) -> Self {
        let list = side.configuration.hco.fields.templates.path();
        let field = Field::item(&list, template.index, template.json);
        let stated = template.stated_architectures();
        let (intended, is_certain) = corrected(stated, side.workload());
        Self {
            object: field.object().object("metadata").object("annotations"),
            intended,
            is_certain,
        }
    }
}
