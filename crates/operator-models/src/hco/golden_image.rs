//! The golden images that HCO creates from a HyperConverged: the templates of its spec, merged with the templates that
//! HCO ships.

use std::collections::{BTreeMap, BTreeSet};

use kube_objects::json::{Field, Json, WrongType};
use serde_json::{Value, json};

use crate::hco::hyperconverged::HyperConverged;
use crate::hco::template::{Enable, RegistrySource, Source, Template};

pub type CommonTemplates = BTreeMap<String, CommonTemplate>;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommonTemplate {
    pub registry: Option<RegistrySource>,
    pub architectures: Option<String>,
    /// Whether the annotation is known. If it is not, no rule evaluates it.
    pub is_annotation_known: bool,
    /// Its spec as JSON: the spec in the status, or one with its name and its source, without a schedule.
    pub spec: Option<String>,
    /// The schedule, which HCO chooses for each cluster; `None` unless the status shows it.
    pub schedule: Option<String>,
}

/// The name of a common template in the status, and the template, unless the spec overrides it; `None` if the entry is not
/// a common template.
pub(super) fn status_template<'a>(
    index: usize,
    item: &Field<'a>,
) -> Result<Option<(String, Option<CommonTemplate>)>, WrongType<'a>> {
    let status = item.object().object("status");
    let is_common = status.field("commonTemplate").boolean()?;
    let modified = status.field("modified").boolean()?;
    let original = status.field("originalSupportedArchitectures").string()?;
    if is_common != Some(true) {
        return Ok(None);
    }
    let template = Template::read(index, item)?;
    let spec = item.object().field("spec");
    let schedule = spec.object().string("schedule").ok().flatten();
    let common = CommonTemplate {
        registry: Some(template.source.registry().cloned().unwrap_or_default()),
        // With the import on, the annotation is filtered, but the original is not.
        architectures: original
            .filter(|original| !original.is_empty())
            .or(template.architectures),
        is_annotation_known: true,
        spec: spec.json().map(|spec| spec.text().to_owned()),
        schedule: spec.is_present().then(|| schedule.unwrap_or_default()),
    };
    let is_shown = modified != Some(true);
    Ok(Some((template.name, is_shown.then_some(common))))
}

/// The common templates that upstream ships: the name, the URL, and the architectures annotation.
///
/// MIRRORS: hyperconverged-cluster-operator assets/dataImportCronTemplates/dataImportCronTemplates.yaml
/// (the same in 1.17, 1.18 and main).
pub const SHIPPED: [(&str, &str, &str); 3] = [
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

/// The templates that only OpenShift Virtualization ships. The status shows their images while HCO imports common
/// templates.
const SHIPPED_BY_OPENSHIFT: [&str; 3] =
    ["rhel10-image-cron", "rhel8-image-cron", "rhel9-image-cron"];

/// The common templates of this cluster: from the status, else from the settings, else those that upstream ships, with
/// the schedule in the status.
///
/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go, overrideDataImportSchedule.
pub fn common_templates(
    status: &[(String, Option<CommonTemplate>)],
    setting: Option<&CommonTemplates>,
    schedule: Option<&str>,
    is_openshift: bool,
) -> CommonTemplates {
    let shipped = || {
        CommonTemplates::from(SHIPPED.map(|(name, url, value)| {
            let template = CommonTemplate::from_url(name, url, Some(value.to_owned()));
            (name.to_owned(), template)
        }))
    };
    let mut table = setting.cloned().unwrap_or_else(shipped);
    for template in table.values_mut() {
        template.schedule = schedule.map(str::to_owned);
    }
    if is_openshift && setting.is_none() {
        let unknown = |name: &str| (name.to_owned(), CommonTemplate::default());
        table.extend(SHIPPED_BY_OPENSHIFT.map(unknown));
    }
    for (name, template) in status {
        if let Some(template) = template {
            table.insert(name.clone(), template.clone());
        } else {
            // The original comes from the table.
            table.entry(name.clone()).or_default();
        }
    }
    table
}

#[derive(Debug, Clone)]
pub struct GoldenImage<'a> {
    pub name: &'a str,
    /// The entry of the spec; `None` if HCO adds the image.
    pub template: Option<&'a Template<'a>>,
    pub annotation: Annotation<'a>,
}

impl<'a> GoldenImage<'a> {
    /// The image of a template for which HCO reads the annotation of the spec.
    pub fn of_spec(template: &'a Template<'a>) -> Self {
        Self {
            name: &template.name,
            template: Some(template),
            annotation: Annotation::Spec(template.architectures.as_deref()),
        }
    }
}

/// The architectures annotation that applies to an image while the import is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Annotation<'a> {
    Spec(Option<&'a str>),
    /// The annotation that HCO ships, regardless of the spec.
    Shipped(Option<&'a str>),
    /// The annotation that HCO ships, whose value is unknown, regardless of the spec.
    ShippedUnknown,
    /// The annotation in the spec, unless the image is the one that HCO ships, which is unknown.
    Unknown(Option<&'a str>),
}

impl<'a> Annotation<'a> {
    /// The value that HCO reads, if HCO reads the annotation and its value is known.
    pub fn value(self) -> Option<&'a str> {
        match self {
            Self::Spec(value) | Self::Shipped(value) => value,
            Self::ShippedUnknown | Self::Unknown(_) => None,
        }
    }

    /// Whether HCO reads the annotation of the spec, or may read it.
    pub fn is_of_spec(self) -> bool {
        matches!(self, Self::Spec(_) | Self::Unknown(_))
    }

    /// The value that HCO reads, or the value of the spec if it is not known whose annotation HCO uses.
    pub fn stated(self) -> Option<&'a str> {
        match self {
            Self::Unknown(value) => value,
            known => known.value(),
        }
    }

    /// The same, with all architectures for a value that HCO ships and that is not known.
    pub fn possible(self) -> Option<&'a str> {
        match self {
            Self::ShippedUnknown => Some("amd64,arm64,s390x"),
            other => other.stated(),
        }
    }
}

