//! The input of the rules: one object of a request, its golden images, the nodes if a rule asks for them, and the images
//! that were looked up.

use std::rc::Rc;

use kube_objects::path::FieldPath;
use kube_objects::sorted::Set;
use operator_models::cdi::image::{Contents, Unknown};
use operator_models::forecast::{Changes, Forecast, Given, Rejected};
use operator_models::hco::api_version::ApiVersion;
use operator_models::hco::architectures::Architectures;
use operator_models::hco::golden_image::{self, Annotation, CommonTemplates, GoldenImage};
use operator_models::hco::hyperconverged::HyperConverged;
use operator_models::hco::import::Import;
use operator_models::hco::jsonpatch;
use operator_models::hco::node::Census;
use operator_models::hco::template::{ARCHITECTURES, Template};

use crate::images::{self, Images};
use crate::nodes::{Nodes, Slot};
use crate::version::Version;

/// One object, as the rules see it.
#[derive(Clone)]
pub(crate) struct Facts<'a> {
    pub(crate) hco: &'a HyperConverged<'a>,
    /// The object before the update, judged separately; `None` on creation, or if it cannot be read.
    pub(crate) old: Option<&'a Facts<'a>>,
    pub(crate) version: &'a Version,
    pub(crate) import: Import,
    pub(crate) common: &'a CommonTemplates,
    /// Shared by the copies of these facts.
    pub(crate) golden_images: Rc<[GoldenImage<'a>]>,
    pub(crate) nodes: &'a Nodes<'a>,
    /// Whether a rule that asks for the nodes makes the policy read them. Once all findings are known, only those that were
    /// read before are there: nodes are never read for words alone.
    pub(crate) reads_nodes: bool,
    /// The nodes for this object's placement.
    pub(crate) slot: Slot,
    /// The nodes that count if this object has no workload architectures: for the object before an update, those of the
    /// new one.
    pub(crate) instead: Slot,
    /// Whether it is the object before an update.
    pub(crate) is_before: bool,
    /// Whether nobody sends the object: it stays as it is stored, and only the cluster around it changes.
    pub(crate) is_unsent: bool,
    pub(crate) images: Images<'a>,
    /// The namespace of golden images.
    pub(crate) golden_namespace: &'a str,
    /// What the operators behind HCO will make of the object; `None` before that is known, if there are no golden images, if
    /// HCO or SSP rejects the object, or if a patch changes what SSP gets.
    pub(crate) forecast: Option<&'a Forecast<'a>>,
    /// Why HCO or SSP rejects the object, so that there is no forecast.
    pub(crate) rejected: Option<&'a Rejected<'a>>,
    /// What the update changes in the cluster.
    pub(crate) changes: Option<&'a Changes>,
}

/// A forecast, or who rejects the object.
pub(crate) type Prediction<'a> = Result<Forecast<'a>, Rejected<'a>>;

impl<'a> Facts<'a> {
    pub(crate) fn new(
        hco: &'a HyperConverged<'a>,
        old: Option<&'a Facts<'a>>,
        version: &'a Version,
        common: &'a CommonTemplates,
        nodes: &'a Nodes<'a>,
        golden_namespace: &'a str,
    ) -> Self {
        let slot = nodes.slot(&hco.placement);
        Self {
            hco,
            old,
            version,
            import: match old {
                Some(old) => hco.import.resolve_update(&old.hco.import, version.hco),
                None => hco.import.resolve(version.hco),
            },
            common,
            golden_images: golden_image::golden_images(hco, common).into(),
            nodes,
            reads_nodes: true,
            slot,
            instead: slot,
            is_before: false,
            is_unsent: false,
            images: Images::NotWanted,
            golden_namespace,
            forecast: None,
            rejected: None,
            changes: None,
        }
    }

    /// Whether HCO rejects the request because of its feature gate and its field for the import.
    pub(crate) fn contradicts_itself(&self) -> bool {
        let before = self.old.map(|old| &old.hco.import);
        let import = &self.hco.import;
        import.gate_index(self.version.hco).is_some()
            && import.contradicts_itself(before, self.version.hco)
    }

    /// What SSP, CDI, and KubeVirt will make of the object. `None` if the nodes were not read, or if a patch changes what
    /// SSP gets. What is the same in another object is not read again.
    pub(crate) fn predict(&self, other: Option<&Forecast<'a>>) -> Option<Prediction<'a>> {
        self.predict_on(self.census_if_read()?, other)
    }

    /// What the operators will make of the object for its own placement, although it matches no node.
    pub(crate) fn predict_on_no_nodes(&self) -> Option<Prediction<'a>> {
        let census = self.nodes.peek(self.slot)?;
        if self.slot == self.instead || !census.workload.is_empty() {
            return None;
        }
        self.predict_on(census, None)
    }

