//! A HyperConverged of either version, reduced to the fields that are judged: one view for all rules.

mod affinity;
mod template;

use std::collections::BTreeMap;

pub(crate) use self::template::{
    ARCHITECTURES, ENABLE, Enable, Registry, Source, StatusTemplate, Template,
};

use crate::import::{GATE, Gate, ImportFields, V1Only};
use crate::json::{Field, Json, Object, WrongType};
use crate::placement::{Placement, SelectorError, check_required};
use crate::request::Version;

/// The annotation in which HCO's conversion stores the fields that only v1 has.
const V1_ONLY: &str = "hco.kubevirt.io/v1-only-fields";
/// The part of a node affinity that the scheduler enforces.
pub(crate) const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
/// The part of a node affinity that the scheduler only prefers.
pub(crate) const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// The fields that are judged, independent of the API version. Two objects in which these fields are equal
/// get the same verdict.
#[derive(Debug, PartialEq)]
pub(crate) struct JudgedFields<'a> {
    /// v1's field of the import, v1beta1's feature gate.
    pub(crate) import: Field<'a>,
    /// v1's list of feature gates.
    pub(crate) gates: Field<'a>,
    pub(crate) v1_only: Field<'a>,
    pub(crate) common_import: Field<'a>,
    pub(crate) templates: Field<'a>,
    /// The placement of the workloads.
    pub(crate) node_selector: Field<'a>,
    pub(crate) node_affinity: Field<'a>,
    /// The required node affinity of the infrastructure.
    pub(crate) infra_required: Field<'a>,
    pub(crate) patches: Patches<Field<'a>>,
}

/// One value for each jsonpatch annotation: those of SSP, KubeVirt, and CDI.
#[derive(Debug, PartialEq)]
pub(crate) struct Patches<T> {
    pub(crate) ssp: T,
    pub(crate) kubevirt: T,
    pub(crate) cdi: T,
}

impl<'a> JudgedFields<'a> {
    fn of(object: &Object<'a>, version: Version) -> Self {
        let spec = object.object("spec");
        let annotations = object.object("metadata").object("annotations");
        let patches = Patches {
            ssp: annotations.field("ssp.kubevirt.io/jsonpatch"),
            kubevirt: annotations.field("kubevirt.kubevirt.io/jsonpatch"),
            cdi: annotations.field("containerizeddataimporter.kubevirt.io/jsonpatch"),
        };
        match version {
            Version::V1beta1 => {
                let workloads = spec.object("workloads").object("nodePlacement");
                let infra = spec.object("infra").object("nodePlacement");
                Self {
                    import: spec.object("featureGates").field(GATE),
                    gates: Field::nowhere(),
                    v1_only: annotations.field(V1_ONLY),
                    common_import: spec.field("enableCommonBootImageImport"),
                    templates: spec.field("dataImportCronTemplates"),
                    node_selector: workloads.field("nodeSelector"),
                    node_affinity: workloads.object("affinity").field("nodeAffinity"),
                    infra_required: infra
                        .object("affinity")
                        .object("nodeAffinity")
                        .field(REQUIRED),
                    patches,
                }
            }
            Version::V1 => {
                let sources = spec.object("workloadSources");
                let placements = spec.object("deployment").object("nodePlacements");
                let workload = placements.object("workload");
                let infra = placements.object("infra");
                Self {
                    import: sources.field(GATE),
                    gates: spec.field("featureGates"),
                    v1_only: Field::nowhere(),
                    common_import: sources.field("enableCommonBootImageImport"),
                    templates: sources.field("dataImportCronTemplates"),
                    node_selector: workload.field("nodeSelector"),
                    node_affinity: workload.object("affinity").field("nodeAffinity"),
                    infra_required: infra
                        .object("affinity")
                        .object("nodeAffinity")
                        .field(REQUIRED),
                    patches,
                }
            }
        }
    }
}

