//! `plan`: shows the effects of a change on boot sources and VMs before you make it. The engine makes the forecast; this
//! file compares it with the objects in the cluster.

pub(crate) mod boot_sources;
pub(crate) mod machines;
mod rows;
mod storage;
mod text;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use anyhow::{Result, bail};
use engine::{Import, Stopped};
use serde::Serialize;
use serde_json::Value;

use crate::args::{self, PlanFailOn, PlanFormat};
use crate::boot_image;
use crate::exit::Exit;
use crate::facts::Fact;
use crate::foreign::Foreign;
use crate::hco_version::ShownVersion;
use crate::headroom::Headroom;
use crate::no_forecast::NoForecast;
use crate::notes::Notes;
use crate::report::{Conclusions as _, Finding, Level, Report};
use crate::row::{Effect, Row, Severity, exit, of_kind};
use crate::stage::{self, Situation};
use crate::stops::{self, Stop};
use crate::terminal::{Terminal, print_json, print_markdown};
use crate::world::Gap;

use self::boot_sources::{BootSources, Wanted};
use self::storage::Disks;

pub(crate) fn run(args: &args::Plan, terminal: &Terminal) -> Result<Exit> {
    let mut notes = Notes::default();
    let situation = stage::compare(args, &mut notes);
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
        PlanFailOn::Lost | PlanFailOn::Headroom => Severity::Loss,
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
    /// `None` if the running VMs were not read.
    headroom: Option<Headroom>,
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
                stops::of(situation)
            } else {
                Vec::new()
            },
            headroom: Headroom::of(situation).filter(|_| is_stored),
            rows: Vec::new(),
        };
        plan.rows = plan.rows(args);
        Ok(plan)
    }

    fn rows(&self, args: &args::Plan) -> Vec<Row> {
        let (object, world) = (&self.situation.name, &self.situation.world);
        let row = |effect, what: &str| Row::new(effect, "HyperConverged", object, what);
        let is_gate = args.fail_on == PlanFailOn::Headroom;
        let mut rows: Vec<Row> = world.gaps().iter().map(Gap::row).collect();
        for row in &mut rows {
            let is_needed = is_gate && self.headroom.is_none() && row.kind == world.running.kind();
            if args.require_all || is_needed {
                row.severity = Severity::Unknown;
            }
        }
        let denied = if self.situation.is_sent {
            Effect::Denied
        } else {
            Effect::Problem
        };
        rows.extend(self.denied.iter().map(|what| row(denied, what)));
        if self.is_denied_by_hco {
            return rows;
        }
        rows.extend(self.headroom.iter().flat_map(|it| it.rows(is_gate)));
        // A denied object is not stored, so its forecast does not matter.
        let is_denied = self.denied.is_some() && self.situation.is_sent;
        if let Some(unknown) = self.unknown().filter(|_| !is_denied) {
            rows.push(row(Effect::NoForecast, &unknown));
        }
        rows.extend(self.facts.iter().filter_map(|fact| fact.row(object)));
        rows.extend(machines::affected(self.situation));
        rows.extend(self.stopped_by.iter().map(Stop::row));
        if self.sources.changes.crons.is_none() && self.stopped_by.is_empty() {
            rows.push(row(Effect::NeverSettles, NEVER_SETTLES));
        }
        let cautions = self.no_forecast.is_none().then(|| rows::cautions(self));
        let cautions = cautions.iter().flatten();
        rows.extend(cautions.map(|what| row(Effect::Caution, what)));
        let asked = rows::rows(&self.sources);
        let mut pending = self.pending.as_ref().map(rows::rows).unwrap_or_default();
        // Outstanding changes that the requested change prevents are left out.
        pending.retain(|key, rows| asked.get(key) == Some(rows));
        let asked = asked
            .into_iter()
            .filter(|(key, _)| !pending.contains_key(key));
        rows.extend(asked.flat_map(|(_, rows)| rows));
        let pending = pending.into_values().flatten();
        rows.extend(pending.map(|row| Row {
            is_pending: true,
            ..row
        }));
        rows
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

    fn unknown(&self) -> Option<String> {
        let unknown = self
            .no_forecast
            .filter(|it| **it != NoForecast::NotDeployed);
        unknown.map(NoForecast::why)
    }
}

