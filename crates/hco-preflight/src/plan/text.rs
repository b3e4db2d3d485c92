//! The text output of a plan.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anstyle::Style;
use engine::{Import, Stopped};

use super::boot_sources::{BootSources, is_of_bundle};
use super::completion::Completion;
use super::machines::{Effect, Machine};
use super::storage::readable;
use super::{Change, Plan};
use crate::foreign::{Foreign, lines, one_line};
use crate::headroom::Headroom;
use crate::no_forecast::NoForecast;
use crate::object_name::parts;
use crate::prose::{count, folded};
use crate::report::{
    Cron, CronChanges, LABEL_FIRST, NAMED, Retarget, counted, is_in, listed, some,
};
use crate::terminal::{BOLD, DIM, GREEN, RED, YELLOW};

/// The kind of change of a DataSource. The most severe one is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sign {
    New,
    Changed,
    Disturbed,
    Never,
    Gone,
}

/// The change of a DataSource, with its text.
type Row = (Sign, String);

/// The changes of DataSources.
#[derive(Default)]
struct Rows {
    /// The DataSources of templates, by `NAMESPACE/NAME`.
    shown: BTreeMap<String, Row>,
    /// The DataSources without a disk that are created for VM templates. `deleted` has the deleted ones.
    created: BTreeSet<String>,
    deleted: BTreeSet<String>,
}

/// Renders the plan. With `all`, it names all VMs.
pub(super) fn render(plan: &Plan, all: bool) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{BOLD}HyperConverged {}{BOLD:#}\n", plan.object);
    if let Some(denied) = &plan.denied {
        denial(&mut text, plan, denied);
        if plan.denied_by_hco {
            return text;
        }
    }
    let _ = writeln!(text, "{}\n", answer(plan));
    head(&mut text, plan);
    machines(&mut text, &plan.virtual_machines, all);
    boot_sources(&mut text, plan);
    storage(&mut text, plan);
    text.extend(plan.headroom.iter().map(Headroom::render));
    if !plan.unread.is_empty() {
        let _ = writeln!(text, "\n{BOLD}not read{BOLD:#}");
        let mut by_reason: Vec<(&str, Vec<&str>)> = Vec::new();
        for unread in &plan.unread {
            match by_reason
                .iter_mut()
                .find(|(known, _)| *known == unread.reason)
            {
                Some((_, kinds)) => kinds.push(unread.kind),
                None => by_reason.push((&unread.reason, vec![unread.kind])),
            }
        }
        for (reason, kinds) in by_reason {
            let line = format!("  {}: {}", kinds.join(", "), one_line(reason));
            let _ = writeln!(text, "{}", folded(&line, 6));
        }
        let has = |kind: &str| !plan.unread.iter().any(|unread| unread.kind == kind);
        if !has("DataImportCron") || !has("DataSource") {
            let line = "  For boot sources that were not read, the plan uses those that the operators would create from the current object.";
            let _ = writeln!(text, "{}", folded(line, 2));
        }
    }
    text
}

/// The effect of the change, in one line.
fn answer(plan: &Plan) -> String {
    if let Some(unknown) = &plan.unknown {
        return format!("{YELLOW}no forecast{YELLOW:#}: {}", one_line(unknown));
    }
    let crons = plan.changes.crons.as_ref();
    let imports = crons.map_or(0, |it| it.created.len() + it.recreated.len());
    let is = |wanted: &[Effect]| {
        let machines = plan.virtual_machines.iter();
        let names = machines.filter(|it| wanted.contains(&it.effect));
        names
            .map(|it| (&it.namespace, &it.name))
            .collect::<BTreeSet<_>>()
            .len()
    };
    let orphaned = is(&[Effect::Orphaned]);
    let affected = is(&[
        Effect::NoNode,
        Effect::Rejected,
        Effect::DiskSourceDeleted,
        Effect::DiskSourceReplaced,
        Effect::ArchitectureChanges,
    ]);
    let parts = [
        (imports, "import", ""),
        (
            plan.changes.empty_meanwhile.len(),
            "boot source",
            " empty until done",
        ),
        (plan.changes.lost_image.len(), "boot source", " lost"),
        (orphaned, "running VM", " orphaned"),
        (affected, "VM", " affected"),
    ];
    let parts = parts.into_iter().filter(|(number, ..)| *number > 0);
    let mut parts: Vec<String> = parts
        .map(|(number, what, end)| format!("{}{end}", count(number, what)))
        .collect();
    if plan.stopped.is_some() {
        parts.push("SSP stops".to_owned());
    }
    if parts.is_empty() {
        let what = if plan.changes() {
            "nothing is lost"
        } else {
            "nothing changes"
        };
        return format!("{GREEN}{what}{GREEN:#}");
    }
    format!("{BOLD}{}{BOLD:#}", parts.join(", "))
}

