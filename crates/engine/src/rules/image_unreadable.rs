//! See `image-unreadable.md`.

use kube_objects::text::{self, escape, quote};
use operator_models::hco::import::Import;

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;
use crate::images;
use crate::words;

pub(crate) fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    if facts.import == Import::Disabled {
        return;
    }
    for image in facts.golden_images.iter() {
        if !findings.wants(image.name) {
            continue;
        }
        let is_listed = |name: &str| {
            let value = image.annotation.value();
            value.is_none_or(|value| value.entries().any(|entry| entry == name))
        };
        let unreadable = facts
            .contents_of(image)
            .and_then(|contents| match contents {
                Ok(contents) => contents.unreadable().find(|it| is_listed(it.0)),
                Err(why) => Some(("", why)),
            });
        let Some((architecture, why)) = unreadable else {
            continue;
        };
        let identity = images::identity(facts.common, image);
        findings.add(Identity::template(image.name).with_value(identity), || Finding {
            path: match image.template {
                Some(template) => facts.image_path(template),
                None => facts.hco.fields.common_import.path(),
            },
            fact: format!(
                "The {}image of template {} cannot be read ({}): its architectures were not checked.",
                blank_after(architecture),
                quote(image.name),
                in_one_line(&words::why_unknown(why))
            ),
            fixes: vec![Fix::advice(
                "correct the URL, or give the policy-server access to the registry",
            )],
        });
    }
}

/// The name of an architecture, if it is one, in front of another word.
fn blank_after(name: &str) -> String {
    let name = escape(name, 32);
    if name.is_empty() { name } else { name + " " }
}

/// The end of a reason, because hosts write the URL first and the cause last.
fn in_one_line(reason: &str) -> String {
    const SHOWN: usize = 120;
    let end = text::end(reason, SHOWN);
    let words: Vec<&str> = end.split_whitespace().collect();
    escape(&words.join(" "), 2 * SHOWN)
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn a_reason_is_one_line_of_its_end() {
        assert_eq!(in_one_line(" a\n\tb "), "a b");
        let reason = format!("{}manifest unknown", "x".repeat(200));
        assert!(in_one_line(&reason).ends_with("xmanifest unknown"));
        assert_eq!(in_one_line(&reason).chars().count(), 121);
        // Escapes are longer than what they stand for.
        assert_eq!(in_one_line(&"\u{1}".repeat(40)), "\\u{1}".repeat(40));
    }
}
