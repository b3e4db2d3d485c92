//! Requests, settings, annotations, and answers of registries.

use std::collections::BTreeSet;

use engine::{Image, Registry};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::input::{Input, mixed};
use super::law::{holds, law};
use crate::FakeCluster;

/// The payload of an input and its cluster. Bytes that do not parse as an input are a payload.
fn read(input: &[u8]) -> (Vec<u8>, FakeCluster) {
    match serde_json::from_slice::<Input<'_>>(input) {
        Ok(input) => (input.payload.get().into(), input.cluster()),
        Err(_) => (input.into(), mixed()),
    }
}

/// The answer to a request is within the limits and reproducible, and the policy lists the nodes at most once.
pub fn validate(input: &[u8]) {
    let (payload, cluster) = read(input);
    let report = engine::validate(&payload, &cluster);
    holds(&report);
    assert!(cluster.lists() <= 1);
    assert_eq!(engine::validate(&payload, &cluster), report);
    let Ok(Value::Object(mut payload)) = serde_json::from_slice(&payload) else {
        return;
    };
    // Errors in the settings are reported first if the version of the object is unknown.
    let settings = json!(payload.get("settings")).to_string();
    let has_valid_settings = engine::validate_settings(settings.as_bytes()).is_ok();
    let Some(Value::Object(request)) = payload.get_mut("request") else {
        return;
    };
    // An update that changes nothing is allowed, without a call of the host. The API server converts both objects to the
    // version of the request, so their own version is left out.
    if let Some(object) = request.get_mut("object").and_then(Value::as_object_mut) {
        object.remove("apiVersion");
    }
    let object = request.get("object").cloned().unwrap_or_default();
    request.insert("oldObject".to_owned(), object);
    request.insert("operation".to_owned(), "UPDATE".into());
    let before = cluster.calls().len();
    let unchanged = engine::validate(json!(payload).to_string().as_bytes(), &cluster);
    assert!(
        unchanged.allowed || unchanged.code == Some(400) || !has_valid_settings,
        "{unchanged:#?}"
    );
    assert_eq!(cluster.calls().len(), before);
}

/// The report of a request agrees with the answer, and the order of the nodes does not matter.
pub fn report(input: &[u8]) {
    let (payload, cluster) = read(input);
    let judged = engine::validate(&payload, &cluster);
    let calls = cluster.calls().len();
    let report = engine::report(&payload, &cluster);
    // A report lists nodes that the answer does not need, or has from a status, and evaluates a VM as one in a file.
    let is_comparable = report.virtual_machine.is_none() && cluster.calls().len() == 2 * calls;
    // A report always contains the nodes, and the fields that depend on them.
    if is_comparable {
        assert_eq!(judged.allowed, report.allowed);
        assert_eq!(judged.code, report.code);
        assert_eq!(judged.message, report.message);
        assert_eq!(judged.findings, report.findings);
        assert_eq!(judged.warnings, report.warnings);
    }
    let written: Value = serde_json::from_slice(&serde_json::to_vec(&report).unwrap()).unwrap();
    assert_eq!(written["allowed"], json!(report.allowed));
    for finding in &report.findings {
        assert!(engine::RULES.iter().any(|rule| rule.id == finding.rule));
        assert!(
            finding.fact.len() + finding.fix_text().len() < 8192,
            "{finding:#?}"
        );
        assert!(!finding.fact.contains('\n'), "{finding:#?}");
    }
    if let Some(object) = &report.repaired_object {
        assert!(serde_json::from_str::<Value>(object).unwrap().is_object());
    }
    let Ok(Input {
        nodes: Some(nodes),
        images,
        status,
        fails: None,
        ..
    }) = serde_json::from_slice(input)
    else {
        return;
    };
    let Ok(mut list) = serde_json::from_str::<Value>(nodes.get()) else {
        return;
    };
    let Some(Value::Array(items)) = list.get_mut("items") else {
        return;
    };
    items.reverse();
    // An error contains a position, and writing the list again drops one of two equal keys.
    if report.nodes.is_some() {
        let mut cluster =
            FakeCluster::returning(Ok(list.to_string().into_bytes())).with_images(images);
        if let Some(status) = status {
            cluster = cluster.answering(&status);
        }
        assert_eq!(engine::report(&payload, &cluster), report);
    }
}

