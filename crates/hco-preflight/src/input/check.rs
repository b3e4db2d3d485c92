//! The input of `check` and `fix`: the objects of the files, or of the cluster, and everything that the module reads.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use cluster::field::key;
use cluster::files::name;
use cluster::foreign::{self, Foreign, one_line};
use cluster::{Cluster, Identity, Labels, Notes, Reader, World};
use policy_host::{HostCalls, Objects};
use serde_json::{Value, json};

use super::images;
use super::nodes;
use super::policies::Policies;
use super::question::{Against, Question};
use super::surroundings::{decisive, surroundings, with_namespace};
use crate::args::Subject;
use crate::failure::{Failure, Nothing, chain};
use crate::input::apply;
use crate::input::files::{self, Found, Wanted};
use crate::input::misplaced;
use crate::input::module::Module;
use crate::input::what_if::WhatIf;
use crate::kubectl::Kubectl;
use crate::report::{Level, Report, is_denied_by_hco, is_evaluated};
use crate::verdict::{Judged, Origin, Verdicts};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Evaluates a file as an update of the live object.
    Check,
    /// Finds the possible fixes, including fixes of existing problems.
    Fix,
}

pub(crate) struct Check<'s> {
    subject: &'s Subject,
    pub(crate) questions: Vec<Arc<Question>>,
    /// The cluster, or the objects of `--from`.
    world: Option<World>,
    module: Module,
    policies: Policies,
    /// Answers requests for nodes and images.
    host: Arc<dyn HostCalls>,
    /// Answers requests for the objects that VirtualMachines depend on, if there are any.
    surroundings: Option<Arc<Objects>>,
}

impl<'s> Check<'s> {
    /// Reads all input. Cheap input is read first. The notes and the failures of files are complete even if an error follows.
    pub(crate) fn read(
        subject: &'s Subject,
        purpose: Purpose,
        what_if: Option<&WhatIf>,
        notes: &mut Notes,
        failures: &mut Vec<Failure>,
    ) -> Result<Self> {
        check_usage(subject)?;
        let mut files = files::read(&subject.filename, subject.walk.clone(), wanted(purpose));
        failures.append(&mut files.failures);
        let is_empty = files.found.is_empty() && failures.is_empty();
        if is_empty && !subject.filename.is_empty() {
            return Err(nothing(&subject.filename, &files.notes, purpose).into());
        }
        notes.append(files.notes);
        let old = match &subject.old {
            Some(path) => Some((&**path, old(subject, purpose, path)?)),
            None => None,
        };
        let source = &subject.source;
        let old_objects = old.iter().flat_map(|(_, found)| found);
        let manifests: Vec<&Value> = files
            .found
            .iter()
            .chain(&files.beside)
            .chain(old_objects)
            .map(|found| &found.object.value)
            .collect();
        let world = source
            .is_live()
            .then(|| source.world(None, &manifests, Reader::Check, notes))
            .transpose()?;
        let skipped = world.as_ref().and_then(World::skipped);
        failures.extend(skipped.map(|reason| Failure::new(None, reason)));
        let questions = if subject.filename.is_empty() {
            of_cluster(subject, world.as_ref())?
        } else {
            let sources = Sources {
                subject,
                world: world.as_ref().filter(|_| old.is_none()),
                old,
            };
            sources.questions(files.found, failures, notes)
        };
        let module = Module::load(subject.policy.as_deref(), subject.no_cache)?;
        let settings = subject.settings.as_deref();
        let mut policies =
            Policies::read(settings, Some(&module), world.as_ref(), &questions, notes)?;
        if purpose == Purpose::Fix {
            // With repairs, the module would only report what it repairs, without a patch.
            for settings in policies.all().filter_map(Value::as_object_mut) {
                settings.remove("repair");
            }
        }
        let labels = Labels::named_in(questions.iter().flat_map(Question::objects));
        let nodes = nodes::read(subject, world.as_ref(), what_if, &labels)?;
        let registries = images::verify(subject, policies.all(), notes)?;
        let mut check = Self {
            subject,
            questions: questions.into_iter().map(Arc::new).collect(),
            world,
            module,
            policies,
            host: Arc::new(Objects::default().with(
                "v1",
                "Node",
                nodes.iter().map(|node| json!(node)),
            )),
            surroundings: None,
        };
        if let Some(registries) = registries {
            // The module requests one image after the other, so slow registries would exceed the deadline of the
            // evaluation. The evaluation after the images are read reports errors.
            let nodes = Arc::clone(&check.host);
            registries.read_ahead(|images| {
                check.host = images::beside(images, &nodes);
                for question in &check.questions {
                    drop(check.report_of(question));
                }
            });
            check.host = images::beside(&(registries as _), &nodes);
        }
        let mut identities = check.questions.iter().map(|question| &question.identity);
        if identities.any(Identity::is_virtual_machine) {
            let beside = files.beside.iter().map(|found| found.object.value.clone());
            let objects = check.read_surroundings(&beside.collect::<Vec<_>>(), notes)?;
            check.surroundings = Some(Arc::new(objects));
        }
        Ok(check)
    }

