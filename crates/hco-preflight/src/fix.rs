//! `fix`: applies the fixes of the module, which are data, to the files.

mod choice;
mod files;
mod patches;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use anyhow::{Result, bail};
use cluster::Notes;
use cluster::foreign::one_line;
use engine::PatchOperation;
use kube_objects::text::list;
use manifest::Object;
use serde_json::Value;

use self::choice::{
    WITH_ALTERNATIVES, chosen, is_choice, needs_choice, reason, sets_annotation, summary, to_review,
};
use crate::args::{self, FixFormat};
use crate::exit::Exit;
use crate::failure::{Failure, Nothing};
use crate::input::files::Source;
use crate::input::{Check, Purpose, Question};
use crate::kubectl::Kubectl;
use crate::prose::count;
use crate::report::{Finding, Level, Remedy, Report};
use crate::terminal::Terminal;
use crate::verdict::{Judged, Verdicts};

/// More rounds than any object needs. One round applies the fixes of all findings that the module lists.
const ROUNDS: usize = 64;

/// Applies all possible fixes, and lists the remaining findings.
pub(crate) fn run(args: &args::Fix, terminal: &Terminal) -> Result<Exit> {
    let has_files = !args.subject.filename.is_empty();
    let is_live = args.subject.source.is_live();
    match args.output {
        None if !has_files => bail!(
            "specify a file to fix with -f, or print the changes for the objects in the cluster with -o commands or -o json-patch"
        ),
        Some(FixFormat::Commands) if !is_live => bail!(
            "-o commands is for live objects: use --cluster or --from without -f; to fix a file, use --write"
        ),
        Some(_) if is_live && has_files => bail!(
            "with --cluster and --from, -o is for live objects: remove -f; to fix a file, use --write instead of -o"
        ),
        _ => {}
    }
    let (mut notes, mut failures) = (Notes::default(), Vec::new());
    let what_if = args.what_if.as_ref();
    let check = Check::read(
        &args.subject,
        Purpose::Fix,
        what_if,
        &mut notes,
        &mut failures,
    );
    terminal.notes(&notes);
    let check = match check {
        Ok(check) => check,
        Err(error) if args.subject.allow_empty && error.is::<Nothing>() => {
            terminal.note(&error.to_string());
            return Ok(Exit::Accepted);
        }
        Err(error) => {
            for failure in failures {
                terminal.failure(&failure.to_string());
            }
            return Err(error);
        }
    };
    let mut fixed = Vec::new();
    for question in &check.questions {
        match Fixed::new(question, &check, args) {
            Ok(object) => fixed.push(object),
            Err(failure) => failures.push(failure),
        }
    }
    let context = check
        .cluster()
        .and_then(|cluster| cluster.context.as_deref());
    let kubectl = Kubectl::new(&args.subject.source.connection, context);
    if args.output.is_some() {
        note_summaries(&fixed, terminal);
    }
    match args.output {
        Some(FixFormat::JsonPatch) => patches::print(&fixed, context, &failures)?,
        Some(FixFormat::Commands) => {
            patches::print_commands(&mut fixed, &kubectl, &mut failures)?;
        }
        None => files::write_or_show(&mut fixed, args, terminal, &mut failures)?,
    }
    let of = |fixed: &Fixed<'_>, what: &String| fixed.question.failure(what.clone());
    let manual: Vec<Failure> = fixed
        .iter()
        .flat_map(|fixed| fixed.manual.iter().map(move |what| of(fixed, what)))
        .collect();
    for failure in manual.iter().chain(&failures) {
        terminal.failure(&failure.to_string());
    }
    let fixes: Vec<Remedy> = fixed.iter().flat_map(|fixed| fixed.fixes.clone()).collect();
    let verdicts = Verdicts {
        objects: fixed.into_iter().map(Fixed::judged).collect(),
        failures,
        ..Verdicts::default()
    };
    let left = if !manual.is_empty() || !fixes.is_empty() && !args.write {
        Exit::Denied
    } else {
        Exit::Accepted
    };
    let exit = verdicts.exit().max(left);
    summarize(&verdicts, fixes.len(), exit, args, terminal);
    if !fixes.is_empty() {
        advise(&fixes, args, &kubectl, terminal);
    }
    Ok(exit)
}

