//! `fix`: applies the fixes of the module, which are data, to the files.

mod patches;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail, ensure};
use engine::PatchOperation;
use manifest::{EditError, Edited, Object};
use policy_host::Cluster;
use serde_json::Value;
use tempfile::NamedTempFile;

use crate::apply;
use crate::args::{self, FixFormat, Prefer, WITH_ALTERNATIVES};
use crate::diff::diff;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::files::Source;
use crate::foreign::{self, chain, one_line, shell_word};
use crate::kubectl::Kubectl;
use crate::notes::Notes;
use crate::prose::count;
use crate::remedy::{edit, patch};
use crate::report::{Conclusions as _, Finding, Level, Remedy, Report};
use crate::stage::{Check, Purpose, Question, Unread};
use crate::terminal::{Terminal, print_raw};
use crate::verdict::{Judged, Verdicts};

/// More rounds than any object needs. One round applies the fixes of all findings that the module lists.
const ROUNDS: usize = 64;

/// Applies all possible fixes, and lists the remaining findings.
pub(crate) fn run(args: &args::Fix, terminal: &Terminal) -> Result<Exit> {
    if args.subject.old.is_some() {
        bail!("`fix` takes no --old, because it fixes existing problems as well: remove --old");
    }
    let has_files = !args.subject.filename.is_empty();
    let is_live = args.subject.cluster || args.subject.from.is_some();
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
    let mut notes = Notes::default();
    let check = Check::read(&args.subject, Purpose::Fix, &mut notes);
    if !args.quiet {
        terminal.notes(&notes);
    }
    let mut check = match check {
        Ok(check) => check,
        Err(error) => match error.downcast()? {
            Unread::Nothing(what) if args.allow_empty => {
                terminal.note(&what.to_string());
                return Ok(Exit::Accepted);
            }
            unread => return Err(unread.into()),
        },
    };
    // With repairs, the module would only report what it repairs, without a patch.
    check.without_repairs();
    let mut failures = check.failures.clone();
    let fixed = check
        .questions
        .iter()
        .map(|question| Fixed::new(question, &check, args).map_err(|failure| (question, failure)));
    let mut fixed: Vec<_> = fixed.collect();
    for object in fixed.iter_mut().flatten() {
        object.report_only_live(args, terminal);
    }
    let context = check.cluster.as_deref().and_then(Cluster::context);
    let kubectl = Kubectl::on(&args.subject.connection, context);
    let printed = match args.output {
        Some(FixFormat::JsonPatch) => Some(print_patches(&fixed, context, &failures)),
        Some(FixFormat::Commands) => Some(print_commands(&mut fixed, &kubectl, &mut failures)),
        None => None,
    };
    let (fixed, unfixed): (Vec<_>, Vec<_>) = fixed.into_iter().partition(Result::is_ok);
    failures.extend(unfixed.into_iter().filter_map(|it| Some(it.err()?.1)));
    let mut fixed: Vec<Fixed<'_>> = fixed.into_iter().flatten().collect();
    let changes = match printed {
        Some(changes) => changes?,
        None => fix_files(&mut fixed, args, terminal, &mut failures)?,
    };
    for failure in &failures {
        terminal.failure(&failure.to_string());
    }
    if changes && is_live && args.output.is_some() && !args.quiet {
        for object in fixed.iter().filter(|it| it.made > 0) {
            if let Some(note) = patches::kept_elsewhere(object.question) {
                terminal.note(&object.question.failure(note).to_string());
            }
        }
        terminal.note(CHANGED);
    }
    let by_hand = fixed.iter().any(|object| object.by_hand);
    let made: usize = fixed.iter().map(|object| object.made).sum();
    let advice = advice(&fixed, args, &kubectl, &terminal.name);
    let objects = fixed.into_iter().map(Fixed::judged).collect();
    let verdicts = Verdicts {
        objects,
        failures,
        ..Verdicts::default()
    };
    let left = if by_hand || changes && !args.write {
        Exit::Denied
    } else {
        Exit::Accepted
    };
    let exit = verdicts.exit().max(left);
    summarize(&verdicts, made, exit, args, terminal);
    if !args.quiet {
        for advice in advice {
            terminal.note(&advice);
        }
    }
    Ok(exit)
}

/// The answer of an API server to a patch for an object that has changed.
const CHANGED: &str = "if an object has changed since it was read, the API server rejects its patch (`the server rejected our request due to an error in our request`): run this again";

