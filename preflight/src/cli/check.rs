//! `check`: judges every HyperConverged of the files, or of the cluster, with the module.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use hco_preflight::{Cluster, Counts, HostCalls, Labels};
use serde_json::Value;

use super::admission::{self, Identity};
use super::apply;
use super::args::{self, AsIf, FailOn, Subject};
use super::deployed::{self, Settings, Target};
use super::exit::Exit;
use super::foreign::{Foreign, one_line};
use super::images::{Images, beside};
use super::input::{self, Found, InFile, Input};
use super::nodes::{self, Detail, Hosts};
use super::output::{Terminal, chain};
use super::policy::Module;
use super::progress::Progress;
use super::settings;
use super::verdict::{Against, Failure, Judged, Origin, Place, Report, Verdicts};

/// Judges the objects, prints the verdicts, and returns the worst exit code.
pub(crate) fn run(args: &args::Check, terminal: &Terminal) -> Result<Exit> {
    let mut notes = Vec::new();
    let purpose = Purpose::Check(args.sent.as_if);
    let mut verdicts = match Prepared::new(&args.subject, purpose, &mut notes) {
        Ok(prepared) => {
            let verdicts = prepared.judge();
            notes.extend(prepared.unplaced(args.subject.what_if.as_ref(), &verdicts));
            verdicts
        }
        // A program that reads the report must find in it why nothing was judged.
        Err(error) => {
            let mut verdicts = Verdicts::default();
            match error.downcast() {
                Ok(Unread::Nothing(what)) if args.allow_empty => {
                    verdicts.may_be_empty = true;
                    notes.push(what.to_string());
                }
                Ok(Unread::Nothing(what)) => verdicts.failures.push(what),
                Ok(Unread::Failures(failures)) => verdicts.failures = failures,
                Err(error) => verdicts.failures.push(Failure::of(&error)),
            }
            verdicts
        }
    };
    verdicts.not_for_fix = not_for_fix(args);
    if !args.quiet {
        terminal.notes(&notes);
        for object in &verdicts.objects {
            let report = &object.report;
            for note in report.warnings.iter().chain(&report.not_checked) {
                terminal.note(&one_line(&format!("{}: {note}", object.at(None))));
            }
            if report.mutates {
                terminal.note(&format!(
                    "{}: the module would change the object",
                    object.at(None)
                ));
            }
            for repair in &object.report.repairs {
                terminal.note(&format!(
                    "{}: the policy would repair this object: {repair}",
                    object.at(None)
                ));
            }
            let more = object.report.more_findings;
            if more > 0 {
                terminal.note(&format!(
                    "{}: {more} more findings are not listed",
                    object.at(None)
                ));
            }
        }
    }
    for failure in &verdicts.failures {
        terminal.failure(&failure.to_string());
    }
    terminal.verdicts(&verdicts, args.output)?;
    Ok(match (verdicts.exit(), args.fail_on) {
        (Exit::Denied, FailOn::Never) => Exit::Accepted,
        (Exit::Accepted, FailOn::Warn) if verdicts.warns() => Exit::Denied,
        (exit, _) => exit,
    })
}

/// The options that are set and that `fix` does not have.
fn not_for_fix(args: &args::Check) -> Vec<&'static str> {
    let all = [
        ("--as-if", args.sent.as_if.is_some()),
        ("--fail-on", args.fail_on != FailOn::Deny),
    ];
    let set = all.into_iter().filter(|(_, is_set)| *is_set);
    set.map(|(option, _)| option).collect()
}

/// Everything that a check needs, read.
pub(crate) struct Prepared {
    /// The module.
    pub(crate) module: Module,
    /// Those of the user or the defaults, validated.
    settings: Settings,
    /// Those of the cluster's policies, validated.
    deployed: Vec<Settings>,
    /// The namespace of objects that name none.
    namespace: String,
    /// Answer for the nodes.
    pub(crate) hosts: Hosts,
    /// The objects to judge.
    pub(crate) questions: Vec<Question>,
    /// What could not be read.
    pub(crate) failures: Vec<Failure>,
    /// The cluster.
    origin: Option<Origin>,
}

