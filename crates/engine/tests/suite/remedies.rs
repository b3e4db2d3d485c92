//! Properties of fixes, for all cases, the rows of HCO's results, and generated objects. Applying the complete
//! recommended fixes of a report resolves their findings, causes no new denial, changes only the named fields, and
//! leaves no fix to apply.

use std::cell::Cell;

use e2e_tests::properties::law::{changes, law};
use e2e_tests::{FakeCluster, Images, cases};
use engine::{Finding, Fix, Outcome, RULES, RepairKind, Report, Rule};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};

use super::generated::{Request, nodes, payload, repairable, request};

#[test]
fn the_law_holds_for_every_case() {
    let (mut wrong, mut applied) = (Vec::new(), 0);
    for case in cases() {
        let request = case.request();
        let judge = |object: &Value| {
            let mut request = request.clone();
            request["object"] = object.clone();
            let payload = payload(&request, &case.settings());
            engine::report(&payload, &case.host())
        };
        match law(&request["object"], judge) {
            Ok(remedies) => applied += remedies,
            Err(error) => wrong.push(format!("{}: {error}", case.name)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(applied >= 40, "only {applied} remedies were applied");
}

/// The report on the creation of an object with this spec.
fn created_with(version: &str, spec: &Value, nodes: &[Value]) -> Report {
    created_under(&json!({}), version, spec, nodes)
}

fn created_under(settings: &Value, version: &str, spec: &Value, nodes: &[Value]) -> Report {
    let request = json!({
        "kind": {"group": "hco.kubevirt.io", "version": version, "kind": "HyperConverged"},
        "operation": "CREATE",
        "object": {"metadata": {"name": "x"}, "spec": spec},
    });
    let cluster = FakeCluster::with_nodes(nodes.iter().cloned());
    engine::report(&payload(&request, settings), &cluster)
}

/// Workers whose label is the architecture.
fn workers(architectures: &[&str]) -> Vec<Value> {
    let worker = |architecture: &&str| {
        json!({
            "metadata": {"labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/arch": architecture}},
            "status": {"nodeInfo": {"architecture": architecture}},
        })
    };
    architectures.iter().map(worker).collect()
}

fn template(name: &str, annotation: &str, url: &str) -> Value {
    json!({
        "metadata": {"name": name, "annotations": {"ssp.kubevirt.io/dict.architectures": annotation}},
        "spec": crate::template_spec(name, &json!({"registry": {"url": url}})),
    })
}

fn remedies_of(report: Report, rule: &str) -> Vec<Fix> {
    let mut findings = report.findings.into_iter();
    let finding = findings.find(|finding| finding.rule == rule);
    finding.expect(rule).fixes
}

/// The fix that enables the import of a mixed cluster, and its pointers.
fn enable_import(version: &str, spec: &Value) -> (Fix, Vec<String>) {
    // Before HCO 1.19, the import is a preview, and its fix is never complete.
    let settings = json!({"hcoVersion": "1.19"});
    let report = created_under(&settings, version, spec, &workers(&["amd64", "arm64"]));
    let remedy = remedies_of(report, IMPORT).swap_remove(0);
    let operations = remedy.patch.iter();
    let operations = operations.map(|operation| format!("{} {}", operation.op, operation.path));
    let operations = operations.collect();
    (remedy, operations)
}

/// The fix that enables the import corrects at most 32 annotations. A command cannot correct any.
#[test]
fn annotations_are_corrected_up_to_a_limit() {
    let remedy = |count: usize| {
        let template = |number| template(&format!("t{number}"), "AMD64", "docker://x");
        let templates: Vec<Value> = (0..count).map(template).collect();
        enable_import("v1beta1", &json!({"dataImportCronTemplates": templates})).0
    };
    let all = remedy(32);
    assert!(all.complete && all.command.is_none());
    // Two edits enable the import.
    assert_eq!(all.patch.len(), 2 + 32);
    let none = remedy(33);
    assert!(!none.complete && none.command.is_none());
    assert_eq!(none.patch.len(), 2);
    assert!(remedy(0).command.is_some());
}

/// Enabling the import changes neither correct annotations nor annotations whose correct value is unknown.
#[test]
fn other_annotations_stay_when_the_import_is_enabled() {
    let fedora = "docker://quay.io/containerdisks/fedora:latest";
    for template in [
        template("fedora-image-cron", "arm64,s390x,amd64", fedora),
        template("my-image", "amd46", "docker://x"),
        template("my-image", " ,", "docker://x"),
    ] {
        let spec = json!({"dataImportCronTemplates": [template]});
        let (_, operations) = enable_import("v1beta1", &spec);
        let import = "add /spec/featureGates/enableMultiArchBootImageImport";
        assert_eq!(operations, ["add /spec/featureGates", import], "{spec}");
    }
    let spec = json!({"dataImportCronTemplates": [template("fedora-image-cron", "arm64", fedora)]});
    let (_, operations) = enable_import("v1beta1", &spec);
    let removed = "remove /spec/dataImportCronTemplates/0/metadata/annotations/ssp.kubevirt.io~1dict.architectures";
    assert_eq!(operations[2..], [removed]);
}

#[test]
fn other_feature_gates_stay_when_the_import_is_enabled() {
    let gate = |name: &str, state: &str| json!({"name": name, "state": state});
    let import = "enableMultiArchBootImageImport";
    let spec = json!({"featureGates": [gate("other", "Disabled"), gate(import, "Disabled")]});
    let (_, operations) = enable_import("v1", &spec);
    let gates: Vec<&String> = operations
        .iter()
        .filter(|it| it.contains("featureGates"))
        .collect();
    assert_eq!(gates, ["replace /spec/featureGates/1"]);
}

/// The architectures on which a fix places the workloads.
fn placed_on(nodes: &[Value]) -> Vec<Value> {
    let report = created_with("v1beta1", &json!({}), nodes);
    let remedies = remedies_of(report, IMPORT).into_iter();
    let last = remedies.filter_map(|mut remedy| remedy.patch.pop());
    let labels = last.filter(|operation| operation.path.ends_with("/kubernetes.io~1arch"));
    labels.map(|operation| json!(operation.value)).collect()
}

/// The order is the same with the status of HCO, which has no numbers of nodes.
#[test]
fn the_workloads_are_placed_on_the_architecture_of_the_control_plane_first() {
    let mut nodes = workers(&["amd64", "arm64", "arm64"]);
    assert_eq!(placed_on(&nodes), ["amd64", "arm64"]);
    nodes.push(json!({
        "metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}},
        "status": {"nodeInfo": {"architecture": "arm64"}},
    }));
    assert_eq!(placed_on(&nodes), ["arm64", "amd64"]);
}

#[test]
fn the_workloads_are_placed_only_where_the_label_selects_the_architecture() {
    let mut nodes = workers(&["amd64", "arm64"]);
    nodes[0]["metadata"]["labels"]["kubernetes.io/arch"] = "arm64".into();
    assert_eq!(placed_on(&nodes), Vec::<Value>::new());
    let labels = nodes[0]["metadata"]["labels"].as_object_mut().unwrap();
    labels.remove("kubernetes.io/arch");
    assert_eq!(placed_on(&nodes), ["arm64"]);
}

#[test]
fn a_common_template_is_disabled_by_an_entry_behind_the_others() {
    let operations = |templates: Value| {
        let spec = json!({
            "featureGates": {"enableMultiArchBootImageImport": true},
            "dataImportCronTemplates": templates,
        });
        let report = created_with("v1beta1", &spec, &workers(&["riscv64"]));
        let remedies = remedies_of(report, "architectures-unsupported").into_iter();
        let mut disable = remedies.filter(|remedy| remedy.summary == "disable the template");
        let patch = disable.next().unwrap().patch.into_iter();
        let operations = patch.map(|operation| format!("{} {}", operation.op, operation.path));
        operations.collect::<Vec<String>>()
    };
    let list = "/spec/dataImportCronTemplates";
    let entry = |index: usize| format!("add {list}/{index}");
    assert_eq!(
        operations(json!([template("a", "riscv64", "docker://x")])),
        [entry(1)]
    );
    assert_eq!(
        operations(Value::Null),
        [format!("replace {list}"), entry(0)]
    );
}

/// The fixes for the annotation of a template whose image supports these architectures.
fn remedies_with_image(
    annotation: &str,
    rule: &str,
    settings: &Value,
    image: &[&'static str],
    nodes: &[Value],
) -> Vec<Fix> {
    let template = template("my-image", annotation, "docker://registry.example.com/a:1");
    let request = json!({
        "kind": {"group": "hco.kubevirt.io", "version": "v1beta1", "kind": "HyperConverged"},
        "operation": "CREATE",
        "object": {"metadata": {"name": "x"}, "spec": {
            "featureGates": {"enableMultiArchBootImageImport": true},
            "dataImportCronTemplates": [template],
        }},
    });
    let cluster = FakeCluster::with_nodes(nodes.iter().cloned()).with_images(Images::any(image));
    remedies_of(engine::report(&payload(&request, settings), &cluster), rule)
}

/// Adding architectures of the image is an alternative only if all entries of the annotation are correct.
#[test]
fn what_the_image_supports_decides_how_an_annotation_is_corrected() {
    let summaries = |annotation, rule, image: &[&'static str], nodes: &[&str]| {
        let verify = json!({"images": "verify"});
        let remedies = remedies_with_image(annotation, rule, &verify, image, &workers(nodes));
        let summaries = remedies.into_iter();
        summaries
            .map(|it| (it.summary, it.complete))
            .collect::<Vec<_>>()
    };
    let image = (
        "set the annotation to the architectures of the image".to_owned(),
        true,
    );
    let entries = ("correct the annotation".to_owned(), true);
    let mixed = ["amd64", "arm64"];
    let malformed =
        |annotation, image| summaries(annotation, "architectures-malformed", image, &mixed);
    assert_eq!(
        malformed("AMD64", &["amd64", "arm64"]),
        [image.clone(), entries.clone()]
    );
    assert_eq!(
        malformed("S390X", &["amd64", "arm64", "s390x"]),
        std::slice::from_ref(&image)
    );
    assert_eq!(
        malformed("AMD64,ppc64le", &["amd64", "arm64"]),
        std::slice::from_ref(&image)
    );
    let unsupported = summaries("AMD64", "architectures-unsupported", &["amd64"], &mixed);
    assert_eq!(unsupported[0], entries);
    let partial = summaries(
        "amd64, arm64",
        "architectures-partial",
        &["amd64", "arm64"],
        &mixed,
    );
    assert_eq!(partial[0], entries);
    let partial =
        |nodes| summaries("amd64", "architectures-partial", &["amd64", "arm64"], nodes)[0].clone();
    assert_eq!(partial(&mixed), image);
    assert!(!partial(&["amd64", "arm64", "s390x"]).1);
}

/// There are too many annotations to correct them with the import. Until the user corrects them, HCO imports nothing.
#[test]
fn a_repair_does_not_enable_an_import_that_leaves_a_boot_source_without_a_disk() {
    let names = (0..33).map(|number| format!("t{number}"));
    let templates = names.map(|name| template(&name, "ARM64", "docker://registry.example.com/a:1"));
    let request = json!({
        "kind": {"group": "hco.kubevirt.io", "version": "v1beta1", "kind": "HyperConverged"},
        "operation": "CREATE",
        "object": {"metadata": {"name": "x"}, "spec": {
            "dataImportCronTemplates": templates.collect::<Vec<_>>(),
        }},
    });
    let settings =
        json!({"repair": {IMPORT: "enable-import", "architectures-malformed": "normalise"}});
    let cluster = FakeCluster::with_workers(&["amd64", "arm64"]);
    let report = engine::evaluate(&payload(&request, &settings), &cluster);
    assert_eq!(report.repaired_object, None);
}

/// The SSP operator rejects the import of such a cluster.
#[test]
fn the_import_is_not_enabled_on_an_unknown_architecture() {
    let enables = |nodes: &[&str]| {
        let report = created_with("v1beta1", &json!({}), &workers(nodes));
        let remedies = remedies_of(report, IMPORT).into_iter();
        let mut patches = remedies.flat_map(|remedy| remedy.patch);
        patches.any(|it| it.path.ends_with("/enableMultiArchBootImageImport"))
    };
    assert!(enables(&["amd64", "arm64"]));
    assert!(!enables(&["amd64", "riscv64"]));
}

/// With `architectures-partial: deny`, a correction that leaves the annotation partial reveals another denial.
#[test]
fn a_correction_that_another_rule_denies_is_not_complete() {
    let is_complete = |annotation: &str, rule: &str, settings: &Value, image: &[&'static str]| {
        let mixed = workers(&["amd64", "arm64"]);
        remedies_with_image(annotation, rule, settings, image, &mixed)[0].complete
    };
    let default = json!({});
    let partial = json!({"levels": {"architectures-partial": "deny"}});
    let malformed =
        |annotation, settings| is_complete(annotation, "architectures-malformed", settings, &[]);
    assert!(malformed("AMD64", &default));
    assert!(!malformed("AMD64", &partial));
    assert!(malformed("AMD64,ARM64", &partial));
    // It is partial already.
    assert!(malformed("amd64,AMD64", &partial));
    // No workload node has it.
    assert!(!malformed("S390X", &default));
    let verify = |level| json!({"images": "verify", "levels": {"architectures-partial": level}});
    let mismatch = |level| {
        is_complete(
            "amd64,arm64",
            "image-architectures-mismatch",
            &verify(level),
            &["amd64"],
        )
    };
    assert!(mismatch("warn"));
    assert!(!mismatch("deny"));
}

/// A name that is listed twice is invalid.
#[test]
fn a_misspelled_gate_is_renamed_unless_the_right_one_is_listed() {
    let patch = |names: &[&str]| {
        let gates: Vec<Value> = names
            .iter()
            .map(|name| json!({"name": name, "state": "Enabled"}))
            .collect();
        let report = created_with("v1", &json!({"featureGates": gates}), &workers(&["amd64"]));
        remedies_of(report, "import-gate-misspelled")
            .swap_remove(0)
            .patch
            .len()
    };
    let right = "enableMultiArchBootImageImport";
    for wrong in [
        "enableMultiarchBootImageImport",
        "enableMultiArchBootImageImport\u{1f600}\u{1f600}",
    ] {
        assert_eq!(patch(&[wrong]), 1, "{wrong}");
        assert_eq!(patch(&[wrong, right]), 0, "{wrong}");
    }
}

#[test]
fn the_law_holds_for_the_corpus_of_hco() {
    agree("hco", |row| {
        let nodes = row["nodes"].as_array().unwrap();
        let (_, version) = row["hco"]["apiVersion"]
            .as_str()
            .unwrap()
            .split_once('/')
            .unwrap();
        law(&row["hco"], |object| {
            let request = json!({
                "kind": {"group": "hco.kubevirt.io", "version": version, "kind": "HyperConverged"},
                "operation": "CREATE", "object": object,
            });
            let cluster = FakeCluster::with_nodes(nodes.iter().cloned());
            engine::report(&payload(&request, &json!({})), &cluster)
        })
    });
}

#[test]
fn the_law_holds_for_the_updates_of_the_corpus() {
    agree("update", |row| {
        let request = &row["request"];
        law(&request["object"], |object| {
            let mut request = request.clone();
            request["object"] = object.clone();
            let cluster = FakeCluster::with_workers(&["amd64", "arm64"]);
            engine::report(&payload(&request, &json!({})), &cluster)
        })
    });
}

/// Checks the property for the rows of a corpus.
fn agree(corpus: &str, law: impl Fn(&Value) -> Result<usize, String>) {
    let applied = Cell::new(0);
    let rows = super::all_agree(test_data::rows(corpus), |row| {
        applied.set(applied.get() + law(row)?);
        Ok(())
    });
    let applied = applied.get();
    assert!(
        applied >= rows / 20,
        "only {applied} remedies for {rows} rows"
    );
}

#[test]
fn the_law_holds_for_generated_objects() {
    let applied = generated(&(request(), nodes()), |(request, nodes)| {
        law(&request.object, |object| {
            engine::report(&request.payload(object), &request.on(&nodes))
        })
    });
    assert!(applied >= 100, "only {applied} remedies were applied");
}

/// Checks generated values, and counts how often there was something to check.
fn generated<S: Strategy>(
    strategy: &S,
    check: impl Fn(S::Value) -> Result<usize, String>,
) -> usize {
    let count = Cell::new(0);
    let mut runner = TestRunner::new(ProptestConfig {
        failure_persistence: None,
        cases: 2000,
        ..ProptestConfig::default()
    });
    let result = runner.run(strategy, |value| {
        count.set(count.get() + check(value).map_err(TestCaseError::fail)?);
        Ok(())
    });
    let failure = result.err().map(|error| error.to_string());
    assert_eq!(failure, None);
    count.get()
}

const IMPORT: &str = "multi-arch-import-disabled";

/// Whether the repair of a rule changes the annotation of a template.
fn repairs_annotation(rule: &str) -> bool {
    let mut rules = RULES.iter();
    let rule = rules.find(|known| known.id == rule).expect(rule);
    matches!(rule.repairs, RepairKind::Normalise | RepairKind::FromImage)
}

/// Requests with repairs in their settings, in half of which all problems can be repaired, and clusters.
fn to_repair() -> impl Strategy<Value = (Request, Vec<Value>)> {
    let request = prop_oneof![(request(), nodes()), repairable()];
    (request, repairs()).prop_map(|((mut request, nodes), mut repairs)| {
        // The settings reject the repair of a rule that they ignore.
        let levels = &request.settings["levels"];
        repairs.retain(|rule, _| levels.get(rule).is_none_or(|level| level != "ignore"));
        // They also reject a repair by the image if they ask for no look-up.
        if request.settings.get("images").is_none() {
            repairs.retain(|_, repair| repair != "from-image");
        }
        request.settings["repair"] = repairs.into();
        (request, nodes)
    })
}

/// Any of the repairs.
fn repairs() -> impl Strategy<Value = Map<String, Value>> {
    let import = prop_oneof![
        Just(json!("enable-import")),
        prop::sample::select(vec!["amd64", "arm64", "s390x"])
            .prop_map(|architecture| json!({"place-on": architecture})),
    ];
    let of = |rule: &&Rule| {
        let repair = match rule.repairs {
            RepairKind::None => return None,
            RepairKind::Import => import.clone().boxed(),
            RepairKind::Normalise => Just(json!("normalise")).boxed(),
            RepairKind::FromImage => Just(json!("from-image")).boxed(),
        };
        let id = rule.id;
        Some(prop::option::weighted(
            0.8,
            repair.prop_map(|repair| (id.to_owned(), repair)),
        ))
    };
    let repairs: Vec<_> = RULES.iter().filter_map(of).collect();
    repairs.prop_map(|repairs| repairs.into_iter().flatten().collect())
}

#[test]
fn repairs_are_whole_and_touch_nothing_else() {
    let repaired = generated(&to_repair(), |(request, nodes)| repair(&request, &nodes));
    assert!(repaired >= 100, "only {repaired} objects were repaired");
}

/// A repaired object is allowed, and a second evaluation finds nothing to repair. A repair changes only what the
/// settings name, and no annotation with an existing problem. An object that is not repaired gets the same result as
/// without repairs. Returns the number of repaired objects.
fn repair(request: &Request, nodes: &[Value]) -> Result<usize, String> {
    let judge = |request: &Request, object: &Value| {
        engine::evaluate(&request.payload(object), &request.on(nodes))
    };
    let (object, repairs) = (&request.object, &request.settings["repair"]);
    let report = judge(request, object);
    let mut without = request.clone();
    without.settings["repair"] = Value::Null;
    let without = judge(&without, object);
    let Some(repaired) = &report.repaired_object else {
        let is_same = report.allowed == without.allowed && report.findings == without.findings;
        return if is_same {
            Ok(0)
        } else {
            Err(format!("{report:#?} and without repairs {without:#?}"))
        };
    };
    let repaired: Value = serde_json::from_str(repaired).unwrap();
    let wrong = |what: &str| Err(format!("{what}: {repaired} {report:#?}"));
    let is_said = report
        .warnings
        .iter()
        .any(|line| line.starts_with("repaired "))
        && report.audit_annotations.contains_key("repairs");
    if !report.allowed || !is_said {
        return wrong("not allowed, or not said");
    }
    let changes = changes(object, &repaired);
    if changes.is_empty() || !changes.iter().all(|pointer| is_named(pointer, repairs)) {
        return wrong("changes that no repair names, or none");
    }
    for finding in without.findings.iter().chain(&report.findings) {
        let is_kept = finding.level == Outcome::Carried || repairs.get(&*finding.rule).is_none();
        let pointer = annotation(finding, request.version);
        if is_kept && repairs_annotation(&finding.rule) && changes.contains(&pointer) {
            return wrong("an annotation that has to stay is changed");
        }
    }
    let again = judge(request, &repaired);
    if !again.allowed || again.repaired_object.is_some() {
        return wrong("judged again, there is more to repair");
    }
    Ok(1)
}

/// The JSON pointer of the annotation that a finding of an annotation rule is about.
fn annotation(finding: &Finding, version: &str) -> String {
    let index = finding.path.split(['[', ']']).nth(1).unwrap_or_default();
    let sources = if version == "v1" {
        "/workloadSources"
    } else {
        ""
    };
    format!(
        "/spec{sources}/dataImportCronTemplates/{index}/metadata/annotations/ssp.kubevirt.io~1dict.architectures"
    )
}

/// Whether the repairs name the changed field, or an object above it that was missing.
fn is_named(pointer: &str, repairs: &Value) -> bool {
    let fields: &[&str] = match &repairs[IMPORT] {
        Value::String(_) => &[
            "/spec/featureGates/",
            "/spec/workloadSources/enableMultiArchBootImageImport",
        ],
        Value::Object(_) => &[
            "/spec/workloads/nodePlacement/nodeSelector/kubernetes.io~1arch",
            "/spec/deployment/nodePlacements/workload/nodeSelector/kubernetes.io~1arch",
        ],
        _ => &[],
    };
    // A template without annotations gets the map.
    let is_annotation = pointer.contains("/dataImportCronTemplates/")
        && (pointer.ends_with("/metadata/annotations")
            || pointer.ends_with("/metadata/annotations/ssp.kubevirt.io~1dict.architectures"));
    let names = repairs.as_object().into_iter().flat_map(Map::keys);
    let normalises = names.into_iter().any(|rule| repairs_annotation(rule));
    let is_field =
        |field: &&str| pointer.starts_with(*field) || field.starts_with(&format!("{pointer}/"));
    is_annotation && normalises || fields.iter().any(is_field)
}

/// A new object after HCO's own mutating webhook, in the fields that rules read; `None` if the webhook denies it.
///
/// MIRRORS: hyperconverged-cluster-operator pkg/webhooks/mutator/hyperConvergedMutator.go, `getDICTPatches`,
/// `mutateFieldAndFGOnCreate`.
fn mutated(object: &Value, version: &str) -> Option<Value> {
    const GATE: &str = "enableMultiArchBootImageImport";
    let mut object = object.clone();
    let spec = object.get_mut("spec")?;
    let sources = match version {
        "v1" => spec.get_mut("workloadSources").filter(|it| it.is_object()),
        _ => Some(&mut *spec),
    };
    let templates = sources.and_then(|sources| sources.get_mut("dataImportCronTemplates"));
    for template in templates
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if template["metadata"].is_object() && !template["metadata"]["annotations"].is_string() {
            template["metadata"]["annotations"]["cdi.kubevirt.io/storage.bind.immediate.requested"] =
                json!("true");
        }
    }
    let gates = spec.get("featureGates").and_then(Value::as_array);
    let gate = gates.into_iter().flatten().find(|gate| {
        let name = gate["name"].as_str().unwrap_or_default();
        name.eq_ignore_ascii_case(GATE)
    });
    if let (Some(gate), "v1") = (gate, version) {
        let is_enabled = gate["state"].is_null() || gate["state"] == "Enabled";
        match spec["workloadSources"].get(GATE).filter(|it| !it.is_null()) {
            Some(field) if *field != is_enabled => return None,
            Some(_) => {}
            None => spec["workloadSources"][GATE] = json!(is_enabled),
        }
    }
    Some(object)
}

/// HCO's mutating webhook can run before or after the policy. The repairs and the findings are the same in both cases.
#[test]
fn repairs_do_not_depend_on_the_order_of_webhooks() {
    let repaired = generated(&to_repair(), |(mut request, nodes)| {
        request.old = None;
        let judge = |request: &Request, object: &Value| {
            engine::report(&request.payload(object), &request.on(&nodes))
        };
        let repair = |object: &Value| -> Option<Value> {
            serde_json::from_str(&judge(&request, object).repaired_object?).ok()
        };
        let object = &request.object;
        let Some(before) = mutated(object, request.version) else {
            return Ok(0);
        };
        let (ours, then_ours) = (repair(object), repair(&before));
        let (Some(ours), Some(after)) = (&ours, &then_ours) else {
            let is_same = ours.is_some() == then_ours.is_some();
            return if is_same {
                Ok(0)
            } else {
                Err(format!("{ours:?} but {then_ours:?}"))
            };
        };
        let Some(ours) = mutated(ours, request.version) else {
            return Err(format!("HCO denies the repaired object: {ours}"));
        };
        request.settings["repair"] = Value::Null;
        let (one, other) = (judge(&request, &ours), judge(&request, after));
        let is_same = one.allowed == other.allowed
            && one.findings == other.findings
            && one.templates == other.templates
            && one.multi_arch_import == other.multi_arch_import;
        if is_same {
            Ok(1)
        } else {
            Err(format!("{ours}\n{one:#?}\nbut {after}\n{other:#?}"))
        }
    });
    assert!(repaired >= 100, "only {repaired} objects were repaired");
}

/// A repair would need a second evaluation.
#[test]
fn a_large_object_is_not_repaired() {
    const LARGEST: usize = 128 << 10;
    let cluster = FakeCluster::with_workers(&["amd64", "arm64"]);
    let judged = |bytes: usize, change: &str| {
        let mut object = json!({
            "apiVersion": "hco.kubevirt.io/v1beta1", "kind": "HyperConverged",
            "metadata": {"name": "n", "annotations": {"a": ""}},
        });
        let padding = bytes - object.to_string().len();
        object["metadata"]["annotations"]["a"] = Value::from("x".repeat(padding));
        let mut request = json!({
            "kind": {"group": "hco.kubevirt.io", "version": "v1beta1", "kind": "HyperConverged"},
            "operation": change, "object": object,
        });
        if change == "UPDATE" {
            object["spec"] = json!({"defaultCPUModel": "other", "dataImportCronTemplates": []});
            request["oldObject"] = object;
        }
        let settings = json!({"repair": {IMPORT: {"place-on": "amd64"}}});
        engine::evaluate(&payload(&request, &settings), &cluster)
    };
    assert!(judged(LARGEST, "CREATE").repaired_object.is_some());
    let report = judged(LARGEST + 1, "CREATE");
    assert!(!report.allowed && report.repaired_object.is_none());
    let message = report.message.unwrap();
    let why = "\n\nNo repair was applied: the object has more than 128 KiB.";
    assert!(message.ends_with(why), "{message}");
    // An existing problem would not be repaired in a small object either.
    let report = judged(LARGEST + 1, "UPDATE");
    assert!(report.allowed, "{report:#?}");
    assert!(!format!("{report:?}").contains("No repair"), "{report:#?}");
    assert!(format!("{report:?}").contains("Carried"), "{report:#?}");
}

/// If nothing is denied, a warning says that a repair cannot be made.
#[test]
fn an_obstacle_is_a_warning_where_nothing_is_denied() {
    let object = json!({"apiVersion": "hco.kubevirt.io/v1beta1", "kind": "HyperConverged", "metadata": {"name": "n"}});
    let request = json!({
        "kind": {"group": "hco.kubevirt.io", "version": "v1beta1", "kind": "HyperConverged"},
        "operation": "CREATE", "object": object,
    });
    let settings = json!({"levels": {IMPORT: "warn"}, "repair": {IMPORT: {"place-on": "s390x"}}});
    let cluster = FakeCluster::with_workers(&["amd64", "arm64"]);
    let report = engine::evaluate(&payload(&request, &settings), &cluster);
    let why = "The repair place-on of multi-arch-import-disabled was not applied: no workload node reports the architecture s390x.";
    assert!(
        report.allowed && report.repaired_object.is_none(),
        "{report:#?}"
    );
    assert!(
        report.warnings.iter().any(|line| line == why),
        "{report:#?}"
    );
}
