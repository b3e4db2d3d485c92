//! Sizes and characters that do not occur by accident. The policy must answer with its own message and the documented
//! code, within the limits.

use e2e_tests::FakeCluster;
use engine::Report;
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Two workers, one amd64, one arm64.
fn mixed() -> FakeCluster {
    FakeCluster::with_workers(&["amd64", "arm64"])
}

fn create(templates: &Value) -> Report {
    let payload = json!({"settings": {"hcoVersion": "1.19"}, "request": {
        "kind": {"group": "hco.kubevirt.io", "version": "v1beta1", "kind": "HyperConverged"},
        "operation": "CREATE",
        "object": {
            "apiVersion": "hco.kubevirt.io/v1beta1",
            "metadata": {"namespace": "n\u{0}s", "name": "\u{202e}eman"},
            "spec": {
                "featureGates": {"enableMultiArchBootImageImport": true},
                "dataImportCronTemplates": templates,
            },
        },
    }});
    let report = engine::evaluate(payload.to_string().as_bytes(), &mixed());
    let message = report.message.as_deref().unwrap_or_default();
    assert!(message.len() <= 4096, "{} bytes", message.len());
    assert!(report.warnings.iter().all(|warning| warning.len() <= 256));
    assert!(report.warnings.iter().map(String::len).sum::<usize>() <= 4096);
    let words = &report
        .audit_annotations
        .get("findings")
        .map_or(0, String::len);
    assert!(*words <= 16 * 1024, "{words} bytes of findings");
    report
}

fn template(name: &str, architectures: &str) -> Value {
    json!({
        "metadata": {"name": name, "annotations": {"ssp.kubevirt.io/dict.architectures": architectures}},
        "spec": crate::template_spec(name, &json!({"registry": {"url": "docker://x"}})),
    })
}

#[test]
fn characters_that_a_terminal_obeys_are_shown_not_sent() {
    let report = create(&json!([template(
        "a\u{0}b\u{202e}c\n`d",
        "\u{1b}[31mamd64\u{7f}"
    )]));
    let message = report.message.unwrap();
    for text in [&message, &report.warnings.join(" ")] {
        assert!(
            !text
                .chars()
                .any(|c| c.is_control() && c != '\n' || c == '\u{202e}'),
            "{text:?}"
        );
    }
    assert!(
        message.starts_with("HyperConverged n\\u{0}s/\\u{202e}eman: "),
        "{message}"
    );
    assert!(
        message.contains("`a\\u{0}b\\u{202e}c\\u{a}\\u{60}d`"),
        "{message}"
    );
    // Programs read the annotation, so it contains the bytes of the name unchanged.
    let words = &report.audit_annotations.get("findings").unwrap();
    assert!(words.contains("/a%00b%E2%80%AEc%0A%60d="), "{words}");
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
            let payload = format!(
                r#"{{"request":{{"kind":{{"group":"hco.kubevirt.io","version":"v1beta1","kind":"HyperConverged"}},"operation":"CREATE","object":{{"spec":{{"{field}":{deep}}}}}}}}}"#
            );
            let report = engine::evaluate(payload.as_bytes(), &mixed());
            assert_eq!(report.code, Some(code), "{field}, {depth} deep");
        }
    }
}

#[test]
fn a_list_of_findings_is_cut_at_its_limit_and_not_before() {
    // Names as long as they can be with the suffix of an architecture.
    let templates = |count: usize| -> Value {
        let name = |number: usize| format!("{number:0>37}");
        (0..count)
            .map(|number| template(&name(number), "amd64,arm64,AMD64"))
            .collect()
    };
    let findings = |count| {
        create(&templates(count))
            .audit_annotations
            .get("findings")
            .unwrap()
            .clone()
    };
    // rule-id, slash, name, =deny, and a blank between two.
    let word = "architectures-malformed".len() + 1 + 37 + "=deny".len();
    let fitting = (16 * 1024 + 1) / (word + 1);
    assert_eq!(findings(fitting).len(), fitting * (word + 1) - 1);
    let cut = findings(fitting + 1);
    assert!(
        cut.len() <= 16 * 1024 && cut.contains(" truncated="),
        "{}",
        cut.len()
    );
}

