//! The settings with which objects are evaluated: from the user, or from the policies of the cluster.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use anyhow::{Result, bail};
use cluster::{Notes, World};
use engine::Level;
use serde_json::{Value, json};

use super::deployed;
use super::question::Question;
use super::settings::{Settings, validated};
use crate::args::Subject;
use crate::input::module::{Module, mistakes};
use crate::report::{Conclusions as _, Report};

/// The settings of the cluster's policies, and whether there may be policies that the user may not list.
pub(super) type Deployed = (Vec<Settings>, bool);

pub(super) struct Policies {
    settings: Settings,
    /// The settings of the cluster's policies.
    deployed: Vec<Settings>,
    /// Whether there may be other policies, which the user may not list.
    pub(super) has_unread: bool,
    /// The namespace of objects without a namespace.
    pub(super) namespace: String,
}

impl Policies {
    /// Reads the settings of the user, or of the cluster's policies, or reuses them from the last poll.
    pub(super) fn read(
        subject: &Subject,
        module: Option<&Module>,
        world: Option<&World>,
        questions: &[Question],
        known: &mut Option<Deployed>,
        notes: &mut Notes,
    ) -> Result<Self> {
        let mut settings = validated(subject.settings.as_deref(), module, notes)?;
        if !subject.level.is_empty() {
            set_levels(&mut settings, &subject.level);
            if let Some(mistakes) = mistakes(module, &settings)? {
                bail!("--level: {mistakes}");
            }
        }
        let namespace = world.map_or("default", World::namespace).to_owned();
        let (mut deployed, has_unread) = match (world, &*known) {
            (_, Some(known)) => known.clone(),
            (Some(world), None) if subject.settings.is_none() => {
                let targets: BTreeSet<_> = questions
                    .iter()
                    .map(|question| question.target(&namespace))
                    .collect();
                deployed::settings(world, &targets, module, notes)?
            }
            _ => (Vec::new(), false),
        };
        *known = Some((deployed.clone(), has_unread));
        for settings in &mut deployed {
            set_levels(&mut settings.value, &subject.level);
        }
        Ok(Self {
            settings: Settings {
                value: settings,
                ..Settings::default()
            },
            deployed,
            has_unread,
            namespace,
        })
    }

    /// Sets a setting that the user and the policies do not set.
    pub(super) fn set_default(&mut self, key: &str, value: &Value) {
        for settings in self.all_settings().filter_map(Value::as_object_mut) {
            settings.entry(key).or_insert_with(|| value.clone());
        }
    }

    /// Sets the level of a rule for which the user and the policies set none.
    pub(super) fn set_default_level(&mut self, rule: &str, level: Level) {
        for settings in self.all_settings().filter_map(Value::as_object_mut) {
            let levels = settings.entry("levels").or_insert_with(|| json!({}));
            if let Some(levels) = levels.as_object_mut() {
                levels
                    .entry(rule)
                    .or_insert_with(|| level.into_str().into());
            }
        }
    }

    pub(super) fn all_settings(&mut self) -> impl Iterator<Item = &mut Value> {
        self.deployed
            .iter_mut()
            .chain([&mut self.settings])
            .map(|settings| &mut settings.value)
    }

    /// The settings for an object: the settings of each policy in the cluster that applies to it.
    pub(super) fn settings_for(&self, question: &Question) -> Vec<&Settings> {
        let target = question.target(&self.namespace);
        let deployed: Vec<&Settings> = self
            .deployed
            .iter()
            .filter(|settings| settings.apply_to(&target))
            .collect();
        if deployed.is_empty() {
            vec![&self.settings]
        } else {
            deployed
        }
    }

    /// Whether settings determine the exit code: the settings of policies in protect mode, or of all policies without
    /// such a policy.
    pub(super) fn decides(&self, settings: &Settings, question: &Question) -> bool {
        settings.protects()
            || !self
                .settings_for(question)
                .into_iter()
                .any(Settings::protects)
    }

    /// The report with the most severe verdict, among all settings that determine the exit code.
    pub(super) fn worst(
        &self,
        question: &Question,
        report: impl Fn(&Settings) -> Result<Report>,
    ) -> Result<Report> {
        let reports = self
            .settings_for(question)
            .into_iter()
            .filter(|settings| self.decides(settings, question))
            .map(report)
            .collect::<Result<Vec<_>>>()?;
        // The first one, if several are equally severe.
        let worst = reports
            .into_iter()
            .min_by_key(|report| Reverse(report.exit()));
        Ok(worst.unwrap_or_default())
    }
}

fn set_levels(settings: &mut Value, levels: &[(String, String)]) {
    let Some(settings) = settings.as_object_mut().filter(|_| !levels.is_empty()) else {
        return;
    };
    let all = settings.entry("levels").or_insert_with(|| json!({}));
    if let Some(all) = all.as_object_mut() {
        let by_rule = levels
            .iter()
            .map(|(rule, level)| (rule.clone(), Value::from(level.as_str())));
        all.extend(by_rule);
    }
}