/// Why the policy or HCO denies the object, and the consequences.
fn denial(text: &mut String, plan: &Plan, denied: &str) {
    let _ = match (plan.is_sent, plan.denied_by_policy) {
        (false, _) => writeln!(text, "{YELLOW}problems{YELLOW:#}:"),
        (true, true) => writeln!(text, "{RED}denied{RED:#} by the policy:"),
        (true, false) => writeln!(text, "{RED}denied{RED:#} by HCO:"),
    };
    for line in lines(denied).lines() {
        let _ = writeln!(text, "{}", folded(&format!("  {line}"), 4));
    }
    if !plan.is_sent {
        let line = "  The policy does not stop this, because the HyperConverged does not change. It would deny this object if it were created; later updates are not denied because of existing problems.";
        let _ = writeln!(text, "{}\n\nThis happens:\n", folded(line, 2));
        return;
    }
    let what = match (plan.denied_by_hco, plan.denied_by_policy) {
        (false, _) => "If the policy did not deny it, this would happen:\n",
        (true, true) => {
            "HCO denies the object as well, also without the policy. It is not stored, so nothing changes."
        }
        (true, false) => "The object is not stored, so nothing changes.",
    };
    // `check` uses the current version, so for another version it may not find the problem.
    let fix = if plan.hco_version.before == plan.hco_version.after {
        "`check` with the same file and options"
    } else {
        "`explain` with the name of the rule"
    };
    let _ = writeln!(text, "  {fix} prints how to fix it.\n\n{what}");
}

fn head(text: &mut String, plan: &Plan) {
    let state = |import: &Option<Import>| {
        import.map(|import| {
            if import == Import::Enabled {
                "on".to_owned()
            } else {
                "off".to_owned()
            }
        })
    };
    let shown = |values: Change<Option<String>>| {
        let none = || "none".to_owned();
        let Change { before, after } = values.map(|it| it.clone().unwrap_or_else(none));
        changed(&before, &after)
    };
    let nodes = |nodes: &BTreeMap<String, usize>| (!nodes.is_empty()).then(|| counted(nodes));
    let mut row = |what: &str, value: &str| {
        let _ = writeln!(text, "{}", folded(&format!("{what:<36}{value}"), 36));
    };
    row(
        "multi-architecture import",
        &shown(plan.multi_arch_import.map(state)),
    );
    row("HCO", &shown(plan.hco_version_shown.map(Option::clone)));
    row("workload nodes", &shown(plan.nodes.map(nodes)));
    if !plan.leaving_nodes.is_empty() {
        row("nodes that leave", &listed(&plan.leaving_nodes));
    }
    let Change { before, after } = &plan.control_plane;
    if before != after {
        let some = |names: &Vec<Foreign>| (!names.is_empty()).then(|| listed(names));
        row("control plane", &shown(plan.control_plane.map(some)));
    }
    let none = "KubeVirt's own default: HCO sets none";
    let architecture = |it: &Option<Foreign>| match it {
        Some(it) => it.to_string(),
        None => none.to_owned(),
    };
    let Change { before, mut after } = plan.default_architecture.map(architecture);
    let (is_kept, is_same) = (plan.keeps_default && after != none, before == after);
    let remarks = [
        is_kept.then_some("KubeVirt keeps it: HCO sets none"),
        plan.reads_labels.then_some(LABEL_FIRST),
    ];
    let remarks: Vec<&str> = remarks.into_iter().flatten().collect();
    if !remarks.is_empty() {
        let _ = write!(after, " ({})", remarks.join("; "));
    }
    let value = if is_kept || is_same {
        after
    } else {
        changed(&before, &after)
    };
    row("default architecture of new VMs", &value);
    let Change { before, after } = &plan.vm_templates;
    if before != after && !before.is_empty() && !after.is_empty() {
        row(
            "SSP's VM templates",
            &changed(&listed(before), &listed(after)),
        );
    }
}

