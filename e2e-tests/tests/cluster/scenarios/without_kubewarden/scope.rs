//! Why the guard leaves a finding to the policy.

use engine::Finding;
use serde_json::Value;

use super::updates::{is_v1, templates_path};

/// The rules of the guard.
pub(super) const RULES: [&str; 4] = [
    "multi-arch-import-disabled",
    "architectures-missing",
    "architectures-unsupported",
    "architectures-malformed",
];

/// The old and the new object, as they arrive.
pub(super) struct Objects<'o> {
    pub(super) old: &'o Value,
    pub(super) new: &'o Value,
}

impl Objects<'_> {
    /// The reason; `None` if the guard should deny it.
    pub(super) fn out_of_scope(&self, finding: &Finding) -> Option<&'static str> {
        let Self { old, new } = self;
        let (rule, is_disabled) = (&*finding.rule, finding.rule == "multi-arch-import-disabled");
        let has_patch = |object: &Value| {
            !object["metadata"]["annotations"]["ssp.kubevirt.io/jsonpatch"].is_null()
        };
        if has_patch(old) || has_patch(new) {
            return Some("a jsonpatch annotation for SSP");
        }
        let [was_on, is_on] = [import(old, new), import(new, old)];
        let (Some(was_on), Some(_)) = (was_on, is_on) else {
            return Some("the import is stated in two places, or in an annotation");
        };
        if rule != "architectures-missing" {
            if placement(old) != placement(new) {
                return Some("the placement changes");
            }
            let (status, generation) = (&old["status"], &old["metadata"]["generation"]);
            let observed = &status["observedGeneration"];
            if status["nodeInfo"]["workloadsArchitectures"][0].is_null()
                || !observed.is_null() && observed != generation
            {
                return Some("HCO's status does not have the architectures");
            }
        }
        if is_disabled {
            let was_off = (!was_on).then_some("the import was off before");
            return was_off.or_else(|| self.hides_golden_images());
        }
        let name = finding.template.as_ref()?.raw();
        self.hides_template(name).or_else(|| {
            (was_on && self.is_existing(name, finding))
                .then_some("an existing problem becomes larger")
        })
    }

    /// Why the guard does not know whether a golden image is left.
    fn hides_golden_images(&self) -> Option<&'static str> {
        let shown = self.shown().next().is_some();
        (!shown).then_some("HCO's status lists no golden image")
    }

    /// Why the guard does not know that a template is the user's own.
    fn hides_template(&self, name: &str) -> Option<&'static str> {
        let is = |template: &&Value| template["metadata"]["name"] == name;
        if templates(self.new).filter(is).count() > 1 {
            return Some("two templates with one name");
        }
        let is_common = |template: &Value| template["status"]["commonTemplate"] == true;
        if let Some(shown) = self.shown().find(is) {
            return is_common(shown).then_some("a template that HCO ships");
        }
        let imports_common =
            |object: &Value| sources(object)["enableCommonBootImageImport"] != false;
        let is_new = !templates(self.old).any(|template| is(&template));
        let lists_all =
            imports_common(self.old) && imports_common(self.new) && self.shown().any(is_common);
        (!is_new || !lists_all)
            .then_some("HCO's status does not show whether HCO ships the template")
    }

    /// The templates in HCO's status.
    fn shown(&self) -> impl Iterator<Item = &Value> {
        let shown = self.old["status"]["dataImportCronTemplates"].as_array();
        shown.into_iter().flatten()
    }

    /// Whether the old object's template has the same annotation, or the same entry.
    fn is_existing(&self, name: &str, finding: &Finding) -> bool {
        let mut old = templates(self.old).filter(|template| template["metadata"]["name"] == name);
        old.any(|template| {
            let value =
                template["metadata"]["annotations"]["ssp.kubevirt.io/dict.architectures"].as_str();
            let value = value.unwrap_or_default();
            match &*finding.rule {
                "architectures-malformed" => {
                    value.split(',').any(|entry| entry == finding.value.raw())
                }
                _ => value == finding.value.raw(),
            }
        })
    }
}

/// The import of an object, if only one place states it.
fn import(object: &Value, other: &Value) -> Option<bool> {
    const GATE: &str = "enableMultiArchBootImageImport";
    if !is_v1(object) {
        let hidden = object["metadata"]["annotations"]["hco.kubevirt.io/v1-only-fields"].as_str();
        let hidden = hidden.unwrap_or_default().to_lowercase();
        let is_plain = !hidden.contains("multiarch");
        let gate = object["spec"]["featureGates"][GATE].as_bool();
        return gate.or_else(|| is_plain.then_some(false));
    }
    let field = |object: &Value| object["spec"]["workloadSources"][GATE].as_bool();
    let gates = object["spec"]["featureGates"]
        .as_array()
        .into_iter()
        .flatten();
    let is_gate = |gate: &&Value| {
        gate["name"]
            .as_str()
            // HCO reads \u{130} as i.
            .is_some_and(|name| name.replace('\u{130}', "i").eq_ignore_ascii_case(GATE))
    };
    let gates: Vec<&Value> = gates.filter(is_gate).collect();
    let is_enabled = |gate: &Value| {
        gate["state"]
            .as_str()
            .is_none_or(|state| state == "Enabled")
    };
    match (field(object), gates.as_slice()) {
        (Some(field), gates) => gates
            .iter()
            .all(|gate| is_enabled(gate) == field)
            .then_some(field),
        (None, []) => Some(false),
        (None, [gate]) => {
            (gate["name"] == GATE && field(other).is_none()).then(|| is_enabled(gate))
        }
        (None, _) => None,
    }
}

fn sources(object: &Value) -> &Value {
    if is_v1(object) {
        &object["spec"]["workloadSources"]
    } else {
        &object["spec"]
    }
}

fn placement(object: &Value) -> &Value {
    let spec = &object["spec"];
    if is_v1(object) {
        &spec["deployment"]["nodePlacements"]["workload"]
    } else {
        &spec["workloads"]["nodePlacement"]
    }
}

fn templates(object: &Value) -> impl Iterator<Item = &Value> {
    let templates = object.pointer(templates_path(is_v1(object)));
    templates.and_then(Value::as_array).into_iter().flatten()
}
