//! The alerts of HCO, SSP, and CDI about golden images: which of them have a cause now. Prometheus is not asked.

use operators::hco::template::ENABLE;
use serde::Serialize;
use serde_json::Value;

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
    let none = Value::Null;
    let object = observed.after().unwrap_or(&none);
    vec![
        multi_arch_disabled(observed, object),
        no_annotation(observed, object),
        no_supported_architecture(observed, object),
        unhealthy(object),
        ssp(observed),
        outdated(observed),
    ]
}

const DISABLED: &str = "HCOMultiArchGoldenImagesDisabled";

/// MIRRORS: hyperconverged-cluster-operator `pkg/monitoring/hyperconverged/collectors/operator_collectors.go`,
/// `getMultiArchBootImagesStatusCallback`: read anew each time, and for several workload architectures alone.
fn multi_arch_disabled(observed: &Compared<'_>, object: &Value) -> Alert {
    let report = &observed.will_be;
    let (Some(nodes), Some(is_on)) = (&report.nodes, is_on(observed)) else {
        return Alert {
            state: State::Unknown,
            ..alert(
                DISABLED,
                false,
                "0s",
                "the workload nodes or the import are unknown",
            )
        };
    };
    let several = nodes.len() > 1;
    if several && !is_on && !is_listed(observed, object) {
        return Alert {
            state: State::Unknown,
            ..alert(DISABLED, false, "0s", NOT_LISTED)
        };
    }
    let fires = several && !is_on && templates::of_status(object).next().is_some();
    let why = if fires {
        "the workload nodes have several architectures, and the multi-architecture import is off"
    } else if !several {
        "the workload nodes have one architecture at most"
    } else {
        "the multi-architecture import is on, or there are no golden images"
    };
    alert(DISABLED, fires, "0s", why)
}

/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
/// `CheckDataImportCronTemplates`: its values are never reset, so the alert outlives the import and its template.
fn no_annotation(observed: &Compared<'_>, object: &Value) -> Alert {
    let without = templates::of_status(object).filter(|it| original(it).is_empty());
    of_templates(
        "HCOGoldenImageWithNoArchitectureAnnotation",
        (observed, object),
        without,
        [
            "there are no templates without an architectures annotation",
            "no architectures annotation",
        ],
    )
}

fn no_supported_architecture(observed: &Compared<'_>, object: &Value) -> Alert {
    let unsupported = templates::of_status(object).filter(|it| {
        let conditions = it.pointer("/status/conditions").and_then(Value::as_array);
        let is_not_deployed = |it: &Value| {
            it.get("type") == Some(&Value::from("Deployed"))
                && it.get("status") == Some(&Value::from("False"))
        };
        !original(it).is_empty() && conditions.into_iter().flatten().any(is_not_deployed)
    });
    of_templates(
        "HCOGoldenImageWithNoSupportedArchitecture",
        (observed, object),
        unsupported,
        [
            "there are no templates whose annotation lists no architecture of the workload nodes",
            "the annotation lists no architecture of the workload nodes",
        ],
    )
}

fn of_templates<'o>(
    alert: &'static str,
    (observed, object): (&Compared<'_>, &Value),
    templates: impl Iterator<Item = &'o Value>,
    [without, what]: [&str; 2],
) -> Alert {
    const KEPT: &str = "HCO keeps the last value of each template; replace the hyperconverged-cluster-operator pod to clear it";
    let is_on = is_on(observed);
    let names = templates.filter_map(|it| it.pointer("/metadata/name")?.as_str());
    let names = names.map(Foreign::from);
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
        (Some(true), true) if !is_listed(observed, object) => {
            (State::Unknown, NOT_LISTED.to_owned())
        }
        (Some(true), true) => (State::Quiet, format!("{without}. {KEPT}.")),
        (Some(true), false) => (
            State::Firing,
            format!(
                "{what}. For any other template, the alert is out of date: replace the hyperconverged-cluster-operator pod"
            ),
        ),
    };
    Alert {
        name: alert,
        state,
        after: "0s",
        objects,
        why,
        stale_if_firing: state == State::Quiet,
    }
}