/// How to see the effect of the changes before they are applied.
fn advice(fixed: &[Fixed<'_>], args: &args::Fix, kubectl: &Kubectl, name: &str) -> Vec<String> {
    let changed: Vec<&Fixed<'_>> = fixed.iter().filter(|it| it.made > 0).collect();
    let has = |end: &str| changed.iter().any(|it| has_path(&it.patch, end));
    let mut advice = Vec::new();
    let is_unknown = args.r#unsafe && !args.subject.images;
    if is_unknown && has("/ssp.kubevirt.io~1dict.architectures") {
        advice.push("images were not looked up: check the architectures annotations before you apply this, or use --images".to_owned());
    }
    let what = if changed.iter().any(|it| changes_import(&it.patch)) {
        "the multi-architecture import"
    } else if has("/nodeSelector/kubernetes.io~1arch") {
        "the placement of the workloads"
    } else {
        return advice;
    };
    let from = match &args.subject.from {
        Some(from) => format!("--from {} ", shell_word(&foreign::path(from))),
        None => format!("--cluster {}", kubectl.flags()),
    };
    advice.push(format!(
        "this changes {what}: before you apply it, `{name} plan {from}-f FILE`, with the corrected file, lists what becomes of boot sources and virtual machines"
    ));
    advice
}

/// An object after its fixes.
struct Fixed<'q> {
    question: &'q Question,
    /// The object in the file.
    value: Value,
    /// The object that is evaluated, as the API server gets it.
    sent: Value,
    /// The operations that produced it.
    patch: Vec<PatchOperation>,
    /// The number of fixed findings.
    made: usize,
    /// The summaries of the fixes, with their costs.
    summaries: Vec<String>,
    /// The findings before the fixes.
    before: Report,
    /// The remaining findings.
    report: Report,
    /// The object in the written file, where its line numbers can differ.
    written: Option<Object>,
    /// Whether the user has to edit the file manually, because the editor does not support its format.
    by_hand: bool,
}

impl<'q> Fixed<'q> {
    /// Applies the fixes of a report, and evaluates the object again until no fix is left.
    fn new(question: &'q Question, check: &Check<'_>, args: &args::Fix) -> Result<Self, Failure> {
        let sent = question.sent();
        let report = check.report(question, sent)?;
        let mut fixed = Self {
            question,
            value: question.object.value().clone(),
            sent: sent.clone(),
            patch: Vec::new(),
            made: 0,
            summaries: Vec::new(),
            before: report.clone(),
            report,
            written: None,
            by_hand: false,
        };
        for _ in 0..ROUNDS {
            let remedies = chosen(&fixed.report.findings, args, |it| {
                fixed.can_be_made(it, args)
            });
            let remedies = remedies.map_err(|what| question.failure(what))?;
            let is_changed = fixed.apply(&remedies, args);
            if !is_changed.map_err(|error| question.failure(chain(&error)))? {
                break;
            }
            fixed.report = check.report(question, &fixed.sent)?;
        }
        Ok(fixed)
    }

    /// Applies fixes. Returns whether the object changed.
    fn apply(&mut self, remedies: &[Remedy], args: &args::Fix) -> Result<bool> {
        let before = self.sent.clone();
        for remedy in remedies {
            let remedy = &without_repetitions(remedy, &self.patch);
            let mut sent = self.sent.clone();
            patch(&mut sent, remedy)?;
            let Some(value) = self.in_file(remedy, &sent, args) else {
                continue;
            };
            self.value = value;
            self.sent = sent;
            self.patch.extend(remedy.patch.iter().cloned());
            self.made += 1;
            self.summaries.push(remedy.summary.clone());
        }
        Ok(self.sent != before)
    }

    /// The file after a fix, if applying it gives this object in the API server.
    fn in_file(&self, remedy: &Remedy, sent: &Value, args: &args::Fix) -> Option<Value> {
        let Some(live) = &self.question.live else {
            return Some(sent.clone());
        };
        let mut value = self.value.clone();
        for operation in &remedy.patch {
            value = apply::edited(&value, operation)?;
        }
        let as_if = args.subject.as_if.unwrap_or_default();
        (apply::sent(as_if, live, &value) == *sent).then_some(value)
    }

