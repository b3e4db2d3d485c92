//! Everything that is read for a request about a HyperConverged: the nodes, then the images for their architectures. For a
//! VirtualMachine, see [`Context`]. Nothing else calls the host.
//!
//! [`Context`]: crate::context::Context

use std::collections::BTreeSet;

use kube_objects::placement::Placement;
use operator_models::cdi::image::Registry;
use operator_models::forecast::Objects;
use operator_models::hco::golden_image::{Annotation, GoldenImage};
use operator_models::hco::hyperconverged::HyperConverged;
use operator_models::hco::import::Import;
use operator_models::hco::node::Census;

use crate::change::{Change, Side, find_changes};
use crate::cluster::{Cluster, Unreadable};
use crate::configuration::{Configuration, Origin};
use crate::images::{self, Images};
use crate::needs::node_level;
use crate::nodes::Nodes;
use crate::request::HyperConvergedRequest;
use crate::rule::{Level, Repair};
use crate::rules::{CHECKS, Check, RULES};
use crate::settings::{ImageChecks, Settings};

#[derive(Debug)]
pub(crate) struct Inputs<'a> {
    /// The nodes; `None` if they are not needed.
    pub(crate) nodes: Option<Result<Nodes<'a>, Unreadable>>,
    nodes_before: Option<Nodes<'a>>,
    /// The existing objects, which replace the forecast for the old object.
    pub(crate) objects: Option<&'a Objects<'a>>,
    pub(crate) images: Images,
}

impl<'a> Inputs<'a> {
    /// Reads the nodes, then the images. For a report, the nodes are always listed, because it shows their numbers.
    pub(crate) fn read(
        request: &'a HyperConvergedRequest<'a>,
        before: Option<&'a Configuration<'a>>,
        after: &'a Configuration<'a>,
        host: &dyn Cluster,
    ) -> Self {
        let (settings, comparison) = (&request.settings, request.comparison);
        let is_needed = node_level(before, after, settings).is_some();
        let placements: Vec<&Placement> = [&after.hco.placement]
            .into_iter()
            .chain(before.map(|before| &before.hco.placement))
            .chain(&request.proposed_placements)
            .collect();
        let status =
            node_info(after).filter(|_| !request.wants_report && !settings.repairs_by_placement());
        let nodes = (is_needed || request.wants_report).then(|| match status {
            Some(census) => Ok(Nodes::from_status(census.clone(), &after.hco.placement)),
            None => Nodes::read(host, settings.service_account.as_ref(), &placements),
        });
        let nodes_before = comparison
            .and_then(|comparison| comparison.nodes_before)
            .and_then(|list| Nodes::parse(list.as_bytes(), &placements).ok());
        let current = nodes.as_ref().and_then(|nodes| nodes.as_ref().ok());
        let census = current
            .filter(|_| is_needed)
            .and_then(|nodes| nodes.census(&after.hco.placement));
        let census_before = before
            .zip(nodes_before.as_ref().or(current))
            .and_then(|(before, nodes)| nodes.census(&before.hco.placement));
        Self {
            images: read_images(before, after, [census_before, census], settings, host),
            objects: comparison.map(|comparison| &comparison.objects),
            nodes,
            nodes_before,
        }
    }

    /// The change from this object to another one, on the nodes for its placement.
    pub(crate) fn change<'c>(
        &'c self,
        before: Option<&'c Side<'c>>,
        after: Configuration<'c>,
    ) -> Change<'c> {
        let census = self.census(&after.hco.placement);
        let after = Side::new(after, census);
        Change {
            before,
            changes: find_changes(before, &after, self.objects),
            after,
            images: &self.images,
            unreadable_nodes: self.nodes.as_ref().and_then(|nodes| nodes.as_ref().err()),
        }
    }

    /// The same change to an object with other fields.
    pub(crate) fn corrected<'c>(
        &'c self,
        change: &'c Change<'c>,
        hco: &'c HyperConverged<'c>,
    ) -> Change<'c> {
        let after = &change.after.configuration;
        let origin = match after.origin {
            Origin::Audited => Origin::Audited,
            Origin::Sent | Origin::Stored | Origin::Written => Origin::Sent,
        };
        let before = change.before_configuration().map(|before| before.hco);
        let corrected = Configuration::new(hco, after.installation, origin, before);
        self.change(change.before, corrected)
    }

    pub(crate) fn census(&self, placement: &Placement) -> Option<&Census> {
        self.known_nodes()?.census(placement)
    }

    pub(crate) fn census_before(&self, placement: &Placement) -> Option<&Census> {
        match &self.nodes_before {
            Some(nodes) => nodes.census(placement),
            None => self.census(placement),
        }
    }

    pub(crate) fn known_nodes(&self) -> Option<&Nodes<'a>> {
        self.nodes.as_ref()?.as_ref().ok()
    }
}

