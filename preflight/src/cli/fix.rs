//! `fix`: the remedies that the module gives as data are made in the files.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::rc::Rc;

use anyhow::{Context, Result, anyhow, bail, ensure};
use hco_preflight::{Object, TextEdit, edited, objects};
use serde_json::Value;
use tempfile::NamedTempFile;

use super::args::{self, FixFormat, Prefer, Way};
use super::check::{Prepared, Question};
use super::exit::Exit;
use super::foreign::{self, one_line, shell_word};
use super::input::{InFile, Source};
use super::output::{Terminal, chain, count, diff, print_raw};
use super::progress::Progress;
use super::verdict::{Failure, Finding, Judged, Level, Remedy, Report, Verdicts};

/// More rounds than any object needs: a round resolves all the findings that the module lists.
const ROUNDS: usize = 64;

/// Corrects what can be corrected, and says what is left.
pub(crate) fn run(args: &args::Fix, terminal: &Terminal) -> Result<Exit> {
    if args.subject.filename.is_empty() && args.output.is_none() {
        bail!(
            "there is no file to correct: name one with -f, or print the changes of the cluster's objects with -o commands or -o json-patch"
        );
    }
    let mut prepared = Prepared::new(&args.subject)?;
    // Otherwise the module tells what it would repair, and not how.
    if let Some(settings) = prepared.settings.as_object_mut() {
        settings.remove("repair");
    }
    if !args.quiet {
        for note in &prepared.notes {
            terminal.note(note);
        }
    }
    let mut failures = std::mem::take(&mut prepared.failures);
    let progress = Progress::start("judging");
    let mut fixed = Vec::new();
    for question in &prepared.questions {
        match Fixed::new(question, &prepared, args) {
            Ok(object) => fixed.push(object),
            Err(failure) => failures.push(failure),
        }
    }
    drop(progress);
    let changes = match args.output {
        Some(format) => {
            print_patches(&fixed, format)?;
            fixed.iter().any(|object| !object.patch.is_empty())
        }
        None => correct_files(&mut fixed, args.write, terminal, &mut failures)?,
    };
    for failure in &failures {
        terminal.failure(&failure.to_string());
    }
    let made: usize = fixed.iter().map(|object| object.made).sum();
    let judged = fixed.into_iter().map(Fixed::judged);
    let verdicts = Verdicts {
        objects: judged.collect(),
        failures,
    };
    tell(&verdicts, made, args, terminal);
    let would_change = if changes && !args.write {
        Exit::Denied
    } else {
        Exit::Accepted
    };
    Ok(verdicts.exit().max(would_change))
}

/// An object after its remedies.
struct Fixed<'q> {
    question: &'q Question,
    value: Value,
    /// The operations that made it.
    patch: Vec<Value>,
    /// How many findings they resolved.
    made: usize,
    /// What was found before.
    before: Report,
    /// What is left.
    report: Report,
    /// The object in the corrected file, where its lines may be others.
    corrected: Option<Object>,
}

impl<'q> Fixed<'q> {
    /// Applies the remedies of a report, judges again, and so on until there is nothing left to apply.
    fn new(question: &'q Question, prepared: &Prepared, args: &args::Fix) -> Result<Self, Failure> {
        let value = question.object.value();
        let report = prepared.report(question, value)?;
        let mut fixed = Self {
            question,
            value: value.clone(),
            patch: Vec::new(),
            made: 0,
            before: report.clone(),
            report,
            corrected: None,
        };
        for _ in 0..ROUNDS {
            let remedies =
                chosen(&fixed.report.findings, args).map_err(|what| question.failure(what))?;
            if !fixed
                .apply(&remedies)
                .map_err(|error| question.failure(chain(&error)))?
            {
                break;
            }
            fixed.report = prepared.report(question, &fixed.value)?;
        }
        Ok(fixed)
    }

    /// Whether the remedies changed the object.
    fn apply(&mut self, remedies: &[Remedy]) -> Result<bool> {
        let mut value = self.value.clone();
        for remedy in remedies {
            patch(&mut value, remedy)?;
        }
        if value == self.value {
            return Ok(false);
        }
        self.value = value;
        let operations = remedies.iter().flat_map(|remedy| &remedy.patch);
        self.patch.extend(operations.cloned());
        self.made += remedies.len();
        Ok(true)
    }

    fn is_in(&self, source: &Rc<Source>) -> bool {
        let written = self.question.object.written();
        written.is_some_and(|written| Rc::ptr_eq(&written.source, source))
    }

    fn judged(self) -> Judged {
        let mut judged = self.question.judged(self.report);
        if let Some(object) = self.corrected {
            for finding in &mut judged.report.findings {
                finding.line = Some(object.line_of(finding.path.raw()));
            }
        }
        judged
    }
}

