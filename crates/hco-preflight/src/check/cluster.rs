//! `check` of a cluster: the problems of the live HyperConverged, conditions, golden images as they are, and VMs that
//! cannot start. The engine makes the forecast; this folder compares it with the objects of the operators.

mod conditions;
mod golden_images;
mod headline;
mod machines;
mod text;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use clap::ValueEnum as _;
use cluster::files::STDIN;
use cluster::{ClusterError, Condition, DataSource, Notes, Reader, condition};
use serde_json::{Value, json};

use crate::args::{self, FailOn, Format};
use crate::exit::Exit;
use crate::failure::Nothing;
use crate::input::files;
use crate::input::{self, Situation};
use crate::report::{self, Finding, Level};
use crate::rows::no_forecast::NoForecast;
use crate::rows::{Effect, Row, Severity, exit, facts, stops, words};
use crate::terminal::{Terminal, print_json, print_markdown};

const SHORTEST_PAUSE: Duration = Duration::from_millis(500);

const LONGEST_PAUSE: Duration = Duration::from_secs(15);

pub(super) fn run(args: &args::Check, terminal: &Terminal) -> Result<Exit> {
    check_usage(args)?;
    let found = match wait(args, terminal) {
        Err(error) if args.subject.allow_empty && error.is::<Nothing>() => {
            terminal.note(&error.to_string());
            return Ok(Exit::Accepted);
        }
        found => found?,
    };
    let text = || text::render(&found, &terminal.name);
    match args.output {
        Format::Json => print_json(&found.json())?,
        Format::Markdown => print_markdown("hco-preflight check", &text())?,
        _ => terminal.print(&text())?,
    }
    let fails = match args.fail_on {
        FailOn::Deny => Severity::Loss,
        FailOn::Warn => Severity::Warning,
        FailOn::Never => Severity::Unknown,
    };
    Ok(exit(&found.rows, fails))
}

fn check_usage(args: &args::Check) -> Result<()> {
    let subject = &args.subject;
    files::check_directories(&[], &subject.walk)?;
    for (option, is_set) in [
        ("--old", subject.old.is_some()),
        ("--as-if", subject.as_if.is_some()),
        ("--policy", subject.policy.is_some()),
        ("--images", subject.images),
    ] {
        ensure!(
            !is_set,
            "{option} requires a file: add -f FILE, or remove {option}"
        );
    }
    let is_stdin = subject.settings.as_deref() == Some(Path::new(STDIN));
    ensure!(
        args.wait.is_none() || !is_stdin,
        "--wait reads the settings at each poll: write them to a file instead of - (standard input)"
    );
    if !matches!(args.output, Format::Text | Format::Json | Format::Markdown) {
        let value = args.output.to_possible_value();
        let name = value.as_ref().map_or("", |value| value.get_name());
        bail!(
            "-o {name} is for files: a cluster is printed as text, json, or markdown; add -f FILE for {name}"
        );
    }
    Ok(())
}