/// An object that the module is to judge.
pub(crate) struct Question {
    /// Nothing for an object of the cluster.
    pub(crate) place: Option<Place>,
    /// What it is.
    pub(crate) identity: Identity,
    /// What it is judged against.
    against: Against,
    /// The object, with its file if it is in one.
    pub(crate) object: Written,
    /// What the API server makes of it, if that is something else.
    sent: Option<Value>,
    /// What it was before.
    old: Option<Value>,
    /// The live object that a fixed file is to be merged with.
    pub(crate) live: Option<Value>,
}

/// An object and where it stands.
pub(crate) enum Written {
    InFile(InFile),
    InCluster(Value),
}

impl Written {
    pub(crate) fn value(&self) -> &Value {
        match self {
            Self::InFile(written) => &written.object.value,
            Self::InCluster(object) => object,
        }
    }

    /// The object with its file, if it is in one.
    pub(crate) fn written(&self) -> Option<&InFile> {
        match self {
            Self::InFile(written) => Some(written),
            Self::InCluster(_) => None,
        }
    }
}

/// Why objects are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// What would happen to them: a live object is the old one, and the file is sent like this. By default it is applied.
    Check(Option<AsIf>),
    /// What can be fixed in them: existing problems too. The file is applied.
    Fix,
}

impl Purpose {
    /// How the file is sent.
    fn as_if(self) -> AsIf {
        match self {
            Self::Check(as_if) => as_if.unwrap_or_default(),
            Self::Fix => AsIf::Apply,
        }
    }
}

impl Prepared {
    /// Reads all input, cheap input first. Notes are collected even if an error follows.
    pub(crate) fn new(
        subject: &Subject,
        purpose: Purpose,
        notes: &mut Vec<String>,
    ) -> Result<Self> {
        check_usage(subject, purpose)?;
        let Input {
            found,
            notes: passed_over,
            mut failures,
            ..
        } = input::read(&subject.filename, subject.recursive);
        if found.is_empty() && !subject.filename.is_empty() {
            return Err(if failures.is_empty() {
                Unread::Nothing(nothing(&subject.filename, &passed_over))
            } else {
                Unread::Failures(failures)
            }
            .into());
        }
        notes.extend(passed_over);
        let cluster = if subject.cluster {
            let _progress = Progress::start("connecting to the cluster");
            let (cluster, note) = nodes::connect(&subject.connection)?;
            notes.push(note);
            Some(Arc::new(cluster))
        } else {
            None
        };
        let namespace = subject.connection.namespace.as_deref();
        let questions = if subject.filename.is_empty() {
            if purpose != Purpose::Fix {
                notes.push(LIVE.to_owned());
            }
            of_cluster(cluster.as_deref(), namespace)?
        } else {
            let old = Old::of(subject, purpose, cluster.as_deref())?;
            let asked = found
                .into_iter()
                .map(|found| old.question(found, namespace, notes));
            let mut questions = Vec::new();
            for question in asked {
                match question {
                    Ok(question) => questions.push(question),
                    Err(failure) => failures.push(failure),
                }
            }
            questions
        };
        let progress = Progress::start("compiling the module");
        let module = Module::load(subject.policy.as_deref(), subject.no_cache)?;
        if let Some(why) = &module.uncached {
            notes.push(one_line(&format!(
                "the module is compiled on every run, because the cache cannot be used: {why}"
            )));
        }
        let (settings, of_policy) = settings::validated(subject.settings.as_deref(), &module)?;
        notes.extend(of_policy);
        drop(progress);
        let namespace = cluster
            .as_ref()
            .map(|cluster| cluster.namespace().to_owned());
        let namespace = namespace.unwrap_or_default();
        let mut deployed = match &cluster {
            // The policies of another module have settings of their own.
            Some(cluster) if subject.settings.is_none() && !module.is_foreign() => {
                let _progress = Progress::start("reading the policies of the cluster");
                let targets = questions.iter().map(|it| it.target(&namespace));
                deployed::settings(cluster, &targets.collect(), &module, notes)?
            }
            _ => Vec::new(),
        };
        let progress = Progress::start("reading the nodes");
        let hosts = hosts(subject, cluster.as_ref(), &module, &questions, notes)?;
        drop(progress);
        let mut settings = Settings::of_user(settings);
        let all = deployed.iter_mut().chain([&mut settings]);
        let all: Vec<&mut Value> = all.map(|settings| &mut settings.value).collect();
        let images = Images::new(subject, all, module.is_foreign(), notes)?;
        let prepared = Self {
            module,
            settings,
            deployed,
            namespace,
            hosts,
            questions,
            failures,
            origin: cluster.map(|cluster| Origin {
                context: cluster.context().map(Foreign::from),
                server: Foreign::from(cluster.server()),
            }),
        };
        Ok(prepared.with_images(&images))
    }