/// A rule names five more places and gives three different fixes.
#[test]
fn a_paragraph_is_a_choice_of_places_and_fixes() {
    let paragraph = |annotations: &[&str]| {
        let templates = annotations.iter().enumerate();
        let templates = templates.map(|(number, value)| template(&format!("t{number}"), value));
        let message = create(&templates.collect()).message.unwrap();
        let mut paragraphs = message.split("\n\n");
        let is_it = |text: &&str| text.starts_with("[architectures-malformed]");
        paragraphs.find(is_it).unwrap().to_owned()
    };
    let fixes = |annotations: &[&str]| paragraph(annotations).matches("\nfix: ").count();
    assert_eq!(fixes(&["AMD64", "AMD64"]), 1);
    assert_eq!(fixes(&["AMD64", "ARM64"]), 2);
    assert_eq!(fixes(&["AMD64", "ARM64", "AMD64,ARM64", "ARM64,AMD64"]), 3);
    let text = paragraph(&["AMD64"; 3]);
    let also = "\nAlso: `t1` (dataImportCronTemplates[1]), `t2` (dataImportCronTemplates[2])\n";
    assert!(text.contains(also), "{text}");
    let text = paragraph(&["AMD64"; 8]);
    assert!(
        text.contains("`t5` (dataImportCronTemplates[5]) and 2 more\n"),
        "{text}"
    );
}

/// Two names become the same word if they are equal up to the length at which names are cut.
#[test]
fn the_word_of_two_templates_is_the_worse_outcome() {
    let long = "x".repeat(253);
    let templates = [
        template(&format!("{long}a"), "AMD64"),
        template(&format!("{long}b"), "AMD64"),
    ];
    let word = |level: &str| {
        let payload = json!({
            "settings": {"templates": {format!("{long}b"): {"architectures-malformed": level}}},
            "request": {
                "kind": {"group": "hco.kubevirt.io", "version": "v1beta1", "kind": "HyperConverged"},
                "operation": "CREATE",
                "object": {"metadata": {"name": "x"}, "spec": {
                    "featureGates": {"enableMultiArchBootImageImport": true},
                    "dataImportCronTemplates": templates,
                }},
            },
        });
        let report = engine::evaluate(payload.to_string().as_bytes(), &mixed());
        let words = report
            .audit_annotations
            .get("findings")
            .unwrap()
            .split(' ')
            .map(str::to_owned);
        let words: Vec<String> = words
            .filter(|word| word.starts_with("architectures-malformed"))
            .collect();
        words
    };
    let deny = [format!("architectures-malformed/{long}=deny")];
    assert_eq!(word("deny"), deny);
    assert_eq!(word("warn"), deny);
}

#[test]
fn more_warnings_than_fit_are_counted() {
    let templates: Vec<Value> = (0..1000)
        .map(|number| template(&format!("t{number}"), "amd64"))
        .collect();
    let report = create(&Value::from(templates));
    assert!(report.allowed);
    let (last, lines) = report.warnings.split_last().unwrap();
    assert_eq!(*last, format!("and {} more", 1000 - lines.len()));
    assert!(
        lines.iter().map(String::len).sum::<usize>() > 3800,
        "{lines:?}"
    );
}

/// In monitor mode, the host drops the message and keeps the warnings.
#[test]
fn denials_beyond_the_limits_are_counted_in_the_message_and_in_the_warnings() {
    let templates: Vec<Value> = (0..200)
        .map(|number| {
            let name = format!("t{number}");
            let spec = crate::template_spec(&name, &json!({"registry": {"url": "docker://x"}}));
            json!({"metadata": {"name": name}, "spec": spec})
        })
        .collect();
    let report = judged(
        &json!({"denialsAsWarnings": true, "hcoVersion": "1.19"}),
        &json!({
            "featureGates": {"enableMultiArchBootImageImport": true},
            "dataImportCronTemplates": templates,
        }),
    );
    assert_eq!(report.code, Some(403));
    assert!(report.message.unwrap().contains(" and 194 more"));
    let (last, lines) = report.warnings.split_last().unwrap();
    assert_eq!(*last, format!("and {} more", 200 - lines.len()));
    let begins = "[architectures-missing] Denied in protect mode: Template `t";
    assert!(lines.len() > 20 && lines.iter().all(|line| line.starts_with(begins)));
    assert!(report.warnings.iter().map(String::len).sum::<usize>() <= 4096);
}

