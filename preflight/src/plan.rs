//! `plan`: what a change does to boot sources and virtual machines, before it is made. The module decides; here its reports
//! are compared with what is in the cluster.

mod boot_sources;
mod machines;
mod references;
mod storage;
mod text;

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use serde::{Serialize, Serializer};

use crate::args::{self, PlanFailOn, PlanFormat};
use crate::exit::Exit;
use crate::foreign::{self, Foreign};
use crate::leftovers::{self, Leftover};
use crate::notes::Notes;
use crate::report::{Level, Report};
use crate::stage::{self, Compared, UnreadKind};
use crate::terminal::{Terminal, print_json, print_markdown};

use self::boot_sources::{BootSources, Crons, DataSources};
use self::machines::Machine;
use self::references::Reference;
use self::storage::Storage;

/// A plan. Its JSON is a contract: docs/plan.md.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Plan {
    #[serde(skip)]
    object: String,
    /// What the policy says of the object as it will be, if it denies it.
    denied: Option<String>,
    multi_arch_import: Change<Option<Foreign>>,
    default_architecture: Change<Option<Foreign>>,
    /// Whether HCO sets no default, so that KubeVirt keeps the one that it has.
    #[serde(skip)]
    keeps_default: bool,
    #[serde(serialize_with = "without_origin")]
    hco_version: Change<Option<Foreign>>,
    /// The architectures of the control plane.
    control_plane: Change<Vec<Foreign>>,
    nodes: Change<BTreeMap<Foreign, usize>>,
    /// The names of the nodes that leave.
    leaving_nodes: Vec<Foreign>,
    /// What stops SSP.
    stopped: Option<Foreign>,
    crons: Option<Crons>,
    data_sources: DataSources,
    /// DataSources without a disk until an import is done.
    empty_meanwhile: Vec<Foreign>,
    /// DataSources without a disk from then on.
    lost_image: Vec<Foreign>,
    virtual_machines: Vec<Machine>,
    references: Vec<Reference>,
    leftovers: Vec<Leftover>,
    storage: Storage,
    unread: Vec<UnreadKind>,
    /// Whether the operators make boot sources of the object.
    #[serde(skip)]
    has_forecast: bool,
    #[serde(skip)]
    sources: BootSources,
}

/// A value before and after.
#[derive(Debug, Serialize)]
struct Change<T> {
    before: T,
    after: T,
}

/// The versions of HCO, which are followed by where they come from.
fn without_origin<S: Serializer>(
    Change { before, after }: &Change<Option<Foreign>>,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    let version = |it: &Option<Foreign>| {
        let version = it.as_ref()?.raw().split(' ').next()?;
        Some(Foreign::from(version))
    };
    let (before, after) = (version(before), version(after));
    Change { before, after }.serialize(serializer)
}

/// Prints the plan.
pub(crate) fn run(args: &args::Plan, terminal: &Terminal) -> Result<Exit> {
    let mut notes = Notes::default();
    let subject = args.subject();
    let compared = stage::compare(args, &subject, &mut notes);
    if !args.quiet {
        terminal.notes(&notes);
    }
    let plan = Plan::of(&compared?)?;
    match args.output {
        PlanFormat::Text => terminal.print(&text::render(&plan, args.all_vms))?,
        PlanFormat::Json => print_json(&plan)?,
        PlanFormat::Markdown => {
            print_markdown("hco-preflight plan", &text::render(&plan, args.all_vms))?;
        }
    }
    let fails = match args.fail_on {
        PlanFailOn::Never => false,
        PlanFailOn::Lost => plan.loses(),
        PlanFailOn::Changed => plan.loses() || plan.changes(),
    };
    Ok(match (fails, args.require_all && !plan.unread.is_empty()) {
        (_, true) => Exit::Unjudged,
        (true, _) => Exit::Denied,
        (false, _) => Exit::Accepted,
    })
}

