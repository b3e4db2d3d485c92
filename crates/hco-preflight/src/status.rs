//! `status`: shows which golden images are ready, and why others are not. The engine makes the forecast; this file
//! compares its report with the objects of the operators.

mod conditions;
mod golden_images;
mod machines;
mod problems;
mod text;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Result;
use engine::{Import, Stopped};
use policy_host::ClusterError;
use serde::Serialize;

use self::conditions::Condition;
use self::golden_images::{DataSource, GoldenImage};
use crate::args::{self, PlanFormat};
use crate::exit::Exit;
use crate::foreign::Foreign;
use crate::headroom::Headroom;
use crate::notes::Notes;
use crate::report::Conclusions as _;
use crate::row::{Effect, Row, Severity, exit};
use crate::stage::{self, Kept, Situation};
use crate::stops::{self, Stop};
use crate::terminal::{Terminal, print_json, print_markdown};
use crate::world::Gap;

/// A status. Programs read its JSON: fields are added, and none is removed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Status {
    /// Whether all forecast objects exist; `None` if that is unknown.
    reached: Option<bool>,
    unknown: Option<String>,
    multi_arch_import: Option<Import>,
    default_architecture: Option<Foreign>,
    hco_version: Option<Foreign>,
    hco_version_origin: Option<Foreign>,
    /// The workload nodes by architecture.
    nodes: BTreeMap<String, usize>,
    /// The reason why SSP stops, according to the forecast.
    stopped: Option<Stopped>,
    stopped_by: Vec<Stop>,
    /// The problems that deny, as text.
    #[serde(skip)]
    problems: Option<String>,
    conditions: Vec<Condition>,
    golden_images: Vec<GoldenImage>,
    /// The templates that no operator imports, with the reasons.
    not_imported: Vec<BTreeMap<&'static str, Foreign>>,
    /// DataSources that differ from the ones that SSP wants.
    data_sources: Vec<DataSource>,
    /// VMs on nodes that the placement excludes, and VMs whose disks do not exist.
    virtual_machines: Vec<Row>,
    /// `None` if the running VMs were not read.
    headroom: Option<Headroom>,
    unread: Vec<Gap>,
    rows: Vec<Row>,
}

/// The first pause between two polls of the cluster.
const SHORTEST_PAUSE: Duration = Duration::from_millis(500);

const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// Prints the status. With `--wait`, it polls until all golden images are ready or the time is up.
pub(crate) fn run(args: &args::Status, terminal: &Terminal) -> Result<Exit> {
    let mut pause = SHORTEST_PAUSE;
    // Zero means a single poll without a time limit.
    let wait = args.wait.filter(|wait| !wait.is_zero());
    let until = wait.and_then(|wait| Instant::now().checked_add(wait));
    let mut is_quiet = args.quiet;
    let mut kept = Kept::default();
    let (status, situation) = loop {
        let mut notes = Notes::default();
        let observed = stage::observe(args, until, &mut kept, &mut notes);
        if !is_quiet {
            terminal.notes(&notes);
        }
        is_quiet = true;
        let seen = observed.map(|it| (Status::new(&it), it));
        let is_open = match &seen {
            Ok((status, _)) => {
                let mut unread = status.unread.iter();
                status.reached == Some(false) || unread.any(|it| it.is_transient)
            }
            Err(error) => {
                let error = error.downcast_ref::<ClusterError>();
                error.is_some_and(ClusterError::is_transient)
            }
        };
        // If the clock cannot represent the end, there is no limit.
        let left = until.map_or(LONGEST_PAUSE * 2, |it| {
            it.saturating_duration_since(Instant::now())
        });
        if wait.is_none() || !is_open || left < SHORTEST_PAUSE {
            break seen?;
        }
        kept.cluster = seen.ok().and_then(|(_, it)| it.world.cluster);
        // The last poll also takes time.
        std::thread::sleep(pause.min(left / 2));
        pause = (pause * 2).min(LONGEST_PAUSE);
    };
    let text = || text::render(&status, &situation, &terminal.name);
    match args.output {
        PlanFormat::Text => terminal.print(&text())?,
        PlanFormat::Json => print_json(&status)?,
        PlanFormat::Markdown => print_markdown("hco-preflight status", &text())?,
    }
    Ok(exit(&status.rows, Severity::Loss))
}

impl Status {
    fn new(observed: &Situation) -> Self {
        let report = &observed.after.report;
        let golden_images = golden_images::of(observed);
        let data_sources = golden_images::data_sources(observed);
        let not_imported = golden_images::not_imported(observed);
        let left_out = not_imported.iter().map(|row| {
            BTreeMap::from([("template", row.name.clone()), ("why", row.detail.clone())])
        });
        let left_out = left_out.collect();
        let stopped_by = stops::of(observed);
        let virtual_machines = machines::affected(observed);
        let conditions = conditions::of(observed);
        let is_stopped = !stopped_by.is_empty() || conditions.iter().any(|it| it.kind == "SSP");
        let mut rows: Vec<Row> = stopped_by.iter().map(Stop::row).collect();
        rows.extend(golden_images.iter().map(|image| image.row(is_stopped)));
        rows.extend(not_imported);
        rows.extend(data_sources.iter().map(DataSource::row));
        rows.extend(virtual_machines.iter().cloned());
        let headroom = Headroom::of(observed);
        rows.extend(headroom.iter().flat_map(|it| it.rows(false)));
        rows.extend(conditions::rows(&conditions));
        rows.extend(observed.world.gaps().iter().map(Gap::row));
        let is_missing = rows.iter().any(|row| row.severity == Severity::Loss);
        let mut states = golden_images.iter().map(|image| image.state);
        let is_uncertain = states.any(|state| state == Effect::Unknown) && !is_missing;
        let claims = "PersistentVolumeClaims were not read, so an image without a DataImportCron may have a disk of its own";
        let unknown = unknown(observed).or(is_uncertain.then(|| claims.to_owned()));
        if let Some(why) = &unknown {
            let object = &observed.name;
            rows.push(Row::new(Effect::NoForecast, "HyperConverged", object, why));
        }
        let problems = problems::of(observed, &stopped_by);
        rows.extend(
            problems
                .iter()
                .map(|finding| problems::row(finding, &observed.name)),
        );
        let version = observed.version(report);
        Self {
            reached: unknown.is_none().then_some(!is_missing),
            unknown,
            multi_arch_import: report.multi_arch_import,
            default_architecture: report.default_architecture.clone(),
            hco_version: version.as_ref().map(|it| it.number.clone()),
            hco_version_origin: version.map(|it| it.origin),
            nodes: report.nodes.clone().unwrap_or_default(),
            stopped: observed.forecast_after().and_then(|it| it.stopped),
            problems: problems::headline(&problems),
            stopped_by,
            conditions,
            golden_images,
            not_imported: left_out,
            data_sources,
            virtual_machines,
            headroom,
            unread: observed.world.gaps(),
            rows,
        }
    }
}

/// Why it is unknown whether all forecast objects exist.
fn unknown(observed: &Situation) -> Option<String> {
    let report = &observed.after.report;
    if report.exit() == Exit::Unjudged {
        return Some(report.reason());
    }
    if let Err(no_forecast) = &observed.outlook {
        return Some(no_forecast.why());
    }
    let world = &observed.world;
    let unread = match (world.crons.is_read(), world.sources.is_read()) {
        (false, _) => "DataImportCrons",
        (true, false) => "DataSources",
        (true, true) => return None,
    };
    Some(format!("{unread} were not read"))
}
