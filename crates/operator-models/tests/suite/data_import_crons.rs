//! The checks of the API server and CDI for `DataImportCron`s and DataSources: the words of their messages, with which
//! the forecasts are compared, and forms that the rows do not contain.

use kube_objects::json::{Json, Object};
use operator_models::cdi::data_import_cron::schedule;
use operator_models::cdi::data_import_cron::{
    NeverRuns, Rejection, Spec, Verdict, examine_metadata, examine_spec,
};
use serde_json::json;

/// Whether the API server's message about a `CronJob` gives the same reasons in the same order.
pub(super) fn has_reasons(never_runs: &[NeverRuns], text: Option<&str>) -> bool {
    let words = never_runs.iter().filter_map(|reason| match reason {
        NeverRuns::ScheduleEmpty => None,
        NeverRuns::TimeZone => Some("cannot use TZ or CRON_TZ in schedule"),
        NeverRuns::NameTooLong => Some("must be no more than 52 characters"),
    });
    let words: Vec<_> = words.collect();
    let reasons: Vec<_> = text.into_iter().flat_map(|text| text.split("; ")).collect();
    words.len() == reasons.len()
        && words
            .iter()
            .zip(reasons)
            .all(|(words, reason)| reason.contains(words))
}

/// The component that polls the image, as in the rows; `None` if the `DataImportCron` is rejected.
pub(super) fn polling(verdict: &Verdict) -> Option<&'static str> {
    let polling = match verdict.never_runs.first() {
        Some(NeverRuns::ScheduleEmpty) => "none",
        Some(NeverRuns::TimeZone | NeverRuns::NameTooLong) => "refused",
        None if verdict.needs_cron_job => "cron-job",
        None => "controller",
    };
    verdict.rejected.is_none().then_some(polling)
}

/// A text that only the message of this reason contains.
pub(super) fn words(rejection: &Rejection) -> &str {
    use Rejection as R;
    match rejection {
        R::NameMissing => "metadata.name: Required value",
        R::NameTooLongForObject | R::ManagedDataSourceTooLongForObject => {
            "must be no more than 253 characters"
        }
        R::NameInvalid | R::ManagedDataSourceInvalid => "metadata.name: Invalid value",
        R::NamespaceInvalid => "metadata.namespace: Invalid value",
        R::DataSourceLabelTooLong | R::CronLabelTooLong => "must be no more than 63 bytes",
        R::DataSourceLabelInvalid | R::LabelInvalid(_) => "metadata.labels: Invalid value",
        R::AnnotationInvalid(_) => "metadata.annotations: Invalid value",
        R::AnnotationsTooLong => "metadata.annotations: Too long",
        R::NameTooLong | R::ManagedDataSourceTooLong => " Name cannot be longer than 63 characters",
        R::SourceMissing => " Missing source",
        R::FieldUnsettable(_) => " Unsettable fields:",
        R::StorageMissing => " Missing Data volume PVC",
        R::StorageDuplicate => " Duplicate storage definition",
        R::SizeNotPositive => " size can't be equal or less than zero",
        R::SizeTooSmall => " size should be at least 1MiB",
        R::SizeInvalid => "quantities must match the regular expression",
        R::SizeMissing => " size is missing",
        R::StorageClassTooLong => " Name cannot be longer than 253 characters",
        R::AccessModeMissing => " Required value: at least 1 access mode is required",
        R::AccessModesMultiple => " PVC multiple accessModes",
        R::AccessModeUnknown(_) => " Unsupported value: ",
        R::ExternallyPopulated => " External population is incompatible",
        R::SourcesMultiple => " Multiple Data volume sources",
        R::UrlOrImageStream => " Source registry should have either URL or ImageStream",
        R::UrlInvalid(_) => " Illegal registry source URL docker://",
        R::UrlScheme(_) => " Illegal registry source URL scheme ",
        R::PullMethodUnknown(_) => " is neither pod, node or ",
        R::ImageStreamEmpty => " Source registry ImageStream is not valid",
        R::ImageStreamWithoutNode => {
            " Source registry ImageStream is supported only with node pull"
        }
        R::PvcIncomplete => " source PVC is not valid",
        R::ScheduleInvalid => " Illegal cron schedule",
        // The rows have nothing that the schema of HCO rejects.
        R::WrongType { .. } | R::ContentTypeUnknown(_) => "schema",
        R::ImportsToKeepNegative => " Illegal ImportsToKeep value",
        R::GarbageCollectUnknown(_) => " Illegal GarbageCollect value",
        R::ManagedDataSourceMissing => " Illegal ManagedDataSource value",
        R::CronLabelInvalid => "a valid label must be",
    }
}

/// The same for a `DataSource`.
pub(super) fn words_of_data_source(rejection: &Rejection) -> &str {
    match rejection {
        Rejection::ManagedDataSourceMissing => "metadata.name: Required value",
        other => words(other),
    }
}

/// The component that rejects a `DataImportCron`. The API server checks it before it calls a webhook.
pub(super) fn rejecter(rejection: &Rejection) -> &'static str {
    match rejection {
        Rejection::NameMissing
        | Rejection::NameInvalid
        | Rejection::NameTooLongForObject
        | Rejection::NamespaceInvalid
        | Rejection::DataSourceLabelTooLong
        | Rejection::DataSourceLabelInvalid
        | Rejection::LabelInvalid(_)
        | Rejection::AnnotationInvalid(_)
        | Rejection::AnnotationsTooLong => "api-server",
        _ => "cdi-webhook",
    }
}