/// A value before and after, or only one value if it stays the same.
fn changed(before: &str, after: &str) -> String {
    if before == after {
        after.to_owned()
    } else {
        format!("{before} → {after}")
    }
}

fn boot_sources(text: &mut String, plan: &Plan) {
    if let Some(no_forecast) = &plan.no_forecast {
        let why = no_forecast.why();
        let why = match no_forecast {
            NoForecast::NotDeployed => format!("none: {why}"),
            NoForecast::RejectedBySsp(_) => format!(
                "stay as they are, and later changes have no effect either, until this is fixed: {why}"
            ),
            _ => format!("there is no forecast: {why}"),
        };
        let why = folded(&format!("  {why}"), 2);
        let _ = writeln!(text, "\n{BOLD}boot sources{BOLD:#}\n{why}");
        return;
    }
    stops(text, plan);
    let mut asked = rows(&plan.sources);
    let mut pending = plan.pending_sources.as_ref().map(rows).unwrap_or_default();
    pending.retain_in(&asked);
    asked.remove(&pending);
    if asked.is_empty() {
        let unread = ["DataImportCron", "DataSource"];
        let is_known = !plan.unread.iter().any(|it| unread.contains(&it.kind));
        let what = if is_known {
            "  nothing changes"
        } else {
            "  nothing changes, if the boot sources in the cluster are those that the operators create from the current object (not all of them were read)"
        };
        let _ = writeln!(text, "\n{BOLD}boot sources{BOLD:#}\n{}", folded(what, 2));
    }
    asked.render(text, "");
    remarks(text, plan);
    pending.render(text, ": still outstanding without this change");
}

/// Remarks about all boot sources.
fn remarks(text: &mut String, plan: &Plan) {
    let mut remark = |what: &str| {
        let line = format!("  {YELLOW}!{YELLOW:#} {what}");
        let _ = writeln!(text, "{}", folded(&line, 4));
    };
    for namespace in &plan.changes.new_namespaces {
        remark(&format!(
            "The namespace {namespace} has to exist before the change: HCO and SSP do not create it, and without it SSP stops."
        ));
    }
    let is_on = |import: Option<Import>| import == Some(Import::Enabled);
    let Change { before, after } = plan.multi_arch_import;
    let default = plan.default_architecture.after.as_ref();
    if is_on(before)
        && !is_on(after)
        && plan.nodes.after.len() > 1
        && let Some(default) = default
    {
        remark(&format!(
            "Boot sources that are imported without the multi-architecture import are not labelled with the architecture of their image: new VMs that are made from them get the architecture that they set, that of an older label, or {default}, whatever the architecture of the image, and may not boot."
        ));
    }
    if plan.is_sent && !is_on(after) && plan.nodes.before.len() > 1 && plan.nodes.after.len() == 1 {
        remark(
            "The placement imports nothing again: disks that were imported on a node of another architecture stay as they are. To import such a disk again, delete it.",
        );
    }
    if plan.is_patched {
        remark(
            "The plan ignores the jsonpatch annotation for SSP, except for a literal value of the import: HCO applies it, and denies the object if it cannot be applied.",
        );
    }
    let missed = plan.sources.often_missed();
    if !missed.is_empty() {
        remark(&format!(
            "CDI often misses a new DataImportCron that takes over the DataSource of another one ({}): it imports nothing then, and with retentionPolicy None, the boot source is lost. If that happens, run the command that `status` prints.",
            some(&missed)
        ));
    }
    let what = match &plan.completion {
        None => return,
        Some(Completion::Now) => {
            "HCO 1.18 and later sets retentionPolicy None where none is set: later changes of such a template delete its disks. To avoid this, set All.".to_owned()
        }
        Some(Completion::Later(templates)) => {
            let several = if templates.len() == 1 { "" } else { "s" };
            let shown = some(templates);
            format!(
                "The upgrade does not change the HyperConverged. With its next change, HCO sets retentionPolicy None and importsToKeep 1 where they are not set, in the template{several} {shown}, and SSP creates the DataImportCrons again. To keep the disks after later changes, set retentionPolicy All."
            )
        }
    };
    remark(&what);
}

