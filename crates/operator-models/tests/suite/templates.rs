//! Compares the templates that HCO passes to SSP, and the default architecture, with the results of HCO's own code.

use operator_models::forecast::Rejected;
use operator_models::hco::default_architecture::default_architecture;
use operator_models::ssp::architecture::Architecture;
use serde_json::Value;

use super::cluster::Texts;
use super::{Difference, corpus, string, unreadable};

/// The templates by name, each with the architectures of its annotation.
type Templates = Vec<(String, Option<String>)>;

/// The number of rows that are left out.
const LEFT_OUT: &[(&str, usize)] = &[
    (
        "HCO's mutating webhook refuses it, and depends on the object before",
        355,
    ),
    ("SSP refuses it", 561),
];

#[test]
fn the_templates_agree_with_hco() {
    corpus("hco", LEFT_OUT, compare);
}

fn compare(row: &Value) -> Result<Option<&'static str>, Difference> {
    let expected = &row["expected"];
    let texts = Texts::new(&row["hco"], &row["nodes"]);
    let Some(cluster) = texts.cluster() else {
        return unreadable(row, &["schemaError"]);
    };
    if !expected["mutatorDenied"].is_null() {
        return Ok(Some(
            "HCO's mutating webhook refuses it, and depends on the object before",
        ));
    }
    let errors = ["webhookError", "dictError", "conversionError", "panic"];
    let error = errors
        .into_iter()
        .find(|column| !expected[*column].is_null());
    let forecast = match (cluster.forecast(), error) {
        (Err(Rejected::ByHco(_)), Some(_)) => return Ok(None),
        (_, Some(column)) => return Err((column, "HCO refuses it".to_owned())),
        (Err(Rejected::ByHco(_)), None) => {
            return Err(("webhookError", "it is accepted".to_owned()));
        }
        (Err(_), None) => return Ok(Some("SSP refuses it")),
        (Ok(forecast), None) => forecast,
    };
    let default = default_architecture(&cluster.census).unwrap_or_default();
    if default != string(&expected["defaultArchitecture"]) {
        return Err(("defaultArchitecture", default.to_owned()));
    }
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
    let dicts = expected["dicts"].as_array().unwrap().iter();
    let mut theirs: Templates = dicts
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
