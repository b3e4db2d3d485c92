//! The input of the rules: one object of a request, its golden images, the nodes if a rule asks for them, and the images
//! that were looked up.

use std::collections::BTreeSet;

use kubernetes::path::FieldPath;
use operators::forecast::{Changes, Forecast, Given, Refused};
use operators::hco::architectures::Architectures;
use operators::hco::golden_image::{self, Annotation, CommonTemplates, GoldenImage};
use operators::hco::hyperconverged::HyperConverged;
use operators::hco::import::Import;
use operators::hco::node::Census;
use operators::hco::template::{ARCHITECTURES, Template};

use crate::images::{self, Images};
use crate::jsonpatch;
use crate::nodes::{Nodes, NodesError, Slot};
use crate::version::Version;

/// One object, as the rules see it.
pub(crate) struct Facts<'a> {
    pub(crate) hco: &'a HyperConverged<'a>,
    /// The object before the update, judged separately; `None` on creation, or if it cannot be read.
    pub(crate) old: Option<&'a Facts<'a>>,
    pub(crate) version: &'a Version,
    pub(crate) import: Import,
    pub(crate) common: &'a CommonTemplates,
    pub(crate) golden_images: Vec<GoldenImage<'a>>,
    pub(crate) nodes: &'a Nodes<'a>,
    /// The nodes for this object's placement.
    pub(crate) slot: Slot,
    /// The nodes that count if this object has no workload architectures: for the object before an update, those of the
    /// new one.
    pub(crate) instead: Slot,
    pub(crate) images: Images<'a>,
    /// The namespace of golden images.
    pub(crate) golden_namespace: &'a str,
    /// What the operators behind HCO will make of the object; `None` before that is known, if there are no golden images, if
    /// HCO or SSP refuses the object, or if a patch changes what SSP gets.
    pub(crate) forecast: Option<&'a Forecast<'a>>,
    /// What the update changes in the cluster.
    pub(crate) changes: Option<&'a Changes>,
}

/// A forecast, or who refuses the object.
pub(crate) type Prediction<'a> = Result<Forecast<'a>, Refused<'a>>;

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
            golden_images: golden_image::golden_images(hco, common),
            nodes,
            slot,
            instead: slot,
            images: Images::NotWanted,
            golden_namespace,
            forecast: None,
            changes: None,
        }
    }

    /// What SSP, CDI, and KubeVirt will make of the object. `None` if the nodes were not read, or if a patch changes what
    /// SSP gets.
    pub(crate) fn predict(&self) -> Option<Prediction<'a>> {
        self.given().map(|given| Forecast::new(&given))
    }

    /// The same for an object that HCO refuses, as the one before an update that corrects it: an update is not denied for
    /// another problem that was there.
    pub(crate) fn predict_despite_hco(&self) -> Option<Prediction<'a>> {
        self.given().map(|given| Forecast::despite_hco(&given))
    }

    fn given(&self) -> Option<Given<'a>> {
        let census = self.census_if_read()?;
        if jsonpatch::overrides(self.hco.patches.ssp.as_deref(), &jsonpatch::IN_SSP) {
            return None;
        }
        Some(Given {
            hco: self.hco,
            import: self.import,
            common: self.common,
            golden_namespace: self.golden_namespace,
            version: self.version.hco,
            census,
        })
    }

    /// The same object with its forecast.
    pub(crate) fn with_forecast<'b>(&self, forecast: Option<&'b Prediction<'b>>) -> Facts<'b>
    where
        'a: 'b,
    {
        Facts {
            golden_images: self.golden_images.clone(),
            forecast: forecast.and_then(|it| it.as_ref().ok()),
            ..*self
        }
    }

    /// The same object, before an update to an object with this placement.
    pub(crate) fn before(self, new: &HyperConverged<'_>) -> Self {
        Self {
            instead: self.nodes.slot(&new.placement),
            ..self
        }
    }

    /// The nodes, counted for this object's placement. They are listed if no rule asked before. `None` if the
    /// nodes cannot be read, which `nodes-unreadable` reports, or if the placement is too long to be compared with them,
    /// which denies the request.
    pub(crate) fn census(&self) -> Option<&'a Census> {
        self.nodes.read(self.slot.or(self.instead));
        self.census_if_read()
    }

    /// The nodes, if a rule asked for them.
    pub(crate) fn census_if_read(&self) -> Option<&'a Census> {
        let own = self.nodes.peek(self.slot);
        own.filter(|census| !census.workload.is_empty() || self.slot == self.instead)
            .or_else(|| self.nodes.peek(self.instead))
            .or(own)
    }

    /// The nodes for the object's own placement, if a rule asked for them.
    pub(crate) fn own_census_if_read(&self) -> Option<&'a Census> {
        self.nodes.peek(self.slot)
    }

    /// The nodes, for rules that compare with the workload architectures: also `None` if there are no workload
    /// architectures, which `no-workload-nodes` reports.
    pub(crate) fn workload(&self) -> Option<&'a Census> {
        self.census().filter(|census| !census.workload.is_empty())
    }

    /// Why the nodes cannot be read, if a rule asked for them.
    pub(crate) fn nodes_error(&self) -> Option<&'a NodesError> {
        self.nodes.error()
    }

    /// The architectures of an image, or why they are unknown; `None` if it is not looked up.
    pub(crate) fn architectures_of(
        &self,
        image: &GoldenImage<'_>,
    ) -> Option<Result<&BTreeSet<String>, &str>> {
        self.images.of(image.name, images::url(self.common, image)?)
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

    /// The path of the complete placement of the workloads.
    pub(crate) fn placement_path(&self) -> FieldPath {
        let selector = &self.hco.fields.node_selector.path();
        selector.parent().cloned().unwrap_or_default()
    }
}
