//! Compares what HCO reads from an object and its nodes, and the templates that it passes to SSP, with the results of
//! HCO's own code. The engine's suite compares the same rows with the rules.

use operator_models::forecast::NoForecast;
use operator_models::hco::import::Import;
use operator_models::ssp::architecture::Architecture;
use serde_json::{Value, json};
use test_data::Difference;

use super::cluster::{Cluster, Texts};
use super::{corpus, string, unreadable};

/// The templates by name, each with the architectures of its annotation.
type Templates = Vec<(String, Option<String>)>;

/// Classes of rows whose templates are not compared.
const CONTRADICTION: &str = "HCO's mutating webhook refuses it, and depends on the object before";
const SSP: &str = "SSP refuses it";

#[test]
fn the_templates_agree_with_hco() {
    corpus("hco", &[(CONTRADICTION, 355), (SSP, 561)], compare);
}

fn compare(row: &Value) -> Result<Option<&'static str>, Difference> {
    let expected = &row["expected"];
    let texts = Texts::new(&row["hco"], &row["nodes"]);
    let Some(cluster) = texts.cluster() else {
        return unreadable(row, &["schemaError"]);
    };
    let errors = ["webhookError", "dictError", "conversionError", "panic"];
    let error = errors
        .into_iter()
        .find(|column| !expected[*column].is_null());
    if error.is_none() {
        compare_nodes(expected, &cluster)?;
    }
    if !expected["mutatorDenied"].is_null() {
        return Ok(Some(CONTRADICTION));
    }
    let forecast = match (cluster.forecast(), error) {
        (Err(NoForecast::ByHco | NoForecast::Mistyped(_)), Some(_)) => return Ok(None),
        (_, Some(column)) => return Err((column, "HCO refuses it".to_owned())),
        (Err(NoForecast::ByHco | NoForecast::Mistyped(_)), None) => {
            return Err(("webhookError", "it is accepted".to_owned()));
        }
        (Err(_), None) => return Ok(Some(SSP)),
        (Ok(forecast), None) => forecast,
    };
    let ours: Templates = forecast
        .templates
        .iter()
        .map(|template| {
            let architectures = template.architectures.as_ref();
            let names = |list: &Vec<Architecture>| list.iter().map(|one| one.name()).collect();
            let names: Option<Vec<_>> = architectures.map(names);
            (template.name.to_owned(), names.map(|names| names.join(",")))
        })
        .collect();
    let mut theirs: Templates = expected["dicts"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|dict| dict["passedToSSP"] == true)
        .map(|dict| {
            let architectures = dict["sspAnnotation"].as_str().map(|value| {
                let mut names: Vec<&str> = value.split(',').collect();
                names.sort_unstable();
                names.dedup();
                names.join(",")
            });
            (string(&dict["name"]).to_owned(), architectures)
        })
        .collect();
    theirs.sort();
    if ours == theirs {
        Ok(None)
    } else {
        Err(("dicts", format!("theirs {theirs:?}, ours {ours:?}")))
    }
}

/// Compares the import and the architectures. An error hides these columns.
fn compare_nodes(expected: &Value, cluster: &Cluster<'_>) -> Result<(), Difference> {
    let census = &cluster.census;
    let workload: Vec<_> = census.workload.keys().collect();
    let default = census.default_architecture().unwrap_or_default();
    for (column, ours) in [
        ("multiArchEnabled", json!(cluster.import == Import::Enabled)),
        ("workloadsArchitectures", json!(workload)),
        ("controlPlaneArchitectures", json!(census.control_plane)),
        ("defaultArchitecture", json!(default)),
    ] {
        let theirs = &expected[column];
        if *theirs != ours {
            return Err((column, format!("theirs {theirs}, ours {ours}")));
        }
    }
    Ok(())
}
