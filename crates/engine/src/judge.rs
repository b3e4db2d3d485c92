//! From a request to a report: what is judged, and what is accepted at once.

use kube_objects::json::{Field, Json, Object};
use kube_objects::placement::REQUIRED;
use kube_objects::request::{Operation, Request};
use operator_models::hco::api_version::{ApiVersion, is_hyperconverged};
use operator_models::hco::golden_image;
use operator_models::hco::hyperconverged::{self, HyperConverged, LocatedFields};
use operator_models::kubevirt::virtual_machine::is_virtual_machine;
use operator_models::ssp::data_sources::{GOLDEN_IMAGES_NAMESPACE, golden_images_namespace};

use crate::checks::Checks;
use crate::cluster::Host;
use crate::comparison::Comparison;
use crate::facts::Facts;
use crate::images::AnswerCache;
use crate::nodes::{Nodes, NodesError};
use crate::remedies::JUDGED_AGAIN;
use crate::render::{self, Detail, HYPER_CONVERGED, ObjectName};
use crate::repair::{self, Plan, Step};
use crate::report::Report;
use crate::settings::{GoldenImages, Settings};
use crate::stages::{self, Policy};
use crate::version::Version;
use crate::virtual_machine;

/// Judges the payload of waPC's `validate`: `{"request": …, "settings": …}`.
///
/// Never fails: if the object cannot be judged, the report says so.
///
/// ```
/// struct Unreachable;
/// impl engine::Registry for Unreachable {
///     fn manifest(&self, _: &str) -> Result<Vec<u8>, String> {
///         Err("no route to host".to_owned())
///     }
///     fn manifest_and_config(&self, _: &str) -> Result<Vec<u8>, String> {
///         Err("no route to host".to_owned())
///     }
/// }
/// impl engine::Cluster for Unreachable {
///     fn nodes(&self) -> Result<Vec<u8>, String> {
///         Err("no route to host".to_owned())
///     }
/// }
/// let pod = r#"{"request": {"kind": {"group": "", "version": "v1", "kind": "Pod"}}, "settings": {}}"#;
/// assert!(engine::judge(pod.as_bytes(), &Unreachable).allowed);
/// ```
pub fn judge(payload: &[u8], cluster: &dyn Host) -> Report {
    judge_payload(payload, cluster, Detail::Verdict)
}

/// Judges a request for the `report` operation: the report also contains the golden images.
///
/// Beside the request and the settings the payload may hold `hcoVersion`, the version that HCO will have, and
/// `before: {nodes, hcoVersion, objects}`, what is in the cluster before.
pub fn report(payload: &[u8], cluster: &dyn Host) -> Report {
    judge_payload(payload, cluster, Detail::Everything)
}

/// Judges settings for the operation `validate_settings`.
///
/// # Errors
///
/// All problems in the settings, one on each line.
pub fn validate_settings(payload: &[u8]) -> Result<(), String> {
    let settings = Json::parse(payload)
        .map_err(|error| format!("the settings are not valid JSON: {error}"))?;
    Settings::read(Some(settings)).map(drop)
}

fn judge_payload(payload: &[u8], cluster: &dyn Host, detail: Detail) -> Report {
    let payload = match Json::parse(payload) {
        Ok(payload) => Object::root(payload),
        Err(error) => return render::unreadable_payload(&format!("it is not valid JSON: {error}")),
    };
    let request = payload.field("request");
    if payload.fields().is_ok() && !request.is_present() {
        return render::unreadable_payload("the payload has no request");
    }
    let comparison = match detail {
        Detail::Everything => Comparison::read(&payload),
        Detail::Verdict => Ok(None),
    };
    let comparison = match comparison {
        Ok(comparison) => comparison,
        Err(error) => return render::unreadable_payload(&error),
    };
    match Request::read(&request) {
        Ok(request) => judge_request(
            &request,
            &payload.field("settings"),
            comparison.as_ref(),
            cluster,
            detail,
        ),
        Err(error) => render::unreadable_payload(&error.to_string()),
    }
}

