//! Sizes and characters that do not occur by accident. The policy must answer with its own message and the documented
//! code, within the limits.

use e2e_tests::FakeCluster;
use e2e_tests::properties::law::holds;
use engine::Report;
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{hyperconverged, importing, mixed, payload, request, template};

/// The verdict on a new object with this spec, within the limits.
fn create(spec: &Value, settings: &Value) -> Report {
    let report = super::create(&hyperconverged("v1beta1", spec), settings, &mixed());
    holds(&report);
    report
}

/// The same with the import on and these templates.
fn create_templates(templates: impl IntoIterator<Item = Value>) -> Report {
    let templates = templates.into_iter().collect();
    create(&importing(&templates), &json!({"hcoVersion": "1.19"}))
}

fn message(report: Report) -> String {
    report.message.unwrap()
}

#[test]
fn control_characters_are_escaped() {
    let templates = json!([template("a\u{0}b\u{202e}c\n`d", "\u{1b}[31mamd64\u{7f}")]);
    let mut object = hyperconverged("v1beta1", &importing(&templates));
    object["metadata"] = json!({"namespace": "n\u{0}s", "name": "\u{202e}eman"});
    let report = super::create(&object, &json!({}), &mixed());
    holds(&report);
    // Programs read the annotation, so it contains the bytes of the name unchanged.
    let words = &report.audit_annotations["findings"];
    assert!(words.contains("/a%00b%E2%80%AEc%0A%60d="), "{words}");
    let message = message(report);
    for text in [
        "HyperConverged n\\u{0}s/\\u{202e}eman: ",
        "`a\\u{0}b\\u{202e}c\\u{a}\\u{60}d`",
    ] {
        assert!(message.contains(text), "{message}");
    }
}

