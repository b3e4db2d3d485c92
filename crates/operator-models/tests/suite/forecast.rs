//! Compares the forecast with the results of the operators' own code for generated objects.

use operator_models::cdi::data_import_cron::Rejection;
use operator_models::forecast::{CreatedBy, Forecast, NoForecast};
use operator_models::hco::import::Import;
use operator_models::ssp::architecture::Architecture;
use serde_json::{Value, json};
use test_data::Difference;

use super::cluster::{Cluster, Texts};
use super::data_import_crons::{has_reasons, polling, rejecter, words, words_of_data_source};
use super::{PATCH, TYPE, corpus, keys, string, strings, unreadable};

#[test]
fn the_forecasts_agree_with_the_operators() {
    corpus("chain", &[(TYPE, 0), (PATCH, 10)], |row| {
        let texts = Texts::new(&row["hco"], &row["nodes"]);
        match texts.cluster() {
            Some(cluster) => compare(&cluster, &row["expected"]),
            None => unreadable(row, &["schemaError"]),
        }
    });
}

/// Compares a forecast with the columns of a row.
pub(super) fn compare<'a>(
    cluster: &'a Cluster<'a>,
    expected: &Value,
) -> Result<Option<&'static str>, Difference> {
    let error = &expected["error"];
    let at = string(&error["at"]);
    let stage = string(&error["stage"]);
    if at == "mutating-webhook-patch" {
        return Ok(Some(PATCH));
    }
    if at == "mutating-webhook" {
        return if cluster
            .hco
            .import
            .contradicts_itself(None, super::cluster::MAIN)
        {
            Ok(None)
        } else {
            Err(("error", "no contradiction".to_owned()))
        };
    }
    let forecast = match (cluster.forecast(), stage) {
        (Ok(forecast), "") => forecast,
        (Ok(_), _) => return Err(("error", format!("nobody refuses it: {error}"))),
        (Err(NoForecast::ByHco | NoForecast::Mistyped(_)), "hco") => return Ok(None),
        (Err(NoForecast::Mistyped(_)), "ssp-webhook") if at == "schema" => return Ok(None),
        (
            Err(
                NoForecast::UnknownArchitecture(_)
                | NoForecast::NoArchitecture
                | NoForecast::NameMissing,
            ),
            "ssp-webhook",
        ) if at == "validating-webhook" => {
            return Ok(None);
        }
        (Err(rejected), _) => return Err(("error", format!("{rejected:?}, not {error}"))),
    };
    compare_forecast(&forecast, expected).map(|()| None)
}

fn compare_forecast(forecast: &Forecast<'_>, expected: &Value) -> Result<(), Difference> {
    let of_ssp = forecast.data_sources.values();
    let of_ssp = of_ssp.filter(|source| source.creator != CreatedBy::Cdi);
    let columns = [
        ("multiArch", json!(forecast.import == Import::Enabled)),
        ("sspArchitectures", json!(names(&forecast.architectures))),
        ("vmTemplates", vm_templates(&forecast.architectures)),
        ("crons", crons(forecast)),
        ("lost", json!(forecast.lost_templates())),
        ("lostCrons", lost_crons(forecast)),
        ("sameName", keys(&forecast.same_name)),
        ("stopped", json!(forecast.stopped)),
        ("dataSources", data_sources(forecast, expected)),
        ("dataSourcesTotal", json!(of_ssp.count())),
    ];
    for (column, ours) in columns {
        let theirs = match column {
            "crons" => without(
                &expected[column],
                &["refused", "pollingRefused", "firstImportRefused"],
            ),
            // In the rows, the architecture of a lost cron comes from its label, which a template can set itself.
            "lostCrons" => without(&expected[column], &["architecture"]),
            "dataSources" => without(&expected[column], &["refused"]),
            _ => expected[column].clone(),
        };
        if sorted(&ours) != sorted(&theirs) {
            return Err((column, describe(&ours, &theirs)));
        }
    }
    compare_messages(forecast, expected)
}

/// Compares the reasons why objects are rejected, or why nothing polls, with the messages of the API server and CDI.
fn compare_messages(forecast: &Forecast<'_>, expected: &Value) -> Result<(), Difference> {
    let find = |column: &str, is_same: &dyn Fn(&Value) -> bool| {
        let mut rows = expected[column].as_array().unwrap().iter();
        rows.find(|row| is_same(row)).unwrap()
    };
    for cron in &forecast.crons {
        let template = forecast.templates[cron.template].name;
        let row = find("crons", &|row| {
            row["name"] == *cron.key.name && row["template"] == template
        });
        let refused = string(&row["refused"]);
        let is_explained = cron
            .rejected()
            .is_none_or(|rejection| refused.contains(words(rejection)));
        let never_runs = &cron.verdict.never_runs;
        let is_polling_known = !row["polling"].is_null();
        if !is_explained
            || is_polling_known && !has_reasons(never_runs, row["pollingRefused"].as_str())
        {
            return Err(("crons", format!("{row} is not {:?}", cron.verdict)));
        }
    }
    for (key, source) in forecast.of_templates() {
        let row = find("dataSources", &|row| {
            row["name"] == *key.name && row["namespace"] == *key.namespace
        });
        let is_explained = match (&source.rejected, row["refused"].as_str()) {
            (Some(rejection), Some(text)) => text.contains(words_of_data_source(rejection)),
            (rejection, text) => rejection.is_none() && text.is_none(),
        };
        if !is_explained {
            return Err(("dataSources", format!("{row} is not {source:?}")));
        }
    }
    Ok(())
}