fn patch(object: &mut Value, remedy: &Remedy) -> Result<()> {
    let patch: json_patch::Patch = serde_json::from_value(Value::from(remedy.patch.clone()))
        .context("a remedy of the module is no JSON Patch")?;
    json_patch::patch(object, &patch).context("a remedy of the module does not fit the object")
}

/// The edits of a file that make one remedy; `None` if it cannot be made alone, or not by the editor.
pub(crate) fn edits(written: &InFile, remedy: &Remedy) -> Option<Vec<TextEdit>> {
    let mut value = written.object.value.clone();
    patch(&mut value, remedy).ok()?;
    let objects = written.source.objects.iter().map(|object| {
        let is_it = Rc::ptr_eq(object, &written.object);
        (&**object, if is_it { &value } else { &object.value })
    });
    let objects: Vec<_> = objects.collect();
    Some(edited(&written.source.text, &objects).ok()?.0)
}

/// The remedies to apply: those of a rule with a preference alone, because they can resolve other findings too.
fn chosen(findings: &[Finding], args: &args::Fix) -> Result<Vec<Remedy>, String> {
    for finding in findings {
        let rule = finding.rule.raw();
        if let Some(prefer) = args.prefer.iter().find(|prefer| prefer.rule == rule) {
            return Ok(vec![preferred(finding, prefer)?.clone()]);
        }
    }
    let to_confirm = |finding: &'_ Finding| {
        let remedy = finding.remedies.first().cloned();
        remedy.filter(|remedy| args.r#unsafe && !remedy.patch.is_empty())
    };
    let remedies = findings.iter().filter_map(|finding| {
        let complete = finding.complete_remedy().cloned();
        complete.or_else(|| to_confirm(finding))
    });
    Ok(remedies.collect())
}

/// The remedy that a preference means.
fn preferred<'f>(finding: &'f Finding, prefer: &Prefer) -> Result<&'f Remedy, String> {
    let remedies = finding.remedies.iter();
    let ways: Vec<(Way, &Remedy)> = remedies.filter_map(|it| Some((way(it)?, it))).collect();
    if let Some((_, remedy)) = ways.iter().find(|(way, _)| *way == prefer.way) {
        return Ok(remedy);
    }
    let names: Vec<String> = ways
        .iter()
        .map(|(way, _)| one_line(&way.to_string()))
        .collect();
    let open = match names.as_slice() {
        [] => "a person has to resolve the finding".to_owned(),
        names => format!("use {}", names.join(" or ")),
    };
    let (rule, way) = (&finding.rule, one_line(&prefer.way.to_string()));
    Err(format!("--prefer {rule}={way} cannot be done here; {open}"))
}

/// The way in which a remedy resolves its finding: it places the workloads, or enables the import.
fn way(remedy: &Remedy) -> Option<Way> {
    let mut values = remedy.patch.iter().map(|operation| {
        let path = operation.get("path")?.as_str()?;
        let is_label = path.ends_with("/nodeSelector/kubernetes.io~1arch");
        let value = operation.get("value").filter(|_| is_label)?.as_str()?;
        Some(Way::PlaceOn(value.to_owned()))
    });
    let place = values.find_map(|way| way);
    place.or_else(|| (!remedy.patch.is_empty()).then_some(Way::EnableImport))
}