/// Valid settings are used. The errors of invalid ones are the same in all operations.
pub fn settings(input: &[u8]) {
    let result = engine::validate_settings(input);
    assert_eq!(engine::validate_settings(input), result);
    let Ok(settings) = serde_json::from_slice::<&RawValue>(input) else {
        assert!(result.is_err());
        return;
    };
    let request = r#"{"kind":{"group":"hco.kubevirt.io","version":"v1beta1","kind":"HyperConverged"},"operation":"CREATE","object":{"spec":{"dataImportCronTemplates":[{"metadata":{"name":"a"},"spec":{}}]}}}"#;
    let payload = format!(r#"{{"request":{request},"settings":{settings}}}"#);
    let report = engine::validate(payload.as_bytes(), &mixed());
    holds(&report);
    let is_refused = report.code == Some(500) && report.findings.is_empty();
    assert_eq!(is_refused, result.is_err(), "{result:?} {report:#?}");
}

/// Applying the fixes of a request resolves their findings.
pub fn remedies(input: &[u8]) {
    let Ok(input) = serde_json::from_slice::<Input<'_>>(input) else {
        return;
    };
    let Ok(mut payload) = serde_json::from_str::<Value>(input.payload.get()) else {
        return;
    };
    // The report of a repaired object contains only the remaining fixes.
    if let Some(settings) = payload.get_mut("settings").and_then(Value::as_object_mut) {
        settings.remove("repair");
    }
    let Some(object) = payload.pointer("/request/object").cloned() else {
        return;
    };
    let cluster = input.cluster();
    let judge = |object: &Value| {
        let mut payload = payload.clone();
        payload["request"]["object"] = object.clone();
        engine::report(payload.to_string().as_bytes(), &cluster)
    };
    // Findings that are not in the list cannot be compared.
    if judge(&object).more_findings == 0
        && let Err(error) = law(&object, judge)
    {
        panic!("{error}\n{payload}");
    }
}

/// The policy reports a JSON Patch in the same cases as a naive reading of the patch.
pub fn jsonpatch(input: &[u8]) {
    let Ok(patch) = str::from_utf8(input) else {
        return;
    };
    for (annotation, fields) in [
        (
            "ssp.kubevirt.io/jsonpatch",
            &[
                "/spec/enableMultipleArchitectures",
                "/spec/cluster",
                "/spec/commonTemplates/dataImportCronTemplates",
            ][..],
        ),
        (
            "kubevirt.kubevirt.io/jsonpatch",
            &[
                "/spec/workloads",
                "/spec/configuration/architectureConfiguration",
            ],
        ),
        (
            "containerizeddataimporter.kubevirt.io/jsonpatch",
            &["/spec/workload"],
        ),
    ] {
        let payload = json!({"settings": {}, "request": {
            "kind": {"group": "hco.kubevirt.io", "version": "v1", "kind": "HyperConverged"},
            "operation": "CREATE",
            "object": {"metadata": {"annotations": {annotation: patch}}},
        }});
        let report = engine::validate(payload.to_string().as_bytes(), &mixed());
        holds(&report);
        let rule = "jsonpatch-overrides-architectures";
        let is_found = report.findings.iter().any(|finding| finding.rule == rule);
        // serde_json rejects half a surrogate pair and large numbers, Go does not.
        if let Some(expected) = overrides(patch, fields) {
            assert_eq!(is_found, expected, "{annotation} {report:#?}");
        }
    }
}

/// Whether a patch is invalid, or touches one of the fields. `None` if only Go can tell.
fn overrides(patch: &str, fields: &[&str]) -> Option<bool> {
    let operations = match serde_json::from_str(patch) {
        Ok(Value::Null) => return Some(false),
        Ok(Value::Array(operations)) => operations,
        Err(_) if patch.contains("\\u") || patch.contains(['e', 'E']) => return None,
        Ok(_) | Err(_) => return Some(true),
    };
    // Go reads a key in any letter case, and two more characters like a letter.
    let folded = |pointer: &str| {
        let ascii = pointer.replace('\u{17f}', "s").replace('\u{212a}', "k");
        ascii.to_ascii_lowercase()
    };
    let is_below = |one: &str, other: &str| {
        let (one, other) = (folded(one), folded(other));
        let other: Vec<&str> = other.split('/').skip(1).collect();
        let one: Vec<&str> = one.split('/').skip(1).collect();
        one.starts_with(&other) || other.starts_with(&one)
    };
    Some(operations.iter().any(|operation| {
        if !operation.is_object() && !operation.is_null() {
            return true;
        }
        let pointers = ["path", "from"].map(|key| operation[key].as_str());
        let [Some(path), _] = pointers else {
            return true;
        };
        let is_operation = match operation["op"].as_str() {
            Some("add" | "replace") => operation.get("value").is_some(),
            Some("move" | "copy") => operation["from"].is_string(),
            Some("remove" | "test") => true,
            _ => false,
        };
        let mut touched = pointers.into_iter().flatten();
        !is_operation
            || !path.starts_with("/spec/")
            || operation["op"] != "test"
                && touched.any(|pointer| fields.iter().any(|field| is_below(pointer, field)))
    }))
}

/// The answers of a registry: the manifest, and the manifest with its configuration.
struct Answers<'a>(&'a [u8], &'a [u8]);

impl Registry for Answers<'_> {
    fn manifest(&self, _: &str) -> Result<Vec<u8>, String> {
        Ok(self.0.into())
    }

    fn manifest_and_config(&self, _: &str) -> Result<Vec<u8>, String> {
        Ok(self.1.into())
    }
}