fn judge_request(
    request: &Request<'_>,
    settings: &Field<'_>,
    comparison: Option<&Comparison<'_>>,
    cluster: &dyn Host,
    detail: Detail,
) -> Report {
    if request.operation == Operation::Other || !request.sub_resource.is_empty() {
        return Report::accepted();
    }
    let Some(kind) = &request.kind else {
        return render::unreadable_payload("the request has no kind");
    };
    if is_virtual_machine(kind) {
        return virtual_machine::judge(request, settings, cluster);
    }
    if !is_hyperconverged(kind) {
        return Report::accepted();
    }
    let requested = kind.version.as_str();
    let name = ObjectName {
        kind: HYPER_CONVERGED,
        namespace: &request.namespace,
        name: &request.name,
    };
    let Some(object) = request.object.json() else {
        return render::unreadable_payload("the request has no object");
    };
    let api_version = hyperconverged::api_version(object);
    let Some(version) = ApiVersion::of(api_version.as_deref(), requested) else {
        let version = api_version.as_deref().unwrap_or(requested);
        return render::unknown_version(&name, version);
    };
    let fields = LocatedFields::new(object, version);
    let old = request
        .old_object
        .json()
        .filter(|_| request.operation == Operation::Update)
        .and_then(|old| {
            let version = ApiVersion::of(hyperconverged::api_version(old).as_deref(), requested)?;
            Some(LocatedFields::new(old, version))
        });
    let is_same = old.as_ref().is_some_and(|old| fields.is_judged_like(old));
    if fields.is_being_deleted() || is_same && comparison.is_none() {
        return Report::accepted();
    }
    let mut settings = match Settings::read(settings.json()) {
        Ok(settings) => settings,
        Err(problems) => return render::invalid_settings(&name, &problems),
    };
    let too_large = if object.text().len() > JUDGED_AGAIN {
        settings.remove_repairs()
    } else {
        Vec::new()
    };
    let hco = match fields.read() {
        Ok(hco) => hco,
        Err(error) => {
            let types = [
                "hyperconvergeds --recursive --api-version=hco.kubevirt.io/",
                version.name(),
            ];
            return render::undecodable(&name, &types.concat(), &error.to_string(), &settings);
        }
    };
    // If the old object cannot be read, the new one is still judged.
    let old = old.and_then(|old| old.read().ok());
    let name = name.or(&hco.namespace, &hco.name);
    let version_of = |given: Option<&String>| {
        let given = given.map(String::as_str);
        Version::of(given, &hco, old.as_ref(), &settings)
    };
    let judgement = Judgement {
        name,
        api_version: version,
        version: version_of(comparison.and_then(|it| it.version.as_ref())),
        version_before: version_of(comparison.and_then(|it| it.version_before.as_ref())),
        comparison,
        is_same,
        old: old.as_ref(),
        settings: &settings,
        too_large: &too_large,
        cluster,
        detail,
    };
    judgement.judge_and_repair(object, &hco)
}

/// Everything that a judgement depends on, except for the object.
struct Judgement<'a> {
    name: ObjectName<'a>,
    api_version: ApiVersion,
    version: Version,
    /// The version of HCO before.
    version_before: Version,
    comparison: Option<&'a Comparison<'a>>,
    /// Whether no judged field differs from the old object; only a comparison gets this far then.
    is_same: bool,
    old: Option<&'a HyperConverged<'a>>,
    settings: &'a Settings,
    /// The rules whose repairs were removed from the settings, because the object is too large for them.
    too_large: &'a [&'static str],
    cluster: &'a dyn Host,
    detail: Detail,
}

