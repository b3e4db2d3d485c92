//! The last steps: reads the nodes and the images, and gets the verdicts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Result, anyhow};
use policy_host::{Cluster, HostCalls, Labels, Objects};
use serde::Serialize;
use serde_json::{Value, json};

use super::images::Images;
use super::nodes::{self, Hosts, beside};
use super::question::Question;
use super::settings::Settings;
use super::settle::Settled;
use super::surroundings::{self, Decisive};
use crate::admission;
use crate::boot_image::{self, DataVolumes};
use crate::failure::Failure;
use crate::field::text;
use crate::foreign::{Foreign, chain, one_line};
use crate::kubectl::Kubectl;
use crate::notes::Notes;
use crate::object_name::key;
use crate::progress::Progress;
use crate::report::{Report, merged};
use crate::verdict::{Judged, Origin, Verdicts};

/// All input of a check.
pub(crate) struct Prepared<'s> {
    settled: Settled<'s>,
    /// The hosts that answer requests for nodes.
    hosts: Hosts,
    /// Answers requests for the objects that VirtualMachines depend on, if there are any.
    surroundings: Option<Arc<Objects>>,
}

impl<'s> Settled<'s> {
    /// Reads the nodes, and the required images.
    pub(super) fn with_nodes(mut self, notes: &mut Notes) -> Result<Prepared<'s>> {
        let progress = Progress::start("reading the nodes");
        let hosts = self.hosts()?;
        drop(progress);
        let all = self.deployed.iter_mut().chain([&mut self.settings]);
        let all: Vec<&mut Value> = all.map(|settings| &mut settings.value).collect();
        let images = Images::new(self.connected.subject, all, notes)?;
        let prepared = Prepared::new(self, hosts);
        prepared.with_images(&images).with_surroundings(notes)
    }

    /// The hosts that answer requests for nodes.
    fn hosts(&self) -> Result<Hosts> {
        let connected = &self.connected;
        let subject = connected.subject;
        let objects = connected.questions.iter().flat_map(Question::objects);
        nodes::hosts(
            subject,
            connected.cluster.as_ref(),
            connected.files.as_deref(),
            &Labels::named_in(objects),
            subject.what_if.as_ref(),
        )
    }
}

impl<'s> Prepared<'s> {
    /// Uses these nodes.
    pub(super) fn new(settled: Settled<'s>, hosts: Hosts) -> Self {
        Self {
            settled,
            hosts,
            surroundings: None,
        }
    }

    /// The objects to evaluate.
    pub(crate) fn questions(&self) -> &[Question] {
        &self.settled.connected.questions
    }

    /// The errors so far.
    pub(crate) fn failures(&self) -> &[Failure] {
        &self.settled.connected.failures
    }

    /// The cluster.
    pub(crate) fn cluster(&self) -> Option<&Cluster> {
        self.settled.connected.cluster.as_deref()
    }

    /// Builds commands for the cluster.
    pub(crate) fn kubectl(&self) -> &Kubectl {
        &self.settled.connected.kubectl
    }

    /// Calls the module. The commands in its answer get the flags of the cluster.
    fn ask(&self, payload: &[u8], host: Arc<dyn HostCalls>) -> Result<Report> {
        let mut report = self.settled.module.judge(payload, host)?;
        let findings = report.findings.iter_mut().flat_map(|finding| {
            let commands = finding.fixes.iter_mut();
            let commands = commands.filter_map(|it| it.command.as_mut());
            commands.chain([&mut finding.fix])
        });
        for text in findings.chain(&mut report.message) {
            *text = self.kubectl().in_fix(text);
        }
        Ok(report)
    }

    /// The host for one evaluation: it answers requests for the objects that a VirtualMachine depends on, or for nodes
    /// and images.
    pub(crate) fn host(&self, question: &Question) -> Arc<dyn HostCalls> {
        match &self.surroundings {
            Some(surroundings) if question.identity.is_virtual_machine() => {
                Arc::clone(surroundings) as _
            }
            _ => self.hosts.all(),
        }
    }