/// A naive reader finds the same architectures in a registry's answer, and a URL names one image.
pub fn registry_answers(input: &[u8]) {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Input<'a> {
        url: String,
        #[serde(borrow)]
        manifest: &'a RawValue,
        #[serde(borrow)]
        config: &'a RawValue,
    }
    let (url, manifest, config) = match serde_json::from_slice::<Input<'_>>(input) {
        Ok(Input {
            url,
            manifest,
            config,
        }) => (url, manifest.get().as_bytes(), config.get().as_bytes()),
        Err(_) => ("docker://quay.io/a".to_owned(), input, input),
    };
    let Some(Ok(image)) = Image::at(&url) else {
        return;
    };
    assert_eq!(
        Image::at(&format!("docker://{image}")),
        Some(Ok(image.clone()))
    );
    // Without requested architectures, the entries of an index are not read.
    let found = image.contents(&BTreeSet::new(), &Answers(manifest, config));
    let found = found.map(|contents| contents.supported);
    if let Some(expected) = architectures(manifest, config) {
        let names = found
            .as_ref()
            .ok()
            .map(|names| names.iter().cloned().collect());
        assert_eq!(names, expected, "{found:?}");
    }
    if let Ok(found) = found {
        assert!(!found.is_empty() && !found.contains(""));
    }
    // Each answer is for a requested architecture, and an unreadable image supports only listed architectures.
    let asked: BTreeSet<String> = ["amd64", "arm64"].map(str::to_owned).into();
    if let Ok(contents) = image.contents(&asked, &Answers(manifest, config)) {
        assert!(contents.availability.keys().eq(asked.iter()));
        assert!(!contents.supported.contains(""));
    }
}

/// The architectures, read naively; the inner `None` if there are none, or if the answer is not a manifest. The outer
/// `None` if a key is repeated and the last one decides, or if `serde_json` cannot read a value.
#[expect(clippy::option_option, reason = "the outer one is what no model knows")]
fn architectures(manifest: &[u8], config: &[u8]) -> Option<Option<BTreeSet<String>>> {
    let unique = |bytes: &[u8]| {
        let value: Value = serde_json::from_slice(bytes).ok()?;
        let written = value.to_string();
        let blank = |byte: &&u8| !byte.is_ascii_whitespace();
        (bytes.iter().filter(blank).count() == written.bytes().filter(|byte| blank(&byte)).count())
            .then_some(value)
    };
    // Null is an object without fields, or an empty text.
    let is_object = |value: &Value| value.is_object() || value.is_null();
    let is_text = |value: &Value| value.is_string() || value.is_null();
    let has_texts =
        |map: &Value, keys: &[&str]| is_object(map) && keys.iter().all(|key| is_text(&map[*key]));
    let manifest = unique(manifest)?;
    if !has_texts(&manifest, &["mediaType"]) {
        return Some(None);
    }
    let names = match &manifest["manifests"] {
        Value::Null => {
            let config = unique(config)?;
            let labels = ["containers.bootc", "ostree.bootable"];
            let settings = &config["config"]["config"];
            if ![&config, settings].into_iter().all(is_object)
                || !has_texts(&settings["Labels"], &labels)
            {
                return Some(None);
            }
            match (&config["config"], &config["config"]["architecture"]) {
                (Value::Object(_), Value::String(name)) => [name.clone()].into(),
                (Value::Null, _) | (Value::Object(_), Value::Null) => BTreeSet::new(),
                _ => return Some(None),
            }
        }
        Value::Array(entries) => {
            let mut names = BTreeSet::new();
            for entry in entries {
                let zstd = "io.github.containers.compression.zstd";
                if !has_texts(entry, &["digest"]) || !has_texts(&entry["annotations"], &[zstd]) {
                    return Some(None);
                }
                let platform = &entry["platform"];
                // It is for no platform, or for those without an entry, and then it is read only if one of these is requested.
                if platform.is_null() {
                    continue;
                }
                let text = |key| match &platform[key] {
                    Value::Null => Some(""),
                    text => text.as_str(),
                };
                let fields = (text("os"), text("architecture"), text("variant"));
                let (Value::Object(_), (Some(os), Some(name), Some(variant))) = (platform, fields)
                else {
                    return Some(None);
                };
                let is_compatible = match (name, variant) {
                    (_, "") | ("arm64", "v8") => true,
                    ("arm", variant) => ["v5", "v6", "v7", "v8"].contains(&variant),
                    _ => false,
                };
                if os == "linux" && is_compatible {
                    names.insert(name.to_owned());
                }
            }
            names
        }
        _ => return Some(None),
    };
    let names: BTreeSet<String> = names.into_iter().filter(|name| !name.is_empty()).collect();
    Some(Some(names).filter(|names| !names.is_empty()))
}