    /// Reads the images that are needed.
    fn with_images(self, images: &Images) -> Self {
        images.read_ahead(|images| self.evaluate_with(images));
        Self {
            hosts: self.hosts.with_images(&images.host),
            ..self
        }
    }

    /// Evaluates everything with a host that answers for images, and drops the reports.
    fn evaluate_with(&self, images: &Arc<dyn HostCalls>) {
        for (question, settings) in self.pairs() {
            let host = beside(images, self.hosts.all());
            // An error is reported when the images are read.
            drop(self.report_of(question, question.sent(), settings, host));
        }
    }

    fn judge(&self) -> Verdicts {
        let _progress = Progress::start("checking");
        let mut verdicts = Verdicts {
            failures: self.failures.clone(),
            cluster: self.origin.clone(),
            ..Verdicts::default()
        };
        for (question, settings) in self.pairs() {
            let judged = self
                .report_of(question, question.sent(), settings, self.hosts.all())
                .map_err(|error| question.failure(chain(&error)))
                .map(|report| self.judged(question, settings, report));
            match judged {
                Ok(judged) => verdicts.objects.push(judged),
                Err(failure) => verdicts.failures.push(failure),
            }
        }
        verdicts
    }

    fn judged(&self, question: &Question, settings: &Settings, report: Report) -> Judged {
        Judged {
            policy: settings.policy.clone(),
            is_one_of_several: self.settings_for(question).len() > 1,
            decides: self.deciding(question).any(|it| std::ptr::eq(it, settings)),
            ..question.judged(report)
        }
    }

    /// The settings that an object is judged with: those of each policy of the cluster that applies to it.
    pub(crate) fn settings_for(&self, question: &Question) -> Vec<&Settings> {
        let target = question.target(&self.namespace);
        let deployed = self.deployed.iter();
        let deployed: Vec<&Settings> = deployed.filter(|it| it.apply_to(&target)).collect();
        if deployed.is_empty() {
            vec![&self.settings]
        } else {
            deployed
        }
    }

    /// Those of the settings that decide the exit code: of the policies that protect, or of all if none does.
    fn deciding(&self, question: &Question) -> impl Iterator<Item = &Settings> {
        let all = self.settings_for(question);
        let protects = all.iter().any(|settings| settings.protects());
        all.into_iter()
            .filter(move |settings| !protects || settings.protects())
    }

    /// Each object with all the settings that it is judged with.
    pub(crate) fn pairs(&self) -> Vec<(&Question, &Settings)> {
        let questions = self.questions.iter();
        let pairs = questions.flat_map(|question| {
            let settings = self.settings_for(question).into_iter();
            settings.map(move |settings| (question, settings))
        });
        pairs.collect()
    }

    /// What the module says of the object that a question is about, in this form of it: by all settings that decide.
    pub(crate) fn report(&self, question: &Question, object: &Value) -> Result<Report, Failure> {
        let mut report: Option<Report> = None;
        for settings in self.deciding(question) {
            let next = self
                .report_of(question, object, settings, self.hosts.all())
                .map_err(|error| question.failure(chain(&error)))?;
            match &mut report {
                None => report = Some(next),
                Some(report) => report.add(next),
            }
        }
        Ok(report.unwrap_or_default())
    }