fn wait(args: &args::Check, terminal: &Terminal) -> Result<Checked> {
    // Zero means a single poll without a time limit.
    let wait = args.wait.filter(|wait| !wait.is_zero());
    let until = wait.and_then(|wait| Instant::now().checked_add(wait));
    let mut unchanged = args::Plan {
        source: args.subject.source.clone(),
        settings: args.subject.settings.clone(),
        ..args::Plan::default()
    };
    unchanged.source.connection.until = until;
    let mut pause = SHORTEST_PAUSE;
    let mut is_first = true;
    let mut cluster = None;
    loop {
        let mut notes = Notes::default();
        let observed = input::compare(&unchanged, Reader::Cluster, cluster, &mut notes);
        if std::mem::take(&mut is_first) {
            terminal.notes(&notes);
        }
        let seen = observed.map(|situation| Checked::new(situation, args.allow_unread));
        let is_open = match &seen {
            Ok(checked) => checked.is_outstanding(),
            Err(error) => error.downcast_ref().is_some_and(ClusterError::is_transient),
        };
        let left = until.map(|end| end.saturating_duration_since(Instant::now()));
        let Some(left) = left.filter(|left| is_open && *left >= SHORTEST_PAUSE) else {
            return seen;
        };
        cluster = seen
            .ok()
            .and_then(|checked| checked.situation.world.cluster);
        // The last poll also takes time.
        std::thread::sleep(pause.min(left / 2));
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

fn message(condition: &Condition) -> &str {
    condition.message.as_ref().map_or("", |message| &message.0)
}

fn is_ready(source: &DataSource) -> bool {
    condition(&source.conditions, "Ready").is_some_and(|ready| ready.status == "True")
}

struct Checked {
    situation: Situation,
    /// The first rows are about the findings, in their order.
    rows: Vec<Row>,
}

impl Checked {
    fn new(situation: Situation, allow_unread: bool) -> Self {
        let report = &situation.current().report;
        let row = |effect, why: &str| Row::new(effect, "HyperConverged", &situation.name, why);
        let problem = |finding: &Finding| {
            let effect = match finding.level {
                Level::Deny => Effect::Problem,
                Level::Warn | Level::Carried => Effect::MinorProblem,
            };
            let rule = engine::RULES.iter().find(|rule| rule.id == finding.rule);
            let alert = rule.and_then(|rule| rule.alert);
            let fires = alert.map_or_else(String::new, words::fires);
            row(effect, &(words::finding(finding) + &fires))
                .about("rule", Some(&finding.rule))
                .about("alert", alert)
                .about("template", finding.template.as_deref())
        };
        let mut rows: Vec<Row> = report.findings.iter().map(problem).collect();
        let is_denied = rows.iter().any(|row| row.effect == Effect::Problem);
        rows.extend(stops::of(situation.forecast_after()));
        match &situation.outlook {
            _ if report::exit(report) == Exit::Unjudged => {
                rows.push(row(Effect::NoForecast, &report::reason(report)));
            }
            // A finding shows the reason.
            _ if is_denied => {}
            Err(NoForecast::RejectedBySsp(why)) => rows.push(row(Effect::StopsSsp, why)),
            Err(NoForecast::Other(why)) => rows.push(row(Effect::NoForecast, why)),
            Err(NoForecast::NotDeployed) | Ok(_) => {}
        }
        rows.extend(conditions::of(&situation));
        let stops_ssp = |row: &Row| row.effect == Effect::StopsSsp || row.kind == "SSP";
        let is_stopped = rows.iter().any(stops_ssp);
        rows.extend(golden_images::rows(&situation, is_stopped));
        rows.extend(machines::affected(&situation));
        let gaps = &situation.world.gaps;
        rows.extend(gaps.iter().map(|gap| Row::unread(gap, allow_unread)));
        Self { situation, rows }
    }

    fn of_effects(&self, effects: &[Effect]) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| effects.contains(&row.effect))
    }

    fn stops(&self) -> impl Iterator<Item = &Row> {
        self.of_effects(&[Effect::StopsSsp])
            .filter(|row| row.kind == "DataImportCron")
    }

    fn is_outstanding(&self) -> bool {
        let gaps = &self.situation.world.gaps;
        self.rows.iter().any(|row| row.effect.is_outstanding())
            || gaps.iter().any(|gap| gap.is_transient)
    }

    /// The JSON of a check of a cluster: `docs/preflight.schema.json`.
    fn json(&self) -> Value {
        let report = &self.situation.current().report;
        let [default, _] = self.situation.default_architectures([report, report]);
        let mut json = facts::json(report, default.as_ref());
        if let Some(fields) = json.as_object_mut() {
            let (_, result, details) = headline::of(self);
            fields.insert("headline".to_owned(), format!("{result}: {details}").into());
            fields.insert("rows".to_owned(), json!(self.rows));
        }
        json
    }
}
