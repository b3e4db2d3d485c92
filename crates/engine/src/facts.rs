//! The input of the rules: an object, the nodes for its placement, the images that were looked up, and the forecast.

use std::collections::BTreeSet;
use std::ops::Deref;

use operator_models::cdi::image::{Contents, Unknown};
use operator_models::forecast::{self, Changes, Forecast, Given, Rejected, State};
use operator_models::hco::golden_image::{Annotation, GoldenImage};
use operator_models::hco::import::Import;
use operator_models::hco::jsonpatch;
use operator_models::hco::node::Census;
use operator_models::hco::template::Template;
use operator_models::kubevirt::default_architecture::default_architecture;

use crate::images;
use crate::nodes::{NodesError, NodesSource};
use crate::stated::Stated;
use crate::world::World;

/// One object with all facts that the rules use: its own fields, and the facts that follow from the cluster.
pub(crate) struct Facts<'a> {
    stated: &'a Stated<'a>,
    /// The object before the update; `None` on creation, or if it cannot be read.
    pub(crate) old: Option<&'a Facts<'a>>,
    pub(crate) world: &'a World<'a>,
    /// The nodes for this object's placement, whether a rule needs them or not.
    pub(crate) counted: Option<&'a Census>,
    /// The objects that SSP and CDI will create. `None` if the nodes are unknown, if HCO deploys no golden images, or if a
    /// patch changes the object that SSP gets.
    pub(crate) prediction: Option<Prediction<'a>>,
    /// The changes in the cluster that the update causes, if HCO and SSP accept both objects.
    pub(crate) changes: Option<Changes>,
    /// For the object before an update: the facts for rules about templates, if they differ.
    pub(crate) for_templates: Option<Box<Self>>,
}

/// A forecast, or the operator that rejects the object.
pub(crate) type Prediction<'a> = Result<Forecast<'a>, Rejected<'a>>;

impl<'a> Deref for Facts<'a> {
    type Target = Stated<'a>;

    fn deref(&self) -> &Self::Target {
        self.stated
    }
}

impl<'a> Facts<'a> {
    pub(crate) fn new(
        stated: &'a Stated<'a>,
        old: Option<&'a Facts<'a>>,
        world: &'a World<'a>,
    ) -> Self {
        let counted = world.census(stated);
        let given = counted.and_then(|census| given(stated, census));
        let prediction = given.map(|given| {
            if stated.contradicts_itself() {
                Err(Rejected::ByHco)
            } else {
                Forecast::new(&given)
            }
        });
        let mut facts = Self {
            stated,
            old,
            world,
            counted,
            prediction,
            changes: None,
            for_templates: None,
        };
        facts.changes = facts.find_changes();
        facts
    }

    /// The object before an update to `new`. A problem of an old template is an existing problem even if the placement
    /// matched no node, or if HCO rejected the object for another reason.
    pub(crate) fn before(stated: &'a Stated<'a>, new: &Stated<'_>, world: &'a World<'a>) -> Self {
        let mut before = Self::new(stated, None, world);
        let own = before.counted;
        let matches_no_node = own.is_some_and(|census| census.workload.is_empty());
        if matches_no_node || matches!(before.prediction, Some(Err(Rejected::ByHco))) {
            let counted = if matches_no_node {
                world.census(new)
            } else {
                own
            };
            let given = counted.and_then(|census| given(stated, census));
            before.for_templates = Some(Box::new(Self {
                stated,
                old: None,
                world,
                counted,
                prediction: given.map(|given| Forecast::despite_hco(&given)),
                changes: None,
                for_templates: None,
            }));
        }
        before
    }

    fn find_changes(&self) -> Option<Changes> {
        let after = self.forecast()?;
        let objects = self.world.objects;
        let before = match self.old.map(|old| old.prediction.as_ref()) {
            Some(Some(Ok(before))) => State::new(before),
            // If the object was rejected or does not exist, the operators created nothing. If a patch changed what SSP
            // got, only the objects show what the operators created.
            Some(Some(Err(_)) | None) | None if objects.is_some() => State::default(),
            _ => return None,
        };
        let before = match objects {
            Some(objects) => before.with(objects),
            None => before,
        };
        Some(forecast::changes(&before, Ok(after)))
    }

