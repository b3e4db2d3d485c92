//! Turns the proposals of rules into fixes: the edits, and whether they need a human decision. To find out, the policy
//! evaluates the object again with the recommended fixes.

mod annotation;
mod consequences;
mod import;
mod placement;

use std::collections::BTreeMap;

use kube_objects::json::Json;
use operator_models::hco::import::Import;
use operator_models::ssp::architecture::knows_all;

pub(crate) use self::consequences::{MAX_EVALUATED_AGAIN, recommended_edits};
pub(crate) use self::import::set_import;

use crate::facts::Facts;
use crate::finding::{Described, RuleFindings};
use crate::fix::Fix;
use crate::images::Images;
use crate::proposal::Proposal;
use crate::rule::RepairKind;
use crate::settings::Settings;

/// The object whose findings are to be resolved.
pub(crate) struct Fixes<'r, 'f> {
    facts: &'f Facts<'f>,
    settings: &'r Settings,
    /// The object as it was sent.
    object: Json<'r>,
    findings: &'r [RuleFindings<'f>],
    /// Enabling the import, if it is off: several rules propose it.
    enable_import: Option<Fix>,
    /// Whether another finding needs the import.
    needs_import: bool,
}

impl<'r, 'f> Fixes<'r, 'f> {
    pub(crate) fn new(
        facts: &'f Facts<'f>,
        settings: &'r Settings,
        object: Json<'r>,
        findings: &'r [RuleFindings<'f>],
    ) -> Self {
        let mut found = findings.iter().filter(|rule| !rule.findings.is_empty());
        let is_proposed = facts.import == Import::Disabled && found.clone().next().is_some();
        let lacks_import = found.any(|rule| rule.rule.repairs == RepairKind::Import);
        let mut fixes = Self {
            facts,
            settings,
            object,
            findings,
            enable_import: None,
            needs_import: lacks_import && facts.census().is_some_and(knows_all),
        };
        fixes.enable_import = is_proposed.then(|| fixes.enable_import());
        fixes
    }

    /// Describes the findings, with their fixes.
    pub(crate) fn describe(&self) -> Vec<Described> {
        let rules = self.findings.iter();
        let described = rules.map(|rule| {
            rule.describe(self.facts, self.settings, |proposals| {
                self.work_out(proposals)
            })
        });
        let mut described: Vec<Described> = described.collect();
        self.confirm(&mut described);
        described
    }

    /// The fixes of a finding, the recommended one first.
    fn work_out(&self, proposals: &[Proposal<'f>]) -> Vec<Fix> {
        let (mut fixes, mut last) = (Vec::new(), Vec::new());
        for proposal in proposals {
            match proposal {
                Proposal::Advice { .. } | Proposal::Edits { .. } => {
                    fixes.extend(as_proposed(proposal));
                }
                Proposal::EnableImport => {
                    let enable = self.enable_import.clone();
                    // Fixes that only a person can prepare come after fixes that can be applied.
                    let is_first = enable.as_ref().is_some_and(|fix| !fix.edits.is_empty());
                    let list = if is_first { &mut fixes } else { &mut last };
                    list.extend(enable);
                }
                Proposal::EnableImportIfNeeded => {
                    let enable = self.enable_import.clone();
                    fixes.extend(enable.map(|fix| Fix {
                        complete: fix.complete && self.needs_import,
                        ..fix
                    }));
                }
                Proposal::Place { summary, otherwise } => {
                    let place = self.place(summary);
                    if place.is_empty() && fixes.is_empty() && last.is_empty() {
                        fixes.extend(otherwise.map(Fix::advice));
                    }
                    fixes.extend(place);
                }
                Proposal::Correct(template) => fixes.extend(self.correct(template)),
                Proposal::List { template, summary } => fixes.push(self.list(template, summary)),
                Proposal::AddMissing(template) => fixes.push(self.add_missing(template)),
                Proposal::RemoveAnnotation { template, complete } => {
                    fixes.push(self.remove_annotation(template).complete_if(*complete));
                }
                Proposal::Enable(template) => fixes.push(self.enable(template)),
                Proposal::Disable(template) => fixes.push(self.disable(template)),
                Proposal::DisableCommon(name) => fixes.push(self.disable_common(name)),
            }
        }
        fixes.append(&mut last);
        fixes
    }

    /// The workload nodes by architecture; none if they are unknown.
    fn workload(&self) -> &BTreeMap<String, usize> {
        static NONE: BTreeMap<String, usize> = BTreeMap::new();
        self.facts.census().map_or(&NONE, |census| &census.workload)
    }

    /// Whether the settings ask for image look-ups, but none were made.
    fn skips_images(&self) -> bool {
        matches!(self.facts.world.images, Images::Skipped)
    }
}

/// The fix of a proposal that names its edits or its advice.
pub(crate) fn as_proposed(proposal: &Proposal<'_>) -> Option<Fix> {
    Some(match proposal {
        Proposal::Advice { summary, command } => {
            Fix::advice(summary.clone()).with_command(command.clone())
        }
        Proposal::Edits {
            summary,
            edits,
            complete,
        } => Fix::edits(summary.clone(), edits.clone()).complete_if(*complete),
        _ => return None,
    })
}