    /// Lets the module report everything as it is: no policy repairs it first.
    pub(crate) fn without_repairs(&mut self) {
        for settings in self.deployed.iter_mut().chain([&mut self.settings]) {
            if let Some(settings) = settings.value.as_object_mut() {
                settings.remove("repair");
            }
        }
    }

    fn report_of(
        &self,
        question: &Question,
        object: &Value,
        settings: &Settings,
        host: Arc<dyn HostCalls>,
    ) -> Result<Report> {
        let payload = admission::payload(&question.request(object), &settings.value);
        self.module.judge(&payload, host)
    }

    /// The nodes of `--what-if` that are not workload nodes of any object, so that no verdict depends on them.
    fn unplaced(&self, supposed: Option<&Counts>, verdicts: &Verdicts) -> Vec<String> {
        let (Some(Counts(supposed)), Some(before)) = (supposed, &self.hosts.before) else {
            return Vec::new();
        };
        let pairs = self.pairs().into_iter();
        let reports = pairs.filter_map(|(question, settings)| {
            let (object, before) = (question.sent(), Arc::clone(before));
            let report = self.report_of(question, object, settings, before).ok()?;
            report.nodes
        });
        let before: Vec<_> = reports.collect();
        let objects = verdicts.objects.iter();
        let after: Vec<_> = objects.filter_map(|it| it.report.nodes.as_ref()).collect();
        if after.is_empty() || after.len() != before.len() {
            return Vec::new();
        }
        let count = |nodes: &BTreeMap<Foreign, usize>, architecture: &str| {
            nodes.get(architecture).copied().unwrap_or_default()
        };
        let unplaced = supposed.iter().filter(|(architecture, supposed)| {
            let pairs = before.iter().zip(&after);
            let mut joined = pairs.map(|(before, after)| {
                count(after, architecture).saturating_sub(count(before, architecture))
            });
            joined.all(|joined| joined < **supposed)
        });
        unplaced
            .map(|(architecture, count)| {
                format!("--what-if {architecture}={count}: the workloads' placement does not match these nodes: they have only the labels for the architecture and the worker role")
            })
            .collect()
    }
}

impl Question {
    /// The admission request for the object in this form of it.
    pub(crate) fn request(&self, object: &Value) -> Value {
        admission::request(&self.identity, object, self.old.as_ref())
    }

    /// The request that a policy of the cluster gets, with the namespace where the object is or would be.
    fn target(&self, namespace: &str) -> Target {
        let namespace = self.identity.namespace.as_deref().unwrap_or(namespace);
        Target {
            namespace: namespace.to_owned(),
            api_version: self.identity.api_version.clone(),
            operation: if self.place.is_none() || self.live.is_some() {
                None
            } else if self.old.is_some() {
                Some("UPDATE")
            } else {
                Some("CREATE")
            },
        }
    }

    /// That something cannot be done with the object.
    pub(crate) fn failure(&self, what: String) -> Failure {
        Failure {
            file: self.place.as_ref().map(|place| place.file.clone()),
            line: self.place.as_ref().map(|place| place.line),
            what,
        }
    }

    /// The new object and the old one.
    fn objects(&self) -> impl Iterator<Item = &Value> {
        std::iter::once(self.sent()).chain(&self.old)
    }

    /// The object as the API server gets it.
    pub(crate) fn sent(&self) -> &Value {
        self.sent.as_ref().unwrap_or(self.object.value())
    }

    pub(crate) fn judged(&self, mut report: Report) -> Judged {
        let written = self.object.written().cloned();
        if let Some(InFile { object, .. }) = &written {
            report.set_lines(object);
        }
        Judged {
            place: self.place.clone(),
            written,
            identity: self.identity.clone(),
            against: self.against.clone(),
            policy: None,
            is_one_of_several: false,
            decides: true,
            report,
        }
    }
}

