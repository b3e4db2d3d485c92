//! The update properties, for chains of updates that proptest chooses, and for the rows that HCO's webhooks computed.

use std::collections::BTreeMap;

use e2e_tests::properties::chains::update_properties;
use e2e_tests::properties::updates::{World, broken};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;

use super::updates;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn chains_of_updates(choices in vec(any::<u8>(), 40..120)) {
        update_properties(&choices);
    }

    /// The same number of chains, on another thread.
    #[test]
    fn short_chains_of_updates(choices in vec(any::<u8>(), 10..60)) {
        update_properties(&choices);
    }
}

/// Whether an update never reaches a validating webhook, or leaves nothing to compare.
fn left_out(row: &Value) -> Option<&'static str> {
    let hco = &row["hco"];
    if row["request"]["operation"] != "UPDATE" {
        Some("not an update")
    } else if row["schemaErrors"]
        .as_array()
        .is_some_and(|errors| !errors.is_empty())
    {
        Some("the CRD rejects the object")
    } else if hco["mutator"]["allowed"] == false {
        Some("HCO's mutating webhook denies the update")
    } else if !hco["patchError"].is_null() || !hco["conversionError"].is_null() {
        Some("the API server cannot apply HCO's patch, or HCO cannot convert the object")
    } else {
        None
    }
}

#[test]
fn updates_of_the_corpus() {
    let mut classes = BTreeMap::new();
    let mut failures = Vec::new();
    for row in test_data::rows("update") {
        if let Some(class) = left_out(&row) {
            *classes.entry(class).or_default() += 1;
            continue;
        }
        let request = &row["request"];
        let without_status = |object: &Value| {
            let mut object = object.clone();
            object.as_object_mut().unwrap().remove("status");
            object
        };
        let mut status = request["oldObject"]["status"].clone();
        let node_info = status
            .as_object_mut()
            .and_then(|status| status.remove("nodeInfo"));
        let world = World {
            api: request["kind"]["version"].as_str().unwrap().to_owned(),
            hco: 20,
            nodes: updates::nodes().into(),
            status,
            has_node_info: node_info.is_some(),
        };
        let new = if row["patched"].is_null() {
            &request["object"]
        } else {
            &row["patched"]
        };
        let mut news = [without_status(new)].into_iter();
        let first = without_status(&request["oldObject"]);
        let validated = row["hco"]["validator"]["allowed"] == true;
        // The third property is about updates that HCO's webhooks accept.
        if let Some(broken) = broken(&world, first, |_| news.next())
            && (broken.property != 3 || validated)
        {
            failures.push(format!("{}: {}", row["id"], broken.details));
        }
    }
    let expected = [
        ("not an update", 88),
        ("the CRD rejects the object", 75),
        ("HCO's mutating webhook denies the update", 34),
        (
            "the API server cannot apply HCO's patch, or HCO cannot convert the object",
            11,
        ),
    ];
    test_data::assert_left_out(&classes, &expected);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