    /// The objects that SSP and CDI will create, if nothing rejects the object.
    pub(crate) fn forecast(&self) -> Option<&Forecast<'a>> {
        self.prediction.as_ref()?.as_ref().ok()
    }

    /// Why HCO or SSP rejects the object, so that there is no forecast.
    pub(crate) fn rejected(&self) -> Option<&Rejected<'a>> {
        self.prediction.as_ref()?.as_ref().err()
    }

    /// The forecast of an object that HCO rejects, as if the user had corrected it.
    pub(crate) fn forecast_despite_hco(&self) -> Option<Forecast<'a>> {
        match self.rejected()? {
            Rejected::ByHco => Forecast::despite_hco(&given(self.stated, self.counted?)?).ok(),
            _ => None,
        }
    }

    /// The nodes for this object's placement, if they can be read and a rule needs them.
    pub(crate) fn census(&self) -> Option<&'a Census> {
        self.counted.filter(|_| self.world.is_compared)
    }

    /// Where the nodes come from, if they could be read.
    pub(crate) fn nodes_source(&self) -> Option<&'a NodesSource> {
        let nodes = self.world.nodes.as_ref()?.as_ref().ok()?;
        Some(&nodes.source)
    }

    /// KubeVirt's default architecture, if HCO sets one and the nodes that decide about it are known.
    pub(crate) fn default_architecture(&self) -> Option<&'a str> {
        let default = self.default_architecture_of_nodes();
        default.filter(|_| self.version.hco.sets_defaults())
    }

    /// The architecture that HCO chooses as the default for these nodes.
    pub(crate) fn default_architecture_of_nodes(&self) -> Option<&'a str> {
        let census = self.counted?;
        match self.nodes_source()? {
            NodesSource::List => default_architecture(census),
            NodesSource::Status {
                default_architecture: Some(default),
            } => Some(default),
            // Without the numbers of the nodes, the most common architecture is not known.
            NodesSource::Status { .. } => {
                let first = census.control_plane.first();
                let first = first.filter(|first| census.workload.contains_key(*first));
                let mut workload = census.workload.keys();
                let only = workload.next().filter(|_| workload.next().is_none());
                first.or(only).map(String::as_str)
            }
        }
    }

    /// The nodes, for rules that compare with the workload architectures. `None` also if there are no workload
    /// architectures, which `no-workload-nodes` reports.
    pub(crate) fn workload(&self) -> Option<&'a Census> {
        self.census().filter(|census| !census.workload.is_empty())
    }

    /// The only architectures whose VMs KubeVirt accepts; `None` if it accepts all, or if virt-api's architecture is unknown.
    pub(crate) fn accepted_by_kubevirt(&self) -> Option<&'a BTreeSet<String>> {
        let control_plane = self.census().map(|census| &census.control_plane)?;
        let is_restricted = self.version.is_known
            && self.version.hco.rejects_vms_without_import()
            && self.import == Import::Disabled
            && !self.hco.places_infra;
        Some(control_plane).filter(|names| is_restricted && !names.is_empty())
    }

    /// The templates with boot sources for several architectures, with these architectures.
    pub(crate) fn boot_sources_by_template(
        &self,
    ) -> impl Iterator<Item = (&'a Template<'a>, Annotation<'a>, Vec<String>)> {
        let workload = self.workload().filter(|_| self.import == Import::Enabled);
        let images = workload.map_or(&[][..], |_| self.stated.golden_images.as_slice());
        images.iter().filter_map(move |image| {
            let supported = image.annotation.value()?.supported(&workload?.workload);
            let names: Vec<String> = supported.iter().map(|name| (*name).to_owned()).collect();
            let template = image.template?;
            (names.len() > 1).then_some((template, image.annotation, names))
        })
    }

    /// Why the nodes cannot be read, if a rule needs them.
    pub(crate) fn nodes_error(&self) -> Option<&'a NodesError> {
        let nodes = self.world.nodes.as_ref().filter(|_| self.world.is_compared);
        nodes?.as_ref().err()
    }

    /// The contents of an image, or why they are unknown; `None` if it is not looked up.
    pub(crate) fn contents_of(
        &self,
        image: &GoldenImage<'_>,
    ) -> Option<Result<&'a Contents, &'a Unknown>> {
        let images = &self.world.images;
        images.contents(image.name, images::url(&self.common, image)?)
    }

    /// The architectures that an image supports, or why not all of them are known; `None` if it is not looked up.
    pub(crate) fn architectures_of(
        &self,
        image: &GoldenImage<'_>,
    ) -> Option<Result<&'a BTreeSet<String>, &'a Unknown>> {
        let contents = self.contents_of(image)?;
        Some(
            contents.and_then(|contents| match contents.unreadable().next() {
                Some((_, why)) => Err(why),
                None => Ok(&contents.supported),
            }),
        )
    }
}

fn given<'a>(stated: &'a Stated<'a>, census: &'a Census) -> Option<Given<'a>> {
    let patch = stated.hco.patches.ssp.as_deref();
    let is_patched = jsonpatch::overrides(patch, &[jsonpatch::SSP_TEMPLATES]);
    (stated.deploys_golden_images && !is_patched).then_some(Given {
        hco: stated.hco,
        import: stated.import,
        patched_import: jsonpatch::patched_import(patch),
        common: &stated.common,
        golden_namespace: stated.golden_namespace,
        version: stated.version.hco,
        is_complete: stated.is_completed,
        census,
    })
}
