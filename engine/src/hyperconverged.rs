//! A HyperConverged of either version, reduced to what is judged: one view for all rules.
//!
//! Only the fields that are read are decoded, and the path of each is kept in the spelling of the
//! version that was sent, because that is where the user has to look.

mod affinity;

use std::collections::BTreeMap;

use crate::import::{Gate, Import, V1Only};
use crate::json::{self, Leaf, Raw, Unreadable};
use crate::placement::{Placement, SelectorError, check_required};
use crate::request::Version;

/// Annotation that names the architectures of a template's image.
pub const ARCHITECTURES: &str = "ssp.kubevirt.io/dict.architectures";
/// Annotation that switches a template on or off.
pub(crate) const ENABLE: &str = "dataimportcrontemplate.kubevirt.io/enable";
/// Annotation in which HCO's conversion keeps what only v1 can say.
const V1_ONLY: &str = "hco.kubevirt.io/v1-only-fields";

/// A field of a HyperConverged. Those before `Name` are judged; the others are context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    /// The import as a boolean: v1's field, v1beta1's gate.
    Import,
    /// v1's list of gates.
    Gates,
    V1Only,
    CommonImport,
    Templates,
    NodeSelector,
    NodeAffinity,
    InfraRequired,
    SspPatch,
    KubevirtPatch,
    CdiPatch,
    Name,
    Namespace,
    Deletion,
    StatusTemplates,
}

const FIELDS: usize = 15;
const JUDGED: usize = 11;

type Path = &'static [&'static str];
type Paths = [Path; FIELDS];

/// A path that no object has, for a field that a version does not know.
const NOWHERE: Path = &[];

// Both in the order of `Field`.
#[rustfmt::skip] // A path is read on one line.
static V1BETA1: Paths = spelled([
    &["spec", "featureGates", "enableMultiArchBootImageImport"],
    NOWHERE,
    &["metadata", "annotations", V1_ONLY],
    &["spec", "enableCommonBootImageImport"],
    &["spec", "dataImportCronTemplates"],
    &["spec", "workloads", "nodePlacement", "nodeSelector"],
    &["spec", "workloads", "nodePlacement", "affinity", NODE_AFFINITY],
    &["spec", "infra", "nodePlacement", "affinity", NODE_AFFINITY, REQUIRED],
]);

#[rustfmt::skip] // A path is read on one line.
static V1: Paths = spelled([
    &["spec", "workloadSources", "enableMultiArchBootImageImport"],
    &["spec", "featureGates"],
    NOWHERE,
    &["spec", "workloadSources", "enableCommonBootImageImport"],
    &["spec", "workloadSources", "dataImportCronTemplates"],
    &["spec", "deployment", "nodePlacements", "workload", "nodeSelector"],
    &["spec", "deployment", "nodePlacements", "workload", "affinity", NODE_AFFINITY],
    &["spec", "deployment", "nodePlacements", "infra", "affinity", NODE_AFFINITY, REQUIRED],
]);

/// What a version spells its own way, followed by what both spell the same.
const fn spelled(own: [Path; 8]) -> Paths {
    let [
        import,
        gates,
        v1_only,
        common,
        templates,
        selector,
        affinity,
        infra,
    ] = own;
    [
        import,
        gates,
        v1_only,
        common,
        templates,
        selector,
        affinity,
        infra,
        &["metadata", "annotations", "ssp.kubevirt.io/jsonpatch"],
        &["metadata", "annotations", "kubevirt.kubevirt.io/jsonpatch"],
        &[
            "metadata",
            "annotations",
            "containerizeddataimporter.kubevirt.io/jsonpatch",
        ],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "deletionTimestamp"],
        &["status", "dataImportCronTemplates"],
    ]
}

fn paths(version: Version) -> &'static Paths {
    match version {
        Version::V1beta1 => &V1BETA1,
        Version::V1 => &V1,
    }
}

const NODE_AFFINITY: &str = "nodeAffinity";
/// The part of a node affinity that the scheduler obeys.
pub(crate) const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
/// The part of a node affinity that the scheduler only weighs.
pub(crate) const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// A HyperConverged as it was sent: its fields found, nothing decoded.
#[derive(Debug)]
pub(crate) struct Sent<'a> {
    version: Version,
    fields: [Leaf<'a>; FIELDS],
}

impl<'a> Sent<'a> {
    pub(crate) fn new(object: Raw<'a>, version: Version) -> Self {
        Self {
            version,
            fields: Leaf::all(object, *paths(version)),
        }
    }

    /// Whether somebody deletes the object: then only its finalizers matter.
    pub(crate) fn is_being_deleted(&self) -> bool {
        self.field(Field::Deletion)
            .read(json::string)
            .is_ok_and(|timestamp| timestamp.is_some_and(|timestamp| !timestamp.is_empty()))
    }

