//! The input of `check` and `fix`: the objects of the files, or of the cluster, and everything that the module reads.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use cluster::files::name;
use cluster::foreign::{self, Foreign, one_line};
use cluster::{Cluster, Identity, Notes, Reader, World, labels_in};
use policy_host::{HostCalls, Objects};
use serde_json::{Value, json};

use super::files::{self, Found};
use super::misplaced;
use super::module::Module;
use super::nodes::{self, WhatIf};
use super::question::Question;
use super::settings::Policies;
use super::situation::no_hyperconverged;
use crate::args::Subject;
use crate::failure::{Failure, Nothing, chain};
use crate::images::registries;
use crate::kubectl::Kubectl;
use crate::report::{Level, Report, is_denied_by_hco, is_evaluated};
use crate::verdict::{Judged, Origin, Verdicts};

const UNNAMED: &str = "specify the nodes: --nodes FILE (the output of `kubectl get nodes -o yaml`), --cluster (the cluster of the current context), --from PATH (a snapshot or a must-gather), or --arch amd64=3,arm64=2 (hypothetical nodes)";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Evaluates a file as an update of the live object.
    Check,
    /// Finds the possible fixes, including fixes of existing problems.
    Fix,
}

pub(crate) struct Check<'s> {
    pub(super) subject: &'s Subject,
    pub(crate) questions: Vec<Arc<Question>>,
    pub(super) world: Option<World>,
    module: Module,
    policies: Policies,
    /// Answers requests for nodes and images.
    host: Arc<dyn HostCalls>,
    /// Answers requests for the objects that VirtualMachines depend on, if there are any.
    for_machines: Option<Arc<Objects>>,
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
        // `fix` does not change VirtualMachines, because a person has to decide about their fixes.
        let with_machines = purpose == Purpose::Check;
        let mut files = files::read(&subject.filename, subject.walk.clone(), with_machines);
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
        let manifests: Vec<&Value> = files
            .found
            .iter()
            .chain(&files.beside)
            .chain(old.iter().flat_map(|(_, found)| found))
            .map(|found| &found.object.value)
            .collect();
        let world = source
            .is_live()
            .then(|| source.world(None, &manifests, Reader::Check, notes))
            .transpose()?;
        let skipped = world.as_ref().and_then(World::skipped);
        failures.extend(skipped.map(|reason| Failure::new(None, reason)));
        let mut questions = Vec::new();
        if let Some(world) = world.as_ref().filter(|_| subject.filename.is_empty()) {
            // Live objects are evaluated as new objects, so that existing problems are reported too.
            let namespace = source.connection.namespace.as_deref();
            for live in world.hyperconvergeds(namespace) {
                questions.push(Question::live(live.clone()));
            }
            if questions.is_empty() {
                return Err(no_hyperconverged(namespace));
            }
        }
        for found in files.found {
            let (place, old, world) = (found.place(), old.as_ref(), world.as_ref());
            match Question::of_file(found, subject.as_if, source, old, world, notes) {
                Ok(question) => questions.push(question),
                Err(error) => failures.push(Failure::new(Some(place), chain(&error))),
            }
        }
        let module = Module::load(subject.policy.as_deref(), subject.no_cache)?;
        let (settings, of_world) = (subject.settings.as_deref(), world.as_ref());
        let mut policies = Policies::read(settings, Some(&module), of_world, &questions, notes)?;
        if purpose == Purpose::Fix {
            // With repairs, the module would only report what it repairs, without a patch.
            for settings in policies.all() {
                settings.remove("repair");
            }
        }
        let labels = labels_in(questions.iter().flat_map(Question::objects));
        // clap rejects several sources.
        let mut nodes = match (&subject.nodes, &subject.arch, &world) {
            (Some(path), ..) => nodes::of_file(path, &labels)?,
            (None, Some(counts), _) => counts.nodes("", "worker"),
            (None, None, world) => nodes::of_world(world.as_ref().context(UNNAMED)?)?,
        };
        if let Some(what_if) = what_if {
            nodes = what_if.apply(nodes)?;
        }
        policies.verify_images(subject.images, notes);
        let objects = nodes.iter().map(|node| json!(node));
        let mut host: Arc<dyn HostCalls> = Arc::new(Objects::default().with("v1", "Node", objects));
        if subject.images {
            let (images, objects) = (registries(subject.sources_path.as_deref())?, host);
            host = Arc::new(move |namespace: &str, operation: &str, payload: &[u8]| {
                let is_image = namespace == "oci";
                let host: &dyn HostCalls = if is_image { &images } else { &*objects };
                host.call(namespace, operation, payload)
            });
        }
        let mut check = Self {
            subject,
            questions: questions.into_iter().map(Arc::new).collect(),
            world,
            module,
            policies,
            host,
            for_machines: None,
        };
        let mut identities = check.questions.iter().map(|question| &question.identity);
        if identities.any(Identity::is_virtual_machine) {
            let objects = check.surroundings(&files.beside, notes)?;
            check.for_machines = Some(Arc::new(objects));
        }
        Ok(check)
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
            match self.verdict(question, question.old(), &question.sent) {
                Ok(mut report) => {
                    if question.found.is_some() {
                        report.not_checked.extend(misplaced::of(question.value()));
                    }
                    verdicts.objects.push(Judged {
                        question: Arc::clone(question),
                        policy: self.policies.of(question).policy.clone(),
                        report,
                    });
                }
                Err(failure) => verdicts.failures.push(failure),
            }
        }
        verdicts
    }

    /// The module's report about a version of a question's object, and HCO's denials.
    pub(crate) fn verdict(
        &self,
        question: &Question,
        old: Option<&Value>,
        object: &Value,
    ) -> Result<Report, Failure> {
        let settings = &self.policies.of(question).value;
        let mut report = self.evaluate(question, object, old, settings)?;
        // HCO's webhook also denies an update because of an existing problem.
        for finding in &mut report.findings {
            if is_denied_by_hco(finding) {
                finding.level = Level::Deny;
                report.allowed = false;
                report.code.get_or_insert(403);
            }
        }
        Ok(report)
    }

    /// The module's report about this version of a question's object, with existing problems: `fix` fixes them as well.
    pub(crate) fn report(&self, question: &Question, object: &Value) -> Result<Report, Failure> {
        let mut settings = self.policies.of(question).value.clone();
        if let Some(settings) = settings.as_object_mut() {
            settings.insert("updates".to_owned(), "strict".into());
        }
        let report = self.evaluate(question, object, question.old(), &settings)?;
        // The module does not evaluate an update that changes nothing.
        if question.old().is_some() && !is_evaluated(&report) {
            return self.evaluate(question, object, None, &settings);
        }
        Ok(report)
    }

    fn evaluate(
        &self,
        question: &Question,
        object: &Value,
        old: Option<&Value>,
        settings: &Value,
    ) -> Result<Report, Failure> {
        let host = match &self.for_machines {
            Some(objects) if question.identity.is_virtual_machine() => Arc::clone(objects) as _,
            _ => Arc::clone(&self.host),
        };
        let payload = question.payload(object, old, settings);
        let report = self
            .module
            .judge(&payload, host)
            .map_err(|error| question.failure(chain(&error)))?;
        let connection = &self.subject.source.connection;
        Ok(Kubectl::new(connection, connection.context.as_deref()).complete(report))
    }
}

fn old(subject: &Subject, purpose: Purpose, path: &Path) -> Result<Vec<Found>> {
    let with_machines = purpose == Purpose::Check;
    let read = files::read(&[path.to_owned()], subject.walk.clone(), with_machines);
    if let Some(failure) = read.failures.first() {
        bail!("--old {failure}");
    }
    if read.found.is_empty() {
        bail!("--old {}: no {} in it", foreign::path(path), kinds(purpose));
    }
    Ok(read.found)
}

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
    ensure!(has_nodes, UNNAMED);
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