    /// Determines the objects that the VirtualMachines depend on.
    fn read_surroundings(&self, beside: &[Value], notes: &mut Notes) -> Result<Objects> {
        let decisive = decisive(&self.questions, self.world.as_ref());
        let report = decisive
            .as_ref()
            .map(|question| self.report(question, question.stored()))
            .transpose()
            .map_err(|failure| anyhow!("{failure}"))?
            .unwrap_or_default();
        let named = self.subject.source.connection.namespace.as_deref();
        let default = self.world.as_ref().map_or("default", World::namespace);
        let namespace = named.unwrap_or(default);
        let has_preferences = self
            .questions
            .iter()
            .map(|question| question.value())
            .any(|object| object.pointer("/spec/preference").is_some());
        Ok(surroundings(
            decisive.as_deref(),
            &report,
            (beside, namespace),
            (self.world.as_ref(), has_preferences),
            notes,
        ))
    }

    /// The cluster, unless the objects come from files.
    pub(crate) fn cluster(&self) -> Option<&Cluster> {
        self.world.as_ref()?.cluster.as_ref()
    }

    pub(crate) fn judge(&self, failures: Vec<Failure>) -> Verdicts {
        let mut verdicts = Verdicts {
            failures,
            cluster: self.cluster().map(|cluster| Origin {
                context: cluster.context.as_deref().map(Foreign::from),
                server: Foreign::from(&*cluster.server),
            }),
            ..Verdicts::default()
        };
        for question in &self.questions {
            match self.report_of(question) {
                Ok(mut report) => {
                    if let Some(found) = &question.found {
                        let dropped = misplaced::of(&found.object.value);
                        report.not_checked.extend(dropped);
                    }
                    add_denials_of_hco(&mut report);
                    verdicts.objects.push(Judged {
                        question: Arc::clone(question),
                        policy: self.policies.of(question).policy.clone(),
                        report,
                    });
                }
                Err(error) => verdicts.failures.push(question.failure(chain(&error))),
            }
        }
        verdicts
    }

    /// The module's report about the object as it is sent.
    fn report_of(&self, question: &Question) -> Result<Report> {
        let settings = &self.policies.of(question).value;
        self.evaluate(question, &question.sent, question.old(), settings)
    }

    /// The module's report about this version of a question's object, with existing problems: `fix` fixes them as well.
    pub(crate) fn report(&self, question: &Question, object: &Value) -> Result<Report, Failure> {
        let mut settings = self.policies.of(question).value.clone();
        if let Some(settings) = settings.as_object_mut() {
            settings.insert("updates".to_owned(), "strict".into());
        }
        let old = question.old();
        let report = self.evaluate(question, object, old, &settings);
        let report = match report {
            // The module does not evaluate an update that changes nothing.
            Ok(report) if old.is_some() && !is_evaluated(&report) => {
                self.evaluate(question, object, None, &settings)
            }
            report => report,
        };
        report.map_err(|error| question.failure(chain(&error)))
    }

    /// The same for an update of another object.
    pub(crate) fn update(
        &self,
        question: &Question,
        old: &Value,
        object: &Value,
    ) -> Result<Report, Failure> {
        let settings = &self.policies.of(question).value;
        let mut report = self
            .evaluate(question, object, Some(old), settings)
            .map_err(|error| question.failure(chain(&error)))?;
        add_denials_of_hco(&mut report);
        Ok(report)
    }

