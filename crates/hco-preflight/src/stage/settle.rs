//! The third step: reads the settings.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::connect::Connected;
use super::deployed;
use super::live::Live;
use super::settings::{Settings, validated};
use crate::module::Module;
use crate::notes::Notes;
use crate::progress::Progress;

/// The objects, and the settings for their evaluation.
pub(crate) struct Settled<'s> {
    pub(super) connected: Connected<'s>,
    pub(super) module: Module,
    /// The settings of the user, or the defaults.
    pub(super) settings: Settings,
    /// The settings of the cluster's policies.
    pub(super) deployed: Vec<Settings>,
    /// Whether there may be other policies, which the user may not list.
    pub(super) has_unread_policies: bool,
    /// The namespace of objects without a namespace.
    pub(super) namespace: String,
}

impl<'s> Connected<'s> {
    /// Lets the module validate the settings of the user and of the cluster's policies.
    pub(super) fn settle(self, module: Module, notes: &mut Notes) -> Result<Settled<'s>> {
        let subject = self.subject;
        let mut settings = validated(subject.settings.as_deref(), &module, notes)?;
        if !subject.level.is_empty() {
            set_levels(&mut settings, &subject.level);
            if let Some(mistakes) = module.mistakes(&settings)? {
                bail!("--level: {mistakes}");
            }
        }
        let live = self.live();
        let namespace = live.map_or("", Live::namespace).to_owned();
        let (mut deployed, has_unread_policies) = match live {
            Some(live) if subject.settings.is_none() => {
                let _progress = Progress::start("reading the policies of the cluster");
                let targets = self.questions.iter().map(|it| it.target(&namespace));
                let targets: BTreeSet<_> = targets.collect();
                deployed::settings(live, &targets, &module, notes)?
            }
            _ => (Vec::new(), false),
        };
        for settings in &mut deployed {
            set_levels(&mut settings.value, &subject.level);
        }
        Ok(Settled {
            connected: self,
            module,
            settings: Settings {
                value: settings,
                ..Settings::default()
            },
            deployed,
            has_unread_policies,
            namespace,
        })
    }
}

/// Sets the levels of `--level`.
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