/// The hosts that answer for the nodes. A module of the user's reads from a cluster only what it is granted.
fn hosts(
    subject: &Subject,
    cluster: Option<&Arc<Cluster>>,
    module: &Module,
    questions: &[Question],
    notes: &mut Vec<String>,
) -> Result<Hosts> {
    let detail = if module.is_foreign() {
        Detail::Everything
    } else {
        let objects = questions.iter().flat_map(Question::objects);
        Detail::Labels(Labels::named_in(objects))
    };
    let is_guarded = cluster.is_some() && module.is_foreign();
    let is_granted = subject.allow_context_aware;
    let reads_nodes = !is_guarded || is_granted && module.asks_for_nodes();
    if !reads_nodes && subject.what_if.is_some() {
        notes.push(
            "--what-if has no effect: the module of --policy is not allowed to read nodes"
                .to_owned(),
        );
    }
    let supposed = subject.what_if.as_ref().filter(|_| reads_nodes);
    let hosts = nodes::hosts(subject, cluster, &detail, supposed)?;
    if !is_guarded {
        return Ok(hosts);
    }
    notes.extend(module.not_granted(is_granted));
    hosts.guarded(module, is_granted)
}

/// Mistakes that clap cannot find.
fn check_usage(subject: &Subject, purpose: Purpose) -> Result<()> {
    nodes::check(subject)?;
    if subject.filename.is_empty() && !subject.cluster {
        bail!(
            "specify the objects to check: -f FILE, -f DIRECTORY, or -f - (standard input); or only --cluster, for the HyperConverged objects in the cluster"
        );
    }
    if subject.filename.is_empty() && subject.old.is_some() {
        bail!("--old requires a file with the new version of the object: add -f FILE");
    }
    // clap does not require --cluster where --arch or --nodes is given.
    let has_as_if = matches!(purpose, Purpose::Check(Some(_)));
    if has_as_if && !subject.cluster {
        bail!("--as-if requires --cluster");
    }
    if has_as_if && subject.filename.is_empty() {
        bail!("--as-if requires a file: add -f FILE");
    }
    if subject.allow_context_aware && !subject.cluster {
        bail!("--allow-context-aware requires --cluster");
    }
    let named = [&subject.old, &subject.nodes, &subject.settings];
    let all = named.into_iter().flatten().chain(&subject.filename);
    if all.filter(|path| *path == Path::new("-")).count() > 1 {
        bail!("only one of the files can be - (standard input)");
    }
    Ok(())
}

/// Why there is nothing to judge.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unread {
    /// The files have no `HyperConverged`.
    #[error("{0}")]
    Nothing(Failure),
    /// No file could be read.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n  "))]
    Failures(Vec<Failure>),
}

/// Without objects nothing is accepted, except with `--allow-empty`.
fn nothing(files: &[PathBuf], notes: &[String]) -> Failure {
    let files: Vec<String> = files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    let mut what = format!(
        "nothing to check: no HyperConverged (hco.kubevirt.io) in {}",
        one_line(&files.join(", "))
    );
    for note in notes {
        what.push_str("\n  ");
        what.push_str(note);
    }
    Failure {
        file: None,
        line: None,
        what,
    }
}

/// What a verdict on a live object means.
const LIVE: &str = "live objects are checked as new objects; in the cluster, updates are not denied because of existing problems";

/// The live objects, judged as if they were new: existing problems are reported too.
fn of_cluster(cluster: Option<&Cluster>, namespace: Option<&str>) -> Result<Vec<Question>> {
    let _progress = Progress::start("reading the HyperConverged objects in the cluster");
    let cluster = cluster.context("no cluster is specified to read HyperConverged objects from")?;
    let live = cluster.hyperconvergeds(namespace)?;
    if live.is_empty() {
        let namespace = namespace.map(|namespace| format!(" in the namespace `{namespace}`"));
        bail!(
            "nothing to check: the cluster has no HyperConverged{}; specify a manifest with -f",
            one_line(&namespace.unwrap_or_default())
        );
    }
    let questions = live.into_iter().map(|object| Question {
        place: None,
        identity: Identity::of(&object),
        against: Against::Nothing,
        object: Written::InCluster(object),
        sent: None,
        old: None,
        live: None,
    });
    Ok(questions.collect())
}

/// Where the old objects come from.
enum Old<'c> {
    Nowhere,
    File(PathBuf, Vec<Found>),
    Cluster(&'c Cluster, Purpose),
}

