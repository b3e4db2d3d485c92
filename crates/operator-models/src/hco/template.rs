//! The entries of dataImportCronTemplates.

use kube_objects::json::{Field, Json, WrongType};
use kube_objects::text::ascii_lower;

/// The annotation with the architectures of a template's image.
pub const ARCHITECTURES: &str = "ssp.kubevirt.io/dict.architectures";
pub const ENABLE: &str = "dataimportcrontemplate.kubevirt.io/enable";
/// The label of a DataSource with the preference of VMs that infer it.
pub const DEFAULT_PREFERENCE: &str = "instancetype.kubevirt.io/default-preference";
pub const DEFAULT_PREFERENCE_KIND: &str = "instancetype.kubevirt.io/default-preference-kind";

const CLUSTER_PREFERENCE: &str = "VirtualMachineClusterPreference";

#[derive(Debug)]
pub struct Template<'a> {
    pub index: usize,
    /// The entry itself, for fixes.
    pub json: Option<Json<'a>>,
    pub name: String,
    pub architectures: Option<String>,
    /// The shipped preference that VMs from the golden image infer.
    pub default_preference: Option<String>,
    pub enable: Enable,
    pub source: Source,
}

/// The enable annotation.
///
/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
/// isDataImportCronTemplateEnabled; pkg/webhooks/validator/validator.go, validateDataImportCronTemplates.
#[derive(Debug, PartialEq, Eq)]
pub enum Enable {
    /// Absent, or true in any letter case.
    Enabled,
    Disabled,
    /// Neither true nor false: HCO's webhook denies the template.
    Invalid(String),
}

#[derive(Debug, Default)]
pub enum Source {
    #[default]
    NoSpec,
    /// There is a spec, but no `spec.template.spec.source`, which HCO requires for a common template.
    Missing,
    Pvc,
    Other,
    Registry(Box<RegistrySource>),
}

impl<'a> Template<'a> {
    pub fn read(index: usize, item: &Field<'a>) -> Result<Self, WrongType<'a>> {
        let template = item.object();
        let metadata = template.object("metadata");
        let annotations = metadata.object("annotations");
        let labels = metadata.object("labels");
        let label = |name| labels.field(name).string().ok().flatten();
        let is_cluster_wide =
            label(DEFAULT_PREFERENCE_KIND).is_none_or(|kind| kind == CLUSTER_PREFERENCE);
        let enable = annotations.entry(ENABLE)?;
        Ok(Self {
            index,
            json: item.json_or_null(),
            name: metadata.text("name")?,
            architectures: annotations.entry(ARCHITECTURES)?,
            default_preference: label(DEFAULT_PREFERENCE).filter(|_| is_cluster_wide),
            enable: match enable {
                None => Enable::Enabled,
                Some(value) => match &*ascii_lower(&value) {
                    "true" => Enable::Enabled,
                    "false" => Enable::Disabled,
                    _ => Enable::Invalid(value),
                },
            },
            source: Source::read(&template.field("spec"))?,
        })
    }

    /// The value of the architectures annotation; empty without one.
    pub fn stated_architectures(&self) -> &str {
        self.architectures.as_deref().unwrap_or_default()
    }

    pub fn is_enabled(&self) -> bool {
        self.enable == Enable::Enabled
    }
}

impl Source {
    fn read<'a>(spec: &Field<'a>) -> Result<Self, WrongType<'a>> {
        if !spec.is_present() {
            return Ok(Self::NoSpec);
        }
        let volume = spec.object().object("template").object("spec");
        let source = volume.field("source");
        Ok(
            match RegistrySource::read(&source.object().field("registry"))? {
                Some(registry) => Self::Registry(Box::new(registry)),
                None if source.object().field("pvc").is_present() => Self::Pvc,
                None if source.is_present() => Self::Other,
                None => Self::Missing,
            },
        )
    }

    pub fn registry(&self) -> Option<&RegistrySource> {
        match self {
            Self::Registry(registry) => Some(registry),
            Self::NoSpec | Self::Missing | Self::Pvc | Self::Other => None,
        }
    }
}

/// The source that an image is pulled from: every field, because HCO compares them all.
///
/// MIRRORS: containerized-data-importer-api pkg/apis/core/v1beta1/types.go, `DataVolumeSourceRegistry`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RegistrySource {
    /// For example `docker://quay.io/containerdisks/fedora:latest`.
    pub url: Option<String>,
    pub(crate) image_stream: Option<String>,
    pub(crate) pull_method: Option<String>,
    secret_ref: Option<String>,
    cert_config_map: Option<String>,
    platform_architecture: Option<String>,
}

impl RegistrySource {
    pub fn at(url: &str) -> Self {
        Self {
            url: Some(url.to_owned()),
            ..Self::default()
        }
    }

    pub fn is_image_stream(&self) -> bool {
        self.image_stream.is_some()
    }

    pub(crate) fn read<'a>(field: &Field<'a>) -> Result<Option<Self>, WrongType<'a>> {
        let registry = field.object();
        let platform = registry.field("platform");
        // A platform without an architecture has an empty one, because it is a Go string.
        let architecture = platform.object().text("architecture")?;
        let read = Self {
            url: registry.string("url")?,
            image_stream: registry.string("imageStream")?,
            pull_method: registry.string("pullMethod")?,
            secret_ref: registry.string("secretRef")?,
            cert_config_map: registry.string("certConfigMap")?,
            platform_architecture: platform.is_present().then_some(architecture),
        };
        Ok(field.is_present().then_some(read))
    }
}
