//! Compares each column of HCO's results with the function of this crate that mirrors it: the values that HCO reads
//! from an object and from the nodes, and its templates. The engine's suite compares the same rows with the rules.

use std::collections::{BTreeMap, BTreeSet};

use kube_objects::json::Json;
use operator_models::hco::api_version::ApiVersion;
use operator_models::hco::default_architecture::default_architecture;
use operator_models::hco::golden_image::{
    CommonTemplates, GoldenImage, common_templates, golden_images, invalid,
};
use operator_models::hco::hyperconverged::{HyperConverged, LocatedFields};
use operator_models::hco::import::{GATE, Import};
use operator_models::hco::node::{Census, census};
use operator_models::hco::version::HcoVersion;
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{Difference, all_agree, string, strings};

#[test]
fn what_is_read_agrees_with_hco() {
    let (_, classes) = all_agree("hco", |row| {
        let text = row["hco"].to_string();
        let version = ApiVersion::from_kind(row["hco"]["apiVersion"].as_str(), "").unwrap();
        let json = Json::parse(text.as_bytes()).unwrap();
        let hco = LocatedFields::new(json, version).read().unwrap();
        compare(row, &hco)
    });
    if cfg!(not(target_arch = "wasm32")) {
        test_data::assert_left_out(&classes, &[("an error hides the other columns", 1734)]);
    }
}

fn compare(row: &Value, hco: &HyperConverged<'_>) -> Result<Option<&'static str>, Difference> {
    const MAIN: HcoVersion = HcoVersion::NEWEST;
    let expected = &row["expected"];
    let common = common_templates(&hco.status_templates, None, None, false);
    let is_error = |column: &str| !expected[column].is_null();
    let mut templates = hco.templates.iter();
    let problem = templates.find_map(|template| invalid(template, hco, &common));
    let mutator = string(&expected["mutatorDenied"]);
    // An error hides the columns of later stages.
    let errors = [
        (
            "webhookAffinityError",
            is_error("webhookAffinityError"),
            !hco.placement.errors().is_empty() || !hco.infra_errors.is_empty(),
        ),
        (
            "webhookDictError",
            is_error("webhookDictError") || is_error("panic"),
            problem.is_some(),
        ),
        ("dictError", is_error("dictError"), has_duplicates(hco)),
        (
            "conversionError",
            is_error("conversionError"),
            hco.import.v1_only.is_err(),
        ),
        (
            "mutatorDenied",
            mutator.contains(GATE),
            hco.import.contradicts_itself(None, MAIN),
        ),
    ];
    let is_hidden = ["webhookError", "dictError", "conversionError", "panic"]
        .into_iter()
        .any(is_error);
    for (column, theirs, ours) in errors {
        if theirs != ours && (theirs || !is_hidden) {
            return Err((column, format!("HCO: {theirs}, ours: {ours}")));
        }
    }
    if is_hidden {
        return Ok(Some("an error hides the other columns"));
    }
    compare_decisions(expected, row, hco, &common)
}

fn compare_decisions(
    expected: &Value,
    row: &Value,
    hco: &HyperConverged<'_>,
    common: &CommonTemplates,
) -> Result<Option<&'static str>, Difference> {
    let import = hco.import.resolve(HcoVersion::NEWEST);
    same(
        "multiArchEnabled",
        &(expected["multiArchEnabled"] == true),
        &(import == Import::Enabled),
    )?;
    let before_1_19 = match &expected["v118"] {
        Value::Null => None,
        Value::Object(columns) => Some(columns["multiArchEnabled"] == true),
        _ => Some(expected["multiArchEnabled"] == true),
    };
    if let Some(theirs) = before_1_19 {
        let ours = hco.import.resolve(HcoVersion::V1_18) == Import::Enabled;
        same("v118.multiArchEnabled", &theirs, &ours)?;
    }
    let list = json!({"kind": "NodeList", "items": row["nodes"]}).to_string();
    let mut counted = census(list.as_bytes(), &[&hco.placement]).unwrap();
    let census = counted.remove(0);
    let ours: Vec<&str> = census.workload.keys().map(String::as_str).collect();
    let theirs = strings(&expected["workloadsArchitectures"]);
    same("workloadsArchitectures", &theirs, &ours)?;
    let ours: Vec<&str> = census.control_plane.iter().map(String::as_str).collect();
    let theirs = strings(&expected["controlPlaneArchitectures"]);
    same("controlPlaneArchitectures", &theirs, &ours)?;
    same(
        "defaultArchitecture",
        &string(&expected["defaultArchitecture"]),
        &default_architecture(&census).unwrap_or_default(),
    )?;

    let images = golden_images(hco, common);
    let dicts = expected["dicts"].as_array().into_iter().flatten();
    let dicts: BTreeMap<&str, &Value> = dicts.map(|dict| (string(&dict["name"]), dict)).collect();
    same(
        "dicts",
        &dicts.keys().copied().collect::<BTreeSet<_>>(),
        &images.iter().map(|image| image.name).collect(),
    )?;
    if import == Import::Disabled {
        return Ok(None);
    }
    for image in &images {
        let dict = dicts[image.name];
        same(
            "dicts[].annotation",
            &dict["annotation"].as_str().map(entries),
            &kept(image, &census),
        )?;
    }
    Ok(None)
}

/// The architectures that HCO keeps in the annotation of an image while the import is on; `None` without an annotation.
fn kept<'a>(image: &GoldenImage<'a>, census: &'a Census) -> Option<BTreeSet<&'a str>> {
    let value = image.annotation.value()?;
    Some(value.supported(&census.workload).into_iter().collect())
}

fn entries(annotation: &str) -> BTreeSet<&str> {
    let entries = annotation.split(',');
    entries.filter(|entry| !entry.is_empty()).collect()
}

fn has_duplicates(hco: &HyperConverged<'_>) -> bool {
    let mut seen = BTreeSet::new();
    let mut names = hco.templates.iter().map(|template| &template.name);
    names.any(|name| !seen.insert(name))
}

fn same<T: PartialEq + std::fmt::Debug>(
    column: &'static str,
    theirs: &T,
    ours: &T,
) -> Result<(), Difference> {
    if theirs == ours {
        Ok(())
    } else {
        Err((column, format!("HCO: {theirs:?}, ours: {ours:?}")))
    }
}
