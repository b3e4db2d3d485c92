//! Properties of every answer, and of applying fixes. The fuzz targets use them too.

use std::collections::BTreeSet;

use engine::{Finding, Fix, Outcome, PatchOperation, Report};
use serde_json::{Value, json};

/// Panics if an answer is not within the limits that docs/settings.md promises.
pub fn holds(report: &Report) {
    assert_eq!(report.allowed, report.code.is_none());
    assert_eq!(report.allowed, report.message.is_none());
    assert!(report.message.iter().all(|message| message.len() <= 4096));
    assert!(report.warnings.iter().all(|line| line.len() <= 256));
    assert!(report.warnings.iter().map(String::len).sum::<usize>() <= 4096);
    assert!(!report.warnings.iter().any(|line| line.contains('\n')));
    for text in report.message.iter().chain(&report.warnings) {
        let is_shown = |character| character == '\n' || !engine::is_invisible(character);
        assert!(text.chars().all(is_shown), "{text:?}");
    }
    let denies = |finding: &&Finding| finding.level == Outcome::Deny;
    let mut denying = report.findings.iter().filter(denies);
    let is_failure =
        |finding: &Finding| ["nodes-unreadable", "vm-context-unreadable"].contains(&&*finding.rule);
    match report.code {
        None => assert_eq!(denying.next(), None),
        Some(403) => assert!(denying.any(|finding| !is_failure(finding))),
        Some(500) => assert!(denying.all(is_failure)),
        Some(code) => assert!(code == 400 && report.findings.is_empty(), "{code}"),
    }
    for key in ["findings", "repairs"] {
        words(report.audit_annotations.get(key).map_or("", String::as_str));
    }
}

/// The words of an annotation: sorted, and each about a rule. The last one can be the number of omitted words.
fn words(annotation: &str) {
    assert!(annotation.len() <= 16 * 1024);
    let mut words: Vec<&str> = annotation.split_terminator(' ').collect();
    if let Some(number) = words
        .last()
        .and_then(|word| word.strip_prefix("truncated="))
    {
        assert!(number.parse::<usize>().is_ok(), "{annotation}");
        words.pop();
    }
    assert!(words.is_sorted(), "{annotation}");
    for word in words {
        let (about, _) = word.split_once('=').unwrap();
        let (rule, name) = about.split_once('/').unwrap_or((about, ""));
        assert!(engine::RULES.iter().any(|known| known.id == rule), "{word}");
        let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"._-%".contains(&byte);
        assert!(name.len() <= 253 && name.bytes().all(is_known), "{word}");
    }
}

/// Checks the properties of fixes for a request; returns how many fixes were applied.
pub fn law(object: &Value, judge: impl Fn(&Value) -> Report) -> Result<usize, String> {
    let before = judge(object);
    let applied: Vec<&Fix> = before.findings.iter().filter_map(complete).collect();
    for fix in before.findings.iter().flat_map(|finding| &finding.fixes) {
        // Each patch can be applied alone.
        apply(object, &fix.patch)?;
    }
    let edited = apply(object, &before.patch)?;
    for pointer in changes(object, &edited) {
        let is_named = |path: &str| pointer == path || pointer.starts_with(&format!("{path}/"));
        let mut operations = before.patch.iter();
        if !operations.any(|operation| is_named(&operation.path)) {
            return Err(format!("{pointer} changes, and no fix names it"));
        }
    }
    let after = judge(&edited);
    let resolved = before
        .findings
        .iter()
        .filter(|finding| complete(finding).is_some());
    for finding in resolved {
        // No fix moves an item of a list, so rule and path identify a finding.
        let is_same = |other: &&Finding| other.rule == finding.rule && other.path == finding.path;
        if let Some(left) = after.findings.iter().find(is_same) {
            return Err(format!("not resolved: {left:#?}"));
        }
    }
    let denied: BTreeSet<_> = denials(&before).collect();
    if let Some(new) = denials(&after).find(|denial| !denied.contains(denial)) {
        return Err(format!("denied now: {new:?} in {:#?}", after.findings));
    }
    let filled = filled(&after);
    let impossible = impossible(&before);
    if let Some(lost) = self::filled(&before)
        .into_iter()
        .find(|source| !filled.contains(source) && !impossible.contains(source))
        .filter(|(namespace, _)| !keeps_disks(object, namespace))
        // If SSP stops, it removes nothing.
        .filter(|_| {
            after
                .forecast
                .as_ref()
                .is_some_and(|forecast| forecast.stopped.is_none())
        })
    {
        return Err(format!("{lost:?} loses its disk"));
    }
    let known = lost(&before);
    if let Some(lost) = lost(&after)
        .into_iter()
        .find(|source| !known.contains(source) && !impossible.contains(source))
    {
        return Err(format!("{lost:?} loses its disk in this update"));
    }
    let left: Vec<&Fix> = after.findings.iter().filter_map(complete).collect();
    if apply(&edited, &after.patch)? != edited {
        return Err(format!("left to apply: {left:#?}"));
    }
    Ok(applied.len())
}

