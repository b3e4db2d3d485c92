//! How the fixes that rules propose are worked out: the edits, and whether they need a person's decision. This can judge
//! the object a second time, with a fix applied.

mod annotation;
mod consequences;
mod import;
mod placement;

use kube_objects::edit::Edit;
use kube_objects::json::Json;
use operator_models::ssp::architecture::knows_all;
use std::cell::{Cell, OnceCell};

use self::consequences::Consequences;
pub(crate) use self::consequences::JUDGED_AGAIN;
pub(crate) use self::import::set_import;

use crate::checks::Checks;
use crate::facts::Facts;
use crate::fix::Fix;
use crate::remedy::Remedy;

/// The object whose findings are to be resolved.
pub(crate) struct Remedies<'r, 'a> {
    facts: &'r Facts<'a>,
    /// The object as it was sent.
    object: Json<'r>,
    checks: Checks<'r>,
    /// The remedy that enables the import. It is cached because several rules propose it, and it needs a second judgement.
    enable_import: OnceCell<Remedy>,
    /// Whether another finding needs the import.
    needs_import: bool,
    /// The edits that were judged last: the remedy that enables the import often stands alone.
    judged_last: Cell<Option<(Vec<Edit>, Option<Consequences>)>>,
}

impl<'r, 'a> Remedies<'r, 'a> {
    /// `lacks_import` is whether a rule that the import resolves has a finding.
    pub(crate) fn new(
        facts: &'r Facts<'a>,
        object: Json<'r>,
        checks: Checks<'r>,
        lacks_import: bool,
    ) -> Self {
        let census = facts.census_if_read();
        Self {
            facts,
            object,
            checks,
            enable_import: OnceCell::new(),
            needs_import: lacks_import && census.is_some_and(knows_all),
            judged_last: Cell::new(None),
        }
    }

    /// The remedies of a finding, the recommended one first.
    pub(crate) fn of(&self, fixes: &[Fix<'_>]) -> Vec<Remedy> {
        let (mut remedies, mut last) = (Vec::new(), Vec::new());
        for fix in fixes {
            match fix {
                Fix::Advice(_) | Fix::Command { .. } | Fix::Edits { .. } => {
                    remedies.extend(as_proposed(fix));
                }
                Fix::EnableImport => {
                    let remedy = self.enable_import(true);
                    // What only a person can prepare comes after what can be applied.
                    let is_first = !remedy.edits.is_empty();
                    let list = if is_first { &mut remedies } else { &mut last };
                    list.push(remedy);
                }
                Fix::EnableImportIfNeeded => {
                    remedies.push(self.enable_import(self.needs_import));
                }
                Fix::Place { summary, otherwise } => {
                    let place = self.place(summary);
                    if place.is_empty() && remedies.is_empty() && last.is_empty() {
                        remedies.extend(otherwise.map(Remedy::advice));
                    }
                    remedies.extend(place);
                }
                Fix::Correct(template) => remedies.extend(self.correct(template)),
                Fix::List { template, summary } => remedies.push(self.list(template, summary)),
                Fix::AddMissing(template) => remedies.push(self.add_missing(template)),
                Fix::RemoveAnnotation { template, complete } => {
                    remedies.push(self.remove_annotation(template).complete_if(*complete));
                }
                Fix::Enable(template) => remedies.push(self.enable(template)),
                Fix::Disable(template) => remedies.push(self.disable(template)),
                Fix::DisableCommon(name) => remedies.push(self.disable_common(name)),
            }
        }
        remedies.append(&mut last);
        remedies
    }
}

/// The remedy of a fix in which nothing has to be worked out.
pub(crate) fn as_proposed(fix: &Fix<'_>) -> Option<Remedy> {
    Some(match fix {
        Fix::Advice(text) => Remedy::advice(text.clone()),
        Fix::Command { advice, command } => {
            Remedy::advice(advice.clone()).with_command(Some(command.clone()))
        }
        Fix::Edits {
            summary,
            edits,
            complete,
        } => Remedy::edits(summary.clone(), edits.clone()).complete_if(*complete),
        _ => return None,
    })
}