/// The reason why SSP stops.
fn stops(text: &mut String, plan: &Plan) {
    let Some(stopped) = plan.stopped else {
        return;
    };
    let what = match stopped {
        Stopped::SameName => {
            "Several DataImportCrons have the same name: SSP creates only one of them, and which one is not determined"
        }
        Stopped::DataSource => {
            "A DataSource is rejected: until you fix this, SSP creates no DataImportCron, and does not update its VM templates"
        }
        // SSP makes the listed deletions before it stops.
        Stopped::DataImportCron => {
            "A DataImportCron is rejected: after these changes, and until you fix this, SSP deletes no DataImportCron that is no longer wanted, and does not update its VM templates"
        }
    };
    let what = folded(&format!("{YELLOW}!{YELLOW:#} {what}"), 2);
    let _ = writeln!(text, "\n{what}");
    for stop in &plan.stopped_by {
        let _ = writeln!(text, "{}", folded(&format!("    {stop}"), 6));
    }
    if !plan.is_asked {
        let _ = writeln!(text, "    `status` shows how to fix this.");
    }
}

impl Rows {
    fn is_empty(&self) -> bool {
        self.shown.is_empty() && self.created.is_empty() && self.deleted.is_empty()
    }

    /// Keeps the rows that are also in others. DataSources that are only counted stay.
    fn retain_in(&mut self, others: &Self) {
        self.shown
            .retain(|key, row| others.shown.get(key) == Some(row));
    }

    /// Removes the rows that are also in others.
    fn remove(&mut self, others: &Self) {
        self.shown.retain(|key, _| !others.shown.contains_key(key));
        self.created.retain(|key| !others.created.contains(key));
        self.deleted.retain(|key| !others.deleted.contains(key));
    }

    fn render(&self, text: &mut String, since: &str) {
        let mut by_namespace: BTreeMap<&str, Vec<(&str, &Row)>> = BTreeMap::new();
        for (key, row) in &self.shown {
            let (namespace, name) = key.split_once('/').unwrap_or(("", key));
            by_namespace.entry(namespace).or_default().push((name, row));
        }
        for key in self.created.iter().chain(&self.deleted) {
            by_namespace.entry(namespace_of(key)).or_default();
        }
        for (namespace, rows) in by_namespace {
            let _ = writeln!(
                text,
                "\n{BOLD}boot sources in {}{since}{BOLD:#}",
                one_line(namespace)
            );
            let names = rows.iter().map(|(name, _)| one_line(name).chars().count());
            let width = names.max().unwrap_or_default().min(40);
            for (name, (sign, what)) in rows {
                let (style, sign) = sign.shown();
                // The second line is a command.
                let (what, command) = what.split_once('\n').unwrap_or((what, ""));
                let line = format!(
                    "  {style}{sign}{style:#} {:<width$}  {what}",
                    one_line(name)
                );
                let _ = writeln!(text, "{}", folded(&line, 6));
                if !command.is_empty() {
                    let _ = writeln!(text, "{command}");
                }
            }
            for (names, what) in [(&self.created, "created"), (&self.deleted, "deleted")] {
                let own = names.iter().filter(|key| namespace_of(key) == namespace);
                let number = own.count();
                if number > 0 {
                    let sources = count(number, "DataSource");
                    let _ = writeln!(
                        text,
                        "  {DIM}{what} without a disk: {sources} of SSP's VM templates{DIM:#}"
                    );
                }
            }
        }
    }
}

fn namespace_of(key: &str) -> &str {
    key.split_once('/').map_or("", |(namespace, _)| namespace)
}