/// A HyperConverged as it was sent: its fields are located, but no value is read.
#[derive(Debug)]
pub(crate) struct Sent<'a> {
    version: Version,
    object: Object<'a>,
    judged: JudgedFields<'a>,
}

impl<'a> Sent<'a> {
    pub(crate) fn new(json: Json<'a>, version: Version) -> Self {
        let object = Object::root(json);
        Self {
            version,
            judged: JudgedFields::of(&object, version),
            object,
        }
    }

    /// Whether the object is being deleted. Then only its finalizers matter.
    pub(crate) fn is_being_deleted(&self) -> bool {
        let timestamp = self.object.object("metadata").field("deletionTimestamp");
        matches!(timestamp.string(), Ok(Some(timestamp)) if !timestamp.is_empty())
    }

    /// Whether everything that is judged is the same in another object.
    pub(crate) fn is_judged_like(&self, other: &Self) -> bool {
        self.version == other.version && self.judged == other.judged
    }

    /// Reads the fields that the rules need.
    pub(crate) fn read(self) -> Result<HyperConverged<'a>, WrongType<'a>> {
        let Self {
            version,
            object,
            judged,
        } = self;
        let metadata = object.object("metadata");
        let status_templates = object.object("status").field("dataImportCronTemplates");
        let v1_only = judged.v1_only.string()?;
        Ok(HyperConverged {
            version,
            name: metadata.field("name").string()?.unwrap_or_default(),
            namespace: metadata.field("namespace").string()?.unwrap_or_default(),
            import: ImportFields {
                field: judged.import.boolean()?,
                gates: Gate::list(&judged.gates)?,
                v1_only: V1Only::parse(v1_only.as_deref()),
            },
            imports_common: judged.common_import.boolean()?.unwrap_or(true),
            templates: judged
                .templates
                .list(|index, item| Template::read(index, &item))?
                .unwrap_or_default(),
            placement: Placement::parse(
                labels(&judged.node_selector)?,
                affinity::node_affinity(&judged.node_affinity)?,
            ),
            infra_errors: affinity::node_selector(&judged.infra_required)?
                .as_ref()
                .map(check_required)
                .unwrap_or_default(),
            patches: Patches {
                ssp: judged.patches.ssp.string()?,
                kubevirt: judged.patches.kubevirt.string()?,
                cdi: judged.patches.cdi.string()?,
            },
            // HCO writes the status, not the user, so an unreadable status counts as absent.
            status_templates: status_templates
                .list(|index, item| StatusTemplate::read(index, &item))
                .ok()
                .flatten()
                .map(|templates| templates.into_iter().flatten().collect())
                .unwrap_or_default(),
            fields: judged,
        })
    }
}

/// The `apiVersion` of an object, if it is present and readable.
pub(crate) fn api_version(object: Json<'_>) -> Option<String> {
    Object::root(object).field("apiVersion").string().ok()?
}

/// The fields of a HyperConverged that the rules need.
#[derive(Debug)]
pub(crate) struct HyperConverged<'a> {
    pub(crate) version: Version,
    /// The paths of the fields.
    pub(crate) fields: JudgedFields<'a>,
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) import: ImportFields,
    /// Whether HCO imports the golden images that it ships.
    pub(crate) imports_common: bool,
    pub(crate) templates: Vec<Template<'a>>,
    /// The placement of the workloads.
    pub(crate) placement: Placement,
    /// What Kubernetes' parser rejects in the affinity of the infrastructure. HCO does not place workloads by it.
    pub(crate) infra_errors: Vec<SelectorError>,
    pub(crate) patches: Patches<Option<String>>,
    pub(crate) status_templates: Vec<StatusTemplate>,
}

fn labels<'a>(field: &Field<'a>) -> Result<BTreeMap<String, String>, WrongType<'a>> {
    let mut labels = BTreeMap::new();
    for (key, value) in field.object().fields()? {
        // Go reads null as an empty string.
        labels.insert(key.into_owned(), value.string()?.unwrap_or_default());
    }
    Ok(labels)
}
