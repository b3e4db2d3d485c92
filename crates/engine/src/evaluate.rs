//! Evaluates a payload step by step, and returns a report.

use kube_objects::json::Json;

use crate::cluster::{Host, OnlyNodes};
use crate::comparison::Comparison;
use crate::facts::Facts;
use crate::finding::find;
use crate::fixes::Fixes;
use crate::needs::Needs;
use crate::render::{self, Conclusion, Detail};
use crate::repair::{self, Plan, Step};
use crate::report::Report;
use crate::request::{HyperConvergedRequest, Parsed};
use crate::settings::Settings;
use crate::stated::Stated;
use crate::virtual_machine;
use crate::world::World;

/// Evaluates the payload of waPC's `validate`: `{"request": …, "settings": …}`.
///
/// Never fails: if the object cannot be evaluated, the report says so.
pub fn evaluate(payload: &[u8], cluster: &dyn Host) -> Report {
    evaluate_parsed(Parsed::parse(payload, Detail::Verdict, None), cluster)
}

/// Evaluates a request for the `report` operation: the report also contains the golden images.
pub fn report(payload: &[u8], cluster: &dyn Host) -> Report {
    evaluate_parsed(Parsed::parse(payload, Detail::Everything, None), cluster)
}

/// Evaluates a request against a list of nodes as JSON, without looking up images. With a comparison, the report contains
/// the changes.
pub fn report_change(payload: &[u8], nodes: &str, comparison: Option<&Comparison<'_>>) -> Report {
    let parsed = Parsed::parse(payload, Detail::Everything, comparison);
    evaluate_parsed(parsed, &OnlyNodes(nodes))
}

fn evaluate_parsed(parsed: Parsed<'_>, cluster: &dyn Host) -> Report {
    match parsed {
        Parsed::Answered(report) => *report,
        Parsed::VirtualMachine(request) => virtual_machine::evaluate(&request, cluster),
        Parsed::HyperConverged(request) => evaluate_hyperconverged(&request, cluster),
    }
}

/// Reads what the request needs, and evaluates the object. If the settings name repairs, they are applied until none is
/// left; if the result is still denied, nothing is changed.
fn evaluate_hyperconverged(request: &HyperConvergedRequest<'_>, cluster: &dyn Host) -> Report {
    let (before, now) = request.environments();
    let old = request.old.as_ref();
    let old = old.map(|old| Stated::before(old, &before));
    let new = Stated {
        is_completed: request.is_unsent(),
        ..Stated::new(&request.new, &now, old.as_ref())
    };
    let proposed = request.proposed_placements();
    let needs = Needs::new(&new, &request.settings, &proposed, request.detail);
    let world = World::read(&needs, &new, &request.settings, request.comparison, cluster);
    let evaluation = Evaluation {
        request,
        world: &world,
        old: old.as_ref(),
    };
    let (report, plan) = evaluation.evaluate(request.object, &new, &[], None);
    let repaired = repair::repair(
        request.object,
        request.version,
        plan,
        |object, hco, made| evaluation.evaluate(object, &new.corrected(hco), made, None),
    );
    match repaired {
        Ok(Some(repaired)) => repaired,
        Ok(None) => report,
        Err(obstacle) => {
            evaluation
                .evaluate(request.object, &new, &[], Some(&obstacle))
                .0
        }
    }
}

/// The input of an evaluation, except for the object.
struct Evaluation<'a> {
    request: &'a HyperConvergedRequest<'a>,
    world: &'a World<'a>,
    old: Option<&'a Stated<'a>>,
}

impl Evaluation<'_> {
    /// Evaluates the object after these repairs, and plans the next ones.
    fn evaluate(
        &self,
        object: Json<'_>,
        new: &Stated<'_>,
        repairs: &[Step],
        obstacle: Option<&str>,
    ) -> (Report, Plan) {
        let settings: &Settings = &self.request.settings;
        let old = self.old.map(|old| Facts::before(old, new, self.world));
        let facts = Facts::new(new, old.as_ref(), self.world);
        let findings = find(&facts, settings);
        let findings = Fixes::new(&facts, settings, object, &findings).describe();
        let plan = Plan::new(&facts, settings, &findings, &self.request.unrepaired);
        let conclusion = Conclusion {
            findings: &findings,
            repairs,
            obstacle: obstacle.or(plan.obstacle.as_deref()),
        };
        let name = &self.request.name;
        let report = render::report(name, &facts, settings, &conclusion, self.request.detail);
        (report, plan)
    }
}

/// Evaluates settings for the operation `validate_settings`.
///
/// # Errors
///
/// All problems in the settings, one on each line.
pub fn validate_settings(payload: &[u8]) -> Result<(), String> {
    let settings = Json::parse(payload)
        .map_err(|error| format!("the settings are not valid JSON: {error}"))?;
    Settings::read(Some(settings)).map(drop)
}