    /// Whether everything that is judged is the same in another object.
    pub(crate) fn judged_same_as(&self, other: &Self) -> bool {
        self.version == other.version
            && self
                .fields
                .iter()
                .zip(&other.fields)
                .take(JUDGED)
                .all(|(one, other)| one.same_as(other))
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "an enum that counts the array's own entries"
    )]
    fn field(&self, field: Field) -> &Leaf<'a> {
        &self.fields[field as usize]
    }

    fn string(&self, field: Field) -> Result<Option<String>, Unreadable> {
        self.field(field).read(json::string)
    }

    /// Decodes what the rules read.
    pub(crate) fn decode(&self) -> Result<HyperConverged, Unreadable> {
        let affinity = self
            .field(Field::NodeAffinity)
            .read(affinity::node_affinity)?;
        let selector = self.field(Field::NodeSelector).read(labels)?;
        let infra = self
            .field(Field::InfraRequired)
            .read(affinity::node_selector)?;
        Ok(HyperConverged {
            version: self.version,
            name: self.string(Field::Name)?.unwrap_or_default(),
            namespace: self.string(Field::Namespace)?.unwrap_or_default(),
            import: Import {
                field: self.field(Field::Import).read(json::boolean)?,
                gates: self
                    .field(Field::Gates)
                    .read(Gate::list)?
                    .unwrap_or_default(),
                v1_only: V1Only::parse(self.string(Field::V1Only)?.as_deref()),
            },
            common_import: self
                .field(Field::CommonImport)
                .read(json::boolean)?
                .unwrap_or(true),
            templates: self
                .field(Field::Templates)
                .read(templates)?
                .unwrap_or_default(),
            placement: Placement::parse(selector.unwrap_or_default(), affinity),
            infra_errors: infra.as_ref().map(check_required).unwrap_or_default(),
            patches: [
                self.string(Field::SspPatch)?,
                self.string(Field::KubevirtPatch)?,
                self.string(Field::CdiPatch)?,
            ],
            // HCO writes the status, not the user: one that cannot be read says nothing.
            status_templates: self
                .field(Field::StatusTemplates)
                .read(status_templates)
                .ok()
                .flatten()
                .unwrap_or_default(),
        })
    }
}

/// The `apiVersion` of an object, if it has one that can be read.
pub(crate) fn api_version(object: Raw<'_>) -> Option<String> {
    let [api_version] = json::members(object, ["apiVersion"]).ok()?;
    json::string(api_version?).ok()
}

/// What the rules read of a HyperConverged.
#[derive(Debug)]
pub(crate) struct HyperConverged {
    pub(crate) version: Version,
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) import: Import,
    /// Whether HCO imports the images that it ships.
    pub(crate) common_import: bool,
    pub(crate) templates: Vec<Template>,
    /// The workloads' placement.
    pub(crate) placement: Placement,
    /// What Kubernetes' parser would refuse in the infra affinity, which places no workload.
    pub(crate) infra_errors: Vec<SelectorError>,
    /// The jsonpatch annotations of SSP, KubeVirt and CDI.
    pub(crate) patches: [Option<String>; 3],
    pub(crate) status_templates: Vec<StatusTemplate>,
}

impl HyperConverged {
    /// Where a field stands in the version that was sent.
    pub(crate) fn path(&self, field: Field) -> String {
        json::path_text(
            paths(self.version)
                .get(field as usize)
                .copied()
                .unwrap_or_default(),
        )
    }
}

/// An entry of dataImportCronTemplates.
#[derive(Debug, Default)]
pub(crate) struct Template {
    pub(crate) index: usize,
    pub(crate) name: String,
    /// The architectures annotation.
    pub(crate) architectures: Option<String>,
    /// The enable annotation.
    enable: Option<String>,
    pub(crate) has_spec: bool,
    /// Whether `spec.template.spec.source` is there: HCO follows it without looking.
    pub(crate) has_source: bool,
    pub(crate) registry: Option<Registry>,
}

impl Template {
    /// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
    /// isDataImportCronTemplateEnabled.
    pub(crate) fn is_enabled(&self) -> bool {
        self.enable
            .as_ref()
            .is_none_or(|value| crate::text::ascii_lower(value) == "true")
    }

    /// The value of an enable annotation that HCO's webhook refuses.
    ///
    /// MIRRORS: hyperconverged-cluster-operator pkg/webhooks/validator/validator.go,
    /// validateDataImportCronTemplates.
    pub(crate) fn odd_enable(&self) -> Option<&str> {
        self.enable
            .as_deref()
            .filter(|value| !matches!(crate::text::ascii_lower(value).as_str(), "true" | "false"))
    }
}

/// Where an image is pulled from: every field of it, because HCO compares them all.
///
/// MIRRORS: containerized-data-importer-api pkg/apis/core/v1beta1/types.go, `DataVolumeSourceRegistry`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Registry {
    pub(crate) url: Option<String>,
    image_stream: Option<String>,
    pull_method: Option<String>,
    secret_ref: Option<String>,
    cert_config_map: Option<String>,
    platform: Option<String>,
}

impl Registry {
    pub(crate) fn at(url: &str) -> Self {
        Self {
            url: Some(url.to_owned()),
            ..Self::default()
        }
    }

