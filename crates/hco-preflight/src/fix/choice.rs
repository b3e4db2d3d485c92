//! Which fixes of the module are applied, and which ones a person has to review.

use engine::{PatchOperation, VersionSource};

use crate::args;
use crate::report::{self, Finding, Remedy, Report};

/// Whether a finding can be fixed in more than one way. The user can prefer one.
pub(super) fn has_alternatives(finding: &Finding) -> bool {
    ["multi-arch-import-disabled", "virtual-machines-rejected"].contains(&&*finding.rule)
}

/// One of several ways to support nodes of several architectures.
#[derive(PartialEq, Eq)]
pub(super) enum Choice<'c> {
    EnableImport,
    /// The workloads run only on this architecture.
    PlaceOn(&'c str),
}

impl<'c> Choice<'c> {
    pub(super) fn of_user(args: &'c args::Fix) -> Option<Self> {
        let import = args.enable_import.then_some(Self::EnableImport);
        import.or(args.place_on.as_deref().map(Self::PlaceOn))
    }

    fn of_fix(remedy: &'c Remedy) -> Option<Self> {
        if enables_import(remedy) {
            return Some(Self::EnableImport);
        }
        let selects = |operation: &&PatchOperation| {
            let path = &operation.path;
            path.ends_with("/nodeSelector/kubernetes.io~1arch")
        };
        let operation = remedy.patch.iter().find(selects)?;
        Some(Self::PlaceOn(operation.value.as_ref()?.as_str()?))
    }
}

/// The fixes to apply together: only the preferred one, else all complete ones, else the fixes of one rule that a
/// person has to review. Fixes of two rules can be two ways to resolve the same problem.
pub(super) fn chosen(
    report: &Report,
    args: &args::Fix,
    can_be_made: impl Fn(&Remedy) -> bool,
) -> Result<Vec<Remedy>, &'static str> {
    let findings = &report.findings;
    let preferred = Choice::of_user(args);
    let places = |remedy: &Remedy| matches!(Choice::of_fix(remedy), Some(Choice::PlaceOn(_)));
    let with_alternatives = findings.iter().find(|finding| {
        has_alternatives(finding)
            || args.enable_import && finding.rule == "import-contradiction"
            || args.place_on.is_some() && finding.fixes.iter().any(places)
    });
    if let Some(finding) = with_alternatives.filter(|_| preferred.is_some()) {
        let mut fixes = finding.fixes.iter();
        let selected = fixes.find(|remedy| Choice::of_fix(remedy) == preferred);
        let remedy = selected.ok_or(
            "the fix that --enable-import or --place-on selects is not possible here; `check` lists the possible fixes",
        )?;
        if can_be_made(remedy) {
            return Ok(vec![remedy.clone()]);
        }
    }
    // A user who places the workloads does not want the import instead, or another architecture.
    let is_unwanted = |choice: Choice<'_>| args.place_on.is_some() && Some(choice) != preferred;
    let is_wanted =
        |remedy: &&Remedy| can_be_made(remedy) && !Choice::of_fix(remedy).is_some_and(is_unwanted);
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
    let is_open = with_alternatives.is_some() && preferred.is_none();
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

/// Whether only a person can choose a fix. For example, an annotation without effect does not justify enabling the
/// import.
pub(super) fn is_choice(finding: &Finding) -> bool {
    finding.rule == "architectures-ignored"
}

/// Whether a fix enables the import where it is a preview feature, or may be one because the version of HCO is unknown.
/// This requires `--enable-import`.
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
