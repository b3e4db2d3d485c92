//! Decides whether a request needs the nodes, before anything is read.

use kube_objects::placement::Placement;
use operator_models::hco::golden_image::GoldenImage;
use operator_models::hco::import::Import;
use operator_models::hco::node_info::NodeInfo;

use crate::render::Detail;
use crate::rule::{ComparesNodes, Level, Rule, Subject};
use crate::rules::RULES;
use crate::settings::Settings;
use crate::stated::Stated;

/// Whether the nodes have to be read, and where.
#[derive(Debug)]
pub(crate) struct Needs<'a> {
    /// Whether rules compare the object with the nodes.
    pub(crate) nodes: bool,
    /// Whether the report shows the nodes, with their numbers.
    shows_nodes: bool,
    /// The node information in HCO's status, if it is valid for the placement so that the nodes need not be listed.
    pub(crate) node_info: Option<&'a NodeInfo>,
    /// Whether a rule could deny the object because of the nodes.
    pub(crate) could_nodes_deny: bool,
    /// The placements for which the nodes are counted.
    pub(crate) placements: Vec<&'a Placement>,
}

impl<'a> Needs<'a> {
    /// `proposed` are the placements that a fix or a repair can set.
    pub(crate) fn new(
        new: &Stated<'a>,
        settings: &Settings,
        proposed: &'a [Placement],
        detail: Detail,
    ) -> Self {
        let old = new.before;
        let has_images = |stated: &Stated<'_>| !stated.golden_images.is_empty();
        let needs_rule = |level: &[Level]| {
            let mut rules = RULES.iter();
            rules.any(|rule| is_needed_by(rule, new, settings, level))
        };
        let has_golden_images =
            new.deploys_golden_images && (has_images(new) || old.is_some_and(has_images));
        let placements = [Some(&new.hco.placement), old.map(|old| &old.hco.placement)];
        Self {
            nodes: (has_golden_images || has_other_placement(new) || rejects_vms(new))
                && needs_rule(&[Level::Deny, Level::Warn]),
            shows_nodes: detail == Detail::Everything,
            node_info: node_info(new)
                .filter(|_| detail == Detail::Verdict && settings.placement_repair().is_none()),
            could_nodes_deny: (has_golden_images || rejects_vms(new)) && needs_rule(&[Level::Deny]),
            placements: placements.into_iter().flatten().chain(proposed).collect(),
        }
    }

    pub(crate) fn reads_nodes(&self) -> bool {
        self.nodes || self.shows_nodes
    }
}

/// The node information in the status of the stored object, if it is valid for the placement of the new object.
fn node_info<'a>(new: &Stated<'a>) -> Option<&'a NodeInfo> {
    let stored = match new.before {
        Some(old) if old.hco.placement == new.hco.placement => old.hco,
        Some(_) => return None,
        None => new.hco,
    };
    stored.node_info.as_ref().filter(|_| stored.is_stored)
}

fn has_other_placement(new: &Stated<'_>) -> bool {
    let mut old = new.before.iter();
    old.any(|old| old.hco.placement != new.hco.placement)
}

/// Whether KubeVirt accepts only VMs of virt-api's architecture.
fn rejects_vms(new: &Stated<'_>) -> bool {
    let version = &new.version;
    let is_affected = version.is_known && version.hco.rejects_vms_without_import();
    is_affected && new.import == Import::Disabled && !new.hco.places_infra
}

/// Whether a rule compares this object with the nodes, and has one of these levels for it.
fn is_needed_by(rule: &Rule, new: &Stated<'_>, settings: &Settings, levels: &[Level]) -> bool {
    let is_possible = match rule.compares_nodes {
        ComparesNodes::Never => false,
        ComparesNodes::WithImportOff => {
            new.import == Import::Disabled && !new.golden_images.is_empty()
        }
        ComparesNodes::WithImportOffBefore118 => rejects_vms(new),
        ComparesNodes::WithOtherPlacement => has_other_placement(new),
        ComparesNodes::WithImportOn => new.import == Import::Enabled,
        ComparesNodes::ForUpdates => new.before.is_some(),
        ComparesNodes::Always => true,
    };
    // With the import off, the rules ignore the templates that HCO adds automatically.
    let is_evaluated =
        |image: &&GoldenImage<'_>| image.template.is_some() || new.import == Import::Enabled;
    let has_level = |template| levels.contains(&settings.level(rule, template));
    is_possible
        && (settings.wants_images() || !rule.is_about_images)
        && match rule.subject {
            Subject::Object => has_level(None),
            Subject::Template => {
                let mut images = new.golden_images.iter().filter(is_evaluated);
                images.any(|image| has_level(Some(image.name)))
            }
        }
}