/// Writes the corrected files, or shows what would be changed. Whether there is something to change.
fn correct_files(
    fixed: &mut [Fixed<'_>],
    write: bool,
    terminal: &Terminal,
    failures: &mut Vec<Failure>,
) -> Result<bool> {
    let mut sources: Vec<Rc<Source>> = Vec::new();
    let mut paths = BTreeSet::new();
    for object in fixed.iter() {
        if let Some(written) = object.question.object.written()
            && !sources.iter().any(|source| Rc::ptr_eq(source, &written.source))
            // A file that is named twice is corrected once.
            && paths.insert(written.source.path.clone())
        {
            sources.push(Rc::clone(&written.source));
        }
    }
    let mut changes = false;
    for source in sources {
        let corrected = match corrected(&source, fixed) {
            Ok(corrected) => corrected,
            Err(error) => {
                let what = format!("was not corrected: {error}; correct it by hand");
                failures.push(Failure::in_file(&source.name(), None, what));
                for object in fixed.iter_mut().filter(|object| object.is_in(&source)) {
                    object.report = object.before.clone();
                    object.made = 0;
                }
                continue;
            }
        };
        changes |= corrected != source.text;
        if write && source.is_stdin() {
            print_raw(corrected.as_bytes())?;
        } else if corrected == source.text {
        } else if !write {
            terminal.print(&diff(&source.name(), &source.text, &corrected))?;
        } else if let Err(error) = replace(&source, &corrected) {
            let what = format!("was not written: {}", chain(&error));
            failures.push(Failure::in_file(&source.name(), None, what));
        }
    }
    Ok(changes)
}

/// The text of a file with the corrected objects in it.
fn corrected(source: &Rc<Source>, fixed: &mut [Fixed<'_>]) -> Result<String> {
    let mut of_file: Vec<(usize, &mut Fixed<'_>)> = Vec::new();
    for object in fixed {
        if let Some(written) = object.question.object.written()
            && let Some(index) = source
                .objects
                .iter()
                .position(|it| Rc::ptr_eq(it, &written.object))
        {
            of_file.push((index, object));
        }
    }
    let targets = source.objects.iter().enumerate().map(|(index, object)| {
        let target = of_file.iter().find(|(of, _)| *of == index);
        (
            &**object,
            target.map_or(&object.value, |(_, fixed)| &fixed.value),
        )
    });
    let targets: Vec<(&Object, &Value)> = targets.collect();
    let (_, text) = edited(&source.text, &targets)?;
    let mut written = objects(text.as_bytes())?;
    for (index, fixed) in of_file.into_iter().rev() {
        written.truncate(index + 1);
        fixed.corrected = written.pop();
    }
    Ok(text)
}

/// Writes a file in one step, with the permissions that it has; not over a file that somebody else changed.
fn replace(source: &Source, text: &str) -> Result<()> {
    // A symbolic link stays one.
    let path = std::fs::canonicalize(&source.path)?;
    let metadata = std::fs::metadata(&path)?;
    ensure!(metadata.is_file(), "it is no regular file");
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut new = NamedTempFile::new_in(directory)
        .with_context(|| format!("no file can be made in {}", directory.display()))?;
    new.write_all(text.as_bytes())?;
    new.as_file().set_permissions(metadata.permissions())?;
    new.as_file().sync_all()?;
    ensure!(
        std::fs::read(&path)? == source.text.as_bytes(),
        "it was changed since it was read; run the command again"
    );
    new.persist(&path).map_err(|error| anyhow!(error.error))?;
    Ok(())
}

/// The patch of each object, on a line of its own.
fn print_patches(fixed: &[Fixed<'_>], format: FixFormat) -> Result<()> {
    let mut text = String::new();
    for object in fixed {
        let patch = foreign::json(&serde_json::to_string(&object.patch)?);
        let line = match format {
            FixFormat::JsonPatch => patch,
            FixFormat::Commands if object.patch.is_empty() => continue,
            FixFormat::Commands => command(object.question, &patch),
        };
        text.push_str(&line);
        text.push('\n');
    }
    print_raw(text.as_bytes())
}

/// The command that makes the changes in the cluster.
fn command(question: &Question, patch: &str) -> String {
    let identity = &question.identity;
    let version = identity.api_version.rsplit('/').next().unwrap_or_default();
    let word = |text: &str| shell_word(&one_line(text));
    let mut command = format!(
        "kubectl patch {} {}",
        word(&format!("hyperconvergeds.{version}.hco.kubevirt.io")),
        word(identity.name.as_deref().unwrap_or_default()),
    );
    if let Some(namespace) = &identity.namespace {
        command = format!("{command} -n {}", word(namespace));
    }
    format!("{command} --type json -p {}", shell_word(patch))
}

/// What was done, and what is left for a person.
fn tell(verdicts: &Verdicts, made: usize, args: &args::Fix, terminal: &Terminal) {
    let mut left = 0;
    let mut to_confirm = 0;
    for object in &verdicts.objects {
        if let Some(message) = object.message() {
            terminal.failure(&format!("{}: {message}", object.at(None)));
        }
        for finding in object.of(Level::Deny) {
            left += 1;
            let first = finding.remedies.first();
            to_confirm += usize::from(first.is_some_and(|remedy| !remedy.patch.is_empty()));
            let fix = finding.fix.replace('\n', "\n    ");
            let (at, rule, fact) = (object.at(finding.line), &finding.rule, &finding.fact);
            terminal.failure(&format!("{at}: [{rule}] {fact}\n  fix: {fix}"));
        }
    }
    if args.quiet {
        return;
    }
    let mut said = Vec::new();
    if made > 0 {
        let word = if args.write {
            "resolved"
        } else {
            "can be resolved"
        };
        said.push(format!("{} {word}", count(made, "finding")));
    }
    if left > 0 {
        said.push(format!("{} left to a person", count(left, "problem")));
    }
    if to_confirm > 0 && !args.r#unsafe {
        said.push(format!(
            "--unsafe resolves {to_confirm} of them as the fix says"
        ));
    }
    if said.is_empty() && verdicts.failures.is_empty() {
        said.push("there is nothing to correct".to_owned());
    }
    if !said.is_empty() {
        terminal.note(&said.join("; "));
    }
}