    /// Whether a fix can be made in the file. It cannot if only the live object has the value.
    fn can_be_made(&self, remedy: &Remedy, args: &args::Fix) -> bool {
        let mut sent = self.sent.clone();
        self.question.live.is_none()
            || patch(&mut sent, remedy).is_ok() && self.in_file(remedy, &sent, args).is_some()
    }

    /// Reports the findings whose remedies cannot be made in the file.
    fn report_only_live(&mut self, args: &args::Fix, terminal: &Terminal) {
        for finding in &self.report.findings {
            let mut fixes = finding.fixes.iter();
            if fixes.any(|remedy| !self.can_be_made(remedy, args)) {
                self.by_hand = true;
                let rule = &finding.rule;
                let what = format!(
                    "[{rule}] not changed: the value is in the live object, but not in the file; add it to the file, or fix the live object with the command that `-o commands` prints without -f"
                );
                terminal.failure(&self.question.failure(what).to_string());
            }
        }
    }

    /// Reverts the fixes.
    fn reset(&mut self) {
        self.value = self.question.object.value().clone();
        self.sent = self.question.sent().clone();
        self.report = self.before.clone();
        self.made = 0;
        self.summaries.clear();
    }

    /// The file, if the object comes from one.
    fn source(&self) -> Option<&'q Arc<Source>> {
        let written = self.question.object.written();
        written.map(|written| &written.source)
    }

    /// Whether this is an object of a file.
    fn is(&self, object: &Arc<Object>) -> bool {
        let written = self.question.object.written();
        written.is_some_and(|written| Arc::ptr_eq(&written.object, object))
    }

    fn judged(self) -> Judged {
        let mut judged = self.question.judged(self.report);
        if let (Some(written), Some(object)) = (&mut judged.written, self.written) {
            written.object = Arc::new(object);
        }
        judged
    }
}

/// The fixes to apply together: only the preferred one, else all complete ones, else the fixes of one rule that a
/// person has to review. Fixes of two rules can be two ways to resolve the same problem.
fn chosen(
    findings: &[Finding],
    args: &args::Fix,
    can_be_made: impl Fn(&Remedy) -> bool,
) -> Result<Vec<Remedy>, String> {
    let with_alternatives = findings.iter().find(|it| it.rule == WITH_ALTERNATIVES);
    let prefer = args.prefer();
    if let (Some(prefer), Some(finding)) = (&prefer, with_alternatives) {
        let remedy = preferred(finding, prefer)?;
        if can_be_made(remedy) {
            return Ok(vec![remedy.clone()]);
        }
    }
    // A user who places the workloads does not want the import instead.
    let is_placed = matches!(prefer, Some(Prefer::PlaceOn(_)));
    let is_wanted =
        |remedy: &&Remedy| can_be_made(remedy) && !(is_placed && enables_import(&remedy.patch));
    let complete = findings.iter().filter_map(Finding::complete_fix);
    let complete: Vec<Remedy> = complete.filter(is_wanted).cloned().collect();
    if !complete.is_empty() || !args.r#unsafe {
        return Ok(complete);
    }
    let mut first = None;
    let to_review = findings.iter().filter_map(|finding| {
        let remedy = to_review(finding).filter(is_wanted)?;
        (*first.get_or_insert(&finding.rule) == &finding.rule).then_some(remedy)
    });
    Ok(to_review.cloned().collect())
}

/// The same fix without the fields that an earlier fix has added.
fn without_repetitions(remedy: &Remedy, earlier: &[PatchOperation]) -> Remedy {
    let mut remedy = remedy.clone();
    let adds_field = |operation: &PatchOperation| {
        let name = operation.path.rsplit('/').next().unwrap_or_default();
        operation.op == "add" && name != "-" && name.parse::<usize>().is_err()
    };
    remedy
        .patch
        .retain(|operation| !(adds_field(operation) && earlier.contains(operation)));
    remedy
}

/// The fix that a person has to review.
fn to_review(finding: &Finding) -> Option<&Remedy> {
    let remedy = finding.fixes.first()?;
    let is_open = !remedy.complete && !remedy.patch.is_empty();
    (is_open && !is_choice(finding)).then_some(remedy)
}

/// Whether only a person can choose a fix. For example, an annotation without effect does not justify enabling the
/// import.
fn is_choice(finding: &Finding) -> bool {
    finding.rule == "architectures-ignored"
}

