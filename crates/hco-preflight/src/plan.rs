//! `plan`: shows the effects of a change on boot sources and VMs before you make it. The module makes all decisions;
//! this file compares its reports with the objects in the cluster.

pub(crate) mod boot_sources;
mod completion;
pub(crate) mod machines;
mod storage;
mod text;

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use engine::{Import, Stopped};
use serde::Serialize;

use crate::args::{self, PlanFailOn, PlanFormat};
use crate::boot_image;
use crate::exit::Exit;
use crate::foreign::Foreign;
use crate::headroom::Headroom;
use crate::no_forecast::NoForecast;
use crate::notes::Notes;
use crate::report::{Conclusions as _, Level, Report};
use crate::stage::{self, Compared, UnreadKind};
use crate::stops::{self, Stop};
use crate::terminal::{Terminal, print_json, print_markdown};

use self::boot_sources::{BootSources, Crons, DataSources, Wanted};
use self::completion::Completion;
use self::machines::{Effect, Machine};
use self::storage::Disks;

/// A plan. Programs read its JSON: after the first release, fields are added, and none is removed.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are fields of the output"
)]
pub(crate) struct Plan {
    #[serde(skip)]
    object: String,
    /// Whether a file changes the object.
    #[serde(skip)]
    is_sent: bool,
    /// Whether the plan is about a change.
    #[serde(skip)]
    is_asked: bool,
    /// Whether a jsonpatch annotation changes the object that SSP gets.
    #[serde(skip)]
    is_patched: bool,
    /// The time at which HCO completes templates.
    #[serde(skip)]
    completion: Option<Completion>,
    /// Why the policy or HCO would deny the changed object. If no file changes the object, why the policy would deny it
    /// as a new object.
    denied: Option<String>,
    /// Whether HCO denies the object, so that nothing changes.
    denied_by_hco: bool,
    /// Whether the policy denies it.
    #[serde(skip)]
    denied_by_policy: bool,
    multi_arch_import: Change<Option<Import>>,
    default_architecture: Change<Option<Foreign>>,
    /// Whether HCO does not set a default, so that KubeVirt keeps its current one.
    #[serde(skip)]
    keeps_default: bool,
    hco_version: Change<Option<Foreign>>,
    /// The source of the version.
    hco_version_origin: Change<Option<Foreign>>,
    /// The versions in the text for users.
    #[serde(skip)]
    hco_version_shown: Change<Option<String>>,
    /// The architectures of the control-plane nodes.
    control_plane: Change<Vec<Foreign>>,
    nodes: Change<BTreeMap<String, usize>>,
    /// The architectures of SSP's VM templates; empty if there is no forecast.
    #[serde(skip)]
    vm_templates: Change<Vec<Foreign>>,
    /// The names of the nodes that leave.
    leaving_nodes: Vec<Foreign>,
    /// Whether KubeVirt reads the labels of boot sources before the default architecture.
    #[serde(skip)]
    reads_labels: bool,
    /// The reason why there is no forecast.
    unknown: Option<String>,
    /// The reason why SSP stops.
    stopped: Option<Stopped>,
    /// The objects that stop it.
    stopped_by: Vec<Stop>,
    #[serde(flatten)]
    changes: Changed,
    /// The changes that the operators will make even without the requested change.
    pending: Option<Changed>,
    virtual_machines: Vec<Machine>,
    /// The new disks.
    storage: Vec<Disks>,
    /// `None` if the running VMs were not read.
    headroom: Option<Headroom>,
    unread: Vec<UnreadKind>,
    /// Why the operators do not create boot sources from the object.
    #[serde(skip)]
    no_forecast: Option<NoForecast>,
    #[serde(skip)]
    sources: BootSources,
    #[serde(skip)]
    pending_sources: Option<BootSources>,
}

/// The annotation with the patch that HCO applies to SSP.
const PATCH: &str = "/metadata/annotations/ssp.kubevirt.io~1jsonpatch";