/// The change of each DataSource.
fn rows(sources: &BootSources) -> Rows {
    let changes = &sources.changes;
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    let mut put = |key: &str, sign: Sign, what: String| match rows.get_mut(key) {
        Some((known, text)) => {
            *known = (*known).max(sign);
            text.push_str("; ");
            text.push_str(&what);
        }
        None => _ = rows.insert(key.to_owned(), (sign, what)),
    };
    let none = CronChanges::default();
    let crons = changes.crons.as_ref().unwrap_or(&none);
    for retarget in &changes.data_sources.retargeted {
        if let Some((sign, what)) = retargeted(sources, retarget) {
            put(retarget.name.raw(), sign, what);
        }
    }
    let of = |keys: &[Foreign]| -> Vec<(String, &Cron)> {
        let known = keys.iter().filter_map(|key| {
            let cron = sources.crons.get(key.raw())?;
            Some((key.raw().to_owned(), cron))
        });
        known.collect()
    };
    for (_, cron) in of(&crons.created) {
        if sources.not_updated_because(cron).is_none() {
            let (sign, what) = created(sources, cron);
            put(&cron.source(), sign, what);
        }
    }
    for cron in sources.rejected_crons() {
        let (sign, what) = rejected(sources, cron);
        put(&cron.source(), sign, what);
    }
    for (key, cron) in of(&crons.recreated) {
        let is_empty = is_in(&changes.empty_meanwhile, &cron.source());
        if !is_empty && sources.not_updated_because(cron).is_none() {
            let (sign, what) = recreated(sources, &key, cron);
            put(&cron.source(), sign, what);
        }
    }
    for key in &changes.empty_meanwhile {
        let mut recreated = of(&crons.recreated).into_iter();
        let recreated = recreated.find(|(_, cron)| cron.source() == key.raw());
        let target = sources.points_to.get(key.raw()).and_then(Option::as_ref);
        let what = match (recreated, target) {
            (Some((cron, _)), _) => format!(
                "deleted and imported again{}: no disk until the import is done",
                because(sources, &cron)
            ),
            (None, Some(target)) if !is_retargeted(sources, key) => {
                format!("points to {target}, which has no disk until its import is done")
            }
            (None, _) => "no disk until the import is done".to_owned(),
        };
        put(key.raw(), Sign::Disturbed, what);
    }
    for (_, cron) in of(&[&crons.created[..], &crons.recreated].concat()) {
        let is_imported = cron.rejected.is_none() && cron.never_runs.is_none();
        if is_imported && sources.keeps_none(cron) {
            let what = "importsToKeep is 0, so CDI deletes the disk after each import, and imports it again";
            put(&cron.source(), Sign::Never, what.to_owned());
        }
    }
    for key in &changes.lost_image {
        if let Some(what) = lost(sources, key) {
            put(key.raw(), Sign::Gone, what);
        }
    }
    for cron in sources.not_updating() {
        if let Some(why) = sources.not_updated_because(cron) {
            put(
                &cron.source(),
                Sign::Disturbed,
                not_updated(sources, cron, &why),
            );
        }
    }
    add_kept(sources, crons, &mut rows);
    without_disk(sources, rows)
}

/// Adds the DataSources that keep their disk, without a DataImportCron that updates it.
fn add_kept(sources: &BootSources, crons: &CronChanges, rows: &mut BTreeMap<String, Row>) {
    let deleted = crons.deleted.iter().chain(&crons.recreated);
    let left = deleted.filter_map(|key| sources.source_left_by(key.raw()));
    for key in left {
        let is_deleted = is_in(&sources.changes.data_sources.deleted, &key);
        if !is_deleted && sources.is_there(&key) {
            let what = "keeps its disk; not updated any more".to_owned();
            rows.entry(key).or_insert((Sign::Changed, what));
        }
    }
}

