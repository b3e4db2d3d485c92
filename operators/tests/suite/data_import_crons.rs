//! What the API server and CDI make of the `DataImportCron`s that SSP wants, in every row.

use std::io::Read;

use kubernetes::json::{Json, Object};
use operators::cdi::data_import_cron::{
    Cron, NeverRuns, Polling, Refusal, RefusedBy, Spec, examine_metadata, examine_names,
    examine_spec,
};
use operators::cdi::{data_source, retention::HcoDefault};
use serde_json::Value;

use super::{Difference, all_agree, corpus, string};

/// Rows of `../shared/conformance/chain.jsonl.gz`: at least one of each kind of refusal, and of everything else.
const SAMPLE: &[u8] = include_bytes!("data/chain-sample.jsonl.gz");

/// The specs of the templates that HCO ships.
///
/// MIRRORS: hyperconverged-cluster-operator assets/dataImportCronTemplates/dataImportCronTemplates.yaml.
const SHIPPED: [(&str, &str); 3] = [
    (
        "centos-stream10-image-cron",
        r#"{"garbageCollect": "Outdated", "managedDataSource": "centos-stream10", "schedule": "0 */12 * * *",
            "template": {"spec": {"source": {"registry": {"url": "docker://quay.io/containerdisks/centos-stream:10"}},
            "storage": {"resources": {"requests": {"storage": "10Gi"}}}}}}"#,
    ),
    (
        "centos-stream9-image-cron",
        r#"{"garbageCollect": "Outdated", "managedDataSource": "centos-stream9", "schedule": "0 */12 * * *",
            "template": {"spec": {"source": {"registry": {"url": "docker://quay.io/containerdisks/centos-stream:9"}},
            "storage": {"resources": {"requests": {"storage": "10Gi"}}}}}}"#,
    ),
    (
        "fedora-image-cron",
        r#"{"garbageCollect": "Outdated", "managedDataSource": "fedora", "schedule": "0 */12 * * *",
            "template": {"spec": {"source": {"registry": {"url": "docker://quay.io/containerdisks/fedora:latest"}},
            "storage": {"resources": {"requests": {"storage": "5Gi"}}}}}}"#,
    ),
];

#[test]
fn every_data_import_cron_becomes_what_cdi_makes_of_it() {
    let agree = |rows: &mut dyn Read| all_agree(rows, data_import_crons_agree);
    agree(&mut &*SAMPLE);
    corpus("chain", &[], |mut rows| agree(&mut rows));
}

fn data_import_crons_agree(row: &Value) -> Result<Option<&'static str>, Difference> {
    let crons = row["expected"]["crons"].as_array().unwrap();
    let mut differences = crons.iter().filter_map(|cron| difference(row, cron));
    differences
        .next()
        .map_or(Ok(None), |difference| Err(("crons", difference)))
}

#[test]
fn the_api_server_rejects_the_data_sources_that_it_rejects() {
    let agree = |rows: &mut dyn Read| all_agree(rows, data_sources_agree);
    agree(&mut &*SAMPLE);
    corpus("chain", &[(NAMES_OF_CDI, 17)], |mut rows| agree(&mut rows));
}

/// The API server rejects such a name, but nobody sends it there: the rows take what CDI creates as it is.
const NAMES_OF_CDI: &str =
    "in part: a DataSource of CDI with an invalid name, which the fake client of the rows accepts";

fn data_sources_agree(row: &Value) -> Result<Option<&'static str>, Difference> {
    let data_sources = row["expected"]["dataSources"].as_array().unwrap();
    for data_source in data_sources.iter().filter(|one| one["by"] == "ssp") {
        let name = string(&data_source["name"]);
        let refused = data_source::examine_names(name, data_source["cron"].as_str());
        let agrees = match (refused, data_source["refused"].as_str()) {
            (None, None) => true,
            (Some(refusal), Some(text)) => text.contains(words_of_data_source(refusal)),
            _ => false,
        };
        if !agrees {
            return Err(("dataSources", format!("{data_source} is not {refused:?}")));
        }
    }
    let mut of_cdi = data_sources.iter().filter(|one| one["by"] == "cdi");
    let is_invalid = of_cdi.any(|one| {
        data_source::examine_names(string(&one["name"]), one["cron"].as_str()).is_some()
    });
    Ok(is_invalid.then_some(NAMES_OF_CDI))
}