/// Why a person has to review a fix.
fn reason(remedy: &Remedy, args: &args::Fix) -> &'static str {
    let mut paths = remedy.patch.iter().map(|it| &it.path);
    if enables_import(&remedy.patch) {
        "with the import enabled, HCO uses the architectures annotations of all templates; check that they are correct"
    } else if paths.any(|path| path.contains("/annotations/ssp.kubevirt.io~1dict.architectures"))
        && !args.subject.images
    {
        "the architectures of the image are unknown, because it was not looked up; --images looks it up"
    } else {
        "check that this change is correct"
    }
}

/// The fix for a preference.
fn preferred<'f>(finding: &'f Finding, prefer: &Prefer) -> Result<&'f Remedy, String> {
    let remedies = finding.fixes.iter();
    let ways: Vec<(Prefer, &Remedy)> = remedies.filter_map(|it| Some((way(it)?, it))).collect();
    if let Some((_, remedy)) = ways.iter().find(|(way, _)| way == prefer) {
        return Ok(remedy);
    }
    let names = ways.iter().map(|(way, _)| one_line(&way.to_string()));
    let open = match names.collect::<Vec<_>>().join(" or ") {
        names if names.is_empty() => "this finding needs manual action".to_owned(),
        names => format!("use {names}"),
    };
    let (rule, way) = (&finding.rule, one_line(&prefer.to_string()));
    Err(format!(
        "--prefer {rule}={way} is not possible here; {open}"
    ))
}

/// The preference that a fix corresponds to.
fn way(remedy: &Remedy) -> Option<Prefer> {
    if enables_import(&remedy.patch) {
        return Some(Prefer::EnableImport);
    }
    remedy.patch.iter().find_map(|operation| {
        let is_label = operation
            .path
            .ends_with("/nodeSelector/kubernetes.io~1arch");
        let value = operation.value.as_ref().filter(|_| is_label)?.as_str()?;
        Some(Prefer::PlaceOn(value.to_owned()))
    })
}

/// Whether a patch sets a field whose path has this suffix.
fn has_path(patch: &[PatchOperation], end: &str) -> bool {
    patch.iter().any(|it| it.path.ends_with(end))
}

/// Whether a patch sets the field or the feature gate of the import.
fn changes_import(patch: &[PatchOperation]) -> bool {
    patch.iter().any(is_of_import)
}

fn enables_import(patch: &[PatchOperation]) -> bool {
    let mut operations = patch.iter().filter(|it| is_of_import(it));
    operations.any(|operation| {
        let value = operation.value.as_ref();
        let state = value.map(|value| value.member("state").unwrap_or(value));
        state.is_none_or(|it| it.as_str() != Some("Disabled") && *it != false.into())
    })
}

/// Correcting the name of a gate is not meant: its state stays as the user has set it.
fn is_of_import(operation: &PatchOperation) -> bool {
    let path = &operation.path;
    let is_gate = path.starts_with("/spec/featureGates/") && !path.ends_with("/name");
    path.ends_with("/enableMultiArchBootImageImport") || is_gate
}

