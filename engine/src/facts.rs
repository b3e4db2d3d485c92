//! The input of the rules: one object of a request, its golden images, and the nodes if a rule asks for them.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use kubernetes::json::{Json, Object};
use kubernetes::path::FieldPath;
use kubernetes::placement::Placement;
use operators::cdi::image::Registry;
use operators::hco::architectures::Architectures;
use operators::hco::golden_image::{self, Annotation, CommonTemplates, GoldenImage};
use operators::hco::hyperconverged::HyperConverged;
use operators::hco::import::Import;
use operators::hco::node::{self, Census};
use operators::hco::template::{ARCHITECTURES, Template};

use crate::findings::Identities;
use crate::registries::Registries;
use crate::remedy::Remedy;
use crate::rule::Rule;
use crate::rules::{ABOUT_IMAGES, RULES};
use crate::settings::{Images, ServiceAccount, Settings};

/// What the policy can ask about the cluster, and with [`Registry`] about images. Only these traits access the host;
/// all other code is pure.
pub trait Cluster: Registry {
    /// The nodes, as JSON of a `v1` `NodeList`, masked to `status.nodeInfo.architecture`.
    ///
    /// # Errors
    ///
    /// The host's error, unchanged.
    fn nodes(&self) -> Result<Vec<u8>, String>;

    /// Whether a service account can do `verb` with nodes: the status of a `SubjectAccessReview` as JSON; `None` if
    /// the host returns no answer.
    fn can_i(&self, account: &ServiceAccount, verb: &str) -> Option<Vec<u8>>;
}

/// Why the nodes cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NodesError {
    /// The API server reports that the service account of the policy-server cannot do this with nodes.
    Forbidden {
        account: ServiceAccount,
        verb: &'static str,
    },
    /// The host returned an error instead of a list.
    Host(String),
    /// The host returned something that is not a list of nodes.
    List(String),
}

/// The nodes of a request: listed once, when a rule first needs them, and reduced immediately.
pub(crate) struct Nodes<'a> {
    cluster: &'a dyn Cluster,
    account: Option<&'a ServiceAccount>,
    /// The placements for which nodes are counted: those of the object, of the old object, and of a repaired one, unless
    /// they are too long.
    placements: Vec<&'a Placement>,
    counted: OnceCell<Result<Vec<Census>, NodesError>>,
}

impl<'a> Nodes<'a> {
    pub(crate) fn new(
        cluster: &'a dyn Cluster,
        settings: &'a Settings,
        placements: impl IntoIterator<Item = &'a Placement>,
    ) -> Self {
        Self {
            cluster,
            account: settings.service_account.as_ref(),
            placements: placements
                .into_iter()
                .filter(|placement| !placement.is_too_long())
                .collect(),
            counted: OnceCell::new(),
        }
    }

    fn count(&self) -> Result<Vec<Census>, NodesError> {
        // Without the permission, the host never answers (nodes-unreadable.md). If the service account is known, the
        // permission is checked first.
        if let Some(account) = self.account {
            for verb in ["list", "watch"] {
                let status = self.cluster.can_i(account, verb);
                // Only a clear denial stops the request for nodes.
                if status.as_deref().and_then(is_allowed) == Some(false) {
                    let account = account.clone();
                    return Err(NodesError::Forbidden { account, verb });
                }
            }
        }
        let list = self.cluster.nodes().map_err(NodesError::Host)?;
        node::census(&list, &self.placements).map_err(|error| NodesError::List(error.to_string()))
    }

    /// The nodes, counted for one of the placements, if they were read.
    fn by(&self, placement: &Placement) -> Option<&Census> {
        let place = self
            .placements
            .iter()
            .position(|known| *known == placement)?;
        self.counted.get()?.as_ref().ok()?.get(place)
    }
}

/// The answer of a `SubjectAccessReview`, if there is a clear one.
fn is_allowed(status: &[u8]) -> Option<bool> {
    let status = Object::root(Json::parse(status).ok()?);
    status.field("allowed").boolean().ok()?
}