/// Sorts a list, because the rows use another order for some lists.
fn sorted(list: &Value) -> Value {
    let mut list = list.clone();
    if let Some(items) = list.as_array_mut() {
        items.sort_by_key(ToString::to_string);
    }
    list
}

/// The items that only one side has.
fn describe(ours: &Value, theirs: &Value) -> String {
    match (ours.as_array(), theirs.as_array()) {
        (Some(ours), Some(theirs)) => {
            let missing: Vec<_> = theirs.iter().filter(|item| !ours.contains(item)).collect();
            let additional: Vec<_> = ours.iter().filter(|item| !theirs.contains(item)).collect();
            let first =
                |items: Vec<&Value>| items.first().map_or_else(String::new, ToString::to_string);
            format!("theirs {}, ours {}", first(missing), first(additional))
        }
        _ => format!("theirs {theirs}, ours {ours}"),
    }
}

fn names(architectures: &[Architecture]) -> Vec<&'static str> {
    architectures.iter().map(|one| one.name()).collect()
}

fn vm_templates(architectures: &[Architecture]) -> Value {
    let counts = architectures
        .iter()
        .map(|one| (one.name().to_owned(), json!(of_bundle(*one))));
    Value::Object(counts.collect())
}

fn crons(forecast: &Forecast<'_>) -> Value {
    let settles = forecast.same_name.is_empty()
        && !forecast
            .data_sources
            .values()
            .any(|source| source.rejected == Some(Rejection::ManagedDataSourceMissing));
    let crons = forecast.crons.iter().map(|cron| {
        let verdict = &cron.verdict;
        let rejected_by = cron.rejected().map(rejecter);
        let polling = polling(verdict).filter(|_| settles);
        json!({
            "template": forecast.templates[cron.template].name,
            "name": &*cron.key.name,
            "namespace": &*cron.key.namespace,
            "architecture": cron.architecture.map_or("", Architecture::name),
            "platform": forecast.templates[cron.template].spec.platform(cron.architecture.map(Architecture::name)).unwrap_or_default(),
            "managedDataSource": &*cron.source.name,
            "refusedBy": rejected_by,
            "polling": polling,
        })
    });
    Value::Array(crons.collect())
}

/// A list of objects without these columns.
fn without(list: &Value, columns: &[&str]) -> Value {
    let mut list = list.clone();
    for object in list.as_array_mut().unwrap() {
        let members = object.as_object_mut().unwrap();
        members.retain(|column, _| !columns.contains(&column.as_str()));
    }
    list
}

fn lost_crons(forecast: &Forecast<'_>) -> Value {
    let name = |index: usize| forecast.templates[index].name;
    let lost = forecast.lost.iter().map(|lost| {
        json!({
            "template": name(lost.template),
            "name": &*lost.key.name,
            "namespace": &*lost.key.namespace,
            "managedDataSource": &*lost.source.name,
            "to": lost.replaced_by.map(name),
        })
    });
    Value::Array(lost.collect())
}

fn data_sources(forecast: &Forecast<'_>, expected: &Value) -> Value {
    let sources = forecast.of_templates().map(|(key, source)| {
        let mut row = json!({
            "name": &*key.name,
            "namespace": &*key.namespace,
            "by": if source.creator == CreatedBy::Cdi { "cdi" } else { "ssp" },
            "pointsTo": source.points_to,
            "architectureLabel": source.architecture_label,
            "cron": source.cron.map_or("", |index| &*forecast.crons[index].key.name),
        });
        if strings(&expected["sameName"]).is_empty() {
            row["filled"] = json!(source.filled);
        }
        row
    });
    Value::Array(sources.collect())
}

/// The number of VM templates in SSP's bundle for an architecture.
///
/// With the import off, SSP creates the templates for the first architecture of the cluster; with the import on, for
/// all its architectures.
///
/// MIRRORS: ssp-operator internal/operands/common-templates/reconcile.go, filterTemplates.
fn of_bundle(architecture: Architecture) -> usize {
    match architecture {
        Architecture::Amd64 => 90,
        Architecture::Arm64 => 35,
        Architecture::S390x => 47,
    }
}