    /// Determines the objects that the VirtualMachines depend on.
    fn with_surroundings(mut self, notes: &mut Notes) -> Result<Self> {
        let mut questions = self.questions().iter();
        let has_machines = questions.any(|it| it.identity.is_virtual_machine());
        if !has_machines {
            return Ok(self);
        }
        let connected = &self.settled.connected;
        let live = connected.live();
        let decisive = Decisive::of(self.questions(), live)?;
        let report = decisive
            .question()
            .map(|question| self.report(question, question.stored()));
        let report = report.transpose().map_err(|failure| anyhow!("{failure}"))?;
        let named = connected.subject.connection.namespace.as_deref();
        let namespace = named.unwrap_or(&self.settled.namespace);
        let beside = (connected.beside.as_slice(), namespace);
        let report = report.unwrap_or_default();
        if report
            .workload_architectures
            .as_ref()
            .is_some_and(|all| all.len() > 1)
        {
            let volumes = DataVolumes::new(connected.beside.iter().cloned());
            let machines = self.questions().iter().map(|it| {
                let image = volumes.unstated(it.object.value());
                (it.identity.namespaced_name(), image)
            });
            if let Some(note) = boot_image::note(machines) {
                notes.push(&note);
            }
        }
        let mut questions = self.questions().iter();
        let has_preferences =
            questions.any(|it| it.object.value().pointer("/spec/preference").is_some());
        let live_preferences = live.filter(|_| has_preferences);
        let preferences = surroundings::preferences(&report, beside, live_preferences, notes);
        let objects = surroundings::objects(&decisive, &report, beside, live, notes);
        let objects = preferences
            .into_iter()
            .fold(objects, |objects, (kind, preferences)| {
                objects.with(surroundings::PREFERENCE_VERSION, kind, preferences)
            });
        self.surroundings = Some(Arc::new(objects));
        Ok(self)
    }

    /// Reads the required images: evaluates all objects, and drops the reports.
    fn with_images(self, images: &Images) -> Self {
        images.read_ahead(|images| {
            for (question, settings) in self.pairs() {
                let host = beside(images, self.hosts.all());
                // The evaluation after the images are read reports errors.
                drop(self.report_of(question, settings, host));
            }
        });
        Self {
            hosts: self.hosts.with_images(&images.host),
            ..self
        }
    }

    /// The verdicts, with a note on nodes that do not affect them.
    pub(crate) fn judge(&self, notes: &mut Notes) -> Verdicts {
        let _progress = Progress::start("checking");
        let mut verdicts = Verdicts {
            failures: self.settled.connected.failures.clone(),
            cluster: self.cluster().map(|cluster| Origin {
                context: cluster.context().map(Foreign::from),
                server: Some(Foreign::from(cluster.server())),
            }),
            ..Verdicts::default()
        };
        for (question, settings) in self.pairs() {
            let judged = self
                .report_of(question, settings, self.host(question))
                .map_err(|error| question.failure(chain(&error)))
                .map(|report| self.judged(question, settings, report));
            match judged {
                Ok(judged) => verdicts.objects.push(judged),
                Err(failure) => verdicts.failures.push(failure),
            }
        }
        self.note_unplaced(&verdicts, notes);
        self.note_running(&verdicts, notes);
        verdicts
    }

    /// Notes the running VMs on architectures that an update excludes.
    fn note_running(&self, verdicts: &Verdicts, notes: &mut Notes) {
        const NAMED: usize = 10;
        let excludes = |it: &&Judged| {
            let mut findings = it.report.findings.iter();
            findings.any(|finding| finding.rule == "placement-drops-architecture")
        };
        let object = verdicts.objects.iter().find(excludes);
        let (Some(object), Some(live)) = (object, self.settled.connected.live()) else {
            return;
        };
        let left = object.report.workload_architectures.iter().flatten();
        let left: BTreeSet<&str> = left.map(Foreign::raw).collect();
        let running = match live.running() {
            Ok(running) => running,
            Err(why) => {
                return notes.push(&format!("running virtual machines are not named: {why}"));
            }
        };
        let lost: Vec<String> = running
            .iter()
            .filter(|it| text(it, "/spec/architecture").is_some_and(|it| !left.contains(it)))
            .map(|it| one_line(&key(it)))
            .collect();
        if lost.is_empty() {
            return;
        }
        let more = match lost.len().checked_sub(NAMED) {
            Some(more @ 1..) => format!(" and {more} more"),
            _ => String::new(),
        };
        let named: Vec<&str> = lost.iter().take(NAMED).map(String::as_str).collect();
        notes.push(&format!(
            "{}: virtual machines run on the excluded nodes, and lose virt-handler: {}{more}",
            object.at(),
            named.join(", ")
        ));
    }

    fn judged(&self, question: &Question, settings: &Settings, report: Report) -> Judged {
        Judged {
            policy: settings.policy.clone(),
            policies_unread: self.settled.has_unread_policies,
            is_one_of_several: self.settings_for(question).len() > 1,
            decides: self.deciding(question).any(|it| std::ptr::eq(it, settings)),
            ..question.judged(report)
        }
    }