/// The changes of boot sources.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Changed {
    crons: Option<Crons>,
    data_sources: DataSources,
    /// DataSources without a disk until an import is complete.
    empty_meanwhile: Vec<Foreign>,
    /// DataSources that permanently lose their disk.
    lost_image: Vec<Foreign>,
    /// DataSources of templates that CDI no longer updates.
    not_updated: Vec<Foreign>,
    /// Namespaces that no operator creates.
    new_namespaces: Vec<Foreign>,
}

impl Changed {
    fn of(sources: &BootSources) -> Self {
        Self {
            crons: sources.crons(),
            data_sources: sources.data_sources(),
            empty_meanwhile: sources.changes.empty_meanwhile.clone(),
            lost_image: sources.changes.lost_image.clone(),
            not_updated: sources
                .not_updating()
                .into_iter()
                .map(|cron| Foreign::from(&*cron.source()))
                .collect(),
            new_namespaces: sources.new_namespaces(),
        }
    }
}

/// A value before and after the change.
#[derive(Debug, Default, Serialize)]
struct Change<T> {
    before: T,
    after: T,
}

/// Prints the plan.
pub(crate) fn run(args: &args::Plan, terminal: &Terminal) -> Result<Exit> {
    let mut notes = Notes::default();
    let compared = stage::compare(args, &mut notes);
    if !args.quiet {
        terminal.notes(&notes);
    }
    let compared = compared?;
    if let Some(note) = boot_image::note_of(&compared).filter(|_| !args.quiet) {
        terminal.note(&note);
    }
    let plan = Plan::of(&compared)?;
    match args.output {
        PlanFormat::Text => terminal.print(&text::render(&plan, args.all_vms))?,
        PlanFormat::Json => print_json(&plan)?,
        PlanFormat::Markdown => {
            print_markdown("hco-preflight plan", &text::render(&plan, args.all_vms))?;
        }
    }
    let is_short = plan.headroom.as_ref().and_then(Headroom::is_short);
    let fails = match args.fail_on {
        PlanFailOn::Never => false,
        PlanFailOn::Lost => plan.loses(),
        PlanFailOn::Headroom => plan.loses() || is_short == Some(true),
        PlanFailOn::Changed => plan.loses() || plan.changes(),
    };
    let is_unknown = plan.unknown.is_some() && plan.denied.is_none()
        || args.fail_on == PlanFailOn::Headroom && is_short.is_none();
    let is_incomplete = args.require_all && !plan.unread.is_empty();
    Ok(if is_unknown || is_incomplete {
        Exit::Unjudged
    } else if fails {
        Exit::Denied
    } else {
        Exit::Accepted
    })
}

impl<T> Change<T> {
    fn map<U>(&self, of: impl Fn(&T) -> U) -> Change<U> {
        Change {
            before: of(&self.before),
            after: of(&self.after),
        }
    }
}

