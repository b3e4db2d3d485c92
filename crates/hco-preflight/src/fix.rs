//! `fix`: applies the fixes of the module, which are data, to the files.

mod choice;
mod commands;
mod files;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use anyhow::{Result, ensure};
use cluster::Notes;
use cluster::foreign::one_line;
use engine::PatchOperation;
use kube_objects::text::list;
use manifest::Object;
use serde_json::Value;

use self::choice::{
    chosen, enables_import, has_alternatives, is_choice, needs_choice, prefers_one, reason,
    sets_annotation, to_review,
};
use crate::args;
use crate::exit::Exit;
use crate::failure::{Failure, Nothing};
use crate::input::files::Source;
use crate::input::{Check, Purpose, Question};
use crate::kubectl::Kubectl;
use crate::prose::count;
use crate::report::{Level, Remedy, unexplained};
use crate::terminal::Terminal;
use crate::verdict::Judged;

/// More rounds than any object needs. One round applies the fixes of all findings that the module lists.
const ROUNDS: usize = 64;

pub(crate) fn run(args: &args::Fix, terminal: &Terminal) -> Result<Exit> {
    let has_files = !args.subject.filename.is_empty();
    let is_live = args.subject.source.is_live();
    ensure!(
        has_files || args.output.is_some(),
        "specify a file to fix with -f, or print the commands for the objects in the cluster with -o commands"
    );
    ensure!(
        is_live && !has_files || args.output.is_none(),
        "-o commands is for live objects: use --cluster or --from without -f; to fix a file, use --write"
    );
    let (mut notes, mut failures) = (Notes::default(), Vec::new());
    let (subject, what_if) = (&args.subject, args.what_if.as_ref());
    let check = Check::read(subject, Purpose::Fix, what_if, &mut notes, &mut failures);
    terminal.notes(&notes);
    let check = match check {
        Ok(check) => check,
        Err(error) if subject.allow_empty && error.is::<Nothing>() => {
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
    let cluster = check.cluster();
    let context = cluster.and_then(|cluster| cluster.context.as_deref());
    let kubectl = Kubectl::new(&args.subject.source.connection, context);
    note_summaries(&fixed, terminal);
    if args.output.is_some() {
        commands::print(&mut fixed, &kubectl, &mut failures)?;
    } else {
        files::write_or_show(&mut fixed, args, terminal, &mut failures)?;
    }
    let manual: Vec<&Failure> = fixed.iter().flat_map(|object| &object.manual).collect();
    for failure in manual.iter().copied().chain(&failures) {
        terminal.failure(&failure.to_string());
    }
    let fixes: Vec<&Remedy> = fixed.iter().flat_map(|object| &object.fixes).collect();
    let is_open = !manual.is_empty() || !fixes.is_empty() && !args.write;
    let exit = fixed
        .iter()
        .map(|object| object.judged.exit())
        .chain(failures.iter().map(|_| Exit::Unjudged))
        .chain(is_open.then_some(Exit::Denied))
        .max()
        .unwrap_or(Exit::Accepted);
    summarize(&fixed, fixes.len(), exit, args, terminal);
    if !fixes.is_empty() {
        advise(&fixes, args, &kubectl, terminal);
    }
    Ok(exit)
}

/// The module states the cost of a placement.
fn note_summaries(fixed: &[Fixed], terminal: &Terminal) {
    let mut notes = Notes::default();
    for object in fixed {
        // An earlier fix can have made the same changes.
        for fix in object.fixes.iter().filter(|fix| !fix.patch.is_empty()) {
            let again = "; each golden image is imported again, once for each of its architectures";
            let cost = if enables_import(fix) { again } else { "" };
            let summary = format!("{}{cost}", fix.summary);
            notes.push(&object.judged.question.failure(summary).to_string());
        }
    }
    terminal.notes(&notes);
}

fn advise(fixes: &[&Remedy], args: &args::Fix, kubectl: &Kubectl, terminal: &Terminal) {
    if args.output.is_some() {
        terminal.note("if an object has changed since it was read, the API server rejects its patch (`the server rejected our request due to an error in our request`): run this again");
        terminal.note("if `kubectl apply`, Argo CD, or Flux manages an object, make the change in its file as well, because the next apply or sync reverts the patch");
        if args.what_if.is_some() {
            terminal.note(
                "before the nodes of --what-if have joined or left, the cluster can deny this",
            );
        }
    }
    if args.r#unsafe && !args.subject.images && fixes.iter().any(|fix| sets_annotation(fix)) {
        terminal.note("images were not looked up: check the architectures annotations before you apply this, or use --images");
    }
    let settings = args.subject.settings.as_deref();
    let options = args.subject.source.options(settings, kubectl);
    let name = &terminal.name;
    let what_if = args.what_if.as_ref().map_or("", |_| " --what-if COUNTS");
    terminal.note(&format!(
        "before you apply this, `{name} plan {options} -f FILE{what_if}`, with the corrected file, shows the effects on boot sources and virtual machines"
    ));
}

struct Fixed {
    /// The object as it is in the written file, where its line numbers can differ, and the report after the fixes.
    judged: Judged,
    value: Value,
    /// The object that is evaluated, as the API server gets it.
    sent: Value,
    /// The fixes that produced it, without the operations that an earlier fix contains.
    fixes: Vec<Remedy>,
    /// Why the user has to edit the file manually.
    manual: Vec<Failure>,
}

impl Fixed {
    /// A value that the editor cannot change, for example an alias, does not prevent others.
    fn new(question: &Arc<Question>, check: &Check<'_>, args: &args::Fix) -> Result<Self, Failure> {
        let edit_error = |value: &Value| files::edit_error(question, value);
        let mut fixed = Self::with(question, check, args, |_| true)?;
        if let Some(error) = edit_error(&fixed.value) {
            fixed = Self::with(question, check, args, |value| edit_error(value).is_none())?;
            let extent = if fixed.fixes.is_empty() {
                "not changed"
            } else {
                "not completely changed"
            };
            let what = format!("{extent}: {error}; edit it manually");
            fixed.manual.push(question.failure(what));
        }
        if let Some(what) = fixed.denied_by(check, args)? {
            fixed = Self::with(question, check, args, |_| false)?;
            fixed.manual.push(question.failure(what));
        }
        Ok(fixed)
    }

    /// Applies the fixes that can be made, and evaluates the object again until no fix is left.
    fn with(
        question: &Arc<Question>,
        check: &Check<'_>,
        args: &args::Fix,
        can_edit: impl Fn(&Value) -> bool,
    ) -> Result<Self, Failure> {
        let report = check.report(question, &question.sent)?;
        let mut fixed = Self {
            judged: Judged {
                question: Arc::clone(question),
                policy: None,
                report,
            },
            value: question.value().clone(),
            sent: question.sent.clone(),
            fixes: Vec::new(),
            manual: Vec::new(),
        };
        for _ in 0..ROUNDS {
            let can_be_made = |remedy: &Remedy| fixed.after(remedy, &can_edit).is_some();
            let remedies = chosen(&fixed.judged.report, args, can_be_made);
            let before = fixed.sent.clone();
            for mut remedy in remedies.map_err(|what| question.failure(what.to_owned()))? {
                // Several fixes can add the same parent, or set the same field.
                remedy.patch.retain(|operation| {
                    operation.op == "remove"
                        || fixed.operations().all(|earlier| earlier != operation)
                });
                if let Some([value, sent]) = fixed.after(&remedy, &can_edit) {
                    (fixed.value, fixed.sent) = (value, sent);
                    fixed.fixes.push(remedy);
                }
            }
            if fixed.sent == before {
                break;
            }
            fixed.judged.report = check.report(question, &fixed.sent)?;
        }
        let what = "not changed: applying the corrected file would not change this in the live object; fix the live object with the command that `-o commands` prints without -f";
        let is_only_live = |fix: &Remedy| fixed.after(fix, |_| true).is_none();
        fixed.manual = fixed
            .judged
            .of(Level::Deny)
            .filter(|denial| denial.fixes.iter().any(is_only_live))
            .map(|denial| question.failure(format!("[{}] {what}", denial.rule)))
            .collect();
        Ok(fixed)
    }

    /// Why an update with only these fixes would be denied. In a file that is denied already, some fixes are better than none.
    fn denied_by(&self, check: &Check<'_>, args: &args::Fix) -> Result<Option<String>, Failure> {
        let question = &self.judged.question;
        let old = question.old().unwrap_or(&question.sent);
        let is_file = question.found.is_some();
        let is_denied = || Ok(!check.verdict(question, Some(old), &question.sent)?.allowed);
        if self.fixes.is_empty() || is_file && (question.old().is_none() || is_denied()?) {
            return Ok(None);
        }
        let report = check.verdict(question, Some(old), &self.sent)?;
        let denials: BTreeSet<String> = report
            .findings
            .iter()
            .filter(|finding| finding.level == Level::Deny)
            .map(|finding| match &finding.template {
                Some(template) => format!("[{}] {template}", finding.rule),
                None => format!("[{}]", finding.rule),
            })
            .collect();
        if denials.is_empty() {
            return Ok(None);
        }
        let is_missing = |denial: &String| denial.starts_with("[architectures-");
        let advice = match (denials.iter().any(is_missing), args.subject.images) {
            _ if args.r#unsafe => "",
            (true, true) => "; add --unsafe, which lists every workload architecture",
            (true, false) => {
                "; add --images, which looks up the images, or --unsafe, which lists every workload architecture"
            }
            (false, _) => "",
        };
        Ok(Some(format!(
            "not {}, because this change alone would be denied: {}{advice}",
            if is_file { "changed" } else { "printed" },
            list(&Vec::from_iter(denials), 3)
        )))
    }

    fn operations(&self) -> impl Iterator<Item = &PatchOperation> {
        self.fixes.iter().flat_map(|fix| &fix.patch)
    }

    /// The object in the file and in the API server after a fix; `None` if the fix cannot be made in the file.
    fn after(&self, fix: &Remedy, can_edit: impl Fn(&Value) -> bool) -> Option<[Value; 2]> {
        let object = [&self.value, &self.sent];
        let after = self.judged.question.after(object, &fix.patch);
        after.filter(|[value, _]| can_edit(value))
    }

    fn source(&self) -> Option<&Arc<Source>> {
        Some(&self.judged.question.found.as_ref()?.source)
    }

    fn is(&self, object: &Arc<Object>) -> bool {
        let found = self.judged.question.found.as_ref();
        found.is_some_and(|found| Arc::ptr_eq(&found.object, object))
    }
}

fn summarize(fixed: &[Fixed], made: usize, exit: Exit, args: &args::Fix, terminal: &Terminal) {
    let (mut by_hand, mut to_confirm, mut to_choose) = (0, 0, 0);
    for object in fixed.iter().map(|fixed| &fixed.judged) {
        if let Some(message) = unexplained(&object.report) {
            terminal.failure(&format!("{}: {message}", object.at(None)));
        }
        let findings = &object.report.findings;
        // In these cases, the import must not be enabled, or another finding already covers it.
        let is_decided = args.place_on.is_some() || findings.iter().any(has_alternatives);
        for finding in findings {
            let is_denied = finding.level == Level::Deny;
            let review = to_review(finding)
                .map(|remedy| (remedy, needs_choice(&object.report, remedy)))
                .filter(|(_, needs_choice)| !args.r#unsafe || *needs_choice);
            let is_open = review.is_some() || is_denied || is_choice(finding) && !is_decided;
            let (at, rule, fact) = (object.at(Some(finding)), &finding.rule, &finding.fact);
            let mut text = format!("{at}: [{rule}] {fact}");
            if is_open {
                let fix = finding.fix_text().replace('\n', "\n    ");
                let _ = write!(text, "\n  fix: {fix}");
            }
            if let Some((remedy, needs_choice)) = review {
                if needs_choice {
                    to_choose += 1;
                } else {
                    to_confirm += 1;
                }
                let why = reason(&object.report, remedy, args);
                let _ = write!(text, "\n  review: {why}");
            } else if is_open {
                by_hand += 1;
            }
            if is_denied {
                terminal.review(&text);
            } else if is_open || finding.rule == "image-unreadable" {
                terminal.warning(&text);
            }
        }
        for note in &object.report.not_checked {
            terminal.note(&one_line(&format!("{}: {note}", object.at(None))));
        }
    }
    let findings = count(made, "finding");
    let changed = match args.output {
        _ if args.write => format!("{findings} fixed"),
        None => format!("{findings} can be fixed: run again with --write"),
        Some(_) => format!("the printed commands fix {findings}"),
    };
    let decision = if prefers_one(args) {
        "not fixed: see the error"
    } else {
        "for you to decide: run again with --enable-import, or with --place-on ARCH"
    };
    let left = |number, what| (number > 0).then(|| format!("{} {what}", count(number, "finding")));
    let parts = [
        (made > 0).then_some(changed),
        left(
            to_confirm,
            "to review: fix manually, or run again with --unsafe",
        ),
        left(to_choose, decision),
        left(by_hand, "to fix manually"),
    ];
    let summary = parts.into_iter().flatten().collect::<Vec<_>>().join("; ");
    if !summary.is_empty() {
        terminal.note(&summary);
    } else if exit == Exit::Accepted {
        terminal.note("nothing to fix");
    }
}
