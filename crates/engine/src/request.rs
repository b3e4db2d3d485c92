//! Reads the payload of a request, and answers requests that need no evaluation.

use kube_objects::json::{Field, Json, Object};
use kube_objects::placement::Placement;
use kube_objects::request::Request;
use operator_models::hco::api_version::ApiVersion;
use operator_models::hco::golden_image;
use operator_models::hco::hyperconverged::{self, EvaluatedFields, HyperConverged};
use operator_models::hco::version::HcoVersion;
use operator_models::kubevirt::virtual_machine::VirtualMachine;
use operator_models::ssp::architecture::KNOWN;
use operator_models::ssp::data_sources::{GOLDEN_IMAGES_NAMESPACE, golden_images_namespace};

use crate::change::Comparison;
use crate::configuration::{Configuration, Installation, Origin};
use crate::object_name::{HYPER_CONVERGED, VIRTUAL_MACHINE, object_name};
use crate::report::Report;
use crate::settings::Settings;
use crate::unevaluated;
use crate::version::StatedVersion;

/// The maximum size of an object that is evaluated again, in bytes. The fixes of a larger one are not checked, and it is not
/// repaired. Manifests that people write are smaller.
pub(crate) const MAX_EVALUATED_AGAIN: usize = 128 << 10;

pub(crate) struct HyperConvergedRequest<'a> {
    pub(crate) name: String,
    pub(crate) object: Json<'a>,
    pub(crate) new: HyperConverged<'a>,
    /// The object before an update; `None` for another operation, or if it cannot be read.
    pub(crate) old: Option<HyperConverged<'a>>,
    is_update: bool,
    /// Whether nothing is written: no evaluated field and nothing in the spec differs from the old object. It is only set
    /// with a comparison.
    is_unsent: bool,
    pub(crate) settings: Settings,
    /// The rules whose repairs were removed from the settings, because the object is too large for them.
    pub(crate) too_large_for: Vec<&'static str>,
    /// Only for `report_change`, never in the module.
    pub(crate) comparison: Option<&'a Comparison<'a>>,
    /// Whether a program requests the whole report. It has the numbers of nodes, which need a list of them.
    pub(crate) wants_report: bool,
    /// The placements that a fix or a repair can set. They are known in advance, so that the nodes are listed only once.
    pub(crate) proposed_placements: [Placement; KNOWN.len()],
}

pub(crate) struct VirtualMachineRequest<'a> {
    pub(crate) name: String,
    pub(crate) object: Json<'a>,
    pub(crate) new: VirtualMachine,
    /// The object before an update; `None` for another operation, or if it cannot be read.
    pub(crate) old: Option<(Json<'a>, VirtualMachine)>,
    pub(crate) settings: Settings,
    /// Whether the object comes from a file, so that KubeVirt's webhooks have not seen it.
    pub(crate) is_in_file: bool,
}

/// Reads the request and the settings in a payload. The error is the answer to a request that needs no evaluation.
pub(crate) fn read(payload: &[u8]) -> Result<(Request<'_>, Field<'_>), Box<Report>> {
    let payload = Json::parse(payload)
        .map_err(|error| unreadable(&format!("it is not valid JSON: {error}")))?;
    let payload = Object::root(payload);
    let request = payload.field("request");
    if payload.fields().is_ok() && !request.is_present() {
        return Err(unreadable("the payload has no request"));
    }
    let request = Request::read(&request).map_err(|error| unreadable(&error.to_string()))?;
    // Neither of them has an object to evaluate. An unknown operation is evaluated like a CREATE.
    let has_no_object = matches!(request.operation.as_str(), "DELETE" | "CONNECT");
    if has_no_object || !request.sub_resource.is_empty() {
        return Err(accepted());
    }
    if request.kind.is_empty() {
        return Err(unreadable("the request has no kind"));
    }
    Ok((request, payload.field("settings")))
}

fn accepted() -> Box<Report> {
    Box::new(Report::accepted())
}

fn unreadable(reason: &str) -> Box<Report> {
    Box::new(unevaluated::unreadable_payload(reason))
}