    /// What the operators would make of an object that HCO rejects, as the one before an update that corrects it: an update
    /// is not denied for another problem that was there.
    pub(crate) fn predict_despite_hco(&self) -> Option<Prediction<'a>> {
        let given = self.given(self.census_if_read()?)?;
        Some(Forecast::despite_hco(&given))
    }

    /// What the operators will make of the object on these nodes.
    pub(crate) fn predict_on(
        &self,
        census: &'a Census,
        other: Option<&Forecast<'a>>,
    ) -> Option<Prediction<'a>> {
        let given = self.given(census)?;
        // The object before an update was accepted as a part of another request.
        if !self.is_before && self.contradicts_itself() {
            return Some(Err(Rejected::ByHco));
        }
        let other = other.map_or(&[][..], |other| &other.templates);
        Some(Forecast::beside(&given, other))
    }

    fn given(&self, census: &'a Census) -> Option<Given<'a>> {
        if jsonpatch::overrides(self.hco.patches.ssp.as_deref(), &jsonpatch::IN_SSP) {
            return None;
        }
        Some(Given {
            hco: self.hco,
            import: self.import,
            common: self.common,
            golden_namespace: self.golden_namespace,
            version: self.version.hco,
            // HCO's webhook has completed an object that the API server has, as the HCO of that time does, and completes every
            // one that is sent.
            is_complete: (self.is_before || self.is_unsent) && self.hco.is_stored,
            census,
        })
    }

    /// The same object with its forecast.
    pub(crate) fn with_forecast<'b>(&self, forecast: Option<&'b Prediction<'b>>) -> Facts<'b>
    where
        'a: 'b,
    {
        Facts {
            golden_images: Rc::clone(&self.golden_images),
            forecast: forecast.and_then(|it| it.as_ref().ok()),
            rejected: forecast.and_then(|it| it.as_ref().err()),
            ..*self
        }
    }

    /// The same object, for which no nodes are read any more.
    pub(crate) fn without_reading_nodes(&self) -> Self {
        Self {
            reads_nodes: false,
            ..self.clone()
        }
    }

    /// The same object, before an update to an object with this placement.
    pub(crate) fn before(self, new: &HyperConverged<'_>) -> Self {
        Self {
            instead: self.nodes.slot(&new.placement),
            is_before: true,
            ..self
        }
    }

    /// The nodes, counted for this object's placement. They are listed if no rule asked before. `None` if the
    /// nodes cannot be read, which `nodes-unreadable` reports, or if the placement is too long to be compared with them,
    /// which denies the request.
    pub(crate) fn census(&self) -> Option<&'a Census> {
        if self.reads_nodes {
            self.nodes.need(self.slot.or(self.instead));
        }
        self.try_census()
    }

    /// The same for what decides nothing, a warning or the words of a fix: it does not matter if the nodes cannot be read, or
    /// if the placement is too long.
    pub(crate) fn try_census(&self) -> Option<&'a Census> {
        if self.reads_nodes && self.slot.or(self.instead).is_some() {
            self.nodes.list();
        }
        self.census_if_read()
    }

    /// The same for what is decided or written once the nodes are read: nothing is read.
    pub(crate) fn census_if_read(&self) -> Option<&'a Census> {
        let own = self.nodes.peek(self.slot);
        own.filter(|census| !census.workload.is_empty() || self.slot == self.instead)
            .or_else(|| self.nodes.peek(self.instead))
            .or(own)
    }

    /// The nodes, for rules that compare with the workload architectures: also `None` if there are no workload
    /// architectures, which `no-workload-nodes` reports.
    pub(crate) fn workload(&self) -> Option<&'a Census> {
        self.census().filter(|census| !census.workload.is_empty())
    }

    /// What an image has, or why that is unknown; `None` if it is not looked up.
    pub(crate) fn contents_of(
        &self,
        image: &GoldenImage<'_>,
    ) -> Option<Result<&Contents, &Unknown>> {
        self.images.of(image.name, images::url(self.common, image)?)
    }

    /// The architectures that an image supports, or why not all of them are known; `None` if it is not looked up.
    pub(crate) fn architectures_of(
        &self,
        image: &GoldenImage<'_>,
    ) -> Option<Result<&Set<String>, &Unknown>> {
        let contents = self.contents_of(image)?;
        Some(
            contents.and_then(|contents| match contents.unreadable().next() {
                Some((_, why)) => Err(why),
                None => Ok(&contents.supported),
            }),
        )
    }

    /// The templates of the spec whose annotation HCO reads, with its value. While the import is off, HCO reads none.
    pub(crate) fn annotations(
        &self,
    ) -> impl Iterator<Item = (&'a Template<'a>, Architectures<'a>)> {
        let images: &[GoldenImage<'a>] = match self.import {
            Import::Enabled => &self.golden_images,
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

    /// The path of a template by its index, or of the field because of which HCO adds it.
    pub(crate) fn path_of_index(&self, index: Option<usize>) -> FieldPath {
        match index {
            Some(index) => self.hco.fields.templates.path().index(index),
            None => self.hco.fields.common_import.path(),
        }
    }

    /// The path of a template's image.
    pub(crate) fn image_path(&self, template: &Template<'_>) -> FieldPath {
        let source = ["spec", "template", "spec", "source", "registry", "url"];
        self.path_of(template).keys(&source)
    }

    /// The path of what an update changes about golden images: the most general field, because the others follow from it.
    pub(crate) fn changed_path(&self) -> FieldPath {
        let (fields, new) = (&self.hco.fields, self.hco);
        match self.old {
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