impl Plan {
    fn of(compared: &Compared) -> Result<Self> {
        let report = &compared.will_be;
        if report.exit() == Exit::Unjudged {
            bail!("no plan can be made: {}", report.reason());
        }
        let none = Report::default();
        let is = compared.is.as_ref().unwrap_or(&none);
        let by_hco = compared.denied_by_hco();
        let is_stored = by_hco.is_empty();
        let reports = Change {
            before: is,
            after: if is_stored { report } else { is },
        };
        let versions = reports.map(|it| compared.version(it));
        let boot_sources = |wanted| BootSources::of(compared, wanted);
        let sources = boot_sources(Wanted::after(compared));
        // MIRRORS: kubevirt pkg/virt-operator/util/config.go, `SetDefaultArchitecture`: without a default in the spec,
        // the status keeps its current one. HCO before 1.18 removes the default from the spec.
        let default = |it: &&Report| {
            let own = it.default_architecture.as_ref();
            own.or(is.default_architecture.as_ref()).cloned()
        };
        let unchanged = Self {
            object: compared.object(),
            is_sent: compared.is_sent(),
            is_asked: compared.is_asked,
            denied: denied(compared, &by_hco),
            denied_by_hco: !is_stored,
            denied_by_policy: !report.allowed,
            multi_arch_import: reports.map(|it| it.multi_arch_import),
            default_architecture: reports.map(default),
            hco_version: versions.map(|it| Some(it.as_ref()?.number.clone())),
            hco_version_origin: versions.map(|it| Some(it.as_ref()?.origin.clone())),
            hco_version_shown: versions.map(|it| Some(it.as_ref()?.text.clone())),
            control_plane: reports
                .map(|it| it.control_plane_architectures.clone().unwrap_or_default()),
            nodes: reports.map(|it| it.nodes.clone().unwrap_or_default()),
            changes: Changed::of(&sources),
            unread: compared.snapshot.unread.clone(),
            sources,
            ..Self::default()
        };
        // The object stays unchanged, and so does the cluster.
        if !is_stored {
            return Ok(unchanged);
        }
        let pending_sources = Wanted::before(compared).map(boot_sources);
        let no_forecast = compared.no_forecast();
        Ok(Self {
            is_patched: compared.after().pointer(PATCH).is_some(),
            completion: Completion::of(compared, &unchanged.sources),
            keeps_default: report.default_architecture.is_none(),
            vm_templates: reports.map(|it| vm_templates(it)),
            leaving_nodes: compared.leaving.clone(),
            reads_labels: report.reads_data_source_labels(),
            stopped: report.forecast.as_ref().and_then(|it| it.stopped),
            stopped_by: stops::of(report, compared.after()),
            pending: pending_sources.as_ref().map(Changed::of),
            virtual_machines: machines::affected(compared),
            storage: storage::requested(compared, &unchanged.sources),
            headroom: Headroom::of(compared),
            unknown: no_forecast
                .as_ref()
                .filter(|it| **it != NoForecast::NotDeployed)
                .map(NoForecast::why),
            no_forecast,
            pending_sources,
            ..unchanged
        })
    }

    /// Whether a boot source or a VM loses something, or the object is denied.
    fn loses(&self) -> bool {
        self.denied.is_some()
            || !self.changes.empty_meanwhile.is_empty()
            || !self.changes.lost_image.is_empty()
            || !self.changes.not_updated.is_empty()
            || self
                .virtual_machines
                .iter()
                .any(|it| !matches!(it.effect, Effect::DiskStays | Effect::AlreadyOrphaned))
            || self.stopped.is_some()
            || self.changes.crons.is_none()
    }

    /// Whether anything changes.
    fn changes(&self) -> bool {
        let values = [&self.default_architecture, &self.hco_version];
        let sources = &self.changes.data_sources;
        let crons = self.changes.crons.as_ref();
        values.iter().any(|it| it.before != it.after)
            || self.multi_arch_import.before != self.multi_arch_import.after
            || self.nodes.before != self.nodes.after
            || self.control_plane.before != self.control_plane.after
            || self.vm_templates.before != self.vm_templates.after
            || crons.is_none_or(|it| {
                !(it.created.is_empty() && it.deleted.is_empty() && it.recreated.is_empty())
            })
            || !(sources.created.is_empty()
                && sources.deleted.is_empty()
                && sources.retargeted.is_empty())
    }
}

/// The architectures of SSP's VM templates. Without the import, SSP uses only the first one. If SSP stops, it does not
/// update them.
///
/// MIRRORS: ssp-operator internal/architecture/architecture.go, `GetSSPArchs`;
/// internal/operands/common-templates/reconcile.go.
fn vm_templates(report: &Report) -> Vec<Foreign> {
    let forecast = report.forecast.as_ref();
    if forecast.is_none_or(|it| it.stopped.is_some()) {
        return Vec::new();
    }
    let lists = [
        &report.control_plane_architectures,
        &report.workload_architectures,
    ];
    let mut architectures: Vec<Foreign> = Vec::new();
    for architecture in lists.into_iter().flatten().flatten() {
        if !architectures.contains(architecture) {
            architectures.push(architecture.clone());
        }
    }
    if report.multi_arch_import != Some(Import::Enabled) {
        architectures.truncate(1);
    }
    architectures.sort();
    architectures
}

/// Why the policy or HCO denies the object. It does not include fixes, because their commands change the live object.
fn denied(compared: &Compared, by_hco: &[String]) -> Option<String> {
    let report = &compared.will_be;
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