fn sent_object<'a>(request: &Request<'a>) -> Result<Json<'a>, Box<Report>> {
    let object = request.object.json();
    object.ok_or_else(|| unreadable("the request has no object"))
}

fn read_settings(settings: &Field<'_>, name: &str) -> Result<Settings, Box<Report>> {
    Settings::read(settings.json())
        .map_err(|problems| Box::new(unevaluated::invalid_settings(name, &problems)))
}

fn old_object<'a>(request: &Request<'a>) -> Option<Json<'a>> {
    let old = request.old_object.json();
    old.filter(|_| request.operation == "UPDATE")
}

/// Whether the specs are the same text. If they differ, the object is written, and HCO's webhook completes it.
fn has_same_spec(one: Json<'_>, other: Json<'_>) -> bool {
    let [one, other] = [one, other].map(|object| Object::root(object).field("spec").json());
    one.map(Json::text) == other.map(Json::text)
}

impl<'a> HyperConvergedRequest<'a> {
    /// Accepts an update that changes no evaluated field.
    pub(crate) fn read(
        request: &Request<'a>,
        settings: &Field<'a>,
        comparison: Option<&'a Comparison<'a>>,
        wants_report: bool,
    ) -> Result<Self, Box<Report>> {
        let name = object_name(HYPER_CONVERGED, request, ["", ""]);
        let requested = request.version.as_str();
        let object = sent_object(request)?;
        let root = Object::root(object);
        let api_version = hyperconverged::api_version(&root);
        if hyperconverged::is_being_deleted(&root) {
            return Err(accepted());
        }
        let Some(version) = ApiVersion::from_kind(api_version.as_deref(), requested) else {
            let settings = read_settings(settings, &name)?;
            let version = api_version.as_deref().unwrap_or(requested);
            return Err(Box::new(unevaluated::unknown_version(
                &name, version, &settings,
            )));
        };
        let fields = EvaluatedFields::new(&root, version);
        let old = old_object(request).and_then(|old| {
            let root = Object::root(old);
            let version = hyperconverged::api_version(&root);
            let version = ApiVersion::from_kind(version.as_deref(), requested)?;
            Some((EvaluatedFields::new(&root, version), root))
        });
        let is_unchanged = old.as_ref().is_some_and(|(old, _)| *old == fields);
        if is_unchanged && comparison.is_none() {
            return Err(accepted());
        }
        let mut settings = read_settings(settings, &name)?;
        let too_large_for = if object.text().len() > MAX_EVALUATED_AGAIN {
            settings.repairs.drain(..).map(|(rule, _)| rule).collect()
        } else {
            Vec::new()
        };
        let new = HyperConverged::read(&root, fields).map_err(|error| {
            let types = format!(
                "hyperconvergeds --recursive --api-version=hco.kubevirt.io/{}",
                version.into_str()
            );
            Box::new(unevaluated::undecodable(&name, &types, &error, &settings))
        })?;
        Ok(Self {
            name: object_name(HYPER_CONVERGED, request, [&new.namespace, &new.name]),
            object,
            // If the old object cannot be read, the new one is evaluated in full.
            old: old.and_then(|(fields, root)| HyperConverged::read(&root, fields).ok()),
            proposed_placements: KNOWN.map(|architecture| new.placement.on(architecture)),
            new,
            is_update: request.operation == "UPDATE",
            is_unsent: is_unchanged
                && old_object(request).is_some_and(|old| has_same_spec(object, old)),
            settings,
            too_large_for,
            comparison,
            wants_report,
        })
    }