/// Notes the changes with their costs, before they are made.
fn note_summaries(fixed: &[Fixed<'_>], terminal: &Terminal) {
    let mut notes = Notes::default();
    for it in fixed {
        // An earlier fix can have made the same changes.
        for fix in it.fixes.iter().filter(|fix| !fix.patch.is_empty()) {
            notes.push(&it.question.failure(summary(fix)).to_string());
        }
    }
    terminal.notes(&notes);
}

/// Notes what to do before the changes are applied.
fn advise(fixes: &[Remedy], args: &args::Fix, kubectl: &Kubectl, terminal: &Terminal) {
    if args.subject.source.is_live() && args.output.is_some() {
        terminal.note("if an object has changed since it was read, the API server rejects its patch (`the server rejected our request due to an error in our request`): run this again");
        terminal.note("if `kubectl apply`, Argo CD, or Flux manages an object, make the change in its file as well, because the next apply or sync reverts the patch");
    }
    if args.what_if.is_some() && args.output.is_some() {
        terminal
            .note("before the nodes of --what-if have joined or left, the cluster can deny this");
    }
    if args.r#unsafe && !args.subject.images && fixes.iter().any(sets_annotation) {
        terminal.note("images were not looked up: check the architectures annotations before you apply this, or use --images");
    }
    let settings = args.subject.settings.as_deref();
    let options = args.subject.source.options(settings, kubectl);
    let name = &terminal.name;
    let what_if = match args.what_if {
        Some(_) => " --what-if COUNTS",
        None => "",
    };
    terminal.note(&format!(
        "before you apply this, `{name} plan {options} -f FILE{what_if}`, with the corrected file, shows the effects on boot sources and virtual machines"
    ));
}

struct Fixed<'q> {
    question: &'q Arc<Question>,
    value: Value,
    /// The object that is evaluated, as the API server gets it.
    sent: Value,
    /// The fixes that produced it, without the operations that an earlier fix contains.
    fixes: Vec<Remedy>,
    before: Report,
    report: Report,
    /// The object in the written file, where its line numbers can differ.
    written: Option<Object>,
    /// Why the user has to edit the file manually.
    manual: Vec<String>,
}

impl<'q> Fixed<'q> {
    fn unchanged(question: &'q Arc<Question>, report: Report) -> Self {
        Self {
            question,
            value: question.value().clone(),
            sent: question.sent.clone(),
            fixes: Vec::new(),
            before: report.clone(),
            report,
            written: None,
            manual: Vec::new(),
        }
    }

    /// Applies the fixes of a report. A value that the editor cannot change, for example an alias, does not prevent others.
    fn new(
        question: &'q Arc<Question>,
        check: &Check<'_>,
        args: &args::Fix,
    ) -> Result<Self, Failure> {
        let fixed = Self::with(question, check, args, &|_| true)?;
        let is_edited = args.output.is_none() && !fixed.fixes.is_empty();
        let error = is_edited.then(|| files::edit_error(question, &fixed.value));
        let Some(error) = error.flatten() else {
            return Ok(fixed);
        };
        let can_edit = |value: &Value| files::edit_error(question, value).is_none();
        let mut fixed = Self::with(question, check, args, &can_edit)?;
        let extent = if fixed.fixes.is_empty() {
            "not changed"
        } else {
            "not completely changed"
        };
        let what = format!("{extent}: {error}; edit it manually");
        fixed.manual.push(what);
        Ok(fixed)
    }