impl Plan {
    fn of(compared: &Compared<'_>) -> Result<Self> {
        let report = &compared.will_be;
        if report.exit() == Exit::Unjudged {
            bail!(
                "no plan can be made: {}",
                foreign::lines(
                    report
                        .message
                        .as_deref()
                        .unwrap_or("the module gives no reason")
                )
            );
        }
        let is = compared.is.as_ref();
        let before = |of: fn(&Report) -> &Option<Foreign>| is.and_then(|is| of(is).clone());
        let change = |of: fn(&Report) -> &Option<Foreign>| Change {
            before: before(of),
            after: of(report).clone(),
        };
        let nodes = |report: Option<&Report>| report.and_then(|it| it.nodes.clone());
        let control_plane = |report: Option<&Report>| {
            let architectures = report.and_then(|it| it.control_plane_architectures.clone());
            architectures.unwrap_or_default()
        };
        let default = before(|report| &report.default_architecture);
        let sources = BootSources::of(compared);
        let changes = report.changes.clone().unwrap_or_default();
        Ok(Self {
            object: compared.object(),
            denied: denied(compared),
            multi_arch_import: change(|report| &report.multi_arch_import),
            // MIRRORS: kubevirt pkg/virt-operator/util/config.go, `SetDefaultArchitecture`: without one in the spec, the
            // status keeps its own. HCO before 1.18 removes it from the spec.
            default_architecture: Change {
                before: default.clone(),
                after: report.default_architecture.clone().or(default),
            },
            keeps_default: report.default_architecture.is_none(),
            hco_version: change(|report| &report.hco_version),
            control_plane: Change {
                before: control_plane(is),
                after: control_plane(Some(report)),
            },
            nodes: Change {
                before: nodes(is).unwrap_or_default(),
                after: nodes(Some(report)).unwrap_or_default(),
            },
            leaving_nodes: compared
                .leaving
                .iter()
                .map(|it| Foreign::from(&**it))
                .collect(),
            stopped: report.forecast.as_ref().and_then(|it| it.stopped.clone()),
            crons: sources.crons(),
            data_sources: sources.data_sources(),
            virtual_machines: machines::affected(compared)?,
            references: references::affected(compared),
            leftovers: leftovers::of(compared),
            storage: Storage::of(compared),
            unread: compared.snapshot.unread.clone(),
            has_forecast: report.forecast.is_some(),
            empty_meanwhile: changes.empty_meanwhile,
            lost_image: changes.lost_image,
            sources,
        })
    }

    /// Whether something is lost or disturbed, or the object is denied.
    fn loses(&self) -> bool {
        self.denied.is_some()
            || !self.empty_meanwhile.is_empty()
            || !self.lost_image.is_empty()
            || !self.virtual_machines.is_empty()
            || !self.references.is_empty()
            || self.stopped.is_some()
            || self.crons.is_none()
    }

    /// Whether anything changes.
    fn changes(&self) -> bool {
        let values = [
            &self.multi_arch_import,
            &self.default_architecture,
            &self.hco_version,
        ];
        self.change_boot_sources() || values.iter().any(|it| it.before != it.after)
    }

    fn change_boot_sources(&self) -> bool {
        let sources = &self.data_sources;
        let crons = self.crons.as_ref();
        crons.is_none_or(|crons| {
            !(crons.created.is_empty() && crons.deleted.is_empty() && crons.recreated.is_empty())
        }) || !(sources.created.is_empty()
            && sources.deleted.is_empty()
            && sources.retargeted.is_empty())
    }
}

/// What the policy says if it denies the object: of one that is not sent, that it would.
fn denied(compared: &Compared<'_>) -> Option<String> {
    let report = &compared.will_be;
    if report.allowed {
        return None;
    }
    if compared.is_sent() {
        return report.message.clone();
    }
    let denies = report.findings.iter().filter(|it| it.level == Level::Deny);
    let facts: Vec<String> = denies
        .map(|finding| format!("[{}] {}", finding.rule, finding.fact))
        .collect();
    Some(facts.join("\n"))
}