/// The DataSources with a disk, by namespace and name.
fn filled(report: &Report) -> BTreeSet<(&str, &str)> {
    let sources = report
        .forecast
        .iter()
        .flat_map(|forecast| &forecast.data_sources);
    let filled = sources.filter(|source| source.filled == Some(true));
    filled
        .map(|source| (source.namespace.raw(), source.name.raw()))
        .collect()
}

/// Whether a template has a namespace of its own, in which SSP creates no pointers, and CDI keeps its disks there: the
/// forecast does not list a DataSource that stays without a DataImportCron.
fn keeps_disks(object: &Value, namespace: &str) -> bool {
    let lists = ["", "/workloadSources"].map(|parent| {
        let list = object.pointer(&format!("/spec{parent}/dataImportCronTemplates"));
        list.and_then(Value::as_array)
    });
    lists.into_iter().flatten().flatten().any(|template| {
        let policy = template.pointer("/spec/retentionPolicy");
        template.pointer("/metadata/namespace") == Some(&namespace.into())
            && policy == Some(&"All".into())
    })
}

/// The DataSources that an update leaves without a disk, by namespace and name.
fn lost(report: &Report) -> BTreeSet<(&str, &str)> {
    let changes = report.changes.iter();
    let lost = changes.flat_map(|changes| &changes.lost_image);
    lost.map(|key| (&*key.namespace, &*key.name)).collect()
}

/// The DataSources of templates whose image does not support a listed architecture. A fix cannot delete their disks, which do
/// not exist, although the forecast, which does not depend on images, lists them.
fn impossible(report: &Report) -> BTreeSet<(&str, &str)> {
    let findings = report.findings.iter();
    let wrong: BTreeSet<&str> = findings
        .filter(|finding| finding.rule == "image-architectures-mismatch")
        .filter_map(|finding| finding.template.as_deref())
        .collect();
    let forecast = report.forecast.iter();
    let crons = forecast.flat_map(|forecast| {
        let crons = forecast.crons.iter();
        crons.filter(|cron| !cron.architecture.is_empty() && wrong.contains(cron.template.raw()))
    });
    let own: BTreeSet<_> = crons
        .map(|cron| (cron.namespace.raw(), cron.managed_data_source.raw()))
        .collect();
    let sources = report
        .forecast
        .iter()
        .flat_map(|forecast| &forecast.data_sources);
    let pointers = sources.filter(|source| {
        let target = source.points_to.as_deref().unwrap_or_default();
        own.contains(&(source.namespace.raw(), target))
    });
    let pointers: Vec<_> = pointers
        .map(|source| (source.namespace.raw(), source.name.raw()))
        .collect();
    own.into_iter().chain(pointers).collect()
}

/// The recommended fix of a finding, if it is complete.
fn complete(finding: &Finding) -> Option<&Fix> {
    finding.fixes.first().filter(|remedy| remedy.complete)
}

fn subject(finding: &Finding) -> (&str, Option<&str>) {
    (&finding.rule, finding.template.as_deref())
}

fn denials(report: &Report) -> impl Iterator<Item = (&str, Option<&str>)> {
    let denying = report.findings.iter();
    let denying = denying.filter(|finding| finding.level == Outcome::Deny);
    denying.map(subject)
}

/// Applies patches one after the other, with a library that is independent of the engine.
pub fn apply(object: &Value, patch: &[PatchOperation]) -> Result<Value, String> {
    let mut edited = object.clone();
    for operation in patch {
        let value = json!(operation.value);
        let is_parent = value == json!({}) || value == json!([]);
        if operation.op == "add" && is_parent && edited.pointer(&operation.path).is_some() {
            return Err(format!("{} is added again", operation.path));
        }
        let patch: json_patch::Patch = serde_json::from_value(json!([operation])).unwrap();
        json_patch::patch(&mut edited, &patch)
            .map_err(|error| format!("{operation:?} does not fit: {error}"))?;
    }
    Ok(edited)
}

/// The JSON pointers of all differences.
pub fn changes(one: &Value, other: &Value) -> Vec<String> {
    let diff = json_patch::diff(one, other);
    diff.0
        .iter()
        .map(|operation| operation.path().to_string())
        .collect()
}
