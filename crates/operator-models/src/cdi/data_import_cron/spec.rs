//! The spec of a `DataImportCron`, as it is in a template and after HCO completes it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use kube_objects::json::{Field, Kind, Object, WrongType};
use kube_objects::quantity::Quantity;

/// The source of an image: a URL, an image stream, or the namespace and the name of a PVC.
pub type ImageOrigin = [Option<String>; 4];

/// The spec of a `DataImportCron`.
///
/// MIRRORS: containerized-data-importer-api pkg/apis/core/v1beta1/types.go, `DataImportCronSpec`.
#[derive(Debug, Clone)]
pub struct Spec<'a> {
    pub schedule: String,
    pub managed_data_source: String,
    /// Whether CDI keeps the imports when the `DataImportCron` is deleted.
    pub retention_policy: Option<String>,
    pub imports_to_keep: Option<i64>,
    pub garbage_collect: Option<String>,
    pub service_account_name: Option<String>,
    pub template: Field<'a>,
}

impl<'a> Spec<'a> {
    pub fn read(spec: &Object<'a>) -> Result<Self, WrongType<'a>> {
        for key in [
            "managedDataSource",
            "schedule",
            "retentionPolicy",
            "garbageCollect",
            "serviceAccountName",
        ] {
            spec.string(key)?;
        }
        spec.field("importsToKeep").integer()?;
        Ok(Self::readable_part(spec))
    }

    pub(crate) fn readable_part(spec: &Object<'a>) -> Self {
        let string = |key| spec.string(key).ok().flatten();
        Self {
            managed_data_source: string("managedDataSource").unwrap_or_default(),
            schedule: string("schedule").unwrap_or_default(),
            retention_policy: string("retentionPolicy"),
            imports_to_keep: spec.field("importsToKeep").integer().ok().flatten(),
            garbage_collect: string("garbageCollect"),
            service_account_name: string("serviceAccountName"),
            template: spec.field("template"),
        }
    }

    /// Completes the spec as HCO's mutating webhook does, and as HCO does with the templates that it ships, from 1.18 on.
    ///
    /// MIRRORS: hyperconverged-cluster-operator pkg/webhooks/mutator/hyperConvergedMutator.go, getDICTPatches;
    /// controllers/handlers/golden-images/golden_images.go, ensureDICTFields.
    pub fn complete(&mut self) {
        self.retention_policy
            .get_or_insert_with(|| "None".to_owned());
        self.imports_to_keep.get_or_insert(1);
    }

    pub(super) fn volume(&self) -> Object<'a> {
        self.template.object().object("spec")
    }

    /// The fields in which two specs differ, except for their managedDataSource and the platform of a registry source,
    /// which SSP changes.
    ///
    /// MIRRORS: k8s.io/apimachinery pkg/api/equality/semantic.go, `Semantic`: equal quantities can be written
    /// differently, and an empty list or map equals a missing one.
    ///
    /// DIVERGES: Go ignores unknown fields, and distinguishes an empty pointer from a missing one. The metadata of the
    /// template do not count, because CDI's schema removes them.
    pub(crate) fn differences(&self, other: &Self) -> Vec<String> {
        let changed = [
            (self.schedule != other.schedule).then_some("schedule"),
            (self.retention_policy != other.retention_policy).then_some("retentionPolicy"),
            (self.imports_to_keep != other.imports_to_keep).then_some("importsToKeep"),
            (self.garbage_collect != other.garbage_collect).then_some("garbageCollect"),
            (self.service_account_name != other.service_account_name)
                .then_some("serviceAccountName"),
        ];
        let mut found = changed.into_iter().flatten().map(str::to_owned).collect();
        let spec = |template: &Field<'a>| template.object().field("spec");
        let (one, other) = (&spec(&self.template), &spec(&other.template));
        add_differences("template.spec".to_owned(), one, other, &mut found);
        found
    }

    /// The architecture that the importer requests: the one that SSP writes into a registry source, or the template's.
    pub fn platform(&self, architecture: Option<&str>) -> Option<String> {
        let registry = self.volume().object("source").field("registry");
        if let Some(architecture) = architecture
            && registry.is_present()
        {
            return Some(architecture.to_owned());
        }
        let platform = registry.object().field("platform");
        let architecture = platform.object().text("architecture");
        platform
            .is_present()
            .then(|| architecture.unwrap_or_default())
    }

    pub(crate) fn origin(&self) -> ImageOrigin {
        let source = self.volume().object("source");
        let (registry, pvc) = (source.object("registry"), source.object("pvc"));
        [
            registry.field("url"),
            registry.field("imageStream"),
            pvc.field("namespace"),
            pvc.field("name"),
        ]
        .map(|field| field.string().ok().flatten())
    }
}

/// Adds the paths of the fields in which two values differ.
fn add_differences(path: String, one: &Field<'_>, other: &Field<'_>, found: &mut Vec<String>) {
    /// The longest path is `template.spec.storage.resources.requests`.
    const DOTS: usize = 4;
    if path == "template.spec.source.registry.platform" || is_empty(one) && is_empty(other) {
        return;
    }
    let is_object =
        |field: &Field<'_>| field.json().is_some_and(|json| json.kind() == Kind::Object);
    if path.matches('.').count() < DOTS && is_object(one) && is_object(other) {
        let [one, other] = [one, other].map(|field| {
            let fields = field.object().fields().unwrap_or_default();
            fields.into_iter().collect::<BTreeMap<_, _>>()
        });
        let keys: BTreeSet<_> = one.keys().chain(other.keys()).collect();
        let absent = Field::nowhere();
        for key in keys {
            let [one, other] = [&one, &other].map(|fields| fields.get(key).unwrap_or(&absent));
            add_differences([&path, ".", key].concat(), one, other, found);
        }
        return;
    }
    let is_equal = match path.rsplit_once('.') {
        Some((_, "requests" | "limits")) => quantities(one) == quantities(other),
        _ => one == other,
    };
    if !is_equal {
        found.push(path);
    }
}

fn is_empty(field: &Field<'_>) -> bool {
    field
        .json()
        .is_none_or(|json| [r#""""#, "false", "[]", "{}"].contains(&json.text()))
}

/// The entries of a map of quantities. Unreadable quantities are equal to each other.
fn quantities<'a>(map: &Field<'a>) -> Vec<(Cow<'a, str>, Option<Quantity>)> {
    map.object()
        .fields()
        .unwrap_or_default()
        .into_iter()
        .map(|(key, field)| (key, field.json_or_null().and_then(Quantity::read)))
        .collect()
}
