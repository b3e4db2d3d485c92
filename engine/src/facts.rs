//! What the rules look at: one object of a request, its golden images, and the nodes if somebody asks.

use std::cell::OnceCell;

use crate::golden_image::{self, CommonTemplates, GoldenImage};
use crate::hyperconverged::{Field, HyperConverged, Template};
use crate::json::{self, Raw};
use crate::node::{self, Census};
use crate::placement::Placement;
use crate::settings::{ServiceAccount, Settings};

/// What the policy can ask about the cluster. The only seam to the host; everything behind it is pure.
pub trait Cluster {
    /// The nodes, as JSON of a `v1` `NodeList`, masked to `status.nodeInfo.architecture`.
    ///
    /// # Errors
    ///
    /// The host's error, in its own words.
    fn nodes(&self) -> Result<Vec<u8>, String>;

    /// Whether a service account may do something with nodes: the status of a `SubjectAccessReview` as JSON;
    /// `None` if that cannot be known.
    fn may(&self, account: &ServiceAccount, verb: &str) -> Option<Vec<u8>>;
}

/// Why there are no nodes to judge by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NodesError {
    /// The service account lacks a grant, by its own API server's word.
    Forbidden {
        account: ServiceAccount,
        verb: &'static str,
    },
    /// The host did not give a list; its error.
    Host(String),
    /// The host gave something that is no list of nodes.
    List(String),
}

/// The nodes of a request: asked for once, when a rule first needs them, and reduced at once.
pub(crate) struct Nodes<'a> {
    cluster: &'a dyn Cluster,
    account: Option<&'a ServiceAccount>,
    /// The placements to count by: the object's, then the old object's.
    placements: Vec<&'a Placement>,
    counted: OnceCell<Result<Vec<Census>, NodesError>>,
}

impl<'a> Nodes<'a> {
    pub(crate) fn new(
        cluster: &'a dyn Cluster,
        settings: &'a Settings,
        object: &'a HyperConverged,
        old: Option<&'a HyperConverged>,
    ) -> Self {
        Self {
            cluster,
            account: settings.service_account.as_ref(),
            placements: [Some(object), old]
                .into_iter()
                .flatten()
                .map(|it| &it.placement)
                .collect(),
            counted: OnceCell::new(),
        }
    }

    fn count(&self) -> Result<Vec<Census>, NodesError> {
        // Without the grant the host never answers (nodes-unreadable.md): so ask first, where we know whom to ask about.
        if let Some(account) = self.account {
            for verb in ["list", "watch"] {
                if self
                    .cluster
                    .may(account, verb)
                    .as_deref()
                    .and_then(is_allowed)
                    == Some(false)
                {
                    let account = account.clone();
                    return Err(NodesError::Forbidden { account, verb });
                }
            }
        }
        let list = self.cluster.nodes().map_err(NodesError::Host)?;
        node::census(&list, &self.placements).map_err(|error| NodesError::List(error.to_string()))
    }

    /// The counts by this placement, which is one of the two that are counted by: their place.
    fn by(&self, placement: &Placement) -> Option<usize> {
        self.placements
            .iter()
            .position(|known| std::ptr::eq(*known, placement))
    }
}

/// The clear word of a `SubjectAccessReview`'s status, if there is one.
fn is_allowed(status: &[u8]) -> Option<bool> {
    let [allowed] = json::members(Raw::document(status).ok()?, ["allowed"]).ok()?;
    json::boolean(allowed?).ok()
}

/// One object, as the rules see it.
pub(crate) struct Facts<'a> {
    pub(crate) hco: &'a HyperConverged,
    /// The object before the update; `None` on creation, or if it cannot be read.
    pub(crate) old: Option<&'a HyperConverged>,
    /// Whether HCO will import for several architectures.
    pub(crate) import: bool,
    pub(crate) common: &'a CommonTemplates,
    pub(crate) images: Vec<GoldenImage<'a>>,
    nodes: &'a Nodes<'a>,
}

impl<'a> Facts<'a> {
    pub(crate) fn new(
        hco: &'a HyperConverged,
        old: Option<&'a HyperConverged>,
        common: &'a CommonTemplates,
        nodes: &'a Nodes<'a>,
    ) -> Self {
        Self {
            hco,
            old,
            import: match old {
                Some(old) => hco.import.is_enabled_after(&old.import),
                None => hco.import.is_enabled(),
            },
            common,
            images: golden_image::golden_images(hco, common),
            nodes,
        }
    }

    /// The nodes, counted by this object's placement. Asks the host if nobody did before; `None` if they
    /// cannot be had, which is [`Facts::nodes_error`]'s to say.
    pub(crate) fn census(&self) -> Option<&Census> {
        self.nodes.counted.get_or_init(|| self.nodes.count());
        self.census_if_read()
    }

    /// The nodes, if somebody asked for them.
    pub(crate) fn census_if_read(&self) -> Option<&Census> {
        let counted = self.nodes.counted.get()?.as_ref().ok()?;
        counted.get(self.nodes.by(&self.hco.placement)?)
    }

    /// The nodes, for rules that compare with the workload architectures: `None` also if there are none
    /// of those, which is `no-workload-nodes`'s to say.
    pub(crate) fn workload(&self) -> Option<&Census> {
        self.census().filter(|census| !census.workload.is_empty())
    }

    /// Why the nodes could not be had, if somebody asked for them.
    pub(crate) fn nodes_error(&self) -> Option<&NodesError> {
        self.nodes.counted.get()?.as_ref().err()
    }

    /// The templates of the spec whose annotation HCO reads while the import is on.
    pub(crate) fn read_annotations(&self) -> impl Iterator<Item = (&'a Template, &'a str)> {
        let images: &[GoldenImage<'a>] = if self.import { &self.images } else { &[] };
        images.iter().filter_map(|image| match image.annotation {
            golden_image::Annotation::Users(Some(value)) => Some((image.template?, value)),
            _ => None,
        })
    }

    /// `spec.dataImportCronTemplates[2].metadata.name`, in the spelling of the version that was sent.
    pub(crate) fn template_path(&self, template: &Template, below: &str) -> String {
        format!(
            "{}[{}].{below}",
            self.hco.path(Field::Templates),
            template.index
        )
    }

    /// Where a template's architectures annotation stands.
    pub(crate) fn annotation_path(&self, template: &Template) -> String {
        let below = format!("metadata.annotations[{}]", crate::ARCHITECTURES);
        self.template_path(template, &below)
    }
}
