//! A HyperConverged of either version, reduced to the fields that rules evaluate. All rules use the same view.

use kube_objects::json::{Field, Json, Object, WrongType};
use kube_objects::placement::{Placement, SelectorError, check_preferred};

use crate::hco::api_version::ApiVersion;
use crate::hco::golden_image::{CommonTemplate, status_template};
use crate::hco::import::{GATE, Gate, ImportFields, read_v1_only};
use crate::hco::node::Census;
use crate::hco::node_info::{node_info, places};
use crate::hco::template::Template;

/// The annotation in which HCO's conversion stores the fields that only v1 has.
const V1_ONLY: &str = "hco.kubevirt.io/v1-only-fields";

/// The fields that rules evaluate, and the version of the API that they are in. If they are equal in two objects, the
/// policy gives both the same verdict.
#[derive(Debug, PartialEq)]
pub struct EvaluatedFields<'a> {
    pub version: ApiVersion,
    /// The import: v1's field, or v1beta1's feature gate.
    pub import: Field<'a>,
    pub gates: Field<'a>,
    /// The annotation in which v1beta1 stores the fields of v1.
    pub v1_only: Field<'a>,
    pub common_import: Field<'a>,
    pub common_namespace: Field<'a>,
    pub templates: Field<'a>,
    pub node_selector: Field<'a>,
    pub node_affinity: Field<'a>,
    pub infra: Field<'a>,
    pub infra_affinity: Field<'a>,
    /// The jsonpatch annotations.
    pub ssp_patch: Field<'a>,
    pub kubevirt_patch: Field<'a>,
    pub cdi_patch: Field<'a>,
}

impl<'a> EvaluatedFields<'a> {
    pub fn new(object: &Object<'a>, version: ApiVersion) -> Self {
        let spec = object.object("spec");
        let annotations = object.object("metadata").object("annotations");
        let (sources, workload, infra, import, gates) = match version {
            ApiVersion::V1beta1 => (
                object.object("spec"),
                spec.object("workloads").object("nodePlacement"),
                spec.object("infra").field("nodePlacement"),
                spec.object("featureGates").field(GATE),
                Field::nowhere(),
            ),
            ApiVersion::V1 => {
                let sources = spec.object("workloadSources");
                let placements = spec.object("deployment").object("nodePlacements");
                let import = sources.field(GATE);
                (
                    sources,
                    placements.object("workload"),
                    placements.field("infra"),
                    import,
                    spec.field("featureGates"),
                )
            }
        };
        Self {
            version,
            import,
            gates,
            v1_only: annotations.field(V1_ONLY),
            common_import: sources.field("enableCommonBootImageImport"),
            common_namespace: sources.field("commonBootImageNamespace"),
            templates: sources.field("dataImportCronTemplates"),
            node_selector: workload.field("nodeSelector"),
            node_affinity: workload.object("affinity").field("nodeAffinity"),
            infra_affinity: infra.object().object("affinity").field("nodeAffinity"),
            infra,
            ssp_patch: annotations.field("ssp.kubevirt.io/jsonpatch"),
            kubevirt_patch: annotations.field("kubevirt.kubevirt.io/jsonpatch"),
            cdi_patch: annotations.field("containerizeddataimporter.kubevirt.io/jsonpatch"),
        }
    }
}

/// The version of HCO in a status, as a version of HCO or of OpenShift Virtualization.
///
/// MIRRORS: hyperconverged-cluster-operator `controllers/hyperconverged/hyperconverged_controller.go`, `hcoVersionName`
/// and `UpdateVersion`.
fn operator_version(status: &Object<'_>) -> Option<String> {
    let versions = status.field("versions").list(|_, item| {
        let entry = item.object();
        Ok((entry.text("name")?, entry.text("version")?))
    });
    versions
        .ok()??
        .into_iter()
        .find(|(name, version)| name == "operator" && !version.is_empty())
        .map(|(_, version)| version)
}

/// Whether HCO deploys SSP and therefore golden images, if the status shows it. If the status lists other resources but
/// not SSP, it proves the absence only after HCO has created all resources.
///
/// MIRRORS: hyperconverged-cluster-operator controllers/operandhandler/operandHandler.go, `NewOperandHandler`: SSP is
/// an operand only on OpenShift.
fn deploys_ssp(status: &Object<'_>) -> Option<bool> {
    let kinds = status
        .field("relatedObjects")
        .list(|_, item| item.object().text("kind"))
        .ok()?
        .unwrap_or_default();
    let conditions = status.field("conditions").list(|_, item| {
        let condition = item.object();
        let is_complete = condition.text("type")? == "ReconcileComplete";
        Ok(is_complete && condition.text("status")? == "True")
    });
    let is_complete = conditions.ok()?.unwrap_or_default().contains(&true);
    let has_ssp = kinds.iter().any(|kind| kind == "SSP");
    (has_ssp || is_complete && !kinds.is_empty()).then_some(has_ssp)
}