#[test]
fn annotations_have_at_most_256_kibibytes() {
    for (length, rejected) in [
        ((256 << 10) - 3, None),
        ((256 << 10) - 2, Some(Rejection::AnnotationsTooLong)),
    ] {
        let metadata = json!({"annotations": {"key": "x".repeat(length)}}).to_string();
        let metadata = Object::root(Json::parse(metadata.as_bytes()).unwrap());
        assert_eq!(examine_metadata(&metadata).unwrap(), rejected);
    }
}

/// The forms that the rows do not contain.
#[test]
fn a_schedule_is_read_as_cdi_reads_it() {
    for (expected, schedules) in [
        (
            Ok(None),
            "  0\t3\u{a0}* * *  |0,30 0-6,22 1-31 jan-Dec SUN-sat|? 7/12 3/5 * *|1-59/2 * * * *\
             |*/99 *-x-y/3 * * *|, ,1, * * *|+5 0 31 2 *|@yearly|@midnight|@every -1.5h|@every .5s|@every 5.s\
             |@every 0|@every -0|@every 1ns2us3\u{b5}s4\u{3bc}s5ms",
        ),
        (
            Err(Rejection::ScheduleInvalid),
            "0 3 * *|0 0 0 * *|0 0 32 * *|0 * 0 *|0 0 * 0 *|0 0 * 13 *|0 0 * * 7|@|@Daily|@daily | @daily|@every\
             |@every |@every +|@every -+1h|@every 1d|@every 1h 30m|@every  1h|@every h|@every .h|@every 1.2.3h\
             |60 * * * *|5-1 * * * *|0-60 * * * *|*/0 * * * *|*/-1 * * * *|*/ * * * *|1/2/3 * * * *|*/1/2 * * * *\
             |1-2-3 * * * *|-5 * * * *|5- * * * *|x * * * *|1.5 * * * *|jan * * * *|99999999999999999999 * * * *",
        ),
        (
            Ok(Some(NeverRuns::TimeZone)),
            "TZ=America/Argentina/Ushuaia 0 3 * * *|TZ=Etc/GMT+12 0 3 * * *|TZ= 0 4 * * *|TZ=Local @daily\
             |TZ=UTC   @every 1h  ",
        ),
        (
            Err(Rejection::ScheduleInvalid),
            "TZ=Europe/ 0 3 * * *|TZ=../etc/passwd 0 3 * * *|TZ=UTC|TZ=UTC |TZ=UTC\t0 4 * * *|TZ=UTC 0 4 * *\
             |tz=UTC 0 4 * * *| TZ=UTC 0 4 * * *|TZ=UTC TZ=UTC 0 4 * * *|XTZ=UTC 0 4 * * *",
        ),
    ] {
        for schedule in schedules.split('|') {
            assert_eq!(schedule::examine(schedule), expected, "{schedule}");
        }
    }
}

/// The scheme of a URL that Go parses, and the URLs that it does not.
#[test]
fn a_url_is_read_as_go_reads_it() {
    const DOCKER: &str = "docker://quay.io/x:latest|DOCKER://quay.io/x|docker:quay.io/x|docker:|docker:/x\
        |docker:///x|docker://|docker://quay.io:/x|docker://quay.io/a b|docker://quay.io/x?%zz\
        |docker://quay.io/x#\n|docker://a:1:2/x|docker://\u{fc}/x|docker://%c3%bc/x|docker://user:p@ss@quay.io/x\
        |docker://[fd00::1]:5000/x|docker://[fe80::1%25en%200]/x|docker://[::ffff:1.2.3.4]/x|docker:a:b%zz\
        |oci-archive://x";
    const WITHOUT: &str = "//quay.io/x|///a:b/x|quay.io/x:latest|quay.io/x|docker||*|?a:b";
    const INVALID: &str = ":x| docker://quay.io/x|1docker://x|doc ker://quay.io/x|\u{fc}:x|docker://quay.io/x\n\
        |docker://quay.io/\u{7f}|docker://quay.io:port/x|docker://a b/c|docker://a\\b/c|docker://a{b/c\
        |docker://%zz|docker://%20/x|docker://quay.io/%|docker://quay.io/%2|docker://quay.io/x#%g0\
        |docker://u ser@quay.io/x|docker://\u{fc}@quay.io/x|docker://u%g0@quay.io/x|docker://[::1|docker://a[::1]/x\
        |docker://[[::1]/x|docker://[]/x|docker://[1.2.3.4]/x|docker://[::1]x/x|docker://[::1]:x/x\
        |docker://[::1%25]/x|docker://[::1%25%01]/x|docker://[::1%25%c3%bc]/x|docker://[::1%en0]/x|quay.io/%zz";
    type Rejected = fn(&str) -> Option<Rejection>;
    let rows: [(&str, Rejected); 4] = [
        (DOCKER, |_| None),
        (WITHOUT, |_| Some(Rejection::UrlScheme(String::new()))),
        ("a+b-c.1:x|http://a:1:2/x|quay.io:5000/x", |url| {
            url.split(':')
                .next()
                .map(|scheme| Rejection::UrlScheme(scheme.to_owned()))
        }),
        (INVALID, |url| Some(Rejection::UrlInvalid(url.to_owned()))),
    ];
    let urls = |(urls, rejected): (&'static str, Rejected)| {
        urls.split('|').map(move |url| (url, rejected(url)))
    };
    for (url, rejected) in rows.into_iter().flat_map(urls) {
        let spec = json!({"template": {"spec": {
            "source": {"registry": {"url": url}},
            "storage": {"resources": {"requests": {"storage": "1Gi"}}},
        }}})
        .to_string();
        let spec = Object::root(Json::parse(spec.as_bytes()).unwrap());
        let verdict = examine_spec(&Spec::read(&spec).unwrap()).unwrap();
        assert_eq!(verdict.rejected, rejected, "{url}");
    }
}
