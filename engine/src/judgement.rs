//! The stages of a judgement: the rules that read the object and the nodes, those that use what was read for others, the
//! images, the rules about images, and then the remedies of what was found.

use std::cell::OnceCell;

use operators::hco::import::Import;

use crate::catalogue::MULTI_ARCH_IMPORT_DISABLED;
use crate::facts::Facts;
use crate::finding::{Findings, Found, Outcome};
use crate::images::{Images, Lookups, Registries};
use crate::look_up;
use crate::remedies::Remedies;
use crate::remedy::Remedy;
use crate::rule::{Reads, Rule};
use crate::rules::CHECKS;
use crate::settings::{Settings, Updates};

/// The findings of one rule, with the remedies of those that are kept in full.
pub(crate) struct Judged<'a> {
    pub(crate) rule: &'static Rule,
    pub(crate) found: Found<'a>,
    /// For each finding that is shown.
    pub(crate) remedies: Vec<Vec<Remedy>>,
}

/// Checks the rules about an object, in their stages. The result is in the order of the catalogue.
///
/// `lookups` receives the images that are looked up; whether there are golden images decides about most rules.
pub(crate) fn judge<'a>(
    facts: &mut Facts<'a>,
    settings: &Settings,
    has_golden_images: bool,
    registries: &Registries<'_>,
    lookups: &'a OnceCell<Lookups>,
) -> Vec<Judged<'a>> {
    let mut judged = Vec::new();
    let stage = |facts: &Facts<'a>, reads, judged: &mut Vec<(usize, Judged<'a>)>| {
        for (place, (rule, check)) in CHECKS.iter().enumerate() {
            if rule.reads == reads && (has_golden_images || !rule.is_about_golden_images) {
                let found = Findings::of(rule, *check, facts, settings);
                judged.push((
                    place,
                    Judged {
                        rule,
                        found,
                        remedies: Vec::new(),
                    },
                ));
            }
        }
    };
    stage(facts, Reads::Object, &mut judged);
    let wants_images = has_golden_images && settings.wants_images();
    if wants_images {
        facts.images = Images::Skipped;
    }
    let is_wanted = wants_images && needs_images(facts, settings, &judged);
    if is_wanted && !is_denied_anyway(&judged) && look_up::has_images(facts, settings) {
        // Nothing is compared with an image without the nodes.
        facts.census();
    }
    stage(facts, Reads::NodesOfOthers, &mut judged);
    if is_wanted && !is_denied_anyway(&judged) && facts.census_if_read().is_some() {
        let found = look_up::look_up(facts, settings, registries);
        facts.images = Images::LookedUp(lookups.get_or_init(|| found));
    }
    stage(facts, Reads::Images, &mut judged);
    // What follows is about words. The nodes are never read for words alone.
    facts.nodes.close();
    judged.sort_by_key(|(place, _)| *place);
    let mut judged: Vec<_> = judged.into_iter().map(|(_, judged)| judged).collect();
    work_out(facts, settings, &mut judged);
    judged
}

/// Whether a rule denies the object for a reason that does not depend on images.
fn is_denied_anyway(judged: &[(usize, Judged<'_>)]) -> bool {
    judged
        .iter()
        .any(|(_, judged)| !judged.rule.is_fixed_by_images && judged.found.count(Outcome::Deny) > 0)
}

/// With the import off, images matter only for the fix that enables it, and not for an existing problem.
fn needs_images(facts: &Facts<'_>, settings: &Settings, judged: &[(usize, Judged<'_>)]) -> bool {
    if facts.import == Import::Enabled {
        return true;
    }
    let ratchet = settings.updates == Updates::Ratchet;
    let old = facts.old.filter(|_| ratchet);
    let is_existing = old.is_some_and(|old| old.import == Import::Disabled);
    let is_disabled = judged.iter().any(|(_, judged)| {
        judged.rule.id == MULTI_ARCH_IMPORT_DISABLED.id && !judged.found.shown.is_empty()
    });
    is_disabled && !is_existing
}

/// Works out the remedies of the findings that are shown.
fn work_out(facts: &Facts<'_>, settings: &Settings, judged: &mut [Judged<'_>]) {
    let found = judged
        .iter()
        .filter(|judged| !judged.found.shown.is_empty());
    let found: Vec<&str> = found.map(|judged| judged.rule.id).collect();
    let worked_out = Remedies::new(facts, settings, &found);
    for judged in judged {
        let shown = judged.found.shown.iter();
        judged.remedies = shown
            .map(|shown| worked_out.of(&shown.finding.fixes))
            .collect();
    }
}