    fn parse(raw: Raw<'_>) -> Result<Self, Unreadable> {
        let [
            url,
            image_stream,
            pull_method,
            secret_ref,
            cert_config_map,
            platform,
        ] = json::members(
            raw,
            [
                "url",
                "imageStream",
                "pullMethod",
                "secretRef",
                "certConfigMap",
                "platform",
            ],
        )?;
        let text = |name, raw| json::optional(name, raw, json::string);
        Ok(Self {
            url: text("url", url)?,
            image_stream: text("imageStream", image_stream)?,
            pull_method: text("pullMethod", pull_method)?,
            secret_ref: text("secretRef", secret_ref)?,
            cert_config_map: text("certConfigMap", cert_config_map)?,
            // A platform without an architecture is one with an empty architecture: a Go string.
            platform: json::optional("platform", platform, |raw| {
                let [architecture] = json::members(raw, ["architecture"])?;
                Ok(json::optional("architecture", architecture, json::string)?.unwrap_or_default())
            })?,
        })
    }
}

/// What HCO's status says of a template that it ships.
#[derive(Debug)]
pub(crate) struct StatusTemplate {
    pub(crate) name: String,
    pub(crate) modified: bool,
    pub(crate) registry: Option<Registry>,
    pub(crate) architectures: Option<String>,
}

fn labels(raw: Raw<'_>) -> Result<BTreeMap<String, String>, Unreadable> {
    let mut labels = BTreeMap::new();
    let mut failed = None;
    json::each_member(raw, &mut |key, value| {
        // A null in a map of strings is an empty string to Go.
        match json::optional(&format!("[{key}]"), Some(value), json::string_or_null) {
            Ok(value) => {
                labels.insert(key.to_owned(), value.unwrap_or_default());
            }
            Err(error) => failed = Some(error),
        }
    })?;
    failed.map_or(Ok(labels), Err)
}

fn templates(raw: Raw<'_>) -> Result<Vec<Template>, Unreadable> {
    json::each(raw, template)
}

fn template(index: usize, raw: Raw<'_>) -> Result<Template, Unreadable> {
    let [metadata, spec] = json::members(raw, ["metadata", "spec"])?;
    let mut template = Template {
        index,
        has_spec: spec.is_some(),
        ..Template::default()
    };
    json::optional("metadata", metadata, |raw| {
        let [name, annotations] = json::members(raw, ["name", "annotations"])?;
        template.name = json::optional("name", name, json::string)?.unwrap_or_default();
        json::optional("annotations", annotations, |raw| {
            template.architectures = annotation(raw, ARCHITECTURES)?;
            template.enable = annotation(raw, ENABLE)?;
            Ok(())
        })
    })?;
    if let Some((has_source, registry)) = json::optional("spec", spec, source)?.flatten() {
        template.has_source = has_source;
        template.registry = registry;
    }
    Ok(template)
}

/// A value of an annotation map, where a null counts as an empty string, as in Go.
fn annotation(annotations: Raw<'_>, name: &str) -> Result<Option<String>, Unreadable> {
    let mut found = None;
    json::each_member(annotations, &mut |key, value| {
        if key == name {
            found = Some(value);
        }
    })?;
    json::optional(&format!("[{name}]"), found, json::string_or_null)
}

/// Whether a template's spec has a source, and the registry in it.
fn source(spec: Raw<'_>) -> Result<Option<(bool, Option<Registry>)>, Unreadable> {
    let [template] = json::members(spec, ["template"])?;
    let found = json::optional("template", template, |raw| {
        let [spec] = json::members(raw, ["spec"])?;
        json::optional("spec", spec, |raw| {
            let [source] = json::members(raw, ["source"])?;
            let registry = json::optional("source", source, |raw| {
                let [registry] = json::members(raw, ["registry"])?;
                json::optional("registry", registry, Registry::parse)
            })?;
            Ok((source.is_some(), registry.flatten()))
        })
    })?;
    Ok(found.flatten())
}

fn status_templates(raw: Raw<'_>) -> Result<Vec<StatusTemplate>, Unreadable> {
    let templates = json::each(raw, |index, raw| {
        let [status] = json::members(raw, ["status"])?;
        let said = json::optional("status", status, |raw| {
            let [common, modified, original] = json::members(
                raw,
                [
                    "commonTemplate",
                    "modified",
                    "originalSupportedArchitectures",
                ],
            )?;
            Ok((
                json::optional("commonTemplate", common, json::boolean)?.unwrap_or_default(),
                json::optional("modified", modified, json::boolean)?.unwrap_or_default(),
                json::optional("originalSupportedArchitectures", original, json::string)?,
            ))
        })?;
        let Some((true, modified, original)) = said else {
            return Ok(None);
        };
        let template = template(index, raw)?;
        Ok(Some(StatusTemplate {
            name: template.name,
            modified,
            registry: template.registry,
            // With the import on the annotation is filtered; the original is not.
            architectures: original
                .filter(|original| !original.is_empty())
                .or(template.architectures),
        }))
    })?;
    Ok(templates.into_iter().flatten().collect())
}