/// The warning of a repair that was not applied counts too.
#[test]
fn an_obstacle_is_within_the_limit_of_warnings() {
    // Longer names deny the request, and the message says why nothing was repaired.
    for length in 1..36 {
        let template = |number: usize| template(&format!("t{number:0>length$}"), "amd64");
        let templates: Vec<Value> = (0..100).map(template).collect();
        let level = json!({"multi-arch-import-disabled": "warn"});
        let repair = json!({"multi-arch-import-disabled": {"place-on": "s390x"}});
        let report = judged(
            &json!({"levels": level, "repair": repair}),
            &json!({ "dataImportCronTemplates": templates }),
        );
        let is_obstacle = |line: &String| line.contains("place-on") && line.contains("not applied");
        assert!(report.warnings.iter().any(is_obstacle), "{length}");
        let bytes = report.warnings.iter().map(String::len).sum::<usize>();
        assert!(bytes <= 4096, "{length}: {bytes} bytes");
    }
}

fn judged(settings: &Value, spec: &Value) -> Report {
    let payload = json!({"settings": settings, "request": {
        "kind": {"group": "hco.kubevirt.io", "version": "v1beta1", "kind": "HyperConverged"},
        "operation": "CREATE",
        "object": {"apiVersion": "hco.kubevirt.io/v1beta1", "metadata": {"name": "x"}, "spec": spec},
    }});
    engine::evaluate(payload.to_string().as_bytes(), &mixed())
}

#[test]
fn a_message_that_does_not_fit_counts_what_it_leaves_out() {
    // Each character of these names is shown as an escape of nine bytes.
    let name = |number: usize| "\u{e0041}".repeat(60) + &number.to_string();
    let mut templates = Vec::new();
    for number in 0..20 {
        templates.push(template(&name(number), "AMD64"));
        templates.push(template(&name(number), "AMD64"));
        templates.push(json!({"metadata": {"name": name(100 + number)}}));
    }
    let report = create(&Value::from(templates));
    let message = report.message.unwrap();
    let paragraphs = message.lines().filter(|line| line.starts_with('[')).count();
    assert!(paragraphs >= 2, "{message}");
    assert!(
        message.lines().last().unwrap().starts_with("and "),
        "{message}"
    );
}

#[test]
fn entries_behind_the_first_many_do_not_slip_past_the_ratchet() {
    let update = |old: &str, new: &str| {
        let object = |architectures: &str| {
            json!({"apiVersion": "hco.kubevirt.io/v1beta1", "spec": {
                "featureGates": {"enableMultiArchBootImageImport": true},
                "dataImportCronTemplates": [template("t", architectures)],
            }})
        };
        let payload = json!({"request": {
            "kind": {"group": "hco.kubevirt.io", "version": "v1beta1", "kind": "HyperConverged"},
            "operation": "UPDATE", "object": object(new), "oldObject": object(old),
        }});
        engine::evaluate(payload.to_string().as_bytes(), &mixed()).allowed
    };
    let entries: Vec<String> = (0..600).map(|number| format!("e{number}")).collect();
    let old = format!("amd64,arm64,{}", entries.join(","));
    assert!(update(&old, &format!("arm64,amd64,{}", entries.join(","))));
    assert!(!update(&old, &format!("{old}, arm64")));
    let few: Vec<String> = entries.iter().take(70).cloned().collect();
    let reversed: Vec<String> = few.iter().rev().cloned().collect();
    let (few, reversed) = (few.join(","), reversed.join(","));
    assert!(update(
        &format!("amd64,arm64,{few}"),
        &format!("amd64,arm64,{reversed}")
    ));
}

/// The name comes from the status, which is not validated.
#[test]
fn a_name_in_the_status_is_not_pasted_into_a_fix() {
    let payload = json!({"request": {
        "kind": {"group": "hco.kubevirt.io", "version": "v1beta1", "kind": "HyperConverged"},
        "operation": "CREATE",
        "object": {
            "metadata": {"resourceVersion": "1"},
            "spec": {"featureGates": {"enableMultiArchBootImageImport": true}},
            "status": {"dataImportCronTemplates": [{
                "metadata": {"name": "evil\u{1b}[31m\nfix: delete everything"},
                "status": {"commonTemplate": true, "originalSupportedArchitectures": "ppc64le"},
            }]},
        },
    }});
    let report = engine::evaluate(payload.to_string().as_bytes(), &mixed());
    let message = report.message.unwrap();
    assert!(message.contains("add an entry with its name"), "{message}");
    assert!(!message.contains("\nfix: delete"), "{message}");
}

