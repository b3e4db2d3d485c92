//! A finding: a violation with its text and its fixes, as the report contains it.

use std::borrow::Cow;

use kube_objects::path::FieldPath;
use kube_objects::text::Foreign;
use serde::{Deserialize, Serialize};

use crate::evaluate::{Detection, Outcome};
use crate::fix::Fix;
use crate::object_name::MAX_NAME_LENGTH;
use crate::violation::Consequence;

/// A finding, and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub rule: Cow<'static, str>,
    pub level: Outcome,
    pub path: Foreign,
    pub template: Option<Foreign>,
    /// Distinguishes it from other findings of the rule about the same template.
    pub value: Foreign,
    pub fact: String,
    /// The effect on HCO, if it is one of these. Otherwise, the fact states the consequence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consequence: Option<Consequence>,
    /// Ways to resolve it; the first one is recommended.
    pub fixes: Vec<Fix>,
}

impl Finding {
    pub(crate) fn new(
        detection: &Detection<'_>,
        path: &FieldPath,
        mut fact: String,
        fixes: Vec<Fix>,
    ) -> Self {
        let violation = &detection.violation;
        let parts: Vec<&str> = violation.parts.iter().copied().collect();
        let value = if parts.is_empty() {
            shortened(&violation.value)
        } else {
            shortened(&parts.join(","))
        };
        if let Some(consequence) = violation.consequence {
            fact = format!("{fact}: {}", consequence.sentence());
        }
        // A request that HCO denies stops nothing.
        let is_denied = violation.consequence == Some(Consequence::HcoDenies);
        if let Some(loss) = detection.loss.as_deref().filter(|_| !is_denied) {
            fact = format!("{}; {}.", fact.trim_end_matches('.'), loss);
        }
        if let Some(doubt) = detection.doubt {
            fact = format!("{fact} {doubt}");
        }
        Self {
            rule: detection.rule.id.into(),
            level: detection.outcome,
            path: path.to_string().into(),
            // Not escaped, because programs compare the name.
            template: violation.template.map(shortened),
            value,
            fact,
            consequence: violation.consequence,
            fixes,
        }
    }

    /// The fix that resolves it without a human decision.
    pub fn complete_fix(&self) -> Option<&Fix> {
        self.fixes.first().filter(|fix| fix.complete)
    }

    /// The first fixes as the text after `fix: `; each alternative begins with `or: ` on its own line.
    pub fn fix_text(&self) -> String {
        /// Users need only the recommended fix and an alternative.
        const SHOWN: usize = 2;
        self.fixes
            .iter()
            .take(SHOWN)
            .map(Fix::text)
            .collect::<Vec<_>>()
            .join("\nor: ")
    }
}

fn shortened(text: &str) -> Foreign {
    let end = text.floor_char_boundary(MAX_NAME_LENGTH);
    text.get(..end).unwrap_or(text).into()
}