/// One object, as the rules see it.
pub(crate) struct Facts<'a> {
    pub(crate) hco: &'a HyperConverged<'a>,
    /// The object before the update, judged separately; `None` on creation, or if it cannot be read.
    pub(crate) old: Option<&'a Facts<'a>>,
    pub(crate) import: Import,
    pub(crate) common: &'a CommonTemplates,
    pub(crate) images: Vec<GoldenImage<'a>>,
    pub(crate) settings: &'a Settings,
    pub(crate) nodes: &'a Nodes<'a>,
    /// `None` if no image is looked up: the settings do not ask for it, or this is the object before the update.
    pub(crate) registries: Option<&'a Registries<'a>>,
    /// The remedy that enables the import. It is cached because several rules use it, and it needs a second judgement.
    pub(crate) enable_import: OnceCell<Remedy>,
}

impl<'a> Facts<'a> {
    pub(crate) fn new(
        hco: &'a HyperConverged<'a>,
        old: Option<&'a Facts<'a>>,
        common: &'a CommonTemplates,
        settings: &'a Settings,
        nodes: &'a Nodes<'a>,
        registries: Option<&'a Registries<'a>>,
    ) -> Self {
        Self {
            hco,
            old,
            import: match old {
                Some(old) => hco.import.resolve_update(&old.hco.import),
                None => hco.import.resolve(),
            },
            common,
            images: golden_image::golden_images(hco, common),
            settings,
            nodes,
            registries,
            enable_import: OnceCell::new(),
        }
    }

    /// The same object with the import on and these images.
    pub(crate) fn with_import<'b>(&self, images: Vec<GoldenImage<'b>>) -> Facts<'b>
    where
        'a: 'b,
    {
        Facts {
            import: Import::Enabled,
            images,
            enable_import: OnceCell::new(),
            ..*self
        }
    }

    /// The same object, without look-ups in registries.
    pub(crate) fn without_registries(&self) -> Self {
        Self {
            images: self.images.clone(),
            registries: None,
            enable_import: OnceCell::new(),
            ..*self
        }
    }

    /// Whether a rule denies the object for a reason that does not depend on images.
    pub(crate) fn is_denied_anyway(&self) -> bool {
        let is_about_images = |rule: &Rule| ABOUT_IMAGES.iter().any(|it| it.id == rule.id);
        let mut rules = RULES.iter().filter(|rule| !is_about_images(rule));
        rules.any(|rule| Identities::denials(rule, self).is_any())
    }

    /// Whether the settings ask for look-ups, but none is made. Then no fix of an annotation is complete.
    pub(crate) fn skips_images(&self) -> bool {
        self.settings.images != Images::Ignore && self.registries.is_none()
    }

    /// The nodes, counted for this object's placement. They are listed if no rule asked before. `None` if the
    /// nodes cannot be read, which `nodes-unreadable` reports, or if the placement is too long to be compared with them,
    /// which `placement-invalid` reports.
    pub(crate) fn census(&self) -> Option<&Census> {
        if self.hco.placement.is_too_long() {
            return None;
        }
        self.nodes.counted.get_or_init(|| self.nodes.count());
        self.census_if_read()
    }

    /// The nodes, if a rule asked for them.
    pub(crate) fn census_if_read(&self) -> Option<&Census> {
        self.nodes.by(&self.hco.placement)
    }

    /// The nodes, for rules that compare with the workload architectures: also `None` if there are no workload
    /// architectures, which `no-workload-nodes` reports.
    pub(crate) fn workload(&self) -> Option<&Census> {
        self.census().filter(|census| !census.workload.is_empty())
    }

    /// Why the nodes cannot be read, if a rule asked for them.
    pub(crate) fn nodes_error(&self) -> Option<&NodesError> {
        self.nodes.counted.get()?.as_ref().err()
    }

    /// The architectures of an image, or why they are unknown; `None` if it is not looked up. If the nodes cannot be
    /// read, no image is looked up.
    pub(crate) fn architectures_of(
        &self,
        image: &GoldenImage<'_>,
    ) -> Option<Result<&BTreeSet<String>, &str>> {
        let registries = self.registries?;
        self.census()?;
        registries.answer(self, image)
    }

    /// The templates of the spec whose annotation HCO reads, with its value. While the import is off, HCO reads none.
    pub(crate) fn annotations(
        &self,
    ) -> impl Iterator<Item = (&'a Template<'a>, Architectures<'a>)> {
        let images: &[GoldenImage<'a>] = match self.import {
            Import::Enabled => &self.images,
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
}