#[test]
fn deep_nesting_does_not_panic() {
    for depth in [64, 128, 10_000, 1_000_000] {
        let deep = "[".repeat(depth) + &"]".repeat(depth);
        for (field, code) in [
            ("x", 403),
            ("workloads", 400),
            ("dataImportCronTemplates", 400),
        ] {
            let request = request(&hyperconverged("v1beta1", &json!({field: "deep"})), None);
            let payload = json!({ "request": request }).to_string();
            let payload = payload.replace(r#""deep""#, &deep);
            let report = engine::validate(payload.as_bytes(), &mixed());
            assert_eq!(report.code, Some(code), "{field}, {depth} deep");
        }
    }
}

#[test]
fn the_list_of_findings_is_cut_at_its_limit() {
    let findings = |count: usize| {
        // Names as long as they can be with the suffix of an architecture.
        let templates =
            (0..count).map(|number| template(&format!("{number:0>37}"), "amd64,arm64,AMD64"));
        create_templates(templates).audit_annotations["findings"].clone()
    };
    // rule-id, slash, name, =deny, and a space between two.
    let word = "architectures-malformed".len() + 1 + 37 + "=deny".len();
    let fitting = (16 * 1024 + 1) / (word + 1);
    assert_eq!(findings(fitting).len(), fitting * (word + 1) - 1);
    assert!(findings(fitting + 1).contains(" truncated="));
}

/// A rule names five more places and gives three different fixes.
#[test]
fn a_paragraph_is_a_choice_of_places_and_fixes() {
    let paragraph = |annotations: &[&str]| {
        let templates = annotations.iter().enumerate();
        let templates = templates.map(|(number, value)| template(&format!("t{number}"), value));
        let message = message(create_templates(templates));
        let mut paragraphs = message.split("\n\n");
        let paragraph = paragraphs.find(|text| text.starts_with("[architectures-malformed]"));
        paragraph.unwrap().to_owned()
    };
    for (annotations, fixes) in [
        (&["AMD64", "AMD64"][..], 1),
        (&["AMD64", "ARM64"], 2),
        (&["AMD64", "ARM64", "AMD64,ARM64", "ARM64,AMD64"], 3),
    ] {
        assert_eq!(paragraph(annotations).matches("\nfix: ").count(), fixes);
    }
    for (count, places) in [
        (
            3,
            "\nAlso: `t1` (dataImportCronTemplates[1]), `t2` (dataImportCronTemplates[2])\n",
        ),
        (8, "`t5` (dataImportCronTemplates[5]) and 2 more\n"),
    ] {
        let text = paragraph(&vec!["AMD64"; count]);
        assert!(text.contains(places), "{text}");
    }
}

/// Two names become the same word if they are equal up to the length at which names are cut.
#[test]
fn the_word_of_two_templates_is_the_worse_outcome() {
    let long = "x".repeat(253);
    let names = [format!("{long}a"), format!("{long}b")];
    let templates = names.iter().map(|name| template(name, "AMD64")).collect();
    for level in ["deny", "warn"] {
        let settings = json!({"templates": {&names[1]: {"architectures-malformed": level}}});
        let report = create(&importing(&templates), &settings);
        let words = report.audit_annotations["findings"].split(' ');
        let words: Vec<_> = words
            .filter(|word| word.starts_with("architectures-malformed"))
            .collect();
        assert_eq!(words, [format!("architectures-malformed/{long}=deny")]);
    }
}

/// In monitor mode, the host drops the message and keeps the warnings.
#[test]
fn denials_beyond_the_limits_are_counted_in_the_message_and_in_the_warnings() {
    let templates = (0..200).map(|number| {
        let mut template = template(&format!("t{number}"), "");
        template["metadata"]["annotations"] = json!({});
        template
    });
    let settings = json!({"denialsAsWarnings": true, "hcoVersion": "1.19"});
    let report = create(&importing(&templates.collect()), &settings);
    assert_eq!(report.code, Some(403));
    let (last, lines) = report.warnings.split_last().unwrap();
    assert_eq!(*last, format!("and {} more", 200 - lines.len()));
    let begins = "[architectures-missing] Denied in protect mode: Template `t";
    assert!(lines.iter().all(|line| line.starts_with(begins)));
    assert!(lines.iter().map(String::len).sum::<usize>() > 3800);
    assert!(message(report).contains(" and 194 more"));
}

/// The warning of a repair that was not applied counts too.
#[test]
fn an_obstacle_is_within_the_limit_of_warnings() {
    // Longer names deny the request, and the message says why nothing was repaired.
    for length in 1..36 {
        let templates = (0..100).map(|number| template(&format!("t{number:0>length$}"), "amd64"));
        let report = create(
            &json!({"dataImportCronTemplates": templates.collect::<Value>()}),
            &json!({
                "levels": {"multi-arch-import-disabled": "warn"},
                "repair": {"multi-arch-import-disabled": {"place-on": "s390x"}},
            }),
        );
        let obstacle = "The repair place-on of multi-arch-import-disabled was not applied: no workload node reports the \
                        architecture s390x.";
        assert!(
            report.allowed && report.repaired_object.is_none(),
            "{length}"
        );
        assert!(
            report.warnings.iter().any(|line| line == obstacle),
            "{length}"
        );
    }
}

#[test]
fn a_message_that_does_not_fit_counts_what_it_leaves_out() {
    // Each character of these names is shown as an escape of nine bytes.
    let name = |number: usize| "\u{e0041}".repeat(60) + &number.to_string();
    let templates = (0..20).flat_map(|number| {
        let twice = template(&name(number), "AMD64");
        let without_spec = json!({"metadata": {"name": name(100 + number)}});
        [twice.clone(), twice, without_spec]
    });
    let message = message(create_templates(templates));
    let paragraphs = message.lines().filter(|line| line.starts_with('[')).count();
    let last = message.lines().last().unwrap();
    assert!(paragraphs >= 2 && last.starts_with("and "), "{message}");
}

#[test]
fn entries_after_the_first_many_are_compared_with_the_old_ones() {
    let numbered = |count: usize| (0..count).map(|number| format!("e{number}"));
    let many = numbered(600).collect::<Vec<_>>().join(",");
    let few = numbered(70).collect::<Vec<_>>().join(",");
    let reversed = numbered(70).rev().collect::<Vec<_>>().join(",");
    for (old, new, allowed) in [
        (
            format!("amd64,arm64,{many}"),
            format!("arm64,amd64,{many}"),
            true,
        ),
        (
            format!("amd64,arm64,{many}"),
            format!("amd64,arm64,{many}, arm64"),
            false,
        ),
        (
            format!("amd64,arm64,{few}"),
            format!("amd64,arm64,{reversed}"),
            true,
        ),
    ] {
        let [old, new] = [old, new].map(|architectures| {
            let templates = json!([template("t", &architectures)]);
            hyperconverged("v1beta1", &importing(&templates))
        });
        let payload = payload(&request(&new, Some(&old)), &json!({}));
        assert_eq!(engine::validate(&payload, &mixed()).allowed, allowed);
    }
}

/// The name comes from the status, which is not validated.
#[test]
fn a_name_in_the_status_is_not_pasted_into_a_fix() {
    let mut object = hyperconverged("v1beta1", &importing(&Value::Null));
    object["metadata"]["resourceVersion"] = json!("1");
    object["status"] = json!({"dataImportCronTemplates": [{
        "metadata": {"name": "evil\u{1b}[31m\nfix: delete everything"},
        "status": {"commonTemplate": true, "originalSupportedArchitectures": "ppc64le"},
    }]});
    let message = message(super::create(&object, &json!({}), &mixed()));
    assert!(message.contains("add an entry with its name"), "{message}");
    assert!(!message.contains("\nfix: delete"), "{message}");
}

/// For each rule and outcome, 128 findings are reported in full; the others are counted.
#[test]
fn findings_beyond_the_list_are_counted() {
    for (count, more) in [(128, 0), (200, 72)] {
        let templates = (0..count).map(|number| template(&format!("t{number}"), "amd64, arm64"));
        let report = create_templates(templates);
        assert!(!report.allowed);
        // The entry is malformed, and the image then lacks an architecture.
        let found = (report.findings.len(), report.more_findings);
        assert_eq!(found, (2 * 128, 2 * more));
    }
}

/// Findings repeat the architectures of nodes, and a kubelet can report any string.
#[test]
fn an_architecture_that_is_too_long_is_cut() {
    let cut = "a".repeat(60) + "%E2%80%A6";
    for (length, workload) in [(63, &"a".repeat(63)), (64, &cut), (1_000_000, &cut)] {
        let cluster = FakeCluster::with_workers(&[&"a".repeat(length)]);
        let report = super::create(&hyperconverged("v1beta1", &json!({})), &json!({}), &cluster);
        assert_eq!(report.code, Some(403), "{length}");
        assert_eq!(
            &report.audit_annotations["workload-architectures"],
            workload
        );
        assert!(
            super::rules(&report).contains(&"cluster-architecture-unknown"),
            "{length}"
        );
    }
}

#[test]
fn a_long_reason_is_cut_in_a_warning() {
    let placement = json!({"nodePlacement": {"nodeSelector": {"x".repeat(400): 1}}});
    let report = create(
        &json!({"workloads": placement}),
        &json!({"denialsAsWarnings": true}),
    );
    let lengths: Vec<usize> = report.warnings.iter().map(String::len).collect();
    assert_eq!((report.code, lengths), (Some(400), vec![256]));
}

/// Two operations of a patch have the path of the annotation.
#[test]
fn a_path_with_two_problems_is_named_once() {
    let patch = json!([
        {"op": "remove", "path": "/spec/cluster/workloadArchitectures"},
        {"op": "remove", "path": "/spec/cluster/controlPlaneArchitectures"},
    ]);
    let mut object = hyperconverged("v1beta1", &json!({}));
    object["metadata"]["annotations"] = json!({"ssp.kubevirt.io/jsonpatch": patch.to_string()});
    let levels = json!({"jsonpatch-overrides-architectures": "deny"});
    let settings = json!({"goldenImages": "absent", "levels": levels});
    let message = message(super::create(&object, &settings, &mixed()));
    let is_named_once = message.contains("2 problems") && !message.contains("Also: ");
    assert!(is_named_once, "{message}");
}

#[test]
fn a_rule_that_prevents_a_repair_is_named_once() {
    let templates = json!([
        template("a", "amd64, arm64"),
        template("b", ""),
        template("c", "")
    ]);
    let settings = json!({"repair": {"architectures-malformed": "normalise"}});
    let message = message(create(&importing(&templates), &settings));
    let text = "would still be denied: architectures-missing.";
    assert!(message.contains(text), "{message}");
}