    /// Applies the fixes that can be made, and evaluates the object again until no fix is left.
    fn with(
        question: &'q Arc<Question>,
        check: &Check<'_>,
        args: &args::Fix,
        can_edit: &dyn Fn(&Value) -> bool,
    ) -> Result<Self, Failure> {
        let report = check.report(question, &question.sent)?;
        let mut fixed = Self::unchanged(question, report);
        for _ in 0..ROUNDS {
            let made = |fixed: &Self, remedy: &Remedy| {
                fixed.after(remedy).filter(|[value, _]| can_edit(value))
            };
            let can_be_made = |remedy: &Remedy| made(&fixed, remedy).is_some();
            let remedies = chosen(&fixed.report, args, can_be_made);
            let before = fixed.sent.clone();
            for mut remedy in remedies.map_err(|what| question.failure(what.to_owned()))? {
                remedy.patch.retain(|operation| !fixed.has_set(operation));
                if let Some([value, sent]) = made(&fixed, &remedy) {
                    (fixed.value, fixed.sent) = (value, sent);
                    fixed.fixes.push(remedy);
                }
            }
            if fixed.sent == before {
                break;
            }
            fixed.report = check.report(question, &fixed.sent)?;
        }
        let is_only_live = |finding: &&Finding| {
            let mut fixes = finding.fixes.iter();
            finding.level == Level::Deny && fixes.any(|remedy| fixed.after(remedy).is_none())
        };
        let not_changed = |finding: &Finding| {
            format!(
                "[{}] not changed: applying the corrected file would not change this in the live object; fix the live object with the command that `-o commands` prints without -f",
                finding.rule
            )
        };
        fixed.manual = fixed
            .report
            .findings
            .iter()
            .filter(is_only_live)
            .map(not_changed)
            .collect();
        if !fixed.fixes.is_empty()
            && let Some(what) = fixed.denied_by(check, args)?
        {
            fixed.reset();
            fixed.manual.push(what);
        }
        Ok(fixed)
    }

    /// Why an update with only these fixes would be denied. In a file that is denied already, some fixes are better than none.
    fn denied_by(&self, check: &Check<'_>, args: &args::Fix) -> Result<Option<String>, Failure> {
        let question = self.question;
        let old = question.old().unwrap_or(&question.sent);
        let is_file = args.output.is_none();
        let is_denied = || Ok(!check.update(question, old, &question.sent)?.allowed);
        if is_file && (question.old().is_none() || is_denied()?) {
            return Ok(None);
        }
        let report = check.update(question, old, &self.sent)?;
        let is_denial = |finding: &&Finding| finding.level == Level::Deny;
        let denied = report.findings.iter().filter(is_denial);
        let mut rules = denied.clone().map(|finding| &finding.rule);
        let is_advised = !args.r#unsafe && rules.any(|rule| rule.starts_with("architectures-"));
        let denials: BTreeSet<String> = denied
            .map(|finding| match &finding.template {
                Some(template) => format!("[{}] {template}", finding.rule),
                None => format!("[{}]", finding.rule),
            })
            .collect();
        let advice = match (is_advised, args.subject.images) {
            (false, _) => "",
            (true, true) => "; add --unsafe, which lists every workload architecture",
            (true, false) => {
                "; add --images, which looks up the images, or --unsafe, which lists every workload architecture"
            }
        };
        let denials: Vec<&String> = denials.iter().collect();
        Ok((!denials.is_empty()).then(|| {
            format!(
                "not {}, because this change alone would be denied: {}{advice}",
                if is_file { "changed" } else { "printed" },
                list(&denials, 3)
            )
        }))
    }

    fn reset(&mut self) {
        *self = Self {
            manual: std::mem::take(&mut self.manual),
            ..Self::unchanged(self.question, self.before.clone())
        };
    }

    fn operations(&self) -> impl Iterator<Item = &PatchOperation> {
        self.fixes.iter().flat_map(|fix| &fix.patch)
    }

    /// Whether an earlier fix has set the same field.
    fn has_set(&self, operation: &PatchOperation) -> bool {
        let name = operation.path.rsplit('/').next().unwrap_or_default();
        let is_field = name != "-" && name.parse::<usize>().is_err();
        let sets = operation.op == "add" && is_field || operation.op == "replace";
        sets && self.operations().any(|earlier| earlier == operation)
    }

