//! Which fixes of the module are applied, and which ones a person has to review.

use engine::VersionSource;

use crate::args;
use crate::report::{self, Finding, Remedy, Report};

pub(super) fn has_alternatives(finding: &Finding) -> bool {
    ["multi-arch-import-disabled", "virtual-machines-rejected"].contains(&&*finding.rule)
}

pub(super) fn prefers_one(args: &args::Fix) -> bool {
    args.enable_import || args.place_on.is_some()
}

fn is_preferred(remedy: &Remedy, args: &args::Fix) -> bool {
    if enables_import(remedy) {
        return args.enable_import;
    }
    args.place_on.is_some() && placement(remedy) == args.place_on.as_deref()
}

fn placement(remedy: &Remedy) -> Option<&str> {
    let field = "/nodeSelector/kubernetes.io~1arch";
    let mut operations = remedy.patch.iter();
    let operation = operations.find(|operation| operation.path.ends_with(field))?;
    operation.value.as_ref()?.as_str()
}

/// The fixes to apply together: only the preferred one, else all complete ones, else the fixes of one rule that a
/// person has to review. Fixes of two rules can be two ways to resolve the same problem.
pub(super) fn chosen(
    report: &Report,
    args: &args::Fix,
    can_be_made: impl Fn(&Remedy) -> bool,
) -> Result<Vec<Remedy>, &'static str> {
    let findings = &report.findings;
    let places = |remedy: &Remedy| placement(remedy).is_some();
    let with_alternatives = findings.iter().find(|finding| {
        has_alternatives(finding)
            || args.enable_import && finding.rule == "import-contradiction"
            || args.place_on.is_some() && finding.fixes.iter().any(places)
    });
    if let Some(finding) = with_alternatives.filter(|_| prefers_one(args)) {
        let mut fixes = finding.fixes.iter();
        let remedy = fixes.find(|remedy| is_preferred(remedy, args)).ok_or(
            "the fix that --enable-import or --place-on selects is not possible here; `check` lists the possible fixes",
        )?;
        if can_be_made(remedy) {
            return Ok(vec![remedy.clone()]);
        }
    }
    // A user who places the workloads does not want the import instead, or another architecture.
    let is_wanted = |remedy: &&Remedy| {
        let is_choice = enables_import(remedy) || places(remedy);
        let is_unwanted = args.place_on.is_some() && is_choice && !is_preferred(remedy, args);
        can_be_made(remedy) && !is_unwanted
    };
    let complete: Vec<Remedy> = findings
        .iter()
        .filter_map(Finding::complete_fix)
        .filter(is_wanted)
        .cloned()
        .collect();
    if !complete.is_empty() || !args.r#unsafe {
        return Ok(complete);
    }
    // Placing the workloads is also a choice.
    let is_open = with_alternatives.is_some() && !prefers_one(args);
    let mut first = None;
    Ok(findings
        .iter()
        .filter_map(|finding| {
            let remedy = to_review(finding)
                .filter(is_wanted)
                .filter(|remedy| !needs_choice(report, remedy))
                .filter(|remedy| !is_open || !places(remedy))?;
            let is_first = *first.get_or_insert(&finding.rule) == &finding.rule;
            is_first.then_some(remedy)
        })
        .cloned()
        .collect())
}

pub(super) fn to_review(finding: &Finding) -> Option<&Remedy> {
    let remedy = finding.fixes.first()?;
    let is_open = !remedy.complete && !remedy.patch.is_empty();
    (is_open && !is_choice(finding)).then_some(remedy)
}

/// An annotation without effect does not justify enabling the import.
pub(super) fn is_choice(finding: &Finding) -> bool {
    finding.rule == "architectures-ignored"
}

/// `--enable-import` is required where the import is a preview, or may be one because the version of HCO is unknown.
pub(super) fn needs_choice(report: &Report, remedy: &Remedy) -> bool {
    let version = report.version.as_ref();
    let is_stated = version.is_some_and(|version| version.source != VersionSource::Default);
    let version = report::version(report).filter(|_| is_stated);
    enables_import(remedy) && version.is_none_or(|version| !version.has_finished_import())
}

pub(super) fn reason(report: &Report, remedy: &Remedy, args: &args::Fix) -> &'static str {
    if needs_choice(report, remedy) && !args.enable_import {
        "the import is a preview before HCO 1.19, so `fix` enables it only with --enable-import, or if the setting hcoVersion states a later version"
    } else if enables_import(remedy) {
        "with the import enabled, HCO uses the architectures annotations of all templates; check that they are correct"
    } else if sets_annotation(remedy) && !args.subject.images {
        "the architectures of the image are unknown, because it was not looked up; --images looks it up"
    } else {
        "check that this change is correct"
    }
}

pub(super) fn sets_annotation(remedy: &Remedy) -> bool {
    let mut paths = remedy.patch.iter().map(|operation| &operation.path);
    paths.any(|path| path.contains("/ssp.kubevirt.io~1dict.architectures"))
}

pub(super) fn enables_import(remedy: &Remedy) -> bool {
    remedy.patch.iter().any(|operation| {
        let path = &operation.path;
        // A corrected gate name does not count, because the gate keeps the state that the user set.
        let is_gate = path.starts_with("/spec/featureGates/") && !path.ends_with("/name");
        let is_import = is_gate || path.ends_with("/enableMultiArchBootImageImport");
        let value = operation.value.as_ref();
        let state = value.map(|value| value.get("state").unwrap_or(value));
        is_import && state.is_none_or(|state| *state != "Disabled" && *state != false)
    })
}