impl Judgement<'_> {
    /// Judges the object. If the settings name repairs, they are applied until none is left; if the result is still
    /// denied, nothing is changed.
    fn judge_and_repair(&self, object: Json<'_>, hco: &HyperConverged<'_>) -> Report {
        // The placement after a repair is known in advance, so that the nodes are listed only once.
        let placement = &hco.placement;
        let after_repair = self.settings.placement_repair();
        let after_repair = after_repair.map(|architecture| placement.on(architecture));
        let old = self.old.map(|old| &old.placement);
        let placements = [Some(placement), old, after_repair.as_ref()];
        let nodes = Nodes::new(
            self.cluster,
            self.settings.service_account.as_ref(),
            placements.into_iter().flatten(),
        );
        let answers = AnswerCache::new(self.cluster);
        let others = self.comparison.and_then(|it| it.nodes_before.as_ref());
        let others =
            others.map(|others| Nodes::new(others, None, [None, old, None].into_iter().flatten()));
        if let Some(others) = &others {
            others.list();
        }
        if let Some(NodesError::List(error)) = others.as_ref().and_then(Nodes::error) {
            return render::unreadable_payload(&format!("before.nodes: {error}"));
        }
        let before = others.as_ref().unwrap_or(&nodes);
        let judge_object =
            |object: Json<'_>, hco: &HyperConverged<'_>, obstacle: Option<&str>, made: &[Step]| {
                self.judge(object, hco, (before, &nodes), &answers, obstacle, made)
            };
        let (report, plan) = judge_object(object, hco, None, &[]);
        if nodes.lacked_by_length() {
            let path = hco.fields.node_affinity.path().key(REQUIRED);
            return render::placement_too_long(&self.name, &path, self.settings);
        }
        if plan.obstacle.is_some() {
            return report;
        }
        let repaired = repair::repair(object, self.api_version, plan, |object, hco, made| {
            judge_object(object, hco, None, made)
        });
        match repaired {
            Ok(Some(repaired)) => repaired,
            Ok(None) => report,
            Err(obstacle) => judge_object(object, hco, Some(&obstacle), &[]).0,
        }
    }

    /// Judges the object after the repairs in these steps, and plans the next steps.
    fn judge(
        &self,
        object: Json<'_>,
        hco: &HyperConverged<'_>,
        (nodes_before, nodes): (&Nodes<'_>, &Nodes<'_>),
        answers: &AnswerCache<'_>,
        obstacle: Option<&str>,
        made: &[Step],
    ) -> (Report, Plan) {
        let settings = self.settings;
        let common =
            |object| golden_image::common_templates(object, settings.common_templates.as_ref());
        let common_before = self.old.map(common);
        let namespace = self.golden_namespace(hco);
        let before = self.old.zip(common_before.as_ref());
        let before = before.map(|(old, common)| {
            let version = &self.version_before;
            Facts::new(old, None, version, common, nodes_before, namespace).before(hco)
        });
        let common = common(hco);
        let before_upgrade = self.version_before.hco;
        let facts = Facts {
            is_unsent: self.is_same
                && made.is_empty()
                && !before_upgrade.is_written_in_the_upgrade_to(self.version.hco),
            ..Facts::new(
                hco,
                before.as_ref(),
                &self.version,
                &common,
                nodes,
                namespace,
            )
        };
        let policy = Policy {
            checks: Checks {
                settings,
                has_golden_images: self.has_golden_images(hco),
            },
            answers,
            is_complete: self.detail == Detail::Everything,
            objects: self.comparison.map(|it| &it.objects),
        };
        stages::run(&facts, object, policy, |facts, judged| {
            let plan = Plan::new(facts, settings, judged, self.too_large);
            let mut report = render::report(
                &self.name,
                facts,
                settings,
                judged,
                made,
                obstacle.or(plan.obstacle.as_deref()),
                self.detail,
            );
            report.templates = report.templates.filter(|_| policy.checks.has_golden_images);
            (report, plan)
        })
    }

    /// The namespace of golden images, as the status shows it; without a status, that of the settings.
    fn golden_namespace(&self, hco: &HyperConverged<'_>) -> &str {
        let old = self.old.and_then(|old| old.status_version.as_deref());
        let stated = self.settings.golden_images_namespace.as_deref();
        match old.or(hco.status_version.as_deref()) {
            Some(version) => golden_images_namespace(version),
            None => stated.unwrap_or(GOLDEN_IMAGES_NAMESPACE),
        }
    }

    /// Whether HCO deploys golden images.
    fn has_golden_images(&self, hco: &HyperConverged<'_>) -> bool {
        let before = self.old.and_then(|old| old.deploys_ssp);
        let shown = before.or(hco.deploys_ssp);
        shown.unwrap_or(self.settings.golden_images != GoldenImages::Absent)
    }
}
