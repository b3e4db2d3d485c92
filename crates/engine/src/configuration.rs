//! A HyperConverged, and what follows from it without the nodes: its import and its golden images.

use std::collections::BTreeSet;
use std::iter;
use std::sync::Arc;

use kube_objects::path::FieldPath;
use operator_models::forecast::Changes;
use operator_models::hco::api_version::ApiVersion;
use operator_models::hco::architectures::supported;
use operator_models::hco::golden_image::{self, Annotation, CommonTemplates, GoldenImage};
use operator_models::hco::hyperconverged::HyperConverged;
use operator_models::hco::import::Import;
use operator_models::hco::jsonpatch::{self, SspPatch};
use operator_models::hco::node::Census;
use operator_models::hco::template::{ARCHITECTURES, Template};
use operator_models::hco::version::HcoVersion;
use operator_models::kubevirt::preference::only_architecture;

use crate::version::{StatedVersion, VersionSource};

/// Facts about HCO in the cluster, from a status and from the settings.
#[derive(Debug)]
pub(crate) struct Installation<'a> {
    pub(crate) version: HcoVersion,
    pub(crate) stated_version: StatedVersion,
    /// The object with the status that is used; `None` if the API server has not stored one.
    pub(crate) stored: Option<&'a HyperConverged<'a>>,
    pub(crate) common: CommonTemplates,
    pub(crate) golden_namespace: Arc<str>,
    pub(crate) deploys_golden_images: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Sent,
    /// The audit scanner sends the stored object.
    Audited,
    /// It is stored, and stays as it is or is the object before an update. HCO's webhook has already completed it.
    Stored,
    /// It is the object before an update, as a file has it.
    Written,
}

#[derive(Debug, Clone)]
pub(crate) struct Configuration<'a> {
    pub(crate) hco: &'a HyperConverged<'a>,
    pub(crate) installation: &'a Installation<'a>,
    pub(crate) origin: Origin,
    pub(crate) import: Import,
    /// The import in SSP, which a jsonpatch annotation can set.
    pub(crate) ssp_import: Import,
    /// Whether HCO's webhook denies the request, because the feature gate and the field contradict each other.
    pub(crate) contradicts_itself: bool,
    pub(crate) golden_images: Vec<GoldenImage<'a>>,
}

impl<'a> Configuration<'a> {
    /// An object that is created, or sent in an update of the object before.
    pub(crate) fn new(
        hco: &'a HyperConverged<'a>,
        installation: &'a Installation<'a>,
        origin: Origin,
        before: Option<&HyperConverged<'_>>,
    ) -> Self {
        let version = installation.version;
        let import_before = before.map(|before| &before.import);
        let import = match import_before {
            Some(before) => hco.import.resolve_update(before, version),
            None => hco.import.resolve(version),
        };
        let patch = SspPatch::new(hco.ssp_patch.as_deref(), iter::empty());
        Self {
            hco,
            installation,
            origin,
            import,
            ssp_import: patch.enables_import(import).into(),
            contradicts_itself: matches!(origin, Origin::Sent | Origin::Audited)
                && hco.import.gate_index(version).is_some()
                && hco.import.contradicts_itself(import_before, version),
            golden_images: golden_image::golden_images(hco, &installation.common),
        }
    }

    pub(crate) fn version(&self) -> HcoVersion {
        self.installation.version
    }

    /// Whether the object or the settings contain the version. Otherwise, it is the newest one, and a fix has to suit all
    /// versions.
    pub(crate) fn is_version_known(&self) -> bool {
        self.installation.stated_version.source != VersionSource::Default
    }

    /// Whether HCO deploys golden images, and there are some.
    pub(crate) fn has_golden_images(&self) -> bool {
        self.installation.deploys_golden_images && !self.golden_images.is_empty()
    }

    /// Whether KubeVirt accepts only VMs of virt-api's architecture.
    pub(crate) fn restricts_vms(&self) -> bool {
        self.is_version_known()
            && self.version().rejects_vms_without_import()
            && self.import == Import::Disabled
            && !self.hco.places_infra
            && !jsonpatch::enables_multi_architecture(self.hco.kubevirt_patch.as_deref())
    }

