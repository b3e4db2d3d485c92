//! `plan`: shows the effects of a change on boot sources and VMs before you make it. The engine makes the forecast; this
//! file compares it with the objects in the cluster.

pub(crate) mod boot_sources;
mod headline;
pub(crate) mod machines;
mod rows;
mod storage;
mod text;

use std::sync::LazyLock;

use anyhow::{Result, bail};
use cluster::Notes;
use cluster::foreign::Foreign;
use engine::Stopped;
use serde::Serialize;
use serde_json::Value;

use crate::args::{self, PlanFailOn, PlanFormat};
use crate::exit::Exit;
use crate::input::boot_image;
use crate::input::{self, Situation};
use crate::report::{Conclusions as _, Finding, Level, Report, is_same};
use crate::rows::facts::Fact;
use crate::rows::no_forecast::NoForecast;
use crate::rows::state::State;
use crate::rows::stops::{self, Stop};
use crate::rows::{Effect, Row, Severity, exit};
use crate::terminal::{Terminal, print_json, print_markdown};

use self::boot_sources::{BootSources, Wanted};
use self::storage::Disks;

pub(crate) fn run(args: &args::Plan, terminal: &Terminal) -> Result<Exit> {
    let mut notes = Notes::default();
    let situation = input::compare(args, &mut notes);
    if !args.quiet {
        terminal.notes(&notes);
    }
    let situation = situation?;
    if let Some(note) = boot_image::note_of(&situation).filter(|_| !args.quiet) {
        terminal.note(&note);
    }
    let plan = Plan::new(&situation, args)?;
    match args.output {
        PlanFormat::Text => terminal.print(&text::render(&plan, args.all_vms))?,
        PlanFormat::Json => print_json(&Json::of(&plan))?,
        PlanFormat::Markdown => {
            print_markdown("hco-preflight plan", &text::render(&plan, args.all_vms))?;
        }
    }
    let fails = match args.fail_on {
        PlanFailOn::Never => Severity::Unknown,
        PlanFailOn::Problem => Severity::Loss,
        PlanFailOn::Changed => Severity::Change,
    };
    Ok(exit(&plan.rows, fails))
}

/// The consequence of two DataImportCrons with the same name.
const NEVER_SETTLES: &str = "Two DataImportCrons have the same name now: which one SSP keeps, and whether its disk stays, is undefined.";

/// The report about an object that does not exist.
static NO_OBJECT: LazyLock<Report> = LazyLock::new(Report::default);

/// A change and its effects.
struct Plan<'c> {
    situation: &'c Situation,
    /// The reports before and after the change. If HCO denies the object, nothing changes, and both are the same.
    reports: [&'c Report; 2],
    /// Why the policy or HCO would deny the changed object. If no file changes the object, why the policy would deny it
    /// as a new object.
    denied: Option<String>,
    is_denied_by_hco: bool,
    /// Why the operators do not create boot sources from the object.
    no_forecast: Option<&'c NoForecast>,
    sources: BootSources<'c>,
    /// The changes that the operators will make even without the requested change.
    pending: Option<BootSources<'c>>,
    facts: Vec<Fact>,
    stopped_by: Vec<Stop>,
    rows: Vec<Row>,
}

impl<'c> Plan<'c> {
    fn new(situation: &'c Situation, args: &args::Plan) -> Result<Self> {
        let report = &situation.after.report;
        if report.exit() == Exit::Unjudged {
            bail!("no plan can be made: {}", report.reason());
        }
        let by_hco = situation.denied_by_hco();
        let is_stored = by_hco.is_empty();
        let before = situation.before.as_ref();
        let is = before.map_or(&*NO_OBJECT, |before| &before.report);
        let reports = [is, if is_stored { report } else { is }];
        let boot_sources = |wanted| BootSources::new(situation, wanted);
        let pending = Wanted::before(situation).filter(|_| is_stored);
        let mut plan = Self {
            situation,
            reports,
            denied: denied(situation, &by_hco),
            is_denied_by_hco: !is_stored,
            no_forecast: situation.outlook.as_ref().err().filter(|_| is_stored),
            sources: boot_sources(Wanted::after(situation)),
            pending: pending.map(boot_sources),
            facts: Fact::all(situation, reports),
            stopped_by: if is_stored {
                stops::of(situation.forecast_after(), &situation.after.object)
            } else {
                Vec::new()
            },
            rows: Vec::new(),
        };
        plan.rows = plan.rows(args);
        Ok(plan)
    }