/// The architectures in the status of the stored object, if it is valid for the placement of the new object.
fn node_info<'a>(after: &Configuration<'a>) -> Option<&'a Census> {
    let stored = after.installation.stored?;
    let is_valid = stored.is_stored && stored.placement == after.hco.placement;
    stored.node_info.as_ref().filter(|_| is_valid)
}

/// Looks up the images that the settings ask for. With the import off, images matter only for the fix that enables it, and
/// not for an existing problem.
fn read_images(
    before: Option<&Configuration<'_>>,
    after: &Configuration<'_>,
    [census_before, census]: [Option<&Census>; 2],
    settings: &Settings,
    registry: &dyn Registry,
) -> Images {
    if !settings.wants_images() || !after.installation.deploys_golden_images {
        return Images::default();
    }
    let compared = before.filter(|_| !settings.denies_existing_problems);
    let Some(census) = census else {
        return Images::skipped();
    };
    let lacks_import = |configuration: &Configuration<'_>, census: &Census| {
        configuration.import == Import::Disabled
            && !configuration.golden_images.is_empty()
            && census.workload.len() > 1
    };
    let is_repaired = || {
        RULES
            .iter()
            .any(|rule| rule.repair == Some(Repair::EnableImport) && settings.is_checked(rule))
    };
    let is_existing = compared.zip(census_before).is_some_and(|(before, known)| {
        lacks_import(before, known)
            && census
                .workload
                .keys()
                .all(|name| known.workload.contains_key(name))
    });
    let is_read = after.import == Import::Enabled
        || lacks_import(after, census) && !is_existing && is_repaired();
    if !is_read {
        return Images::skipped();
    }
    let existing = compared
        .filter(|before| before.import == Import::Enabled)
        .map(|before| existing_images(before, census, census_before, settings))
        .unwrap_or_default();
    let wanted = after.golden_images.iter().filter(|image| {
        is_checked(image, settings) && !existing.contains(&images::identity(after, image))
    });
    let is_allowed = |host: &str| settings.allows(host);
    let mut images = Images::look_up(after, wanted, census, is_allowed, registry);
    images.existing = existing;
    images
}

fn is_checked(image: &GoldenImage<'_>, settings: &Settings) -> bool {
    let is_selected = match image.annotation {
        Annotation::Spec(_) => true,
        Annotation::Shipped(_) => settings.images == ImageChecks::VerifyAll,
        Annotation::ShippedUnknown | Annotation::Unknown(_) => false,
    };
    is_selected
        && CHECKS.iter().any(|(rule, check)| {
            matches!(check, Check::Images(_))
                && settings.level(rule, Some(image.name)) != Level::Ignore
        })
}

/// The images that the object before the update already had, so that an outage of a registry or a changed tag does not
/// deny an update of something else. For an image that HCO ships, only the architectures of the nodes matter, so it counts
/// as new if the update adds one of them.
fn existing_images(
    before: &Configuration<'_>,
    census: &Census,
    census_before: Option<&Census>,
    settings: &Settings,
) -> BTreeSet<String> {
    let known = census_before
        .map(|before| &before.workload)
        .filter(|known| !known.is_empty());
    let mut names = census.workload.keys();
    let adds_architecture = known.is_some_and(|known| names.any(|name| !known.contains_key(name)));
    before
        .golden_images
        .iter()
        .filter(|image| !adds_architecture || matches!(image.annotation, Annotation::Spec(_)))
        .filter(|image| is_checked(image, settings))
        .map(|image| images::identity(before, image))
        .collect()
}