    /// The only architectures whose VMs KubeVirt accepts; `None` if it accepts all, or if virt-api's architecture is
    /// unknown.
    pub(crate) fn accepted_by_kubevirt<'c>(
        &self,
        census: &'c Census,
    ) -> Option<&'c BTreeSet<String>> {
        Some(&census.control_plane).filter(|names| self.restricts_vms() && !names.is_empty())
    }

    /// The templates that have, or may have, boot sources for several architectures, with these architectures.
    pub(crate) fn boot_sources_by_template<'c>(
        &'c self,
        census: &'c Census,
    ) -> impl Iterator<Item = (&'a Template<'a>, Annotation<'a>, BTreeSet<&'c str>)> {
        let is_on = self.ssp_import == Import::Enabled;
        self.golden_images
            .iter()
            .filter(move |_| is_on)
            .filter_map(|image| {
                let supported = supported(image.annotation.possible()?, &census.workload);
                let template = image.template.filter(|_| supported.len() > 1)?;
                Some((template, image.annotation, supported))
            })
    }

    /// The templates of the spec whose annotation HCO reads while the import is on, or may read, with its value.
    pub(crate) fn annotations(&self) -> impl Iterator<Item = (&'a Template<'a>, &'a str)> {
        self.golden_images
            .iter()
            .filter(|image| image.annotation.is_of_spec())
            .filter_map(|image| Some((image.template?, image.annotation.stated()?)))
    }

    /// The default preference of a template's boot sources. HCO keeps the labels of its own templates.
    pub(crate) fn default_preference<'t>(&self, template: &'t Template<'_>) -> Option<&'t str> {
        let is_common = self.installation.common.contains_key(&template.name);
        template
            .default_preference
            .as_deref()
            .filter(|_| !is_common)
    }

    /// The default preference and its architecture, if this version's preference is for one only.
    pub(crate) fn preferred_architecture<'t>(
        &self,
        template: &'t Template<'_>,
    ) -> Option<(&'t str, &'static str)> {
        let version = self.version();
        let preference = self
            .default_preference(template)
            .filter(|_| version.requires_architectures_in_preferences())?;
        Some((preference, only_architecture(preference)?))
    }

    pub(crate) fn path_of(&self, template: &Template<'_>) -> FieldPath {
        self.hco.fields.templates.path().index(template.index)
    }

    pub(crate) fn annotation_path(&self, template: &Template<'_>, name: &'static str) -> FieldPath {
        self.path_of(template)
            .keys(&["metadata", "annotations", name])
    }

    pub(crate) fn architectures_path(&self, template: &Template<'_>) -> FieldPath {
        self.annotation_path(template, ARCHITECTURES)
    }

    /// The path of a template's field by the index of the template, or of the field that makes HCO add the template.
    pub(crate) fn path_of_index(&self, index: Option<usize>, keys: &[&'static str]) -> FieldPath {
        match index {
            Some(index) => self.hco.fields.templates.path().index(index).keys(keys),
            None => self.hco.fields.common_import.path(),
        }
    }

    pub(crate) fn source_path(&self, template: &Template<'_>) -> FieldPath {
        self.path_of(template)
            .keys(&["spec", "template", "spec", "source"])
    }

    /// The path of a change to golden images. It is the most general changed field, because the others depend on it. Only
    /// a change of a template makes SSP create a DataImportCron again.
    pub(crate) fn changed_path(
        &self,
        before: Option<&Configuration<'_>>,
        changes: &Changes,
    ) -> FieldPath {
        let (fields, new) = (&self.hco.fields, self.hco);
        let crons = changes.crons.as_ref();
        match before {
            Some(old) if old.import != self.import => fields.import.path(),
            _ if crons.is_some_and(|changes| !changes.recreated.is_empty()) => {
                fields.templates.path()
            }
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
        let version = self.version();
        let gate = import.gate_index(version);
        let has_field = import.api_version == ApiVersion::V1beta1 || version.has_import_field();
        match gate {
            Some(index) if import.field.is_none() || !has_field => fields.gates.path().index(index),
            None if !has_field => fields.gates.path(),
            _ => fields.import.path(),
        }
    }

    /// The path of the field that enables the import. HCO before 1.16 has none, so there it is the placement.
    pub(crate) fn import_or_placement_path(&self) -> FieldPath {
        if self.version().has_import() {
            self.import_path()
        } else {
            self.placement_path()
        }
    }

    pub(crate) fn placement_path(&self) -> FieldPath {
        let selector = &self.hco.fields.node_selector.path();
        selector.parent().cloned().unwrap_or_default()
    }
}