impl<'c> Old<'c> {
    fn of(subject: &Subject, purpose: Purpose, cluster: Option<&'c Cluster>) -> Result<Self> {
        match (&subject.old, cluster, purpose) {
            (Some(path), ..) => {
                let read = input::read(std::slice::from_ref(path), subject.recursive);
                if let Some(failure) = read.failures.first() {
                    bail!("--old {failure}");
                }
                if read.found.is_empty() {
                    bail!("--old {}: no HyperConverged in it", path.display());
                }
                Ok(Self::File(path.clone(), read.found))
            }
            (None, Some(cluster), _) => Ok(Self::Cluster(cluster, purpose)),
            (None, None, _) => Ok(Self::Nowhere),
        }
    }

    fn question(
        &self,
        found: Found,
        namespace: Option<&str>,
        notes: &mut Vec<String>,
    ) -> Result<Question, Failure> {
        let Found {
            place,
            identity,
            written,
        } = found;
        if let (Some(wanted), Some(own)) = (namespace, &identity.namespace)
            && wanted != own
        {
            let what = format!("is in the namespace `{own}`, but -n is `{wanted}`: remove -n");
            let what = one_line(&what);
            return Err(Failure::in_file(&place.file, Some(place.line), what));
        }
        let (against, old) = match self.before(&identity) {
            Ok(before) => before,
            Err(what) => return Err(Failure::in_file(&place.file, Some(place.line), what)),
        };
        let there = match (self, &against) {
            (Self::File(path, _), Against::Nothing) => {
                Some(format!("{} has no object with this name", path.display()))
            }
            (Self::Cluster(cluster, _), Against::Nothing) => Some(format!(
                "the cluster has no HyperConverged {}/{} yet",
                namespace_in(cluster, &identity),
                identity.name.as_deref().unwrap_or_default()
            )),
            _ => None,
        };
        if let Some(there) = there {
            let (file, line) = (&place.file, place.line);
            let note = format!("{file}:{line}: checked as a new object: {there}");
            notes.push(one_line(&note));
        }
        let sent = match (self, &old) {
            (Self::Cluster(_, purpose), Some(live)) => {
                Some(apply::sent(purpose.as_if(), live, &written.object.value))
            }
            _ => None,
        };
        let (old, live) = match self {
            // An update would carry existing problems instead of fixing them.
            Self::Cluster(_, Purpose::Fix) => (None, old),
            _ => (old, None),
        };
        Ok(Question {
            place: Some(place),
            identity,
            against,
            object: Written::InFile(written),
            sent,
            old,
            live,
        })
    }

    fn before(&self, identity: &Identity) -> Result<(Against, Option<Value>), String> {
        match self {
            Self::Nowhere => Ok((Against::Nothing, None)),
            Self::File(path, old) => {
                let same = |old: &&Found| old.identity.is_same_object(identity);
                let Some(old) = old.iter().find(same) else {
                    return Ok((Against::Nothing, None));
                };
                let (new, was) = (&identity.api_version, &old.identity.api_version);
                if new != was {
                    let version = new.rsplit('/').next().unwrap_or_default();
                    return Err(format!(
                        "is {new}, but {} is {was}: only objects of the same version can be compared; get the old object with `kubectl get hyperconvergeds.{version}.hco.kubevirt.io -o yaml`",
                        path.display()
                    ));
                }
                let against = Against::File(path.display().to_string());
                Ok((against, Some(old.written.object.value.clone())))
            }
            Self::Cluster(cluster, _) => {
                let Some(name) = &identity.name else {
                    return Ok((Against::Nothing, None));
                };
                let namespace = namespace_in(cluster, identity);
                let live = cluster
                    .hyperconverged(&identity.api_version, namespace, name)
                    .map_err(|error| chain(&error.into()))?;
                let against = live.as_ref().map_or(Against::Nothing, |_| Against::Live);
                Ok((against, live))
            }
        }
    }
}

/// Where kubectl would apply it.
fn namespace_in<'n>(cluster: &'n Cluster, identity: &'n Identity) -> &'n str {
    let namespace = identity.namespace.as_deref();
    namespace.unwrap_or_else(|| cluster.namespace())
}