    /// The object in the file and in the API server after a fix; `None` if the fix cannot be made in the file.
    fn after(&self, remedy: &Remedy) -> Option<[Value; 2]> {
        self.question
            .after([&self.value, &self.sent], &remedy.patch)
    }

    fn source(&self) -> Option<&'q Arc<Source>> {
        Some(&self.question.found.as_ref()?.source)
    }

    fn is(&self, object: &Arc<Object>) -> bool {
        let found = self.question.found.as_ref();
        found.is_some_and(|found| Arc::ptr_eq(&found.object, object))
    }

    fn judged(self) -> Judged {
        let mut question = Arc::clone(self.question);
        if let Some(object) = self.written
            && let Some(found) = &mut Arc::make_mut(&mut question).found
        {
            found.object = Arc::new(object);
        }
        Judged::new(question, self.report)
    }
}

/// Prints the findings that need manual changes or a review, the images that could not be read, and the counts.
fn summarize(verdicts: &Verdicts, made: usize, exit: Exit, args: &args::Fix, terminal: &Terminal) {
    let (mut by_hand, mut to_confirm, mut to_choose) = (0, 0, 0);
    for object in &verdicts.objects {
        if let Some(message) = object.message() {
            terminal.failure(&format!("{}: {message}", object.at(None)));
        }
        let findings = &object.report.findings;
        // In these cases, the import must not be enabled, or another finding already covers it.
        let is_decided = args.place_on.is_some()
            || findings
                .iter()
                .any(|finding| WITH_ALTERNATIVES.contains(&&*finding.rule));
        for finding in findings {
            let is_denied = finding.level == Level::Deny;
            let needs_choice = |remedy: &Remedy| needs_choice(&object.report, remedy);
            let review = to_review(finding).filter(|remedy| !args.r#unsafe || needs_choice(remedy));
            let is_open = is_denied || is_choice(finding) && !is_decided;
            let (at, rule, fact) = (object.at(Some(finding)), &finding.rule, &finding.fact);
            let mut text = format!("{at}: [{rule}] {fact}");
            if is_open || review.is_some() {
                let fix = finding.fix_text().replace('\n', "\n    ");
                let _ = write!(text, "\n  fix: {fix}");
            }
            if let Some(remedy) = review {
                let which = if needs_choice(remedy) {
                    &mut to_choose
                } else {
                    &mut to_confirm
                };
                *which += 1;
                let why = reason(&object.report, remedy, args);
                let _ = write!(text, "\n  review: {why}");
            } else if is_open {
                by_hand += 1;
            }
            let is_shown = is_open || review.is_some() || finding.rule == "image-unreadable";
            if is_denied {
                terminal.review(&text);
            } else if is_shown {
                terminal.warning(&text);
            }
        }
        for note in &object.report.not_checked {
            terminal.note(&one_line(&format!("{}: {note}", object.at(None))));
        }
    }
    let findings = |number| count(number, "finding");
    let mut parts = Vec::new();
    if made > 0 {
        let made = findings(made);
        parts.push(match args.output {
            _ if args.write => format!("{made} fixed"),
            None => format!("{made} can be fixed: run again with --write"),
            Some(FixFormat::JsonPatch) => format!("the printed patches fix {made}"),
            Some(FixFormat::Commands) => format!("the printed commands fix {made}"),
        });
    }
    if to_confirm > 0 {
        let what = "to review: fix manually, or run again with --unsafe";
        parts.push(format!("{} {what}", findings(to_confirm)));
    }
    if to_choose > 0 {
        let is_chosen = args.enable_import || args.place_on.is_some();
        let what = if is_chosen {
            "not fixed: see the error"
        } else {
            "for you to decide: run again with --enable-import, or with --place-on ARCH"
        };
        parts.push(format!("{} {what}", findings(to_choose)));
    }
    if by_hand > 0 {
        parts.push(format!("{} to fix manually", findings(by_hand)));
    }
    if parts.is_empty() && exit == Exit::Accepted {
        parts.push("nothing to fix".to_owned());
    }
    if !parts.is_empty() {
        terminal.note(&parts.join("; "));
    }
}