/// What differs of one `DataImportCron`.
fn difference(row: &Value, cron: &Value) -> Option<String> {
    let text = |column: &str| cron[column].as_str();
    let template = template(&row["hco"], text("template").unwrap()).to_string();
    let template = Object::root(Json::parse(template.as_bytes()).unwrap());
    let mut spec = Spec::read(&template.object("spec")).unwrap();
    HcoDefault::KeepNone.complete(&mut spec);
    let mut verdict = examine_spec(&spec).unwrap();
    verdict.metadata_refused = examine_metadata(&template.object("metadata")).unwrap();
    let architecture = text("architecture").filter(|architecture| !architecture.is_empty());
    let verdict = examine_names(
        &Cron {
            name: text("name").unwrap(),
            namespace: text("namespace").unwrap(),
            managed_data_source: text("managedDataSource").unwrap(),
            platform_architecture: architecture,
            data_source_label: architecture.map(|_| spec.managed_data_source.as_str()),
            spec: &spec,
        },
        &verdict,
    );
    let refused_by = match verdict.refused.as_ref().map(Refusal::rejecter) {
        None => None,
        Some(RefusedBy::ApiServer) => Some("api-server"),
        Some(RefusedBy::Webhook) => Some("cdi-webhook"),
    };
    let polling = match verdict.polling {
        None => None,
        Some(Polling::CronJob) => Some("cron-job"),
        Some(Polling::Controller) => Some("controller"),
        Some(Polling::None) => Some("none"),
        Some(Polling::Refused) => Some("refused"),
    };
    // SSP creates no `DataImportCron` behind a rejected DataSource, and never settles with two of one name, so that
    // nobody has polled.
    let is_created = !["data-source", "same-name"].contains(&string(&row["expected"]["stopped"]))
        && row["expected"]["sameName"] == serde_json::json!([]);
    let agrees = refused_by == text("refusedBy")
        && match (&verdict.refused, text("refused")) {
            (Some(refusal), Some(text)) => text.contains(words(refusal)),
            (None, None) => true,
            _ => false,
        }
        && (!is_created
            || polling == text("polling")
                && verdict.first_import_refused == text("firstImportRefused").is_some()
                && first_words(&verdict.never_runs, text("pollingRefused")));
    (!agrees).then(|| format!("{cron} is not {verdict:?}"))
}

/// Whether the API server's text about a `CronJob` says the same, in the same order.
fn first_words(never_runs: &[NeverRuns], text: Option<&str>) -> bool {
    let reasons: Vec<_> = text.unwrap_or_default().split("; ").collect();
    let words = never_runs.iter().filter_map(|reason| match reason {
        NeverRuns::ScheduleEmpty => None,
        NeverRuns::TimeZone => Some("cannot use TZ or CRON_TZ in schedule"),
        NeverRuns::NameTooLong => Some("must be no more than 52 characters"),
    });
    let words: Vec<_> = words.collect();
    match text {
        None => words.is_empty(),
        Some(_) => {
            words.len() == reasons.len()
                && words
                    .iter()
                    .zip(reasons)
                    .all(|(words, text)| text.contains(words))
        }
    }
}

