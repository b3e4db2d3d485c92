//! `plan`: shows the effects of a change on boot sources and VMs before you make it. The engine makes the forecast; this
//! file compares it with the objects in the cluster.

pub(crate) mod boot_sources;
mod headline;
pub(crate) mod machines;
mod rows;
mod text;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use anyhow::{Result, bail};
use cluster::{Notes, Reader};
use serde_json::{Value, json};

use crate::args::{self, PlanFailOn, PlanFormat};
use crate::exit::Exit;
use crate::input::{self, Situation};
use crate::report::{self, Finding, Level, Report, is_same};
use crate::rows::facts::{self, Fact};
use crate::rows::no_forecast::NoForecast;
use crate::rows::stops;
use crate::rows::{Effect, Row, Severity, exit, words};
use crate::terminal::{Terminal, print_json, print_markdown};

use self::boot_sources::{BootSource, BootSources};

pub(crate) fn run(args: &args::Plan, terminal: &Terminal) -> Result<Exit> {
    let mut notes = Notes::default();
    let situation = input::compare(args, Reader::Plan, None, &mut notes);
    terminal.notes(&notes);
    let situation = situation?;
    let plan = Plan::new(&situation, args)?;
    match args.output {
        PlanFormat::Text => terminal.print(&text::render(&plan, args.all_vms))?,
        PlanFormat::Json => print_json(&plan.json())?,
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

/// The rules about changes that other rows show.
const IN_OTHER_ROWS: [&str; 3] = [
    "boot-source-removed",
    "boot-source-replaced",
    "default-architecture-changes",
];

static NO_OBJECT: LazyLock<Report> = LazyLock::new(Report::default);

struct Plan<'c> {
    situation: &'c Situation,
    /// The reports before and after the change. If HCO denies the object, nothing changes, and both are the same.
    reports: [&'c Report; 2],
    denied: Option<String>,
    is_denied_by_hco: bool,
    no_forecast: Option<&'c NoForecast>,
    sources: BootSources<'c>,
    facts: Vec<Fact>,
    rows: Vec<Row>,
}

impl<'c> Plan<'c> {
    fn new(situation: &'c Situation, args: &args::Plan) -> Result<Self> {
        let report = &situation.after.report;
        if report::exit(report) == Exit::Unjudged {
            bail!("no plan can be made: {}", report::reason(report));
        }
        let by_hco = situation.denied_by_hco();
        let is_stored = by_hco.is_empty();
        let before = situation.before.as_ref();
        let is = before.map_or(&*NO_OBJECT, |before| &before.report);
        let reports = [is, if is_stored { report } else { is }];
        let mut plan = Self {
            situation,
            reports,
            denied: denied(situation, &by_hco),
            is_denied_by_hco: !is_stored,
            no_forecast: situation.outlook.as_ref().err().filter(|_| is_stored),
            sources: BootSources::new(
                situation,
                &situation.after,
                situation.forecast_after(),
                situation.changes().filter(|_| is_stored),
            ),
            // The nodes do not change because the object is new.
            facts: Fact::all(situation, before.map_or([report; 2], |_| reports)),
            rows: Vec::new(),
        };
        let gaps = &situation.world.gaps;
        plan.rows = (gaps.iter())
            .map(|gap| Row::unread(gap, args.allow_unread))
            .chain(plan.about_the_object())
            .collect();
        if is_stored {
            plan.rows.extend(plan.effects());
        }
        Ok(plan)
    }

    fn row(&self, effect: Effect, what: &str) -> Row {
        Row::new(effect, "HyperConverged", &self.situation.name, what)
    }

    fn about_the_object(&self) -> Vec<Row> {
        let doubt = self.situation.doubt_about_version().map(|doubt| Row {
            severity: Severity::Unknown,
            ..self.row(Effect::Caution, &doubt)
        });
        let row = |effect, finding: &Finding| {
            self.row(effect, &words::finding(finding))
                .about("rule", Some(&*finding.rule))
                .about("template", finding.template.as_deref())
        };
        let mut rows = Vec::from_iter(doubt);
        rows.extend((self.denied.iter()).map(|what| self.row(Effect::Denied, what)));
        if self.denied.is_none() {
            for finding in self.new_problems() {
                rows.push(row(Effect::Problem, finding));
            }
        }
        for finding in self.new_warnings() {
            rows.push(row(Effect::MinorProblem, finding));
        }
        rows
    }

    /// Includes the problems that become larger.
    fn new_problems(&self) -> Vec<&'c Finding> {
        let ([before, _], situation) = (self.reports, self.situation);
        let mut new: Vec<&Finding> = of_level(&situation.checked, Level::Deny)
            .filter(|new| !of_level(before, Level::Deny).any(|old| is_same(old, new)))
            .collect();
        // The engine compares the object with itself on the other nodes.
        if !situation.is_sent {
            for larger in of_level(&situation.after.report, Level::Deny) {
                if !new.iter().any(|new| is_same(new, larger)) {
                    new.push(larger);
                }
            }
        }
        new
    }

    fn new_warnings(&self) -> impl Iterator<Item = &'c Finding> {
        let [before, _] = self.reports;
        of_level(&self.situation.after.report, Level::Warn)
            .filter(|finding| !IN_OTHER_ROWS.contains(&&*finding.rule))
            .filter(|new| !before.findings.iter().any(|old| is_same(old, new)))
    }

    fn effects(&self) -> Vec<Row> {
        let situation = self.situation;
        let ([before, _], after) = (self.reports, &situation.checked.findings);
        let mut rows: Vec<Row> = of_level(before, Level::Deny)
            .filter(|ended| !after.iter().any(|other| is_same(ended, other)))
            .map(|ended| self.row(Effect::ProblemEnds, &words::finding(ended)))
            .collect();
        // A denied object is not stored, so its forecast does not matter.
        if let Some(unknown) = self.unknown().filter(|_| self.denied.is_none()) {
            rows.push(self.row(Effect::NoForecast, unknown));
        }
        let changed = self.facts.iter().filter(|fact| fact.changes);
        rows.extend(changed.map(|fact| self.row(Effect::ValueChanges, &fact.text())));
        rows.extend(machines::affected(situation));
        let stops = self.stops();
        let is_stopped = !stops.is_empty();
        rows.extend(stops);
        let changes = situation.changes();
        if changes.is_some_and(|changes| changes.crons.is_none()) && !is_stopped {
            rows.push(self.row(Effect::NeverSettles, words::NEVER_SETTLES));
        }
        if self.no_forecast.is_none() {
            let cautions = rows::cautions(self);
            rows.extend(cautions.iter().map(|what| self.row(Effect::Caution, what)));
        }
        let pending = match &situation.pending {
            Some(changes) => {
                let (hco, forecast) = (situation.current(), situation.forecast_before.as_ref());
                rows::rows(&BootSources::new(situation, hco, forecast, Some(changes)))
            }
            None => BTreeMap::new(),
        };
        // Outstanding changes that the requested change prevents are left out. Other nodes can change the details.
        let alike = |asked: &[Row], pending: &[Row]| {
            asked == pending
                || !situation.is_sent
                    && (asked.iter().map(|row| row.effect)).eq(pending.iter().map(|row| row.effect))
        };
        let (outstanding, asked): (Vec<_>, Vec<_>) = rows::rows(&self.sources)
            .into_iter()
            .partition(|(key, rows)| pending.get(key).is_some_and(|other| alike(rows, other)));
        rows.extend(asked.into_iter().flat_map(|(_, rows)| rows));
        for (_, outstanding) in outstanding {
            rows.extend(outstanding.into_iter().map(Row::pending));
        }
        rows
    }

    fn stops(&self) -> Vec<Row> {
        let situation = self.situation;
        let before = situation.forecast_before.as_ref();
        let before = stops::of(before.filter(|_| situation.is_asked));
        stops::of(situation.forecast_after())
            .into_iter()
            .map(|stop| {
                if before.iter().any(|other| stops::is_same(&stop, other)) {
                    stop.pending()
                } else {
                    stop
                }
            })
            .collect()
    }

    fn unknown(&self) -> Option<&'c str> {
        self.no_forecast
            .filter(|reason| **reason != NoForecast::NotDeployed)
            .map(NoForecast::why)
    }

    /// The JSON of a plan: `docs/preflight.schema.json`.
    fn json(&self) -> Value {
        let situation = self.situation;
        let [before, after] = self.reports;
        let [old, new] = situation.default_architectures(self.reports);
        let forecast = situation
            .forecast_after()
            .filter(|_| !self.is_denied_by_hco);
        json!({
            "headline": self.headline(),
            "deniedByHco": self.is_denied_by_hco,
            "before": facts::json(before, old.as_ref()),
            "after": facts::json(after, new.as_ref()),
            "leavingNodes": situation.leaving(),
            "stopped": forecast.and_then(|forecast| forecast.stopped),
            "bootSources": self.sources.all.values().map(BootSource::json).collect::<Vec<_>>(),
            "storage": self.sources.storage(),
            "rows": self.rows,
        })
    }
}

fn of_level(report: &Report, level: Level) -> impl Iterator<Item = &Finding> {
    (report.findings.iter()).filter(move |finding| finding.level == level)
}

/// Without fixes, because their commands change the live object.
fn denied(situation: &Situation, by_hco: &[String]) -> Option<String> {
    let report = &situation.after.report;
    if !situation.is_sent || report.allowed && by_hco.is_empty() {
        return None;
    }
    let mut facts: Vec<String> = of_level(report, Level::Deny).map(words::finding).collect();
    for fact in by_hco {
        if !facts.contains(fact) {
            facts.push(fact.clone());
        }
    }
    Some(facts.join("\n"))
}
