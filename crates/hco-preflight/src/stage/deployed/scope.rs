//! Determines the requests that the API server sends to a policy.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::{Expression, Selector, SelectorExt as _};
use serde_json::{Map, Value};

use crate::field::{items, text};
use crate::stage::live::Live;
use crate::stage::settings::Target;

/// The label that each namespace has.
const NAME: &str = "kubernetes.io/metadata.name";

/// The condition of the policies in deploy/. It excludes objects that are being deleted, which no file describes.
const DEPLOYED_CONDITION: &str = "!has(object.metadata.deletionTimestamp)";

/// The fields of a policy that select requests.
pub(super) struct Scope<'p> {
    spec: &'p Value,
}

impl<'p> Scope<'p> {
    pub(super) fn of(policy: &'p Value) -> Self {
        let spec = policy.get("spec").unwrap_or(&Value::Null);
        Self { spec }
    }

    /// Why the API server does not send a request to the policy.
    pub(super) fn excludes(
        &self,
        target: &Target,
        namespaces: &mut Namespaces<'_>,
    ) -> Option<String> {
        let rules = self.spec.get("rules").and_then(Value::as_array);
        if rules.is_some_and(|rules| !rules.iter().any(|rule| self.covers(rule, target))) {
            return Some(format!(
                "its rules do not include {} requests for {} of {}",
                target.operation.unwrap_or("CREATE and UPDATE"),
                target.resource,
                target.api_version
            ));
        }
        let namespace = &target.namespace;
        (self.matches(namespace, namespaces) == Some(false))
            .then(|| format!("its namespaceSelector does not match the namespace `{namespace}`"))
    }

    /// Whether a rule matches a request.
    fn covers(&self, rule: &Value, target: &Target) -> bool {
        let has = |list: &str, wanted: &[&str]| {
            let mut entries = items(rule, list).filter_map(Value::as_str);
            entries.any(|entry| wanted.contains(&entry))
        };
        let (group, version) = target
            .api_version
            .split_once('/')
            .unwrap_or(("", &target.api_version));
        // With another matchPolicy, the API server converts the object to the version of the rule.
        let is_exact = self.spec.get("matchPolicy") == Some(&Value::from("Exact"));
        let is_operation = match target.operation {
            Some(operation) => has("/operations", &["*", operation]),
            None => has("/operations", &["*", "CREATE", "UPDATE"]),
        };
        has("/apiGroups", &["*", group])
            && (!is_exact || has("/apiVersions", &["*", version]))
            && has("/resources", &["*", "*/*", target.resource])
            && is_operation
            && text(rule, "/scope") != Some("Cluster")
    }

    /// Whether the selector matches a namespace; `None` if that depends on labels that cannot be read.
    fn matches(&self, namespace: &str, namespaces: &mut Namespaces<'_>) -> Option<bool> {
        let requirements = self.requirements().into_iter();
        let (of_name, others): (Vec<_>, Vec<_>) = requirements.partition(|it| key_of(it) == NAME);
        let name = BTreeMap::from([(NAME.to_owned(), namespace.to_owned())]);
        if !of_name.iter().all(|it| it.matches(&name)) {
            return Some(false);
        }
        if others.is_empty() {
            return Some(true);
        }
        let labels = namespaces.labels(namespace)?;
        Some(others.iter().all(|it| it.matches(labels)))
    }

    /// Whether the match of the selector is only an assumption.
    pub(super) fn is_assumed(
        &self,
        targets: &BTreeSet<Target>,
        namespaces: &mut Namespaces<'_>,
    ) -> bool {
        let mut targets = targets.iter();
        targets.any(|target| self.matches(&target.namespace, namespaces).is_none())
    }

    /// Whether Kubewarden omits the labels of the selector in the webhook.
    ///
    /// MIRRORS: kubewarden-controller internal/controller, `namespaceSelector`: if it excludes its own namespace, it
    /// copies only the expressions.
    pub(super) fn drops_labels(&self) -> bool {
        let all = self.spec.get("allowInsideAdmissionControllerNamespace");
        self.labels().is_some_and(|labels| !labels.is_empty()) && all != Some(&Value::Bool(true))
    }