/// The change of a DataSource that points to another one than before. A DataSource that does not belong to a template
/// has no disk, whatever it points to.
fn retargeted(sources: &BootSources, retarget: &Retarget) -> Option<Row> {
    let key = retarget.name.raw();
    sources.points_to.get(key)?;
    match (&retarget.from, &retarget.to) {
        (_, Some(to)) => Some((Sign::Changed, format!("points to {to} from now on"))),
        (Some(from), None) if sources.waits_for_import(key) => {
            let (namespace, _) = key.split_once('/').unwrap_or_default();
            let target = format!("{namespace}/{}", from.raw());
            let is_deleted = is_in(&sources.changes.data_sources.deleted, &target);
            let (sign, deleted) = if is_deleted || !sources.is_there(&target) {
                (Sign::Disturbed, "the deleted ")
            } else {
                (Sign::Changed, "")
            };
            let what = format!("keeps pointing to {deleted}{from} until its own import is done");
            Some((sign, what))
        }
        (Some(from), None) => Some((Sign::Changed, format!("no longer points to {from}"))),
        (None, None) => None,
    }
}

fn is_deleted_with_its_disk(sources: &BootSources, key: &str) -> bool {
    let changes = &sources.changes;
    is_in(&changes.lost_image, key)
        && is_in(&changes.data_sources.deleted, key)
        && sources.pointed_to(key).is_none()
}

/// The change of a new DataImportCron's DataSource.
fn created(sources: &BootSources, cron: &Cron) -> Row {
    if let Some(why) = &cron.never_runs {
        return (Sign::Never, format!("never imported: {why}"));
    }
    let Some((replaced, _)) = sources.replaced_by(cron) else {
        let what = format!("imported{}", origin(sources, cron));
        return (Sign::New, what);
    };
    let replaced = one_line(parts(replaced).1.raw());
    let disk = if sources.finds_disk(cron) {
        SAME_IMAGE
    } else {
        OTHER_IMAGE
    };
    let what = format!(
        "its DataImportCron {replaced} is replaced by {}; {disk}",
        cron.name
    );
    (Sign::Changed, what)
}

/// The text for a DataSource that CDI does not update for its DataImportCron, with a command that corrects it.
fn not_updated(sources: &BootSources, cron: &Cron, why: &str) -> String {
    let name = &cron.name;
    let command = sources
        .kubectl
        .hand_over(&cron.namespace, &cron.managed_data_source, name)
        .map(|command| format!("\n      fix, when {name} is there: {command}"));
    format!(
        "never updated for {name}: {why}{}",
        command.unwrap_or_default()
    )
}

/// The change of a recreated DataImportCron's DataSource, if the DataSource always has a disk.
fn recreated(sources: &BootSources, key: &str, cron: &Cron) -> Row {
    let is_lost = is_in(&sources.changes.lost_image, &cron.source());
    let is_other = sources.source_left_by(key).is_some();
    match &cron.never_runs {
        Some(why) if is_lost || is_other => {
            return (Sign::Never, format!("never imported: {why}"));
        }
        None if is_other => return (Sign::New, format!("imported{}", origin(sources, cron))),
        _ => {}
    }
    let disk = match &cron.never_runs {
        Some(why) => {
            format!("its disk, if it has one, stays in use, and no image is imported: {why}")
        }
        None => kept_disk(sources, key),
    };
    let what = format!(
        "its DataImportCron {} is deleted and created again{}; {disk}",
        cron.name,
        because(sources, key),
    );
    (Sign::Changed, what)
}

/// The change of a rejected DataImportCron's DataSource.
fn rejected(sources: &BootSources, cron: &Cron) -> Row {
    let why = cron.rejected.as_ref().map(Foreign::to_string);
    let why = why.unwrap_or_default();
    if is_deleted_with_its_disk(sources, &cron.source()) {
        // The template and the field are named above.
        let what = format!(
            "deleted with its disk, and not imported again: its DataImportCron {} is rejected: {why} (see above)",
            cron.name
        );
        return (Sign::Gone, what);
    }
    let path = cron.rejected_path.as_ref();
    let path = path.map_or_else(String::new, |path| format!(", {path}"));
    let is_kept = sources.is_there(&cron.source()) && sources.keeps_disk(&cron.source());
    let disk = if is_kept {
        "; its disk stays, and is not updated any more"
    } else {
        ""
    };
    let what = format!(
        "not imported: its DataImportCron {} is rejected: {why} (template {}{path}){disk}",
        cron.name, cron.template
    );
    (Sign::Never, what)
}

