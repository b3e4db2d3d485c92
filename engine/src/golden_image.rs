//! The golden images that HCO makes of a HyperConverged: the templates of its spec, merged with those
//! that it ships.

use std::collections::{BTreeMap, BTreeSet};

use crate::hyperconverged::{HyperConverged, Registry, Template};

/// The templates that HCO ships, by name.
#[derive(Debug, Default)]
pub(crate) struct CommonTemplates {
    /// Where in the list each name is: a map to the templates themselves would be 3 kB of the module.
    places: BTreeMap<String, usize>,
    templates: Vec<CommonTemplate>,
}

impl CommonTemplates {
    /// Adds a template, in place of one of the same name.
    fn insert(&mut self, name: &str, template: CommonTemplate) {
        self.places.insert(name.to_owned(), self.templates.len());
        self.templates.push(template);
    }

    pub(crate) fn get(&self, name: &str) -> Option<&CommonTemplate> {
        self.templates.get(*self.places.get(name)?)
    }
}

/// What is known of a template that HCO ships.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommonTemplate {
    /// `None`: unknown.
    pub(crate) registry: Option<Registry>,
    pub(crate) architectures: Architectures,
}

/// The architectures annotation as HCO has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Architectures {
    /// Not to be known from here, so never judged.
    Unknown,
    Absent,
    Value(String),
}

/// MIRRORS: hyperconverged-cluster-operator assets/dataImportCronTemplates/dataImportCronTemplates.yaml
/// (the same in 1.17, 1.18 and main).
const SHIPPED: [(&str, &str, &str); 3] = [
    (
        "centos-stream10-image-cron",
        "docker://quay.io/containerdisks/centos-stream:10",
        "amd64,arm64,s390x",
    ),
    (
        "centos-stream9-image-cron",
        "docker://quay.io/containerdisks/centos-stream:9",
        "amd64,arm64,s390x",
    ),
    (
        "fedora-image-cron",
        "docker://quay.io/containerdisks/fedora:latest",
        "arm64,s390x,amd64",
    ),
];

/// What is common on this cluster: what the status says, else the settings, else what upstream ships.
pub(crate) fn common_templates(
    hco: &HyperConverged,
    setting: Option<&BTreeMap<String, String>>,
) -> CommonTemplates {
    let mut table = CommonTemplates::default();
    match setting {
        Some(setting) => {
            for (name, url) in setting {
                table.insert(name, known(url, Architectures::Unknown));
            }
        }
        None => {
            for (name, url, value) in SHIPPED {
                let architectures = Architectures::Value(value.to_owned());
                table.insert(name, known(url, architectures));
            }
        }
    }
    for said in &hco.status_templates {
        if said.modified {
            // The status shows the user's version of it, so the original is what the table has.
            if table.get(&said.name).is_none() {
                table.insert(
                    &said.name,
                    CommonTemplate {
                        registry: None,
                        architectures: Architectures::Unknown,
                    },
                );
            }
        } else {
            table.insert(
                &said.name,
                CommonTemplate {
                    registry: Some(said.registry.clone().unwrap_or_default()),
                    architectures: said
                        .architectures
                        .clone()
                        .map_or(Architectures::Absent, Architectures::Value),
                },
            );
        }
    }
    table
}

fn known(url: &str, architectures: Architectures) -> CommonTemplate {
    CommonTemplate {
        registry: Some(Registry::at(url)),
        architectures,
    }
}

/// A golden image that HCO keeps.
#[derive(Debug)]
pub(crate) struct GoldenImage<'a> {
    pub(crate) name: &'a str,
    /// The entry of the spec; `None` if HCO adds the image by itself.
    pub(crate) template: Option<&'a Template>,
    pub(crate) annotation: Annotation<'a>,
}

/// Which annotation counts for an image while the import is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Annotation<'a> {
    /// The user's own.
    Users(Option<&'a str>),
    /// HCO's, whatever the user wrote.
    Hcos(Option<&'a str>),
    /// Not to be known from here.
    Unknown,
}

impl<'a> Annotation<'a> {
    /// The value that HCO reads, if it reads one and we know it.
    pub(crate) fn value(self) -> Option<&'a str> {
        match self {
            Self::Users(value) | Self::Hcos(value) => value,
            Self::Unknown => None,
        }
    }
}

impl<'a> From<&'a Architectures> for Annotation<'a> {
    fn from(architectures: &'a Architectures) -> Self {
        match architectures {
            Architectures::Unknown => Self::Unknown,
            Architectures::Absent => Self::Hcos(None),
            Architectures::Value(value) => Self::Hcos(Some(value)),
        }
    }
}

/// Why HCO cannot live with an enabled template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Invalid<'a> {
    OddEnable(&'a str),
    NoSpec,
    /// A common template without a source: HCO follows the missing source and crashes.
    NoSource,
}

/// Whether HCO's webhook refuses a template, or HCO crashes over it.
///
/// MIRRORS: hyperconverged-cluster-operator pkg/webhooks/validator/validator.go,
/// validateDataImportCronTemplates; controllers/handlers/golden-images/golden_images.go,
/// customizeCommonDictAnnotations, which follows the source without looking.
pub(crate) fn invalid<'a>(
    template: &'a Template,
    hco: &HyperConverged,
    common: &CommonTemplates,
) -> Option<Invalid<'a>> {
    if let Some(value) = template.odd_enable() {
        Some(Invalid::OddEnable(value))
    } else if !template.is_enabled() {
        None
    } else if !template.has_spec {
        Some(Invalid::NoSpec)
    } else if !template.has_source && hco.common_import && common.get(&template.name).is_some() {
        Some(Invalid::NoSource)
    } else {
        None
    }
}

/// The images that HCO keeps, those of the spec first, in the order of the spec.
///
/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
/// `GetDataImportCronTemplates`, getCommonDicts, customizeCommonDICT, getCustomDicts.
pub(crate) fn golden_images<'a>(
    hco: &'a HyperConverged,
    common: &'a CommonTemplates,
) -> Vec<GoldenImage<'a>> {
    let mut images = Vec::new();
    let mut overridden = BTreeSet::new();
    for template in &hco.templates {
        let name = template.name.as_str();
        overridden.insert(name.to_owned());
        if !template.is_enabled() || invalid(template, hco, common).is_some() {
            continue;
        }
        let annotation = match common.get(name) {
            None => Annotation::Users(template.architectures.as_deref()),
            // A common name disappears altogether while the common import is off.
            Some(_) if !hco.common_import => continue,
            Some(original) => override_annotation(template, original),
        };
        images.push(GoldenImage {
            name,
            template: Some(template),
            annotation,
        });
    }
    if hco.common_import {
        for name in common.places.keys() {
            if !overridden.contains(name)
                && let Some(original) = common.get(name)
            {
                images.push(GoldenImage {
                    name,
                    template: None,
                    annotation: (&original.architectures).into(),
                });
            }
        }
    }
    images
}

/// Which annotation counts for a common template that the spec overrides.
///
/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
/// customizeCommonDictAnnotations: a source that is no registry counts as unchanged.
fn override_annotation<'a>(template: &'a Template, original: &'a CommonTemplate) -> Annotation<'a> {
    match (&template.registry, &original.registry) {
        (Some(_), None) => Annotation::Unknown,
        (Some(registry), Some(shipped)) if registry != shipped => {
            Annotation::Users(template.architectures.as_deref())
        }
        _ => (&original.architectures).into(),
    }
}