    fn rows(&self, args: &args::Plan) -> Vec<Row> {
        let (object, world) = (&self.situation.name, &self.situation.world);
        let row = |effect, what: &str| Row::new(effect, "HyperConverged", object, what);
        let gaps = world.gaps();
        let mut rows: Vec<Row> = gaps
            .iter()
            .map(|gap| Row::unread(gap, args.allow_unread))
            .collect();
        let denied = if self.situation.is_sent {
            Effect::Denied
        } else {
            Effect::Problem
        };
        rows.extend(self.situation.doubt_about_version().map(|doubt| Row {
            severity: Severity::Unknown,
            ..row(Effect::Caution, &doubt)
        }));
        rows.extend(self.denied.iter().map(|what| row(denied, what)));
        if self.is_denied_by_hco {
            return rows;
        }
        rows.extend(self.ended().map(|finding| {
            let what = format!("[{}] {}", finding.rule, finding.fact);
            row(Effect::ProblemEnds, &what)
        }));
        // A denied object is not stored, so its forecast does not matter.
        let is_denied = self.denied.is_some() && self.situation.is_sent;
        if let Some(unknown) = self.unknown().filter(|_| !is_denied) {
            rows.push(row(Effect::NoForecast, &unknown));
        }
        rows.extend(self.facts.iter().filter_map(|fact| fact.row(object)));
        rows.extend(machines::affected(self.situation));
        rows.extend(self.stops());
        if self.sources.changes.crons.is_none() && self.stopped_by.is_empty() {
            rows.push(row(Effect::NeverSettles, NEVER_SETTLES));
        }
        if self.no_forecast.is_none() {
            let cautions = rows::cautions(self);
            rows.extend(cautions.iter().map(|what| row(Effect::Caution, what)));
        }
        let asked = rows::rows(&self.sources);
        let mut pending = self.pending.as_ref().map(rows::rows).unwrap_or_default();
        // Outstanding changes that the requested change prevents are left out.
        pending.retain(|key, rows| asked.get(key) == Some(rows));
        let asked_only = asked
            .into_iter()
            .filter(|(key, _)| !pending.contains_key(key))
            .flat_map(|(_, rows)| rows);
        rows.extend(asked_only);
        rows.extend(pending.into_values().flatten().map(Row::pending));
        rows
    }

    /// The objects that stop SSP. Those that stop it already, without the requested change, are pending.
    fn stops(&self) -> impl Iterator<Item = Row> {
        let situation = self.situation;
        let before = situation
            .before
            .as_ref()
            .filter(|_| situation.is_asked)
            .map(|before| stops::of(situation.forecast_before.as_ref(), &before.object))
            .unwrap_or_default();
        self.stopped_by.iter().map(move |stop| {
            if before.iter().any(|other| stop.is_same(other)) {
                stop.row().pending()
            } else {
                stop.row()
            }
        })
    }

    /// The problems that other nodes or another version of HCO cause.
    fn new_problems(&self) -> Vec<&Finding> {
        self.situation
            .after
            .report
            .findings
            .iter()
            .filter(|finding| !self.situation.is_sent && finding.level == Level::Deny)
            .collect()
    }

    /// The problems of the current object that the change ends.
    fn ended(&self) -> impl Iterator<Item = &'c Finding> {
        let after = &self.situation.after.report;
        self.situation
            .before
            .iter()
            .flat_map(|before| &before.report.findings)
            .filter(|finding| finding.level == Level::Deny)
            .filter(move |ended| !after.findings.iter().any(|other| is_same(ended, other)))
    }

    fn unknown(&self) -> Option<String> {
        self.no_forecast
            .filter(|reason| **reason != NoForecast::NotDeployed)
            .map(NoForecast::why)
    }
}

/// The JSON of a plan: `docs/preflight.schema.json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Json<'p> {
    headline: String,
    denied_by_hco: bool,
    before: State,
    after: State,
    leaving_nodes: Vec<Foreign>,
    stopped: Option<Stopped>,
    #[serde(flatten)]
    changes: Value,
    pending: Option<Value>,
    storage: Vec<Disks>,
    rows: &'p [Row],
}

impl<'p> Json<'p> {
    fn of(plan: &'p Plan<'_>) -> Self {
        let situation = plan.situation;
        let [before, after] = plan.reports.map(|report| State::new(situation, report));
        let is_stored = !plan.is_denied_by_hco;
        let stored = |nodes: Vec<Foreign>| if is_stored { nodes } else { Vec::new() };
        Self {
            headline: plan.headline().1,
            denied_by_hco: plan.is_denied_by_hco,
            leaving_nodes: stored(situation.leaving()),
            after: after.or(&before),
            before,
            stopped: situation
                .forecast_after()
                .and_then(|forecast| forecast.stopped)
                .filter(|_| is_stored),
            changes: plan.sources.json(),
            pending: plan.pending.as_ref().map(BootSources::json),
            storage: if is_stored {
                storage::requested(&plan.sources)
            } else {
                Vec::new()
            },
            rows: &plan.rows,
        }
    }
}

/// Why the policy or HCO denies the object. It does not include fixes, because their commands change the live object.
fn denied(situation: &Situation, by_hco: &[String]) -> Option<String> {
    let report = &situation.after.report;
    if report.allowed && by_hco.is_empty() {
        return None;
    }
    let mut facts: Vec<String> = report
        .findings
        .iter()
        .filter(|finding| finding.level == Level::Deny)
        .map(|finding| format!("[{}] {}", finding.rule, finding.fact))
        .collect();
    for fact in by_hco {
        if !facts.contains(fact) {
            facts.push(fact.clone());
        }
    }
    Some(facts.join("\n"))
}
