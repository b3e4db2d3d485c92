//! The facts that do not depend on nodes or images: the fields of an object, and what its status and the settings add.

use std::ops::Deref;

use kube_objects::path::FieldPath;
use operator_models::hco::api_version::ApiVersion;
use operator_models::hco::architectures::Architectures;
use operator_models::hco::golden_image::{self, Annotation, CommonTemplates, GoldenImage};
use operator_models::hco::hyperconverged::HyperConverged;
use operator_models::hco::import::Import;
use operator_models::hco::template::{ARCHITECTURES, StatusTemplate, Template};

use crate::version::Version;

/// The environment of an object.
#[derive(Debug)]
pub(crate) struct Environment<'a> {
    pub(crate) version: Version,
    /// The templates that HCO ships.
    pub(crate) common: CommonTemplates,
    /// The common templates in the status.
    pub(crate) status_templates: &'a [StatusTemplate],
    /// The namespace of golden images.
    pub(crate) golden_namespace: &'a str,
    /// Whether HCO deploys golden images.
    pub(crate) deploys_golden_images: bool,
}

impl<'a> Deref for Stated<'a> {
    type Target = Environment<'a>;

    fn deref(&self) -> &Self::Target {
        self.environment
    }
}

/// An object, its import, and its golden images.
#[derive(Debug)]
pub(crate) struct Stated<'a> {
    pub(crate) hco: &'a HyperConverged<'a>,
    pub(crate) environment: &'a Environment<'a>,
    /// The import, as HCO resolves it.
    pub(crate) import: Import,
    /// The golden images that HCO keeps.
    pub(crate) golden_images: Vec<GoldenImage<'a>>,
    /// Whether it is the object before an update.
    pub(crate) is_before: bool,
    /// Whether HCO's webhook has already completed it, and will not change it again.
    pub(crate) is_completed: bool,
    /// The object before the update.
    pub(crate) before: Option<&'a Stated<'a>>,
}

impl<'a> Stated<'a> {
    /// An object that is created, or sent in an update.
    pub(crate) fn new(
        hco: &'a HyperConverged<'a>,
        environment: &'a Environment<'a>,
        before: Option<&'a Stated<'a>>,
    ) -> Self {
        let version = environment.version.hco;
        Self {
            hco,
            environment,
            import: match before {
                Some(before) => hco.import.resolve_update(&before.hco.import, version),
                None => hco.import.resolve(version),
            },
            golden_images: golden_image::golden_images(hco, &environment.common),
            is_before: false,
            is_completed: false,
            before,
        }
    }

    /// The object before an update. If the API server has stored it, HCO's webhook has already completed it.
    pub(crate) fn before(hco: &'a HyperConverged<'a>, environment: &'a Environment<'a>) -> Self {
        Self {
            is_before: true,
            is_completed: hco.is_stored,
            ..Self::new(hco, environment, None)
        }
    }

    /// The same object with other fields.
    pub(crate) fn corrected<'c>(&'c self, hco: &'c HyperConverged<'c>) -> Stated<'c> {
        Stated::new(hco, self.environment, self.before)
    }

    /// Whether HCO rejects the request because its feature gate and its field for the import contradict each other. HCO
    /// has already accepted the object before an update.
    pub(crate) fn contradicts_itself(&self) -> bool {
        let before = self.before.map(|before| &before.hco.import);
        let import = &self.hco.import;
        !self.is_before
            && import.gate_index(self.version.hco).is_some()
            && import.contradicts_itself(before, self.version.hco)
    }

    /// The templates of the spec whose annotation HCO reads, with its value. While the import is off, HCO reads none.
    pub(crate) fn annotations(
        &self,
    ) -> impl Iterator<Item = (&'a Template<'a>, Architectures<'a>)> {
        let images = match self.import {
            Import::Enabled => self.golden_images.as_slice(),
            Import::Disabled => &[],
        };
        images.iter().filter_map(|image| match image.annotation {
            Annotation::Spec(Some(value)) => Some((image.template?, Architectures(value))),
            _ => None,
        })
    }

    /// The path of a template.
    pub(crate) fn path_of(&self, template: &Template<'_>) -> FieldPath {
        self.hco.fields.templates.path().index(template.index)
    }

    /// The path of an annotation of a template.
    pub(crate) fn annotation_path(&self, template: &Template<'_>, name: &'static str) -> FieldPath {
        self.path_of(template)
            .keys(&["metadata", "annotations", name])
    }

    /// The path of a template's architectures annotation.
    pub(crate) fn architectures_path(&self, template: &Template<'_>) -> FieldPath {
        self.annotation_path(template, ARCHITECTURES)
    }

    /// The path of a template by its index, or of the field that makes HCO add it.
    pub(crate) fn path_of_index(&self, index: Option<usize>) -> FieldPath {
        match index {
            Some(index) => self.hco.fields.templates.path().index(index),
            None => self.hco.fields.common_import.path(),
        }
    }

    /// The path of a template's source.
    pub(crate) fn source_path(&self, template: &Template<'_>) -> FieldPath {
        self.path_of(template)
            .keys(&["spec", "template", "spec", "source"])
    }

    /// The path of a template's image.
    pub(crate) fn image_path(&self, template: &Template<'_>) -> FieldPath {
        self.source_path(template).keys(&["registry", "url"])
    }

    /// The path of a change to golden images. It is the most general changed field, because the others depend on it.
    pub(crate) fn changed_path(&self) -> FieldPath {
        let (fields, new) = (&self.hco.fields, self.hco);
        match self.before {
            Some(old) if old.import != self.import => fields.import.path(),
            Some(old) if old.hco.placement != new.placement => self.placement_path(),
            Some(old) if old.hco.imports_common != new.imports_common => {
                fields.common_import.path()
            }
            Some(old) if old.hco.common_namespace != new.common_namespace => {
                fields.common_namespace.path()
            }
            _ => fields.templates.path(),
        }
    }

    /// The path of the field that enables the import: in v1, the gate if it is set and the field is not, or if this
    /// version of HCO does not know the field.
    pub(crate) fn import_path(&self) -> FieldPath {
        let import = &self.hco.import;
        let fields = &self.hco.fields;
        let version = self.version.hco;
        let gate = import.gate_index(version);
        let has_field = import.api_version == ApiVersion::V1beta1 || version.has_import_field();
        match gate {
            Some(index) if import.field.is_none() || !has_field => fields.gates.path().index(index),
            None if !has_field => fields.gates.path(),
            _ => fields.import.path(),
        }
    }

    /// The path of the complete placement of the workloads.
    pub(crate) fn placement_path(&self) -> FieldPath {
        let selector = &self.hco.fields.node_selector.path();
        selector.parent().cloned().unwrap_or_default()
    }
}