/// Whether the status is about this object, and not about the object before the last update.
fn is_reconciled(metadata: &Object<'_>, status: &Object<'_>) -> bool {
    let generation = metadata.field("generation").integer().ok().flatten();
    let observed = status.field("observedGeneration").integer().ok().flatten();
    generation.is_none() || observed.is_none() || generation == observed
}

/// The `apiVersion` of an object, if it is present and readable.
pub fn api_version(object: &Object<'_>) -> Option<String> {
    object.field("apiVersion").string().ok()?
}

/// Whether an object is being deleted. Then only its finalizers matter.
pub fn is_being_deleted(object: &Object<'_>) -> bool {
    let timestamp = object.object("metadata").field("deletionTimestamp");
    matches!(timestamp.string(), Ok(Some(timestamp)) if !timestamp.is_empty())
}

/// The fields of a HyperConverged that the rules need.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact about the object"
)]
#[derive(Debug)]
pub struct HyperConverged<'a> {
    pub fields: EvaluatedFields<'a>,
    pub name: String,
    pub namespace: String,
    pub import: ImportFields,
    /// Whether the API server has stored it, so that HCO's mutating webhook has completed it. On CREATE, the API server
    /// sets a UID before the policy sees the object, but no resource version.
    pub is_stored: bool,
    /// Whether it has the annotation `deployOVS`, which HCO adds in an upgrade.
    pub has_deploy_ovs: bool,
    pub imports_common: bool,
    /// The namespace of the golden images that HCO ships, unless the spec lists them; empty if HCO chooses it.
    pub common_namespace: String,
    pub templates: Vec<Template<'a>>,
    pub placement: Placement,
    /// The errors that the API server reports for the preferred affinity of the workloads.
    pub preferred_errors: Vec<SelectorError>,
    /// The same for the infrastructure.
    pub infra_preferred_errors: Vec<SelectorError>,
    /// Whether the placement of the infrastructure restricts its nodes.
    pub places_infra: bool,
    /// The node affinity of the infrastructure. HCO does not use it to place workloads.
    pub infra: Placement,
    pub ssp_patch: Option<String>,
    pub kubevirt_patch: Option<String>,
    pub cdi_patch: Option<String>,
    /// The templates that HCO ships, as the status shows them; `None` if the spec overrides one, so that the status shows
    /// the user's version.
    pub status_templates: Vec<(String, Option<CommonTemplate>)>,
    pub status_version: Option<String>,
    /// The schedule in the status, which HCO has chosen for common templates.
    pub status_schedule: Option<String>,
    pub deploys_ssp: Option<bool>,
    /// The architectures in the status, if HCO has computed them for this object.
    pub node_info: Option<Census>,
}

impl<'a> HyperConverged<'a> {
    pub fn parse(json: Json<'a>, version: ApiVersion) -> Result<Self, WrongType<'a>> {
        let object = Object::root(json);
        Self::read(&object, EvaluatedFields::new(&object, version))
    }

    pub fn read(object: &Object<'a>, fields: EvaluatedFields<'a>) -> Result<Self, WrongType<'a>> {
        let version = fields.version;
        let metadata = object.object("metadata");
        let status = object.object("status");
        let status_templates = status.field("dataImportCronTemplates");
        let v1_only = fields.v1_only.string()?;
        let node_selector = fields.node_selector.string_map()?;
        let affinity = fields.node_affinity.parse()?;
        let infra = fields.infra_affinity.parse()?;
        Ok(Self {
            name: metadata.text("name")?,
            namespace: metadata.text("namespace")?,
            import: ImportFields {
                api_version: version,
                field: fields.import.boolean()?,
                gates: Gate::list(&fields.gates)?,
                v1_only: read_v1_only(v1_only.as_deref()),
            },
            is_stored: metadata.field("resourceVersion").is_present(),
            has_deploy_ovs: metadata
                .object("annotations")
                .field("deployOVS")
                .is_present(),
            imports_common: fields.common_import.boolean()?.unwrap_or(true),
            common_namespace: fields.common_namespace.string()?.unwrap_or_default(),
            templates: fields
                .templates
                .list(|index, item| Template::read(index, &item))?
                .unwrap_or_default(),
            preferred_errors: affinity.as_ref().map(check_preferred).unwrap_or_default(),
            placement: Placement::parse(node_selector, affinity),
            places_infra: places(&fields.infra),
            infra_preferred_errors: infra.as_ref().map(check_preferred).unwrap_or_default(),
            infra: Placement::parse([], infra),
            ssp_patch: fields.ssp_patch.string()?,
            kubevirt_patch: fields.kubevirt_patch.string()?,
            cdi_patch: fields.cdi_patch.string()?,
            // HCO, not the user, writes the status, so an unreadable status counts as absent.
            status_templates: status_templates
                .list(|index, item| status_template(index, &item))
                .into_iter()
                .flatten()
                .flatten()
                .flatten()
                .collect(),
            status_version: operator_version(&status),
            status_schedule: status.field("dataImportSchedule").string().ok().flatten(),
            deploys_ssp: deploys_ssp(&status),
            node_info: node_info(&status).filter(|_| is_reconciled(&metadata, &status)),
            fields,
        })
    }
}