impl CommonTemplate {
    /// A template that HCO ships with this registry URL. Without architectures, its annotation is unknown.
    pub fn from_url(name: &str, url: &str, architectures: Option<String>) -> Self {
        let source = json!({"registry": {"url": url}});
        Self::new(name, RegistrySource::at(url), &source, architectures)
    }

    /// The same with a source that may be something else than a registry.
    pub fn from_source<'a>(
        name: &str,
        source: &Field<'a>,
        architectures: Option<String>,
    ) -> Result<Self, WrongType<'a>> {
        let registry = RegistrySource::read(&source.object().field("registry"))?;
        let json = source.json().map_or("{}", Json::text);
        let json: Value = serde_json::from_str(json).unwrap_or_default();
        let registry = registry.unwrap_or_default();
        Ok(Self::new(name, registry, &json, architectures))
    }

    fn new(
        name: &str,
        registry: RegistrySource,
        source: &Value,
        architectures: Option<String>,
    ) -> Self {
        let managed = name.strip_suffix("-image-cron").unwrap_or(name);
        let size = if managed == "fedora" { "5Gi" } else { "10Gi" };
        let spec = json!({
            "garbageCollect": "Outdated",
            "managedDataSource": managed,
            "template": {"spec": {
                "source": source,
                "storage": {"resources": {"requests": {"storage": size}}},
            }},
        });
        Self {
            registry: Some(registry),
            is_annotation_known: architectures.is_some(),
            architectures,
            spec: Some(spec.to_string()),
            schedule: None,
        }
    }

    fn shipped_annotation(&self) -> Annotation<'_> {
        if self.is_annotation_known {
            Annotation::Shipped(self.architectures.as_deref())
        } else {
            Annotation::ShippedUnknown
        }
    }
}

/// Whether HCO's webhook denies a template, or HCO panics because of it.
///
/// MIRRORS: hyperconverged-cluster-operator pkg/webhooks/validator/validator.go, validateDataImportCronTemplates;
/// controllers/handlers/golden-images/golden_images.go, customizeCommonDictAnnotations, which dereferences the source
/// without a check.
pub fn is_invalid(
    template: &Template<'_>,
    hco: &HyperConverged<'_>,
    common: &CommonTemplates,
) -> bool {
    match (&template.enable, &template.source) {
        (Enable::Invalid(_), _) | (Enable::Enabled, Source::NoSpec) => true,
        (Enable::Enabled, Source::Missing) => {
            hco.imports_common && common.contains_key(&template.name)
        }
        (Enable::Enabled | Enable::Disabled, _) => false,
    }
}

/// The images that HCO keeps: the images of the spec in its order, then the images that HCO adds.
///
/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
/// `GetDataImportCronTemplates`, getCommonDicts, customizeCommonDICT, getCustomDicts.
pub fn golden_images<'a>(
    hco: &'a HyperConverged<'a>,
    common: &'a CommonTemplates,
) -> Vec<GoldenImage<'a>> {
    images(hco, common, |template| {
        template.is_enabled() && !is_invalid(template, hco, common)
    })
}

/// The images that HCO would keep if it rejected no template.
pub fn accepted_images<'a>(
    hco: &'a HyperConverged<'a>,
    common: &'a CommonTemplates,
) -> Vec<GoldenImage<'a>> {
    images(hco, common, |template| template.enable != Enable::Disabled)
}

fn images<'a>(
    hco: &'a HyperConverged<'a>,
    common: &'a CommonTemplates,
    is_kept: impl Fn(&Template<'_>) -> bool,
) -> Vec<GoldenImage<'a>> {
    let mut images = Vec::new();
    let mut overridden = BTreeSet::new();
    for template in &hco.templates {
        let name = template.name.as_str();
        let original = common.get(name);
        if original.is_some() {
            overridden.insert(name);
        }
        if !is_kept(template) {
            continue;
        }
        let annotation = match original {
            None => Annotation::Spec(template.architectures.as_deref()),
            // While the common import is off, HCO completely removes templates with a common name.
            Some(_) if !hco.imports_common => continue,
            Some(original) => overriding_annotation(template, original),
        };
        images.push(GoldenImage {
            name,
            template: Some(template),
            annotation,
        });
    }
    if hco.imports_common {
        let added = common
            .iter()
            .filter(|(name, _)| !overridden.contains(name.as_str()));
        images.extend(added.map(|(name, original)| GoldenImage {
            name,
            template: None,
            annotation: original.shipped_annotation(),
        }));
    }
    images
}

/// The annotation that applies to a common template that the spec overrides.
///
/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
/// customizeCommonDictAnnotations: a source that is not a registry counts as unchanged.
fn overriding_annotation<'a>(
    template: &'a Template<'_>,
    original: &'a CommonTemplate,
) -> Annotation<'a> {
    let stated = template.architectures.as_deref();
    match (template.source.registry(), &original.registry) {
        (Some(_), None) => Annotation::Unknown(stated),
        (Some(registry), Some(shipped)) if registry != shipped => Annotation::Spec(stated),
        _ => original.shipped_annotation(),
    }
}