/// The template of a name: that of the object, completed with what HCO ships, or the one that HCO ships.
fn template(hco: &Value, name: &str) -> Value {
    let shipped = SHIPPED.iter().find(|(shipped, _)| *shipped == name);
    let shipped: Option<Value> = shipped.map(|(_, spec)| serde_json::from_str(spec).unwrap());
    let spec = &hco["spec"];
    let lists = [
        &spec["dataImportCronTemplates"],
        &spec["workloadSources"]["dataImportCronTemplates"],
    ];
    let mut templates = lists.into_iter().filter_map(Value::as_array).flatten();
    let Some(template) = templates.find(|template| template["metadata"]["name"] == name) else {
        return serde_json::json!({ "spec": shipped.unwrap() });
    };
    let mut template = template.clone();
    let schedule = template["spec"]["schedule"].as_str().unwrap_or_default();
    if let Some(shipped) = shipped
        && schedule.is_empty()
    {
        template["spec"]["schedule"] = shipped["schedule"].clone();
    }
    template
}

/// What only the text of this reason contains.
fn words(refusal: &Refusal) -> &str {
    match refusal {
        Refusal::NameMissing => "metadata.name: Required value",
        Refusal::NameTooLongForObject => "must be no more than 253 characters",
        Refusal::NameInvalid => "metadata.name: Invalid value",
        Refusal::NamespaceInvalid => "metadata.namespace: Invalid value",
        Refusal::DataSourceLabelTooLong => "must be no more than 63 bytes",
        Refusal::DataSourceLabelInvalid | Refusal::LabelInvalid(_) => {
            "metadata.labels: Invalid value"
        }
        Refusal::AnnotationInvalid(_) => "metadata.annotations: Invalid value",
        Refusal::AnnotationsTooLong => "metadata.annotations: Too long",
        Refusal::NameTooLong | Refusal::ManagedDataSourceTooLong => {
            " Name cannot be longer than 63 characters"
        }
        Refusal::SourceMissing => " Missing source",
        Refusal::FieldUnsettable(_) => " Unsettable fields:",
        Refusal::StorageMissing => " Missing Data volume PVC",
        Refusal::StorageDuplicate => " Duplicate storage definition",
        Refusal::SizeNotPositive => " size can't be equal or less than zero",
        Refusal::SizeTooSmall => " size should be at least 1MiB",
        Refusal::SizeInvalid => "quantities must match the regular expression",
        Refusal::SizeMissing => " size is missing",
        Refusal::StorageClassTooLong => " Name cannot be longer than 253 characters",
        Refusal::AccessModeMissing => " Required value: at least 1 access mode is required",
        Refusal::AccessModesMultiple => " PVC multiple accessModes",
        Refusal::AccessModeUnknown(_) => " Unsupported value: ",
        Refusal::ExternallyPopulated => " External population is incompatible",
        Refusal::SourcesMultiple => " Multiple Data volume sources",
        Refusal::UrlOrImageStream => " Source registry should have either URL or ImageStream",
        Refusal::UrlInvalid(_) => " Illegal registry source URL docker://",
        Refusal::UrlScheme(_) => " Illegal registry source URL scheme ",
        Refusal::PullMethodUnknown(_) => " is neither pod, node or ",
        Refusal::ImageStreamEmpty => " Source registry ImageStream is not valid",
        Refusal::ImageStreamWithoutNode => {
            " Source registry ImageStream is supported only with node pull"
        }
        Refusal::PvcIncomplete => " source PVC is not valid",
        Refusal::ScheduleInvalid => " Illegal cron schedule",
        Refusal::ImportsToKeepNegative => " Illegal ImportsToKeep value",
        Refusal::GarbageCollectUnknown(_) => " Illegal GarbageCollect value",
        Refusal::ManagedDataSourceMissing => " Illegal ManagedDataSource value",
    }
}

/// The same for a `DataSource`.
fn words_of_data_source(refusal: data_source::Refusal) -> &'static str {
    match refusal {
        data_source::Refusal::NameMissing => "metadata.name: Required value",
        data_source::Refusal::NameTooLong => "must be no more than 253 characters",
        data_source::Refusal::NameInvalid => "metadata.name: Invalid value",
        data_source::Refusal::CronLabelTooLong => "must be no more than 63 bytes",
        data_source::Refusal::CronLabelInvalid => "a valid label must be",
    }
}