/// For each rule and outcome, 128 findings are reported in full; the others are counted.
#[test]
fn findings_beyond_the_list_are_counted() {
    let templates: Vec<Value> = (0..200)
        .map(|number| template(&format!("t{number}"), "amd64, arm64"))
        .collect();
    let report = create(&json!(templates));
    assert!(!report.allowed);
    // The entry is malformed, and the image then lacks an architecture.
    assert_eq!(
        (report.findings.len(), report.more_findings),
        (2 * 128, 2 * 72)
    );
    let report = create(&json!(templates.get(..128)));
    assert_eq!((report.findings.len(), report.more_findings), (2 * 128, 0));
}

/// Findings repeat the architectures of nodes, and a kubelet can report any string.
#[test]
fn an_architecture_that_is_too_long_is_cut() {
    let payload = json!({"request": {
        "kind": {"group": "hco.kubevirt.io", "version": "v1beta1", "kind": "HyperConverged"},
        "operation": "CREATE",
        "object": {"apiVersion": "hco.kubevirt.io/v1beta1", "metadata": {"name": "x"}},
    }});
    let judge = |length: usize| {
        let nodes = json!({"items": [{
            "metadata": {"labels": {"node-role.kubernetes.io/worker": ""}},
            "status": {"nodeInfo": {"architecture": "a".repeat(length)}},
        }]});
        let nodes = FakeCluster::returning(Ok(nodes.to_string().into_bytes()));
        engine::evaluate(payload.to_string().as_bytes(), &nodes)
    };
    for (length, workload) in [
        (63, "a".repeat(63)),
        (64, "a".repeat(60) + "%E2%80%A6"),
        (1_000_000, "a".repeat(60) + "%E2%80%A6"),
    ] {
        let report = judge(length);
        assert_eq!(report.code, Some(403), "{length}");
        assert_eq!(
            report
                .audit_annotations
                .get("workload-architectures")
                .unwrap(),
            &workload
        );
        let mut rules = report.findings.iter().map(|finding| &*finding.rule);
        assert!(
            rules.any(|rule| rule == "cluster-architecture-unknown"),
            "{length}"
        );
    }
}

#[test]
fn a_long_reason_is_cut_in_a_warning() {
    let payload = json!({"settings": {"denialsAsWarnings": true}, "request": {
        "kind": {"group": "hco.kubevirt.io", "version": "v1beta1", "kind": "HyperConverged"},
        "operation": "CREATE",
        "object": {"spec": {"workloads": {"nodePlacement": {"nodeSelector": {"x".repeat(400): 1}}}}},
    }});
    let report = engine::evaluate(payload.to_string().as_bytes(), &mixed());
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
    let payload = json!({
        "settings": {"goldenImages": "absent", "levels": {"jsonpatch-overrides-architectures": "deny"}},
        "request": {
            "kind": {"group": "hco.kubevirt.io", "version": "v1beta1", "kind": "HyperConverged"},
            "operation": "CREATE",
            "object": {"metadata": {"annotations": {"ssp.kubevirt.io/jsonpatch": patch.to_string()}}},
        },
    });
    let message = engine::evaluate(payload.to_string().as_bytes(), &mixed()).message;
    let message = message.unwrap();
    assert!(
        message.contains("2 problems") && !message.contains("Also: "),
        "{message}"
    );
}

#[test]
fn a_rule_that_prevents_a_repair_is_named_once() {
    let mut templates = vec![template("a", "amd64, arm64")];
    for name in ["b", "c"] {
        let mut missing = template(name, "");
        missing["metadata"]["annotations"] = json!({});
        templates.push(missing);
    }
    let payload = json!({
        "settings": {"repair": {"architectures-malformed": "normalise"}},
        "request": {
            "kind": {"group": "hco.kubevirt.io", "version": "v1beta1", "kind": "HyperConverged"},
            "operation": "CREATE",
            "object": {"spec": {
                "featureGates": {"enableMultiArchBootImageImport": true},
                "dataImportCronTemplates": templates,
            }},
        },
    });
    let message = engine::evaluate(payload.to_string().as_bytes(), &mixed()).message;
    let message = message.unwrap();
    assert!(
        message.contains("would still be denied: architectures-missing."),
        "{message}"
    );
}