/// A plan in JSON. Programs read it, so after the first release, fields are added, but not removed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Json<'p> {
    denied: Option<&'p str>,
    denied_by_hco: bool,
    multi_arch_import: Change<Option<Import>>,
    default_architecture: Change<Option<&'p Foreign>>,
    hco_version: Change<Option<Foreign>>,
    hco_version_origin: Change<Option<Foreign>>,
    control_plane: Change<&'p [Foreign]>,
    nodes: Change<BTreeMap<String, usize>>,
    leaving_nodes: Vec<Foreign>,
    unknown: Option<String>,
    stopped: Option<Stopped>,
    stopped_by: &'p [Stop],
    #[serde(flatten)]
    changes: Value,
    pending: Option<Value>,
    virtual_machines: Vec<&'p Row>,
    storage: Vec<Disks>,
    headroom: Option<&'p Headroom>,
    unread: Vec<Gap>,
    rows: &'p [Row],
}

impl<'p> Json<'p> {
    fn of(plan: &'p Plan<'_>) -> Self {
        let (situation, reports) = (plan.situation, plan.reports);
        let [before, _] = reports;
        let default = |it: &'p Report| {
            it.default_architecture
                .as_ref()
                .or(before.default_architecture.as_ref())
        };
        let versions = reports.map(|it| situation.version(it));
        let version = |of: fn(&ShownVersion) -> &Foreign| {
            Change::of(versions.each_ref(), |it| Some(of(it.as_ref()?).clone()))
        };
        let is_stored = !plan.is_denied_by_hco;
        Self {
            denied: plan.denied.as_deref(),
            denied_by_hco: plan.is_denied_by_hco,
            multi_arch_import: Change::of(reports, |it| it.multi_arch_import),
            default_architecture: Change::of(reports, default),
            hco_version: version(|it| &it.number),
            hco_version_origin: version(|it| &it.origin),
            control_plane: Change::of(reports, |it| {
                it.control_plane_architectures
                    .as_deref()
                    .unwrap_or_default()
            }),
            nodes: Change::of(reports, |it| it.nodes.clone().unwrap_or_default()),
            leaving_nodes: if is_stored {
                situation.leaving()
            } else {
                Vec::new()
            },
            unknown: plan.unknown(),
            stopped: situation
                .forecast_after()
                .and_then(|it| it.stopped)
                .filter(|_| is_stored),
            stopped_by: &plan.stopped_by,
            changes: plan.sources.json(),
            pending: plan.pending.as_ref().map(BootSources::json),
            virtual_machines: of_kind(&plan.rows, "VirtualMachine"),
            storage: if is_stored {
                storage::requested(&plan.sources)
            } else {
                Vec::new()
            },
            headroom: plan.headroom.as_ref(),
            unread: situation.world.gaps(),
            rows: &plan.rows,
        }
    }
}

#[derive(Serialize)]
struct Change<T> {
    before: T,
    after: T,
}

impl<T> Change<T> {
    fn of<R>([before, after]: [R; 2], value: impl Fn(R) -> T) -> Self {
        Self {
            before: value(before),
            after: value(after),
        }
    }
}

/// Why the policy or HCO denies the object. It does not include fixes, because their commands change the live object.
fn denied(situation: &Situation, by_hco: &[String]) -> Option<String> {
    let report = &situation.after.report;
    if report.allowed && by_hco.is_empty() {
        return None;
    }
    let denies = report.findings.iter().filter(|it| it.level == Level::Deny);
    let mut facts: Vec<String> = denies
        .map(|finding| format!("[{}] {}", finding.rule, finding.fact))
        .collect();
    for fact in by_hco {
        if !facts.contains(fact) {
            facts.push(fact.clone());
        }
    }
    Some(facts.join("\n"))
}
