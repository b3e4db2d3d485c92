//! The alerts of HCO, SSP, and CDI about golden images: which of them have a cause now. Prometheus is not asked.

use operator_models::hco::template::ENABLE;
use serde::Serialize;
use serde_json::Value;

use crate::field::{condition, items, text};
use crate::foreign::Foreign;
use crate::object_name::{key, name};
use crate::stage::Compared;
use crate::templates;

/// An alert.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Alert {
    pub(super) name: &'static str,
    pub(super) state: State,
    /// How long its cause has to last before it fires.
    pub(super) after: &'static str,
    /// The objects that it is about.
    pub(super) objects: Vec<Foreign>,
    /// Its cause, or why there is none.
    pub(super) why: String,
    /// Whether it is about what was before, if it fires without a cause.
    pub(super) stale_if_firing: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum State {
    /// It has a cause.
    Firing,
    /// It has none.
    Quiet,
    /// What it is about was not read.
    Unknown,
}

/// All of them.
pub(super) fn of(observed: &Compared<'_>) -> Vec<Alert> {
    vec![
        multi_arch_disabled(observed),
        no_annotation(observed),
        no_supported_architecture(observed),
        unhealthy(observed.after()),
        ssp(observed),
        outdated(observed),
    ]
}

/// MIRRORS: hyperconverged-cluster-operator `pkg/monitoring/hyperconverged/collectors/operator_collectors.go`,
/// `getMultiArchBootImagesStatusCallback`: read anew each time, and for several workload architectures alone.
fn multi_arch_disabled(observed: &Compared<'_>) -> Alert {
    const NAME: &str = "HCOMultiArchGoldenImagesDisabled";
    let report = &observed.will_be;
    let (Some(nodes), Some(is_on)) = (&report.nodes, is_on(observed)) else {
        let why = "the workload nodes or the import are unknown";
        return alert(NAME, State::Unknown, "0s", why);
    };
    let several = nodes.len() > 1;
    let (state, why) = if several && !is_on && !is_listed(observed) {
        (State::Unknown, NOT_LISTED)
    } else if several && !is_on && templates::of_status(observed.after()).next().is_some() {
        let why = "the workload nodes have several architectures, and the multi-architecture import is off";
        (State::Firing, why)
    } else if !several {
        let why = "the workload nodes have one architecture at most";
        (State::Quiet, why)
    } else {
        let why = "the multi-architecture import is on, or there are no golden images";
        (State::Quiet, why)
    };
    alert(NAME, state, "0s", why)
}

/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
/// `CheckDataImportCronTemplates`: its values are never reset, so the alert outlives the import and its template.
fn no_annotation(observed: &Compared<'_>) -> Alert {
    let without = templates::of_status(observed.after()).filter(|it| original(it).is_empty());
    of_templates(
        "HCOGoldenImageWithNoArchitectureAnnotation",
        observed,
        without,
        [
            "there are no templates without an architectures annotation",
            "no architectures annotation",
        ],
    )
}

fn no_supported_architecture(observed: &Compared<'_>) -> Alert {
    let unsupported = templates::of_status(observed.after()).filter(|it| {
        let deployed = condition(it, "Deployed");
        !original(it).is_empty() && deployed.is_some_and(|it| it["status"] == "False")
    });
    of_templates(
        "HCOGoldenImageWithNoSupportedArchitecture",
        observed,
        unsupported,
        [
            "there are no templates whose annotation lists no architecture of the workload nodes",
            "the annotation lists no architecture of the workload nodes",
        ],
    )
}

fn of_templates<'o>(
    alert: &'static str,
    observed: &Compared<'_>,
    templates: impl Iterator<Item = &'o Value>,
    [without, what]: [&str; 2],
) -> Alert {
    const KEPT: &str = "HCO keeps the last value of each template; replace the hyperconverged-cluster-operator pod to clear it";
    let is_on = is_on(observed);
    let names = templates.filter_map(|it| text(it, "/metadata/name").map(Foreign::from));
    let objects: Vec<Foreign> = names.filter(|_| is_on == Some(true)).collect();
    let (state, why) = match (is_on, objects.is_empty()) {
        (None, _) => (
            State::Unknown,
            "the multi-architecture import is unknown".to_owned(),
        ),
        (Some(false), _) => (
            State::Quiet,
            format!("the multi-architecture import is off. {KEPT}."),
        ),
        (Some(true), true) if !is_listed(observed) => (State::Unknown, NOT_LISTED.to_owned()),
        (Some(true), true) => (State::Quiet, format!("{without}. {KEPT}.")),
        (Some(true), false) => (
            State::Firing,
            format!(
                "{what}. For any other template, the alert is out of date: replace the hyperconverged-cluster-operator pod"
            ),
        ),
    };
    Alert {
        objects,
        stale_if_firing: state == State::Quiet,
        ..self::alert(alert, state, "0s", why)
    }
}

/// MIRRORS: hyperconverged-cluster-operator `controllers/hyperconverged/hyperconverged_controller.go`,
/// `getSystemHealthStatus`.
fn unhealthy(object: &Value) -> Alert {
    let (state, why) = match text(object, "/status/systemHealthStatus") {
        Some(health @ ("warning" | "error")) => {
            let why = match reasons(object) {
                reasons if reasons.is_empty() => format!("HCO reports `{health}`"),
                reasons => format!("HCO reports `{health}`: {}", reasons.join(", ")),
            };
            (State::Firing, why)
        }
        Some(_) => (State::Quiet, "HCO reports no problem".to_owned()),
        None => (State::Unknown, "HCO has not reported its health".to_owned()),
    };
    alert("HCOOperatorConditionsUnhealthy", state, "10m", why)
}