    fn evaluate(
        &self,
        question: &Question,
        object: &Value,
        old: Option<&Value>,
        settings: &Value,
    ) -> Result<Report> {
        let host = match &self.surroundings {
            Some(objects) if question.identity.is_virtual_machine() => Arc::clone(objects) as _,
            _ => Arc::clone(&self.host),
        };
        let payload = question.payload(object, old, settings);
        let report = self.module.judge(&payload, host)?;
        let connection = &self.subject.source.connection;
        Ok(Kubectl::new(connection, connection.context.as_deref()).complete(report))
    }
}

/// HCO's webhook also denies an update because of an existing problem.
fn add_denials_of_hco(report: &mut Report) {
    for finding in &mut report.findings {
        if is_denied_by_hco(finding) {
            finding.level = Level::Deny;
            report.allowed = false;
            report.code.get_or_insert(403);
        }
    }
}

/// `fix` does not change VirtualMachines, because a person has to decide about their fixes.
fn wanted(purpose: Purpose) -> Wanted {
    match purpose {
        Purpose::Check => &[
            "VirtualMachine",
            "DataSource",
            "KubeVirt",
            "VirtualMachinePreference",
            "VirtualMachineClusterPreference",
        ],
        Purpose::Fix => &[],
    }
}

fn old(subject: &Subject, purpose: Purpose, path: &Path) -> Result<Vec<Found>> {
    let read = files::read(&[path.to_owned()], subject.walk.clone(), wanted(purpose));
    if let Some(failure) = read.failures.first() {
        bail!("--old {failure}");
    }
    if read.found.is_empty() {
        bail!("--old {}: no {} in it", foreign::path(path), kinds(purpose));
    }
    Ok(read.found)
}

/// The error for files without an object to check.
fn nothing(files: &[PathBuf], notes: &Notes, purpose: Purpose) -> Nothing {
    let named: Vec<String> = files.iter().map(|file| one_line(&name(file))).collect();
    let (kinds, named) = (kinds(purpose), named.join(", "));
    let first = format!("nothing to check: no {kinds} in {named}");
    let lines: Vec<&str> = std::iter::once(&*first).chain(notes.iter()).collect();
    Nothing(lines.join("\n  "))
}

fn kinds(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Check => "HyperConverged (hco.kubevirt.io) or VirtualMachine (kubevirt.io/v1)",
        Purpose::Fix => "HyperConverged (hco.kubevirt.io)",
    }
}

/// Checks for mistakes that clap cannot detect.
fn check_usage(subject: &Subject) -> Result<()> {
    let is_live = subject.source.is_live();
    let has_nodes = is_live || subject.nodes.is_some() || subject.arch.is_some();
    let has_files = !subject.filename.is_empty();
    ensure!(has_nodes, nodes::UNNAMED);
    subject.source.check_connection()?;
    ensure!(
        has_files || is_live,
        "specify the objects to check: -f FILE, -f DIRECTORY, or -f - (standard input); or only --cluster, for the HyperConverged objects in the cluster"
    );
    files::check_directories(&subject.filename, &subject.walk)?;
    ensure!(
        has_files || subject.old.is_none(),
        "--old requires a file with the new version of the object: add -f FILE"
    );
    if subject.as_if.is_some() {
        // clap does not require --cluster if the user sets --arch or --nodes.
        ensure!(is_live, "--as-if requires --cluster or --from");
        ensure!(has_files, "--as-if requires a file: add -f FILE");
    }
    let Subject { old, nodes, .. } = subject;
    let others = [old, nodes, &subject.settings, &subject.source.from];
    files::check_stdin(others.into_iter().flatten().chain(&subject.filename))
}

/// The live objects, evaluated as new objects, so that existing problems are reported too.
fn of_cluster(subject: &Subject, world: Option<&World>) -> Result<Vec<Question>> {
    let namespace = subject.source.connection.namespace.as_deref();
    let source = world.context("no cluster is specified to read HyperConverged objects from")?;
    let live = source.hyperconvergeds(namespace);
    if live.is_empty() {
        let place = namespace.map(|name| format!(" in the namespace `{}`", one_line(name)));
        let what = format!(
            "nothing to check: {} has no HyperConverged{}; specify a manifest with -f",
            source.name(),
            place.unwrap_or_default()
        );
        return Err(Nothing(what).into());
    }
    Ok(live.into_iter().cloned().map(Question::live).collect())
}

