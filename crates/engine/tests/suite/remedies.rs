//! Properties of fixes, for all cases, the rows of HCO's results, and generated objects. Applying the complete
//! recommended fixes of a report resolves their findings, causes no new denial, changes only the named fields, and
//! leaves no fix to apply.

use std::cell::Cell;

use e2e_tests::properties::law::{apply, changes, law};
use e2e_tests::properties::updates::World;
use e2e_tests::{FakeCluster, Images, cases};
use engine::{Finding, Fix, Outcome, RULES, Repair, Rule};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};

use super::generated::{Request, nodes, repairable, request};
use super::{create, hyperconverged, importing, mixed, node, payload, template};

const IMPORT: &str = "multi-arch-import-disabled";

#[test]
fn fixes_resolve_the_findings_of_every_case() {
    let (mut wrong, mut applied) = (Vec::new(), 0);
    for case in cases() {
        match law_of(&case.request(), &case.settings(), || case.host()) {
            Ok(remedies) => applied += remedies,
            Err(error) => wrong.push(format!("{}: {error}", case.name)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(applied >= 40, "only {applied} fixes were applied");
}

/// People apply the fixes of a VM manually.
#[test]
fn a_fix_of_a_vm_causes_no_denial() {
    let mut applied = 0;
    let machines = cases()
        .into_iter()
        .filter(|case| case.request()["object"]["kind"] == "VirtualMachine");
    for case in machines {
        let report = |object: &Value| {
            let mut request = case.request();
            request["object"] = object.clone();
            engine::report(&payload(&request, &case.settings()), &case.host())
        };
        let machine = case.request()["object"].clone();
        let before = report(&machine).findings;
        for fix in before.iter().flat_map(|finding| &finding.fixes) {
            applied += usize::from(!fix.patch.is_empty());
            let after = report(&apply(&machine, &fix.patch).unwrap());
            let new = after.findings.iter().find(|finding| {
                finding.level == Outcome::Deny && before.iter().all(|old| old.rule != finding.rule)
            });
            assert_eq!(new, None, "{}: {}", case.name, fix.summary);
        }
    }
    assert!(applied >= 20, "only {applied} fixes were applied");
}

/// Checks the property for a request; returns how many fixes were applied.
fn law_of(
    request: &Value,
    settings: &Value,
    host: impl Fn() -> FakeCluster,
) -> Result<usize, String> {
    law(&request["object"], |object| {
        let mut request = request.clone();
        request["object"] = object.clone();
        engine::report(&payload(&request, settings), &host())
    })
}

/// The fixes of a rule for a new object with this spec.
fn fixes(
    rule: &str,
    version: &str,
    spec: &Value,
    settings: &Value,
    cluster: &FakeCluster,
) -> Vec<Fix> {
    let request = super::request(&hyperconverged(version, spec), None);
    let report = engine::report(&payload(&request, settings), cluster);
    let mut findings = report.findings.into_iter();
    let finding = findings.find(|finding| finding.rule == rule);
    finding.expect(rule).fixes
}

fn operations(fix: &Fix) -> Vec<String> {
    let operations = fix.patch.iter();
    operations
        .map(|operation| format!("{} {}", operation.op, operation.path))
        .collect()
}

/// The fix that enables the import of a mixed cluster.
fn enable_import(version: &str, spec: &Value) -> Fix {
    // Before HCO 1.19, the import is a preview, and its fix is never complete.
    let settings = json!({"hcoVersion": "1.19"});
    fixes(IMPORT, version, spec, &settings, &mixed()).swap_remove(0)
}

/// The fix that enables the import corrects at most 32 annotations. A command cannot correct any.
#[test]
fn annotations_are_corrected_up_to_a_limit() {
    for (count, corrected, is_complete) in [(0, 0, true), (32, 32, true), (33, 0, false)] {
        let templates = (0..count).map(|number| template(&format!("t{number}"), "AMD64"));
        let spec = json!({"dataImportCronTemplates": templates.collect::<Value>()});
        let fix = enable_import("v1beta1", &spec);
        // Two edits enable the import.
        assert_eq!(fix.patch.len(), 2 + corrected, "{count}");
        assert_eq!(fix.complete, is_complete, "{count}");
        assert_eq!(fix.command.is_some(), count == 0, "{count}");
    }
}

/// Enabling the import changes neither correct annotations nor annotations whose correct value is unknown.
#[test]
fn other_annotations_stay_when_the_import_is_enabled() {
    let removed = "remove /spec/dataImportCronTemplates/0/metadata/annotations/ssp.kubevirt.io~1dict.architectures";
    let fedora = "docker://quay.io/containerdisks/fedora:latest";
    for (name, annotation, corrections) in [
        ("fedora-image-cron", "arm64,s390x,amd64", &[][..]),
        ("my-image", "amd46", &[]),
        ("my-image", " ,", &[]),
        ("fedora-image-cron", "arm64", &[removed]),
    ] {
        let mut template = template(name, annotation);
        template["spec"]["template"]["spec"]["source"]["registry"]["url"] = json!(fedora);
        let spec = json!({"dataImportCronTemplates": [template]});
        let import = [
            "add /spec/featureGates",
            "add /spec/featureGates/enableMultiArchBootImageImport",
        ];
        let fix = enable_import("v1beta1", &spec);
        assert_eq!(operations(&fix), [&import, corrections].concat(), "{spec}");
    }
}

#[test]
fn other_feature_gates_stay_when_the_import_is_enabled() {
    let gate = |name: &str| json!({"name": name, "state": "Disabled"});
    let gates = [gate("other"), gate("enableMultiArchBootImageImport")];
    let mut operations = operations(&enable_import("v1", &json!({"featureGates": gates})));
    operations.retain(|operation| operation.contains("featureGates"));
    assert_eq!(operations, ["replace /spec/featureGates/1"]);
}

/// The order is the same with the status of HCO, which has no numbers of nodes.
#[test]
fn a_placement_prefers_the_architecture_of_the_control_plane_and_needs_the_label() {
    let [amd64, arm64] = ["amd64", "arm64"].map(|architecture| node("worker", architecture));
    let control_plane = node("control-plane", "arm64");
    let mut mislabelled = amd64.clone();
    mislabelled["metadata"]["labels"]["kubernetes.io/arch"] = json!("arm64");
    let mut unlabelled = amd64.clone();
    unlabelled["metadata"]["labels"] = json!({"node-role.kubernetes.io/worker": ""});
    for (nodes, wanted) in [
        (vec![&amd64, &arm64, &arm64], &["amd64", "arm64"][..]),
        (
            vec![&amd64, &arm64, &arm64, &control_plane],
            &["arm64", "amd64"],
        ),
        (vec![&mislabelled, &arm64], &[]),
        (vec![&unlabelled, &arm64], &["arm64"]),
    ] {
        let cluster = FakeCluster::with_nodes(nodes.into_iter().cloned());
        let fixes = fixes(IMPORT, "v1beta1", &json!({}), &json!({}), &cluster);
        let last = fixes.iter().filter_map(|fix| fix.patch.last());
        let labels = last.filter(|operation| operation.path.ends_with("/kubernetes.io~1arch"));
        let placed: Vec<Value> = labels.map(|operation| json!(operation.value)).collect();
        assert_eq!(placed, wanted);
    }
}

#[test]
fn a_common_template_is_disabled_by_an_entry_after_the_others() {
    let list = "/spec/dataImportCronTemplates";
    for (templates, wanted) in [
        (
            json!([template("a", "riscv64")]),
            vec![format!("add {list}/1")],
        ),
        (
            Value::Null,
            vec![format!("replace {list}"), format!("add {list}/0")],
        ),
    ] {
        let spec = importing(&templates);
        let cluster = FakeCluster::with_workers(&["riscv64"]);
        let rule = "architectures-unsupported";
        let fixes = fixes(rule, "v1beta1", &spec, &json!({}), &cluster);
        let disable = fixes
            .iter()
            .find(|fix| fix.summary == "disable the template");
        assert_eq!(operations(disable.unwrap()), wanted);
    }
}

/// The fixes for the annotation of a template whose image supports these architectures.
fn fixes_with_image(
    annotation: &str,
    rule: &str,
    settings: &Value,
    image: &[&'static str],
    nodes: &[&str],
) -> Vec<Fix> {
    let spec = importing(&json!([template("my-image", annotation)]));
    let cluster = FakeCluster::with_workers(nodes).with_images(Images::any(image));
    fixes(rule, "v1beta1", &spec, settings, &cluster)
}

/// Adding architectures of the image is an alternative only if all entries of the annotation are correct.
#[test]
fn the_image_decides_how_an_annotation_is_corrected() {
    let both = &["amd64", "arm64"][..];
    let all = &["amd64", "arm64", "s390x"][..];
    let by_image = "set the annotation to the architectures of the image";
    let by_entries = "correct the annotation";
    for (annotation, rule, image, summaries) in [
        (
            "AMD64",
            "architectures-malformed",
            both,
            &[by_image, by_entries][..],
        ),
        ("S390X", "architectures-malformed", all, &[by_image]),
        (
            "AMD64,ppc64le",
            "architectures-malformed",
            both,
            &[by_image],
        ),
        (
            "AMD64",
            "architectures-unsupported",
            &["amd64"],
            &[by_entries],
        ),
        ("amd64, arm64", "architectures-partial", both, &[by_entries]),
        ("amd64", "architectures-partial", both, &[by_image]),
    ] {
        let verify = json!({"images": "verify"});
        let fixes = fixes_with_image(annotation, rule, &verify, image, both);
        let found: Vec<&str> = fixes.iter().map(|fix| fix.summary.as_str()).collect();
        assert!(
            found.starts_with(summaries),
            "{annotation} {rule}: {found:?}"
        );
        assert!(fixes[0].complete, "{annotation} {rule}");
        if rule == "architectures-malformed" {
            assert_eq!(found, summaries, "{annotation}");
            assert!(fixes.iter().all(|fix| fix.complete), "{annotation}");
        }
    }
    let verify = json!({"images": "verify"});
    let partial = fixes_with_image("amd64", "architectures-partial", &verify, both, all);
    assert!(!partial[0].complete);
}

#[test]
fn a_default_preference_for_one_architecture_decides_the_annotation() {
    for (preference, value) in [
        ("rhel.9", "amd64"),
        ("windows.2k22", "amd64"),
        ("rhel.9.arm64", "arm64"),
        ("rhel.9.s390x", "amd64,arm64"),
        ("centos.stream9", "amd64,arm64"),
    ] {
        let mut mine = template("mine", "");
        mine["metadata"]["labels"] =
            json!({"instancetype.kubevirt.io/default-preference": preference});
        let spec = importing(&json!([mine]));
        let looked_up = mixed().with_images(Images::any(&["amd64", "arm64"]));
        for (images, cluster) in [("ignore", mixed()), ("verify", looked_up)] {
            let settings = json!({"images": images});
            let rule = "architectures-missing";
            let fixes = fixes(rule, "v1beta1", &spec, &settings, &cluster);
            let written = fixes[0].patch.last().unwrap().value.clone();
            assert_eq!(written, Some(json!(value)), "{preference} {fixes:?}");
        }
    }
}

/// There are too many annotations to correct them with the import. Until the user corrects them, HCO imports nothing.
#[test]
fn a_repair_does_not_enable_an_import_that_leaves_a_boot_source_without_a_disk() {
    let templates = (0..33).map(|number| template(&format!("t{number}"), "ARM64"));
    let spec = json!({"dataImportCronTemplates": templates.collect::<Value>()});
    let settings =
        json!({"repair": {IMPORT: "enable-import", "architectures-malformed": "normalise"}});
    let report = create(&hyperconverged("v1beta1", &spec), &settings, &mixed());
    assert_eq!(report.repaired_object, None);
}

/// The SSP operator rejects the import of such a cluster.
#[test]
fn the_import_is_not_enabled_on_an_unknown_architecture() {
    for (nodes, is_enabled) in [(["amd64", "arm64"], true), (["amd64", "riscv64"], false)] {
        let cluster = FakeCluster::with_workers(&nodes);
        let fixes = fixes(IMPORT, "v1beta1", &json!({}), &json!({}), &cluster);
        let mut operations = fixes.iter().flat_map(operations);
        let import = "/enableMultiArchBootImageImport";
        assert_eq!(
            operations.any(|operation| operation.ends_with(import)),
            is_enabled
        );
    }
}

/// With `architectures-partial: deny`, a correction that leaves the annotation partial reveals another denial.
#[test]
fn a_correction_that_another_rule_denies_is_not_complete() {
    let partial = |level: &str| json!({"levels": {"architectures-partial": level}});
    for (annotation, level, is_complete) in [
        ("AMD64", "warn", true),
        ("AMD64", "deny", false),
        ("AMD64,ARM64", "deny", true),
        // It is partial already.
        ("amd64,AMD64", "deny", true),
        // No workload node has it.
        ("S390X", "warn", false),
    ] {
        let rule = "architectures-malformed";
        let fixes = fixes_with_image(annotation, rule, &partial(level), &[], &["amd64", "arm64"]);
        assert_eq!(fixes[0].complete, is_complete, "{annotation} {level}");
    }
    for (level, is_complete) in [("warn", true), ("deny", false)] {
        let mut settings = partial(level);
        settings["images"] = json!("verify");
        let rule = "image-architectures-mismatch";
        let both = ["amd64", "arm64"];
        let fixes = fixes_with_image("amd64,arm64", rule, &settings, &["amd64"], &both);
        assert_eq!(fixes[0].complete, is_complete, "{level}");
    }
}

/// A name that is listed twice is invalid.
#[test]
fn a_misspelled_gate_is_renamed_unless_the_right_one_is_listed() {
    let gate = |name: &str| json!({"name": name, "state": "Enabled"});
    let right = gate("enableMultiArchBootImageImport");
    for wrong in [
        gate("enableMultiarchBootImageImport"),
        gate("enableMultiArchBootImageImport\u{1f600}\u{1f600}"),
    ] {
        for (gates, operations) in [(json!([wrong]), 1), (json!([wrong, right]), 0)] {
            let spec = json!({"featureGates": gates});
            let fixes = fixes("import-gate-misspelled", "v1", &spec, &json!({}), &mixed());
            assert_eq!(fixes[0].patch.len(), operations, "{gates}");
        }
    }
}

#[test]
fn fixes_resolve_the_findings_of_the_corpora() {
    for corpus in ["hco", "update"] {
        let mut applied = 0;
        let rows = test_data::compare(test_data::rows(corpus), &[], |row| {
            let resolved = if corpus == "hco" {
                let nodes = row["nodes"].as_array().unwrap();
                let host = || FakeCluster::with_nodes(nodes.iter().cloned());
                law_of(&super::request(&row["hco"], None), &json!({}), host)
            } else {
                law_of(&row["request"], &json!({}), mixed)
            };
            applied += resolved.map_err(|error| ("none", error))?;
            Ok(None)
        });
        assert!(applied >= rows / 20, "only {applied} fixes for {rows} rows");
    }
}

#[test]
fn fixes_resolve_the_findings_of_generated_objects() {
    let applied = generated(&(request(), nodes()), |(request, nodes)| {
        law(&request.object, |object| {
            engine::report(&request.payload(object), &request.on(&nodes))
        })
    });
    assert!(applied >= 100, "only {applied} fixes were applied");
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

/// Whether the repair of a rule changes the annotation of a template.
fn repairs_annotation(rule: &str) -> bool {
    let mut rules = RULES.iter();
    let rule = rules.find(|known| known.id == rule).expect(rule);
    matches!(rule.repair, Some(Repair::Normalise | Repair::FromImage))
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
        let repair = match rule.repair? {
            Repair::EnableImport | Repair::PlaceOn(_) => import.clone().boxed(),
            Repair::Normalise => Just(json!("normalise")).boxed(),
            Repair::FromImage => Just(json!("from-image")).boxed(),
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
        engine::validate(&request.payload(object), &request.on(nodes))
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
    let mut warnings = report.warnings.iter();
    let is_reported = warnings.any(|line| line.starts_with("repaired "))
        && report.audit_annotations.contains_key("repairs");
    if !report.allowed || !is_reported {
        return wrong("not allowed, or not reported");
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
        let world = World {
            api: request.version.to_owned(),
            hco: 20,
            nodes: Vec::new(),
            status: Value::Null,
            has_node_info: false,
        };
        let Some(before) = world.mutated(None, object.clone()) else {
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
        let Some(ours) = world.mutated(None, ours.clone()) else {
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
    let evaluate = |bytes: usize, is_update: bool| {
        let mut object = hyperconverged("v1beta1", &Value::Null);
        object["metadata"]["annotations"] = json!({"a": ""});
        let padding = bytes - object.to_string().len();
        object["metadata"]["annotations"]["a"] = Value::from("x".repeat(padding));
        let mut new = object.clone();
        if is_update {
            new["spec"] = json!({"defaultCPUModel": "other", "dataImportCronTemplates": []});
        }
        let request = super::request(&new, Some(&object).filter(|_| is_update));
        let settings = json!({"repair": {IMPORT: {"place-on": "amd64"}}});
        engine::validate(&payload(&request, &settings), &mixed())
    };
    assert!(evaluate(LARGEST, false).repaired_object.is_some());
    let report = evaluate(LARGEST + 1, false);
    assert!(!report.allowed && report.repaired_object.is_none());
    let message = report.message.unwrap();
    let why = "\n\nNo repair was applied: the object has more than 128 KiB.";
    assert!(message.ends_with(why), "{message}");
    // An existing problem would not be repaired in a small object either.
    let report = evaluate(LARGEST + 1, true);
    let text = format!("{report:?}");
    assert!(report.allowed && text.contains("Carried"), "{text}");
    assert!(!text.contains("No repair"), "{text}");
}