/// The text for a DataSource that permanently loses its disk; `None` if the text of its DataImportCron already says so.
fn lost(sources: &BootSources, key: &Foreign) -> Option<String> {
    let is_deleted = |key: &str| is_in(&sources.changes.data_sources.deleted, key);
    let is_said = |cron: &Cron| cron.source() == key.raw();
    if is_deleted_with_its_disk(sources, key.raw()) && sources.rejected_crons().any(is_said) {
        return None;
    }
    // The previous target is irrelevant if the DataSource now points to another one.
    let pointed_to = sources.pointed_to(key.raw());
    let pointed_to = pointed_to.filter(|_| !is_retargeted(sources, key));
    Some(match pointed_to {
        Some(other) if is_deleted(key.raw()) => format!("deleted; it pointed to {other}"),
        Some(other) => format!("has no disk any more: it points to {other}"),
        None => match (is_deleted(key.raw()), sources.keeps_disk(key.raw())) {
            (true, false) if sources.is_reimported(key.raw()) => {
                "deleted; its disk is deleted, imported again, and stays, until you delete its DataVolume".to_owned()
            }
            (true, false) => "deleted with its disk".to_owned(),
            (true, true) => "deleted; its disk stays".to_owned(),
            (false, _) => "has no disk any more".to_owned(),
        },
    })
}

fn is_retargeted(sources: &BootSources, key: &Foreign) -> bool {
    let mut retargeted = sources.changes.data_sources.retargeted.iter();
    retargeted.any(|it| it.name == *key)
}

/// The texts about the disk, if the DataSource gets another image and if it does not.
const OTHER_IMAGE: &str = "until the new image is imported, its disk, if it has one, stays in use";
const SAME_IMAGE: &str =
    "its disk, if it has one, stays in use, and the same image is not imported again";

/// The text about the disk of a recreated DataImportCron, if the disk stays.
fn kept_disk(sources: &BootSources, key: &str) -> String {
    let cron = sources.crons.get(key);
    if cron.is_some_and(|cron| !sources.has_imported(cron)) {
        return "its image is imported, because it was not imported before".to_owned();
    }
    let (disk, when) = if sources.imports_again(key) {
        (OTHER_IMAGE, "then ")
    } else {
        (SAME_IMAGE, "")
    };
    let mut fields = sources.changed_fields(key);
    if fields.any(|field| field.raw() == "importsToKeep") {
        format!("{disk}; {when}CDI deletes older disks, if there are more than importsToKeep")
    } else {
        disk.to_owned()
    }
}

/// The source of a DataImportCron's image, and its architecture.
fn origin(sources: &BootSources, cron: &Cron) -> String {
    let Some(image) = sources.images.get(cron.template.raw()) else {
        return match cron.architecture.raw() {
            "" => String::new(),
            architecture => format!(" for {}", one_line(architecture)),
        };
    };
    let own = match cron.architecture.raw() {
        "" => image.platform.clone(),
        _ => Some(cron.architecture.clone()),
    };
    // Without a platform, CDI imports the image for the architecture of its importer, a pod on a workload node.
    let architecture = match (own, sources.architectures.as_slice()) {
        (Some(own), _) => own.to_string(),
        (None, [one]) => one.to_string(),
        (None, several) => format!(
            "one architecture: that of the image, or for a multi-architecture image, that of the importer's node ({})",
            listed(several)
        ),
    };
    // SSP sets the default architecture in the label of its DataSource, which can differ from the image's architecture.
    let source = sources.sources.get(&cron.source());
    let label = source.map(|it| &it.architecture_label);
    let label = label.filter(|it| !it.raw().is_empty() && architecture != it.to_string());
    let label = label.map_or_else(String::new, |it| {
        format!("; its label says {it} in any case")
    });
    format!(" from {} for {architecture}{label}", image.url)
}

/// Why a DataImportCron is deleted and created again.
fn because(sources: &BootSources, cron: &str) -> String {
    let fields = sources.changed_fields(cron);
    let fields: Vec<String> = fields.map(|field| field.to_string()).collect();
    match fields.as_slice() {
        [] => String::new(),
        [field] => format!(", because {field} changes"),
        fields => format!(", because {} change", fields.join(", ")),
    }
}

