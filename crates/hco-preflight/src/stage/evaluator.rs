//! The module, and the settings with which it evaluates objects.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Result, bail};
use policy_host::{Cluster, HostCalls};
use serde::Serialize;
use serde_json::{Value, json};

use super::deployed;
use super::question::Question;
use super::settings::{Settings, validated};
use crate::admission;
use crate::args::Subject;
use crate::kubectl::Kubectl;
use crate::module::Module;
use crate::notes::Notes;
use crate::report::{Conclusions as _, Report};
use crate::world::World;

/// The part of an observation that the next one uses.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) cluster: Option<Cluster>,
    /// The settings of the cluster's policies, and whether there may be policies that the user may not list.
    policies: Option<(Vec<Settings>, bool)>,
}

pub(crate) struct Evaluator {
    module: Module,
    settings: Settings,
    /// The settings of the cluster's policies.
    deployed: Vec<Settings>,
    /// Whether there may be other policies, which the user may not list.
    pub(super) has_unread_policies: bool,
    /// The namespace of objects without a namespace.
    pub(super) namespace: String,
    pub(crate) kubectl: Kubectl,
}

impl Evaluator {
    /// Reads the settings of the user, or of the cluster's policies unless they are known. The module validates them.
    pub(super) fn new(
        module: Module,
        subject: &Subject,
        world: Option<&World>,
        questions: &[Question],
        kept: &mut Kept,
        notes: &mut Notes,
    ) -> Result<Self> {
        let mut settings = validated(subject.settings.as_deref(), &module, notes)?;
        if !subject.level.is_empty() {
            set_levels(&mut settings, &subject.level);
            if let Some(mistakes) = module.mistakes(&settings)? {
                bail!("--level: {mistakes}");
            }
        }
        let namespace = world.map_or("", World::namespace).to_owned();
        let (mut deployed, has_unread_policies) = match (world, &kept.policies) {
            (_, Some(known)) => known.clone(),
            (Some(world), None) if subject.settings.is_none() => {
                let targets = questions.iter().map(|it| it.target(&namespace));
                let targets: BTreeSet<_> = targets.collect();
                deployed::settings(world, &targets, &module, notes)?
            }
            _ => (Vec::new(), false),
        };
        kept.policies = Some((deployed.clone(), has_unread_policies));
        for settings in &mut deployed {
            set_levels(&mut settings.value, &subject.level);
        }
        Ok(Self {
            module,
            settings: Settings {
                value: settings,
                ..Settings::default()
            },
            deployed,
            has_unread_policies,
            namespace,
            kubectl: Kubectl::of(&subject.connection),
        })
    }

    /// Sets a setting that the user and the policies do not set.
    pub(super) fn set_default(&mut self, key: &str, value: &Value) {
        for settings in self.all_settings().filter_map(Value::as_object_mut) {
            settings.entry(key).or_insert_with(|| value.clone());
        }
    }

    pub(super) fn all_settings(&mut self) -> impl Iterator<Item = &mut Value> {
        let all = self.deployed.iter_mut().chain([&mut self.settings]);
        all.map(|settings| &mut settings.value)
    }

    /// The settings for an object: the settings of each policy in the cluster that applies to it.
    pub(super) fn settings_for(&self, question: &Question) -> Vec<&Settings> {
        let target = question.target(&self.namespace);
        let deployed = self.deployed.iter();
        let deployed: Vec<&Settings> = deployed.filter(|it| it.apply_to(&target)).collect();
        if deployed.is_empty() {
            vec![&self.settings]
        } else {
            deployed
        }
    }

    /// Whether settings determine the exit code: the settings of policies in protect mode, or of all policies without
    /// such a policy.
    pub(super) fn decides(&self, settings: &Settings, question: &Question) -> bool {
        let mut all = self.settings_for(question).into_iter();
        settings.protects() || !all.any(Settings::protects)
    }

    /// The module's report about a version of a question's object, for these settings. `beside` has additional fields of
    /// the payload. Commands in the report get the flags of the cluster.
    pub(super) fn evaluate(
        &self,
        question: &Question,
        object: &Value,
        settings: &Settings,
        beside: &impl Serialize,
        host: Arc<dyn HostCalls>,
    ) -> Result<Report> {
        let request = admission::request(&question.identity, object, question.old.as_ref());
        let payload = admission::payload(&request, &settings.value, beside);
        let mut report = self.module.judge(&payload, host)?;
        let texts = report.findings.iter_mut().flat_map(|finding| {
            let commands = finding.fixes.iter_mut();
            let commands = commands.filter_map(|it| it.command.as_mut());
            commands.chain([&mut finding.fix])
        });
        for text in texts.chain(&mut report.message) {
            *text = self.kubectl.in_fix(text);
        }
        Ok(report)
    }

    /// The same for all settings that determine the exit code: the report with the most severe verdict.
    pub(super) fn report(
        &self,
        question: &Question,
        object: &Value,
        beside: &impl Serialize,
        host: &Arc<dyn HostCalls>,
    ) -> Result<Report> {
        let mut worst: Option<Report> = None;
        for settings in self.settings_for(question) {
            if self.decides(settings, question) {
                let report = self.evaluate(question, object, settings, beside, Arc::clone(host))?;
                if worst
                    .as_ref()
                    .is_none_or(|worst| worst.exit() < report.exit())
                {
                    worst = Some(report);
                }
            }
        }
        Ok(worst.unwrap_or_default())
    }
}

fn set_levels(settings: &mut Value, levels: &[(String, String)]) {
    let Some(settings) = settings.as_object_mut().filter(|_| !levels.is_empty()) else {
        return;
    };
    let all = settings.entry("levels").or_insert_with(|| json!({}));
    if let Some(all) = all.as_object_mut() {
        let levels = levels.iter();
        all.extend(levels.map(|(rule, level)| (rule.clone(), Value::from(level.as_str()))));
    }
}