/// MIRRORS: hyperconverged-cluster-operator `controllers/hyperconverged/hyperconverged_controller.go`,
/// `getSystemHealthStatus`.
fn unhealthy(object: &Value) -> Alert {
    let health = object.pointer("/status/systemHealthStatus");
    let health = health.and_then(Value::as_str);
    let fires = matches!(health, Some("warning" | "error"));
    let why = match health {
        Some(health @ ("warning" | "error")) => match reasons(object) {
            reasons if reasons.is_empty() => format!("HCO reports `{health}`"),
            reasons => format!("HCO reports `{health}`: {}", reasons.join(", ")),
        },
        Some(_) => "HCO reports no problem".to_owned(),
        None => "HCO has not reported its health".to_owned(),
    };
    let known = alert("HCOOperatorConditionsUnhealthy", fires, "10m", &why);
    Alert {
        state: if health.is_none() {
            State::Unknown
        } else {
            known.state
        },
        ..known
    }
}

/// The reasons of the conditions because of which HCO is not healthy.
fn reasons(object: &Value) -> Vec<String> {
    let conditions = object.pointer("/status/conditions");
    let conditions = conditions.and_then(Value::as_array).into_iter().flatten();
    let mut reasons = Vec::new();
    for condition in conditions {
        let text = |field: &str| condition.get(field).and_then(Value::as_str);
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
    const NAME: &str = "SSPFailingToReconcile";
    let ssps: Vec<Value> = observed.snapshot.of("SSP").collect();
    let is_deployed = |ssp: &&Value| ssp.pointer("/status/phase") == Some(&Value::from("Deployed"));
    let failing: Vec<Foreign> = ssps
        .iter()
        .filter(|ssp| !is_deployed(ssp))
        .map(|ssp| Foreign::from(&*key(ssp)))
        .collect();
    if !observed.snapshot.has("SSP") {
        return Alert {
            state: State::Unknown,
            ..alert(NAME, false, "5m", "SSPs were not read")
        };
    }
    let why = match (ssps.is_empty(), failing.is_empty()) {
        (true, _) => "there is no SSP",
        (_, true) => "SSP is deployed",
        (_, false) => "SSP does not complete its reconcile",
    };
    Alert {
        objects: failing.clone(),
        ..alert(NAME, !failing.is_empty(), "5m", why)
    }
}

/// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-conditions.go, `updateDataImportCronOutdatedMetric`:
/// not for an import that waits for a default storage class.
fn outdated(observed: &Compared<'_>) -> Alert {
    const NAME: &str = "CDIDataImportCronOutdated";
    if !observed.snapshot.has("DataImportCron") {
        return Alert {
            state: State::Unknown,
            ..alert(NAME, false, "15m", "DataImportCrons were not read")
        };
    }
    let crons = observed.snapshot.of("DataImportCron");
    let crons = crons.filter(|cron| {
        let conditions = cron.pointer("/status/conditions").and_then(Value::as_array);
        let mut conditions = conditions.into_iter().flatten();
        let up_to_date = conditions.find(|it| it.get("type") == Some(&Value::from("UpToDate")));
        let annotation = "/metadata/annotations/cdi.kubevirt.io~1storage.import.storageClass";
        let volume = cron.pointer("/spec/template/spec");
        let storage = ["pvc", "storage"]
            .into_iter()
            .find_map(|kind| volume?.get(kind).filter(|it| !it.is_null()));
        let has_class = storage.is_some_and(|it| it.get("storageClassName").is_some());
        let is_outdated =
            up_to_date.is_some_and(|it| it.get("status") != Some(&Value::from("True")));
        is_outdated && (has_class || cron.pointer(annotation).is_some())
    });
    let objects: Vec<Foreign> = crons.map(|cron| Foreign::from(&*key(&cron))).collect();
    let why = if objects.is_empty() {
        "every DataImportCron is up to date, or waits for a storage class"
    } else {
        "their newest image is not imported"
    };
    Alert {
        objects: objects.clone(),
        ..alert(NAME, !objects.is_empty(), "15m", why)
    }
}

fn alert(name: &'static str, fires: bool, after: &'static str, why: &str) -> Alert {
    Alert {
        name,
        state: if fires { State::Firing } else { State::Quiet },
        after,
        objects: Vec::new(),
        why: why.to_owned(),
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
fn is_listed(observed: &Compared<'_>, object: &Value) -> bool {
    let in_spec: Vec<&Value> = templates::of_spec(object).map(|(_, it)| it).collect();
    let listed: Vec<&Value> = templates::of_status(object).collect();
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
    let original = template.pointer("/status/originalSupportedArchitectures");
    original.and_then(Value::as_str).unwrap_or_default()
}