    /// The settings for an object: the settings of each policy in the cluster that applies to it.
    pub(crate) fn settings_for(&self, question: &Question) -> Vec<&Settings> {
        let target = question.target(&self.settled.namespace);
        let deployed = self.settled.deployed.iter();
        let deployed: Vec<&Settings> = deployed.filter(|it| it.apply_to(&target)).collect();
        if deployed.is_empty() {
            vec![&self.settled.settings]
        } else {
            deployed
        }
    }

    /// The settings that determine the exit code: the settings of policies in protect mode, or of all policies without
    /// such a policy.
    fn deciding(&self, question: &Question) -> impl Iterator<Item = &Settings> {
        let all = self.settings_for(question);
        let protects = all.iter().any(|settings| settings.protects());
        all.into_iter()
            .filter(move |settings| !protects || settings.protects())
    }

    /// Each object with all settings that apply to it.
    pub(crate) fn pairs(&self) -> Vec<(&Question, &Settings)> {
        let questions = self.settled.connected.questions.iter();
        let pairs = questions.flat_map(|question| {
            let settings = self.settings_for(question).into_iter();
            settings.map(move |settings| (question, settings))
        });
        pairs.collect()
    }

    /// The module's report about this version of a question's object, for all settings that determine the exit code.
    pub(crate) fn report(&self, question: &Question, object: &Value) -> Result<Report, Failure> {
        self.report_beside(question, object, &json!({}), &self.hosts)
            .map_err(|error| question.failure(chain(&error)))
    }

    /// The same on these nodes, with additional fields in the payload.
    pub(super) fn report_beside(
        &self,
        question: &Question,
        object: &Value,
        beside: &impl Serialize,
        hosts: &Hosts,
    ) -> Result<Report> {
        let mut report: Option<Report> = None;
        for settings in self.deciding(question) {
            let request = question.request(object);
            let payload = admission::payload(&request, &settings.value, beside);
            let next = self.ask(&payload, hosts.all())?;
            report = Some(match report {
                None => next,
                Some(report) => merged(report, next),
            });
        }
        Ok(report.unwrap_or_default())
    }

    /// Removes the repairs of all policies, so that the module reports all findings.
    pub(crate) fn without_repairs(&mut self) {
        let settled = &mut self.settled;
        for settings in settled.deployed.iter_mut().chain([&mut settled.settings]) {
            if let Some(settings) = settings.value.as_object_mut() {
                settings.remove("repair");
            }
        }
    }

    /// The module's report about the object as it is sent, for these settings.
    pub(crate) fn report_of(
        &self,
        question: &Question,
        settings: &Settings,
        host: Arc<dyn HostCalls>,
    ) -> Result<Report> {
        let request = question.request(question.sent());
        let payload = admission::payload(&request, &settings.value, &json!({}));
        self.ask(&payload, host)
    }

    /// Notes nodes of `--what-if` that are not workload nodes of any object, so that they do not affect any verdict.
    fn note_unplaced(&self, verdicts: &Verdicts, notes: &mut Notes) {
        let supposed = self.settled.connected.subject.what_if.as_ref();
        let (Some(supposed), Some(before)) = (supposed, &self.hosts.before) else {
            return;
        };
        let supposed = supposed.joining_workers();
        let pairs = self.pairs().into_iter();
        let reports = pairs.filter_map(|(question, settings)| {
            let report = self.report_of(question, settings, Arc::clone(before));
            report.ok()?.nodes
        });
        let before: Vec<_> = reports.collect();
        let objects = verdicts.objects.iter();
        let after: Vec<_> = objects.filter_map(|it| it.report.nodes.as_ref()).collect();
        if after.is_empty() || after.len() != before.len() {
            return;
        }
        let count = |nodes: &BTreeMap<Foreign, usize>, architecture: &str| {
            nodes.get(architecture).copied().unwrap_or_default()
        };
        let unplaced = supposed.filter(|(architecture, supposed)| {
            let pairs = before.iter().zip(&after);
            let mut joined = pairs.map(|(before, after)| {
                count(after, architecture).saturating_sub(count(before, architecture))
            });
            joined.all(|joined| joined < *supposed)
        });
        for (architecture, count) in unplaced {
            notes.push(&format!("--what-if {architecture}={count}: the workloads' placement does not match these nodes: they have only the labels for the architecture and the worker role"));
        }
    }
}