    fn labels(&self) -> Option<&'p Map<String, Value>> {
        let selector = self.spec.get("namespaceSelector")?;
        selector.get("matchLabels")?.as_object()
    }

    /// Ignores operators that the API server does not accept.
    fn requirements(&self) -> Vec<Expression> {
        let selector = self.spec.get("namespaceSelector").cloned();
        let selector = serde_json::from_value(selector.unwrap_or_default());
        let mut selector: LabelSelector = selector.unwrap_or_default();
        if self.drops_labels() {
            selector.match_labels = None;
        }
        let selector = Selector::try_from(selector).unwrap_or_default();
        selector.into_iter().collect()
    }

    /// Names the fields that also select requests but are not evaluated here.
    pub(super) fn not_evaluated(&self) -> Option<&'static str> {
        let selector = self.spec.get("objectSelector").and_then(Value::as_object);
        let has_selector = selector.is_some_and(|it| !it.values().all(is_empty));
        let has_conditions = items(self.spec, "/matchConditions")
            .any(|it| text(it, "/expression").map(str::trim) != Some(DEPLOYED_CONDITION));
        match (has_selector, has_conditions) {
            (true, true) => Some("its objectSelector and matchConditions are not evaluated"),
            (true, false) => Some("its objectSelector is not evaluated"),
            (false, true) => Some("its matchConditions are not evaluated"),
            (false, false) => None,
        }
    }
}

fn key_of(expression: &Expression) -> &str {
    match expression {
        Expression::In(key, _)
        | Expression::NotIn(key, _)
        | Expression::Equal(key, _)
        | Expression::NotEqual(key, _)
        | Expression::Exists(key)
        | Expression::DoesNotExist(key) => key,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// The labels of namespaces, each read once.
pub(super) struct Namespaces<'c> {
    live: Live<'c>,
    labels: BTreeMap<String, Option<BTreeMap<String, String>>>,
}

impl<'c> Namespaces<'c> {
    pub(super) fn new(live: Live<'c>) -> Self {
        let labels = BTreeMap::new();
        Self { live, labels }
    }

    /// `None` if they cannot be read.
    fn labels(&mut self, namespace: &str) -> Option<&BTreeMap<String, String>> {
        let live = self.live;
        let labels = self.labels.entry(namespace.to_owned());
        labels.or_insert_with(|| live.labels(namespace)).as_ref()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn target(api_version: &str, operation: Option<&'static str>) -> Target {
        Target {
            namespace: "here".to_owned(),
            api_version: format!("hco.kubevirt.io/{api_version}"),
            resource: "hyperconvergeds",
            operation,
        }
    }

    #[test]
    fn rules_are_for_versions_and_operations() {
        let rule = |group: &str, versions: &[&str], resource: &str, operations: &[&str]| json!({"apiGroups": [group], "apiVersions": versions, "resources": [resource], "operations": operations});
        let covers = |rule: &Value, policy: Option<&str>, target: &Target| {
            let policy = json!({"spec": {"matchPolicy": policy}});
            Scope::of(&policy).covers(rule, target)
        };
        let create = target("v1beta1", Some("CREATE"));
        let update = target("v1beta1", Some("UPDATE"));
        let any = target("v1beta1", None);
        let ours = rule("hco.kubevirt.io", &["v1"], "hyperconvergeds", &["CREATE"]);
        for (target, equivalent, exact) in [
            (&create, true, false),
            (&update, false, false),
            (&any, true, false),
            (&target("v1", Some("CREATE")), true, true),
        ] {
            assert_eq!(covers(&ours, None, target), equivalent, "{target:?}");
            assert_eq!(covers(&ours, Some("Equivalent"), target), equivalent);
            assert_eq!(covers(&ours, Some("Exact"), target), exact, "{target:?}");
        }
        for (rule, is_covered) in [
            (rule("*", &["*"], "*", &["*"]), true),
            (rule("*", &["*"], "*/*", &["UPDATE", "DELETE"]), true),
            (rule("*", &["*"], "*", &["DELETE"]), false),
            (rule("", &["v1"], "*", &["*"]), false),
            (rule("*", &["*"], "pods", &["*"]), false),
            (rule("*", &["*"], "hyperconvergeds/status", &["*"]), false),
        ] {
            assert_eq!(covers(&rule, None, &update), is_covered, "{rule}");
        }
        let mut cluster = rule("*", &["*"], "*", &["*"]);
        cluster["scope"] = json!("Cluster");
        assert!(!covers(&cluster, None, &update));
    }

    #[test]
    fn the_condition_of_deploy_needs_no_note() {
        let policy = include_str!("../../../../../deploy/base/policy.yaml");
        let condition = format!("expression: \"{DEPLOYED_CONDITION}\"");
        assert!(policy.contains(&condition));
        let with = |expression: &str| json!({"spec": {"matchConditions": [{"name": "n", "expression": expression}]}});
        assert_eq!(Scope::of(&with(DEPLOYED_CONDITION)).not_evaluated(), None);
        assert_eq!(
            Scope::of(&with("false")).not_evaluated(),
            Some("its matchConditions are not evaluated")
        );
        let empty = json!({"spec": {"objectSelector": {"matchLabels": {}}}});
        assert_eq!(Scope::of(&empty).not_evaluated(), None);
    }
}