/// Where the objects before an update come from: `--old`, the cluster, or nowhere.
struct Sources<'s> {
    subject: &'s Subject,
    old: Option<(&'s Path, Vec<Found>)>,
    /// `None` with `--old`.
    world: Option<&'s World>,
}

impl Sources<'_> {
    /// The objects of the files, each with the object before the update.
    fn questions(
        &self,
        found: Vec<Found>,
        failures: &mut Vec<Failure>,
        notes: &mut Notes,
    ) -> Vec<Question> {
        let mut questions = Vec::new();
        for found in found {
            let place = found.place();
            match self.question(found, notes) {
                Ok(question) => questions.push(question),
                Err(error) => failures.push(Failure::new(Some(place), chain(&error))),
            }
        }
        questions
    }

    fn question(&self, found: Found, notes: &mut Notes) -> Result<Question> {
        let namespace = self.subject.source.connection.namespace.as_deref();
        let (identity, place) = (&found.identity, found.place());
        if let (Some(wanted), Some(own)) = (namespace, &identity.namespace) {
            let what = format!("is in the namespace `{own}`, but -n is `{wanted}`: remove -n");
            ensure!(wanted == own, one_line(&what));
        }
        let old = self.before(identity, namespace)?;
        let missing = match (&self.old, self.world) {
            _ if old.is_some() => None,
            (Some((path, _)), _) => Some(format!(
                "{} has no object with this name",
                foreign::path(path)
            )),
            (None, Some(world)) if world.has_kind_of(identity) => Some(format!(
                "{} has no {} {}/{} yet",
                world.name(),
                identity.kind,
                (identity.namespace.as_deref().or(namespace)).unwrap_or(world.namespace()),
                identity.name.as_deref().unwrap_or_default()
            )),
            _ => None,
        };
        if let Some(missing) = missing {
            let other = self
                .world
                .filter(|_| identity.is_hyperconverged())
                .and_then(|world| world.hyperconvergeds.first())
                .map_or_else(String::new, |stored| {
                    format!(
                        "; it has {}, and HCO accepts only one: correct the name or the namespace",
                        key(stored)
                    )
                });
            notes.push(&format!(
                "{place}: checked as a new object: {missing}{other}"
            ));
        }
        let object = &found.object.value;
        let as_if = self.subject.as_if.unwrap_or_default();
        let sent = match (&old, self.world) {
            (Some(live), Some(_)) => apply::sent(as_if, live, object),
            (None, world) if identity.is_virtual_machine() => {
                let submitted = apply::submitted(object);
                let default = namespace.unwrap_or(world.map_or("default", World::namespace));
                with_namespace(&submitted, default).unwrap_or(submitted)
            }
            _ => apply::submitted(object),
        };
        let against = match (old, &self.old) {
            (None, _) => Against::Nothing,
            (Some(old), Some((path, _))) => Against::File(old, path.display().to_string()),
            (Some(live), None) => Against::Live(live),
        };
        Ok(Question {
            identity: found.identity.clone(),
            found: Some(found),
            sent,
            against,
            as_if,
        })
    }

    fn before(&self, identity: &Identity, namespace: Option<&str>) -> Result<Option<Value>> {
        let Some((path, old)) = &self.old else {
            let live = self.world.map(|world| world.object(identity, namespace));
            return Ok(live.transpose()?.flatten());
        };
        let Some(old) = old.iter().find(|old| old.identity.is_same_object(identity)) else {
            return Ok(None);
        };
        let (new, was) = (&identity.api_version, &old.identity.api_version);
        if new != was {
            let version = new.rsplit('/').next().unwrap_or_default();
            bail!(
                "is {new}, but {} is {was}: only objects of the same version can be compared; get the old object with `kubectl get hyperconvergeds.{version}.hco.kubevirt.io -o yaml`",
                foreign::path(path)
            );
        }
        Ok(Some(old.object.value.clone()))
    }
}