/// The reasons of the conditions because of which HCO is not healthy.
fn reasons(object: &Value) -> Vec<String> {
    let mut reasons = Vec::new();
    for condition in items(object, "/status/conditions") {
        let text = |field: &str| condition.get(field)?.as_str();
        let is_problem = match text("type") {
            Some("Available" | "ReconcileComplete") => text("status") != Some("True"),
            Some("Degraded" | "Progressing") => text("status") == Some("True"),
            _ => false,
        };
        let reason = text("reason").filter(|_| is_problem);
        let reason = reason.map(|it| Foreign::from(it).to_string());
        reasons.extend(reason.filter(|it| !reasons.contains(it)));
    }
    reasons
}

/// MIRRORS: ssp-operator `internal/controllers/ssp_controller.go`, `Reconcile`: a reconcile succeeds if it ends in the phase
/// `Deployed`.
fn ssp(observed: &Compared<'_>) -> Alert {
    let ssps: Vec<Value> = observed.snapshot.of("SSP").collect();
    let failing = ssps.iter();
    let failing = failing.filter(|ssp| text(ssp, "/status/phase") != Some("Deployed"));
    let objects: Vec<Foreign> = failing.map(|ssp| Foreign::from(&*key(ssp))).collect();
    let (state, why) = if !observed.snapshot.has("SSP") {
        (State::Unknown, "SSPs were not read")
    } else if ssps.is_empty() {
        (State::Quiet, "there is no SSP")
    } else if objects.is_empty() {
        (State::Quiet, "SSP is deployed")
    } else {
        (State::Firing, "SSP does not complete its reconcile")
    };
    Alert {
        objects,
        ..alert("SSPFailingToReconcile", state, "5m", why)
    }
}

/// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-conditions.go, `updateDataImportCronOutdatedMetric`:
/// not for an import that waits for a default storage class.
fn outdated(observed: &Compared<'_>) -> Alert {
    let crons = observed.snapshot.of("DataImportCron");
    let crons = crons.filter(|cron| {
        let is_outdated = condition(cron, "UpToDate").is_some_and(|it| it["status"] != "True");
        let annotation = "/metadata/annotations/cdi.kubevirt.io~1storage.import.storageClass";
        let volume = cron.pointer("/spec/template/spec");
        let storage = ["pvc", "storage"]
            .into_iter()
            .find_map(|kind| volume?.get(kind).filter(|it| !it.is_null()));
        let has_class = storage.is_some_and(|it| it.get("storageClassName").is_some());
        is_outdated && (has_class || cron.pointer(annotation).is_some())
    });
    let objects: Vec<Foreign> = crons.map(|cron| Foreign::from(&*key(&cron))).collect();
    let (state, why) = if !observed.snapshot.has("DataImportCron") {
        (State::Unknown, "DataImportCrons were not read")
    } else if objects.is_empty() {
        let why = "every DataImportCron is up to date, or waits for a storage class";
        (State::Quiet, why)
    } else {
        (State::Firing, "their newest image is not imported")
    };
    Alert {
        objects,
        ..alert("CDIDataImportCronOutdated", state, "15m", why)
    }
}

/// One about no object in particular.
fn alert(name: &'static str, state: State, after: &'static str, why: impl Into<String>) -> Alert {
    Alert {
        name,
        state,
        after,
        objects: Vec::new(),
        why: why.into(),
        stale_if_firing: false,
    }
}

/// Whether the multi-architecture import is on; `None` if the module does not know it, as for an object that cannot be
/// read.
fn is_on(observed: &Compared<'_>) -> Option<bool> {
    let import = observed.will_be.multi_arch_import.as_ref()?;
    Some(import.raw() == "enabled")
}

const NOT_LISTED: &str = "HCO has not listed its templates yet";

/// Whether HCO has listed the templates that the object has now. Templates of the spec that are disabled are not listed, and
/// common ones are not in the spec.
fn is_listed(observed: &Compared<'_>) -> bool {
    let in_spec: Vec<&Value> = templates::of_spec(observed.after())
        .map(|(_, it)| it)
        .collect();
    let listed: Vec<&Value> = templates::of_status(observed.after()).collect();
    let has = |all: &[&Value], wanted: &Value| all.iter().any(|it| name(it) == name(wanted));
    let is_disabled = |it: &&&Value| {
        let annotations = it.pointer("/metadata/annotations");
        let enable = annotations.and_then(|it| it.get(ENABLE)?.as_str());
        enable.is_some_and(|it| it.eq_ignore_ascii_case("false"))
    };
    let is_common = |it: &&&Value| it.pointer("/status/commonTemplate") == Some(&Value::Bool(true));
    let mut wanted = in_spec.iter().filter(|it| !is_disabled(it));
    let mut own = listed.iter().filter(|it| !is_common(it));
    let forecast = observed.will_be.forecast.as_ref();
    let imports = forecast.is_some_and(|it| !it.crons.is_empty());
    wanted.all(|it| has(&listed, it))
        && own.all(|it| has(&in_spec, it))
        && !(listed.is_empty() && imports)
}

/// The annotation as the user wrote it.
fn original(template: &Value) -> &str {
    text(template, "/status/originalSupportedArchitectures").unwrap_or_default()
}
