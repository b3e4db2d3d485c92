//! Every field that a rule reads must be in the list of evaluated fields. Otherwise, the policy accepts an update of
//! the field without an evaluation.

use std::borrow::Cow;
use std::collections::BTreeSet;

use e2e_tests::{Case, FakeCluster, cases};
use engine::{Foreign, RULES};
use serde_json::{Value, json};

/// The rules and templates of the findings.
type Words = BTreeSet<(Cow<'static, str>, Option<Foreign>)>;

#[test]
fn every_field_that_a_rule_reads_is_evaluated() {
    let (mut wrong, mut seen) = (Vec::new(), BTreeSet::new());
    let cases = cases();
    let cases = cases.iter().filter(|case| is_plain(case));
    for case in cases {
        let before = case.request()["object"].clone();
        let found = found(case, &before);
        for pointer in leaves(&before) {
            let mut after = before.clone();
            remove(&mut after, &pointer);
            let found_after = self::found(case, &after);
            let different: Vec<_> = found.symmetric_difference(&found_after).collect();
            // The same field of another template or case adds nothing.
            let field = pointer.replace(|character: char| character.is_ascii_digit(), "");
            let rules = different.iter().map(|(rule, _)| rule.clone());
            if rules
                .filter(|rule| seen.insert((rule.clone(), field.clone())))
                .count()
                == 0
            {
                continue;
            }
            if !is_judged(case, &before, &after) {
                wrong.push(format!(
                    "{}: {} finds something else without {pointer}, but an update that removes it is accepted \
                     immediately. Add the field to EvaluatedFields (crates/operator-models/src/hco/hyperconverged.rs), or compare it in \
                     VirtualMachine::is_judged_like.",
                    case.name, different[0].0
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen.len() >= 50, "only {} fields of rules", seen.len());
}

/// Whether a case creates an object of usual size, with a finding; or belongs to a rule's own directory without one,
/// because a missing field can be a finding.
fn is_plain(case: &Case) -> bool {
    let request = case.request();
    let folder = case.name.split('/').next();
    let is_of_a_rule = RULES.iter().any(|rule| folder == Some(rule.id));
    request["operation"] == "CREATE"
        && request["object"].to_string().len() < 8192
        && (is_of_a_rule || !case.expect.findings.is_empty())
}

fn found(case: &Case, object: &Value) -> Words {
    let mut request = case.request();
    request["object"] = object.clone();
    let findings = judge(case, &request).findings.into_iter();
    findings
        .map(|finding| (finding.rule, finding.template))
        .collect()
}

fn is_judged(case: &Case, before: &Value, after: &Value) -> bool {
    let mut request = case.request();
    request["operation"] = "UPDATE".into();
    request["oldObject"] = before.clone();
    request["object"] = after.clone();
    let report = judge(case, &request);
    report.multi_arch_import.is_some() || report.virtual_machine.is_some() || !report.allowed
}

fn judge(case: &Case, request: &Value) -> engine::Report {
    let payload = json!({"request": request, "settings": case.settings()});
    let host: FakeCluster = case.host();
    engine::validate(payload.to_string().as_bytes(), &host)
}

/// The JSON pointers of all leaf values of the spec and the metadata, except for those that the user cannot change.
fn leaves(object: &Value) -> Vec<String> {
    let mut leaves = Vec::new();
    let mut next = vec!["/spec".to_owned(), "/metadata".to_owned()];
    while let Some(pointer) = next.pop() {
        let below: Vec<String> = match object.pointer(&pointer) {
            Some(Value::Object(members)) => {
                let keys = members.keys();
                keys.map(|key| key.replace('~', "~0").replace('/', "~1"))
                    .collect()
            }
            Some(Value::Array(items)) => (0..items.len()).map(|index| index.to_string()).collect(),
            Some(_) => Vec::new(),
            None => continue,
        };
        if below.is_empty() {
            let fixed = ["name", "namespace", "resourceVersion", "generation"];
            let is_fixed = |key: &str| pointer == format!("/metadata/{key}");
            if !fixed.into_iter().any(is_fixed) {
                leaves.push(pointer);
            }
        } else {
            next.extend(below.iter().map(|key| format!("{pointer}/{key}")));
        }
    }
    leaves
}

fn remove(object: &mut Value, pointer: &str) {
    let patch = json!([{"op": "remove", "path": pointer}]);
    let patch: json_patch::Patch = serde_json::from_value(patch).unwrap();
    json_patch::patch(object, &patch).unwrap();
}