/// Notes the costs of the changes before they are made.
fn note_summaries(of_file: &[Fixed<'_>], terminal: &Terminal) {
    let mut seen = BTreeSet::new();
    for fixed in of_file.iter().filter(|it| it.made > 0) {
        for summary in &fixed.summaries {
            if seen.insert(summary) {
                let at = fixed.question.failure(one_line(summary));
                terminal.note(&at.to_string());
            }
        }
    }
}

/// Writes the fixed files, or shows the changes. Returns whether there are changes.
fn fix_files(
    fixed: &mut [Fixed<'_>],
    args: &args::Fix,
    terminal: &Terminal,
    failures: &mut Vec<Failure>,
) -> Result<bool> {
    let is_same = |one: &Fixed<'_>, other: &Fixed<'_>| {
        let sources = one.source().zip(other.source());
        sources.is_some_and(|(one, other)| Arc::ptr_eq(one, other))
    };
    let mut changes = false;
    for of_file in fixed.chunk_by_mut(is_same) {
        let Some(source) = of_file.first().and_then(Fixed::source) else {
            continue;
        };
        let Edited { text, objects, .. } = fix_file(source, of_file, terminal)?;
        let is_changed = text != source.text;
        changes |= is_changed;
        if is_changed && !args.quiet {
            note_summaries(of_file, terminal);
        }
        if !args.write {
            if is_changed {
                let diff = diff(&source.name(), &source.text, &text);
                terminal.print(&diff.text)?;
                if diff.is_escaped && !args.quiet {
                    terminal.note(
                        "the diff has escaped characters, so `patch` cannot apply it; use --write",
                    );
                }
            }
            continue;
        }
        let written = if source.is_stdin() {
            print_raw(text.as_bytes())
        } else if is_changed {
            replace(source, &text)
        } else {
            Ok(())
        };
        if let Err(error) = written {
            let what = format!("not written: {}", chain(&error));
            failures.push(Failure::in_file(&source.name(), None, what));
            for object in of_file {
                object.reset();
            }
            continue;
        }
        for (before, after) in source.objects.iter().zip(objects) {
            if let Some(fixed) = of_file.iter_mut().find(|it| it.is(before)) {
                fixed.written = Some(after);
            }
        }
    }
    Ok(changes)
}

/// The text of a file with the fixed objects in it. An object that the editor cannot change stays unchanged.
fn fix_file(source: &Source, of_file: &mut [Fixed<'_>], terminal: &Terminal) -> Result<Edited> {
    fn with(source: &Source, fixed: &[Fixed<'_>]) -> Result<Edited, EditError> {
        edit(source, |object| {
            Some(&fixed.iter().find(|it| it.is(object))?.value)
        })
    }
    if let Ok(edited) = with(source, of_file) {
        return Ok(edited);
    }
    for count in 1..=of_file.len() {
        // The following objects are still unchanged.
        let error = of_file
            .get(..count)
            .and_then(|them| with(source, them).err());
        if let (Some(error), Some(object)) = (error, of_file.get_mut(count - 1)) {
            object.reset();
            object.by_hand = true;
            let what = format!("not changed: {error}; edit it manually");
            terminal.failure(&object.question.failure(what).to_string());
        }
    }
    Ok(with(source, of_file)?)
}

/// Replaces a file atomically, and keeps its permissions and owner. It does not overwrite a file that has changed in
/// the meantime.
fn replace(source: &Source, text: &str) -> Result<()> {
    // A symbolic link stays a symbolic link.
    let path = std::fs::canonicalize(&source.path)?;
    if let Some(root) = &source.root {
        ensure!(
            path.starts_with(std::fs::canonicalize(root)?),
            "it is a link to {}, which is not in {}; to change that file, name it with -f",
            foreign::path(&path),
            foreign::path(root)
        );
    }
    let metadata = std::fs::metadata(&path)?;
    ensure!(metadata.is_file(), "it is not a regular file");
    // A user who may not write the file may not replace it either.
    std::fs::OpenOptions::new().write(true).open(&path)?;
    ensure!(!metadata.permissions().readonly(), "it is read-only");
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut new = NamedTempFile::new_in(directory).with_context(|| {
        format!(
            "cannot create a temporary file in {}",
            foreign::path(directory)
        )
    })?;
    new.write_all(text.as_bytes())?;
    new.as_file().set_permissions(metadata.permissions())?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, fchown};
        // Only root can change the owner of a file. Without that permission, the user becomes the owner.
        let _ = fchown(new.as_file(), Some(metadata.uid()), Some(metadata.gid()));
    }
    new.as_file().sync_all()?;
    ensure!(
        std::fs::read(&path)? == source.text.as_bytes(),
        "the file has changed since it was read; run the command again"
    );
    new.persist(&path).map_err(|error| anyhow!(error.error))?;
    Ok(())
}

/// An object after its fixes, or why it cannot be fixed.
type Outcome<'q> = Result<Fixed<'q>, (&'q Question, Failure)>;

/// Prints a line of JSON with the patch or the error of each object. Returns whether there are changes.
fn print_patches(
    fixed: &[Outcome<'_>],
    context: Option<&str>,
    failures: &[Failure],
) -> Result<bool> {
    let mut text = String::new();
    for failure in failures {
        text.push_str(&patches::failed(failure)?);
    }
    let mut changes = false;
    for object in fixed {
        let (question, patch) = match object {
            Ok(fixed) => {
                let patch = patches::patch(fixed)?;
                let why = fixed.report.unexplained();
                changes |= !patch.0.is_empty();
                // An empty patch would mean that the object needs no fix.
                match why.filter(|_| patch.0.is_empty()) {
                    Some(why) => (fixed.question, Err(why.to_owned())),
                    None => (fixed.question, Ok(patch)),
                }
            }
            Err((question, failure)) => (*question, Err(failure.what.clone())),
        };
        text.push_str(&patches::line(question, context, &patch)?);
    }
    print_raw(text.as_bytes())?;
    Ok(changes)
}

/// Prints a command for each object that changes. Returns whether there are changes.
fn print_commands(
    fixed: &mut [Outcome<'_>],
    kubectl: &Kubectl,
    failures: &mut Vec<Failure>,
) -> Result<bool> {
    let mut text = String::new();
    let mut changes = false;
    for fixed in fixed.iter_mut().flatten().filter(|it| it.made > 0) {
        changes = true;
        match patches::command(fixed, kubectl) {
            Ok(command) => text.push_str(&command),
            Err(error) => {
                failures.push(fixed.question.failure(chain(&error)));
                // A patch that is not printed does not fix anything.
                fixed.made = 0;
            }
        }
    }
    print_raw(text.as_bytes())?;
    Ok(changes)
}

/// Prints the findings that need manual changes or a review, the images that could not be read, and the counts.
fn summarize(verdicts: &Verdicts, made: usize, exit: Exit, args: &args::Fix, terminal: &Terminal) {
    let (mut by_hand, mut to_confirm) = (0, 0);
    for object in &verdicts.objects {
        if let Some(message) = object.message() {
            terminal.failure(&format!("{}: {message}", object.at()));
        }
        let mut findings = object.report.findings.iter();
        // In these cases, the import must not be enabled, or another finding already covers it.
        let is_decided = matches!(args.prefer(), Some(Prefer::PlaceOn(_)))
            || findings.any(|it| it.rule == WITH_ALTERNATIVES);
        for finding in &object.report.findings {
            let is_denied = finding.level == Level::Deny;
            let review = to_review(finding).filter(|_| !args.r#unsafe);
            let is_open = is_denied || is_choice(finding) && !is_decided;
            if review.is_some() {
                to_confirm += 1;
            } else if is_open {
                by_hand += 1;
            }
            let (at, rule, fact) = (object.at_finding(finding), &finding.rule, &finding.fact);
            let mut text = format!("{at}: [{rule}] {fact}");
            if is_open || review.is_some() {
                let fix = finding.fix.replace('\n', "\n    ");
                let _ = write!(text, "\n  fix: {fix}");
            }
            if let Some(remedy) = review {
                let _ = write!(text, "\n  review: {}", reason(remedy, args));
            }
            if is_denied {
                terminal.review(&text);
            } else if !args.quiet
                && (is_open || review.is_some() || finding.rule == "image-unreadable")
            {
                terminal.warning(&text);
            }
        }
        if !args.quiet {
            for note in &object.report.not_checked {
                terminal.note(&one_line(&format!("{}: {note}", object.at())));
            }
        }
    }
    if args.quiet {
        return;
    }
    let mut words = Vec::new();
    if made > 0 {
        let findings = count(made, "finding");
        words.push(match args.output {
            _ if args.write => format!("{findings} fixed"),
            None => format!("{findings} can be fixed: run again with --write"),
            Some(FixFormat::JsonPatch) => format!("the printed patches fix {findings}"),
            Some(FixFormat::Commands) => format!("the printed commands fix {findings}"),
        });
    }
    if to_confirm > 0 {
        let findings = count(to_confirm, "finding");
        words.push(format!(
            "{findings} to review: fix manually, or run again with --unsafe"
        ));
    }
    if by_hand > 0 {
        words.push(format!("{} to fix manually", count(by_hand, "finding")));
    }
    if words.is_empty() && exit == Exit::Accepted {
        words.push("nothing to fix".to_owned());
    }
    if !words.is_empty() {
        terminal.note(&words.join("; "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_somebody_else_changed_is_not_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file.yaml");
        std::fs::write(&path, "theirs").unwrap();
        let source = |text: &str| Source {
            path: path.clone(),
            text: text.to_owned(),
            root: None,
            objects: Vec::new(),
        };
        let error = replace(&source("read"), "ours").unwrap_err();
        assert!(error.to_string().contains("has changed since it was read"));
        assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
        replace(&source("theirs"), "ours").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"ours");
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 1);
    }
}