/// Adds the changes of template DataSources without their own disk. The other DataSources belong to VM templates.
fn without_disk(sources: &BootSources, shown: BTreeMap<String, Row>) -> Rows {
    let changes = &sources.changes.data_sources;
    let mut rows = Rows {
        shown,
        ..Rows::default()
    };
    for key in changes.created.iter().map(Foreign::raw) {
        let row = match sources.points_to.get(key) {
            _ if rows.shown.contains_key(key) => continue,
            Some(Some(other)) if sources.is_filled(key) == Some(false) => (
                Sign::Never,
                format!("points to {other}, which will have no disk"),
            ),
            Some(Some(other)) => (Sign::New, format!("points to {other}")),
            Some(None) if sources.is_uploaded(key) => (
                Sign::New,
                "created for the uploaded PersistentVolumeClaim of its name, and not imported"
                    .to_owned(),
            ),
            Some(None) => (Sign::New, "created without a disk".to_owned()),
            None => {
                rows.created.insert(key.to_owned());
                continue;
            }
        };
        rows.shown.insert(key.to_owned(), row);
    }
    for key in changes.deleted.iter().map(Foreign::raw) {
        if rows.shown.contains_key(key) {
            continue;
        }
        if !sources.points_to.contains_key(key) && is_of_bundle(key) {
            rows.deleted.insert(key.to_owned());
            continue;
        }
        let what = match sources.pointed_to(key) {
            Some(other) => format!("deleted; it pointed to {other}"),
            None => "deleted; it had no disk".to_owned(),
        };
        rows.shown.insert(key.to_owned(), (Sign::Gone, what));
    }
    rows
}

impl Sign {
    fn shown(self) -> (Style, char) {
        match self {
            Self::New => (GREEN, '+'),
            Self::Changed => (YELLOW, '~'),
            Self::Disturbed => (YELLOW, '!'),
            Self::Never => (RED, '✘'),
            Self::Gone => (RED, '-'),
        }
    }
}

fn machines(text: &mut String, machines: &[Machine], all: bool) {
    if machines.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{BOLD}virtual machines{BOLD:#}");
    let mut by_reason: BTreeMap<(Effect, &Foreign, Option<&Foreign>), Vec<&Machine>> =
        BTreeMap::new();
    for machine in machines {
        let reason = (machine.effect, &machine.detail, machine.decides.as_ref());
        by_reason.entry(reason).or_default().push(machine);
    }
    for ((effect, detail, decides), machines) in by_reason {
        let named = if all { machines.len() } else { NAMED };
        let names = machines.iter().take(named);
        let names = names.map(|it| format!("{}/{}", it.namespace, it.name));
        let mut names = names.collect::<Vec<_>>().join(", ");
        if let Some(more @ 1..) = machines.len().checked_sub(named) {
            let _ = write!(names, " and {more} more (--all-vms names them)");
        }
        let (style, sign) = match effect {
            Effect::DiskStays => (DIM, '·'),
            _ => (YELLOW, '!'),
        };
        let decides = decides.map(|what| format!(" ({what} decides)"));
        let decides = decides.unwrap_or_default();
        let line = format!("  {style}{sign}{style:#} {names}: {detail}{decides}");
        let _ = writeln!(text, "{}", folded(&line, 6));
    }
}

fn storage(text: &mut String, plan: &Plan) {
    if plan.storage.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{BOLD}storage of new disks{BOLD:#}");
    for all in plan
        .storage
        .chunk_by(|one, next| one.architecture == next.architecture)
    {
        let architecture = all.first().and_then(|disks| disks.architecture.as_ref());
        let architecture =
            architecture.map_or("unknown architecture".to_owned(), Foreign::to_string);
        let sizes = all.iter().map(|disks| {
            let size = disks.bytes.map_or("unknown size".to_owned(), readable);
            format!("{} × {size}", count(disks.number, "disk"))
        });
        let sizes: Vec<String> = sizes.collect();
        let _ = writeln!(text, "  {architecture}: {}", sizes.join(", "));
    }
}
