//! The fields that HCO 1.18 and later set in templates without them: `retentionPolicy: None` and `importsToKeep: 1`.

use serde_json::Value;

use super::boot_sources::BootSources;
use crate::foreign::Foreign;
use crate::object_name::name;
use crate::report::{Conclusions as _, some};
use crate::stage::Compared;
use crate::templates;

const RETENTION: &str = "retentionPolicy";
const FIELDS: [&str; 2] = [RETENTION, "importsToKeep"];

/// The time at which HCO sets the fields.
#[derive(Debug)]
pub(super) enum Completion {
    /// HCO sets them with the requested change. DataImportCrons are created again because of the retention policy.
    Now,
    /// The upgrade does not change the object, so HCO sets them in these templates with the next change of the object.
    Later(Vec<Foreign>),
}

impl Completion {
    /// MIRRORS: hyperconverged-cluster-operator pkg/webhooks/mutator/hyperConvergedMutator.go, getDICTPatches.
    pub(super) fn of(compared: &Compared, sources: &BootSources) -> Option<Self> {
        let version = compared.will_be.version();
        version.filter(|it| it.sets_defaults())?;
        let all = templates::of_spec(compared.after()).map(|(_, it)| it);
        let lacks = |template: &Value, field: &str| {
            let spec = template.get("spec");
            spec.is_some_and(|spec| spec.get(field).is_none_or(Value::is_null))
        };
        let lacking: Vec<&Value> = all
            .filter(|it| FIELDS.iter().any(|field| lacks(it, field)))
            .collect();
        let crons = sources.changes.crons.iter().flat_map(|it| &it.recreated);
        let is_now = crons.into_iter().any(|key| {
            let cron = sources.crons.get(key.raw());
            let is_of = |it: &&&Value| cron.is_some_and(|cron| cron.template.raw() == name(it));
            let template = lacking.iter().find(is_of);
            template.is_some_and(|it| lacks(it, RETENTION))
                && sources
                    .changed_fields(key.raw())
                    .any(|it| it.raw() == RETENTION)
        });
        if is_now {
            return Some(Self::Now);
        }
        let names = lacking.iter().map(|it| Foreign::from(name(it)));
        let names: Vec<Foreign> = names.collect();
        let is_upgrade = !compared.is_sent() && compared.is_upgraded_unwritten();
        (is_upgrade && !names.is_empty()).then_some(Self::Later(names))
    }

    pub(super) fn remark(&self) -> String {
        let templates = match self {
            Self::Now => {
                return "HCO 1.18 and later sets retentionPolicy None where none is set: later changes of such a template delete its disks. To avoid this, set All.".to_owned();
            }
            Self::Later(templates) => templates,
        };
        let several = if templates.len() == 1 { "" } else { "s" };
        format!(
            "The upgrade does not change the HyperConverged. With its next change, HCO sets retentionPolicy None and importsToKeep 1 where they are not set, in the template{several} {}, and SSP creates the DataImportCrons again. To keep the disks after later changes, set retentionPolicy All.",
            some(templates)
        )
    }
}