    pub(crate) fn parse_again<'t>(
        &self,
        object: &'t str,
    ) -> Option<(Json<'t>, HyperConverged<'t>)> {
        let json = Json::parse(object.as_bytes()).ok()?;
        let hco = HyperConverged::parse(json, self.new.fields.version).ok()?;
        Some((json, hco))
    }

    /// The object whose status is used. A mutating webhook gets the status that the user sends, so in an update it is
    /// the old object; otherwise, it is an object that the API server has stored.
    fn with_status(&self) -> Option<&HyperConverged<'a>> {
        if self.is_update {
            self.old.as_ref()
        } else {
            Some(&self.new).filter(|new| new.is_stored)
        }
    }

    /// The known facts about HCO, or the facts about another version.
    pub(crate) fn installation(&self, version: Option<&str>) -> Installation<'_> {
        let (settings, stored) = (&self.settings, self.with_status());
        let in_status = stored.and_then(|stored| stored.status_version.as_deref());
        let in_settings = settings.hco_version.as_deref();
        let is_openshift = in_status
            .or(in_settings)
            .is_some_and(HcoVersion::is_openshift_virtualization);
        let namespace = settings.golden_images_namespace.as_deref();
        let (version, stated_version) = StatedVersion::find(version, in_status, in_settings);
        Installation {
            version,
            stated_version,
            common: golden_image::common_templates(
                stored.map_or(&[], |stored| &stored.status_templates),
                settings.common_templates.as_ref(),
                stored.and_then(|stored| stored.status_schedule.as_deref()),
                is_openshift,
            ),
            stored,
            golden_namespace: in_status
                .or(in_settings.filter(|_| namespace.is_none()))
                .map(golden_images_namespace)
                .or(namespace)
                .unwrap_or(GOLDEN_IMAGES_NAMESPACE)
                .into(),
            deploys_golden_images: stored
                .and_then(|stored| stored.deploys_ssp)
                .unwrap_or(!settings.lacks_golden_images),
        }
    }

    pub(crate) fn before<'s>(
        &'s self,
        installation: &'s Installation<'s>,
    ) -> Option<Configuration<'s>> {
        let old = self.old.as_ref()?;
        let origin = if old.is_stored {
            Origin::Stored
        } else {
            Origin::Written
        };
        Some(Configuration::new(old, installation, origin, None))
    }

    pub(crate) fn after<'s>(
        &'s self,
        installation: &'s Installation<'s>,
        before: Option<&Configuration<'_>>,
    ) -> Configuration<'s> {
        // If no write request is involved, only the cluster around the stored object changes.
        let is_left = |before: &Configuration<'_>| {
            let (old, new) = (before.version(), installation.version);
            self.is_unsent && !old.is_written_in_the_upgrade_to(new, self.new.has_deploy_ovs)
        };
        let origin = match before {
            Some(before) if self.new.is_stored && is_left(before) => Origin::Stored,
            None if self.new.is_stored && !self.is_update => Origin::Audited,
            _ => Origin::Sent,
        };
        Configuration::new(
            &self.new,
            installation,
            origin,
            before.map(|before| before.hco),
        )
    }
}

impl<'a> VirtualMachineRequest<'a> {
    /// Accepts an update that changes no evaluated field.
    pub(crate) fn read(
        request: &Request<'a>,
        settings: &Field<'a>,
        is_in_file: bool,
    ) -> Result<Self, Box<Report>> {
        let name = object_name(VIRTUAL_MACHINE, request, ["", ""]);
        let object = sent_object(request)?;
        let new = VirtualMachine::read(object);
        let old = old_object(request).map(|old| (old, VirtualMachine::read(old)));
        let is_unchanged = match (&new, &old) {
            (Ok(new), Some((_, Ok(old)))) => new.is_judged_like(old),
            (Err(new), Some((_, Err(old)))) => new == old,
            _ => false,
        };
        if is_unchanged || new.as_ref().is_ok_and(|new| new.is_being_deleted) {
            return Err(accepted());
        }
        let settings = read_settings(settings, &name)?;
        let new = new.map_err(|error| {
            let types = "virtualmachines --recursive --api-version=kubevirt.io/v1";
            Box::new(unevaluated::undecodable(&name, types, &error, &settings))
        })?;
        Ok(Self {
            name: object_name(VIRTUAL_MACHINE, request, [&new.namespace, &new.name]),
            object,
            new,
            // If the old object cannot be read, the new one is evaluated in full.
            old: old.and_then(|(json, old)| Some((json, old.ok()?))),
            settings,
            is_in_file,
        })
    }
}
