//! The policy's settings: read whole, every mistake told at once with its path.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::json::{self, Raw};
use crate::rule::{Level, Rule};
use crate::rules::RULES;
use crate::scan::Kind;
use crate::text::{self, quote};

/// The settings that there are; `description` is what the Rancher form sends beside them.
const KEYS: [&str; 6] = [
    "commonTemplates",
    "images",
    "levels",
    "repair",
    "serviceAccount",
    "updates",
];

/// Rules that need a registry: they come with `images: verify`, but their levels may be set already.
const IMAGE_RULES: [&str; 2] = ["image-architectures-mismatch", "image-unreadable"];

/// What the user wants of the policy. The default is right without any settings.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    /// Of two for a rule the last one counts.
    levels: Vec<(String, Level)>,
    pub(crate) updates: Updates,
    pub(crate) service_account: Option<ServiceAccount>,
    /// Name and registry of the common templates, instead of those that upstream ships.
    pub(crate) common_templates: Option<BTreeMap<String, String>>,
    // `images` and `repair` find their place here when they come.
}

/// What an update is held to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Updates {
    /// Only to what it makes worse.
    #[default]
    Ratchet,
    /// To everything.
    Strict,
}

/// The service account that the policy-server runs as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceAccount {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Settings {
    /// The level of a rule.
    pub(crate) fn level(&self, rule: &Rule) -> Level {
        let set = self.levels.iter().rev().find(|(id, _)| id == rule.id);
        set.map_or(rule.level, |(_, level)| *level)
    }

    /// Reads the settings as the host sends them; nothing at all is the default.
    ///
    /// The error has a line for every mistake.
    pub(crate) fn parse(settings: Option<Raw<'_>>) -> Result<Self, String> {
        let mut reader = Reader::default();
        let mut read = Self::default();
        if let Some(raw) = settings {
            reader.each("settings", raw, |reader, key, value| {
                read.set(reader, key, value);
            });
        }
        reader.finish(read)
    }

    fn set(&mut self, reader: &mut Reader, key: &str, value: Raw<'_>) {
        match key {
            "description" if matches!(value.kind(), Kind::Null | Kind::String) => {}
            // A key without a value is a key that is not there.
            known if KEYS.contains(&known) && value.kind() == Kind::Null => {}
            "levels" => reader.each("levels", value, |reader, id, level| {
                self.levels.extend(reader.level(id, level));
            }),
            "updates" => {
                self.updates = match reader.word("updates", value, &["ratchet", "strict"]) {
                    Some("strict") => Updates::Strict,
                    _ => Updates::Ratchet,
                };
            }
            "images" => {
                if reader.word("images", value, &["ignore", "verify"]) == Some("verify") {
                    reader.mistake(
                        "images",
                        "`verify` is not in this version of the policy: it does not look at registries yet; use `ignore` or leave it out",
                    );
                }
            }
            "repair" => reader.mistake(
                "repair",
                "not in this version of the policy: it never changes an object; leave it out",
            ),
            "serviceAccount" => self.service_account = reader.account(value),
            "commonTemplates" => {
                let mut table = BTreeMap::new();
                reader.each("commonTemplates", value, |reader, name, url| {
                    if let Some(url) = reader.registry(name, url) {
                        table.insert(name.to_owned(), url);
                    }
                });
                self.common_templates = Some(table);
            }
            unknown => {
                let what = format!("unknown setting {}", quote(unknown));
                reader.unknown("settings", &what, unknown, &KEYS);
            }
        }
    }
}

/// Collects mistakes while it reads, in an order that does not depend on that of the keys.
#[derive(Default)]
struct Reader {
    mistakes: BTreeSet<String>,
}

impl Reader {
    fn finish(self, settings: Settings) -> Result<Settings, String> {
        /// More mistakes than anybody corrects in one go.
        const TOLD: usize = 20;
        let count = self.mistakes.len();
        if count == 0 {
            return Ok(settings);
        }
        let s = if count == 1 { "" } else { "s" };
        let mut message = format!("the settings have {count} mistake{s}:");
        for mistake in self.mistakes.iter().take(TOLD) {
            // Writing to a String cannot fail.
            let _ = write!(message, "\n- {mistake}");
        }
        if let Some(more @ 1..) = count.checked_sub(TOLD) {
            let _ = write!(message, "\n- and {more} more");
        }
        Err(message)
    }

    fn mistake(&mut self, path: &str, what: &str) {
        self.mistakes.insert(format!("{path}: {what}"));
    }

    fn unknown(&mut self, path: &str, what: &str, written: &str, known: &[&str]) {
        let hint = text::nearest(written, known).map_or_else(String::new, |nearest| {
            format!("; did you mean `{nearest}`?")
        });
        self.mistake(path, &format!("{what}{hint}"));
    }

    /// Reads the members of an object.
    fn each(&mut self, path: &str, raw: Raw<'_>, mut read: impl FnMut(&mut Self, &str, Raw<'_>)) {
        if let Err(error) = json::each_member(raw, &mut |key, value| read(self, key, value)) {
            self.mistake(path, &format!("must be an object, not {}", error.found));
        }
    }

    fn level(&mut self, id: &str, value: Raw<'_>) -> Option<(String, Level)> {
        let mut rules = IMAGE_RULES.to_vec();
        rules.extend(RULES.iter().map(|rule| rule.id));
        let path = format!("levels.{}", text::plain(id, 80));
        if !rules.contains(&id) {
            self.unknown(&path, "no rule has this name", id, &rules);
        }
        let name = self.word(&path, value, &Level::ALL.map(Level::name))?;
        let level = Level::ALL.into_iter().find(|level| level.name() == name)?;
        Some((id.to_owned(), level))
    }

    /// One of a few words.
    fn word(&mut self, path: &str, value: Raw<'_>, words: &[&'static str]) -> Option<&'static str> {
        let written = json::string(value).ok();
        let known = words.iter().find(|word| written.as_deref() == Some(**word));
        if known.is_none() {
            let found = shown(value, written.as_deref());
            let what = format!(
                "must be one of {}, not {found}",
                text::list(words, words.len())
            );
            self.unknown(path, &what, written.as_deref().unwrap_or_default(), words);
        }
        known.copied()
    }

    fn account(&mut self, value: Raw<'_>) -> Option<ServiceAccount> {
        let written = json::string(value).ok();
        if let Some((namespace, name)) = written.as_deref().and_then(|it| it.split_once('/'))
            && crate::name::is_dns1123_label(namespace)
            && crate::name::is_dns1123_subdomain(name)
        {
            return Some(ServiceAccount {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
            });
        }
        let found = shown(value, written.as_deref());
        self.mistake(
            "serviceAccount",
            &format!("must be NAMESPACE/NAME of the policy-server's service account, as in kubewarden/policy-server, not {found}"),
        );
        None
    }

    fn registry(&mut self, name: &str, value: Raw<'_>) -> Option<String> {
        let path = format!("commonTemplates.{}", text::plain(name, 80));
        if !crate::name::is_dns1123_subdomain(name) {
            self.mistake(
                &path,
                "not the name of a template: lower case letters, digits, - and . are",
            );
        }
        let url = json::string(value).ok();
        if url.as_deref().is_none_or(|url| url.trim().is_empty()) {
            let found = shown(value, url.as_deref());
            self.mistake(
                &path,
                &format!("must be the url of the registry, as in docker://quay.io/containerdisks/fedora:latest, not {found}"),
            );
        }
        url
    }
}

/// What was found, for a sentence that says what must be.
fn shown(value: Raw<'_>, string: Option<&str>) -> String {
    string.map_or_else(|| value.kind().to_string(), quote)
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn parse(json: &str) -> Result<Settings, String> {
        Settings::parse(Some(Raw::document(json.as_bytes()).unwrap()))
    }

    fn mistakes(json: &str) -> String {
        parse(json).unwrap_err()
    }

    #[test]
    fn no_settings_at_all_are_the_default() {
        assert!(Settings::parse(None).is_ok());
        for json in ["null", "{}", r#"{"description":null,"levels":null}"#] {
            let settings = parse(json).unwrap();
            assert_eq!(settings.updates, Updates::Ratchet, "{json:?}");
            assert!(settings.common_templates.is_none());
        }
    }

    #[test]
    fn every_setting_is_read() {
        let settings = parse(
            r#"{"levels":{"architectures-partial":"ignore","image-unreadable":"deny"},"updates":"strict",
                "images":"ignore","serviceAccount":"kubewarden/policy-server",
                "commonTemplates":{"rhel9-image-cron":"docker://registry.redhat.io/rhel9"}}"#,
        )
        .unwrap();
        assert_eq!(settings.updates, Updates::Strict);
        assert_eq!(
            settings.levels,
            [
                ("architectures-partial".to_owned(), Level::Ignore),
                ("image-unreadable".to_owned(), Level::Deny)
            ]
        );
        assert_eq!(settings.service_account.unwrap().name, "policy-server");
        assert_eq!(settings.common_templates.unwrap().len(), 1);
    }

    #[test]
    fn the_last_of_two_equal_keys_wins() {
        let settings = parse(
            r#"{"updates":"strict","updates":"ratchet","levels":{"template-invalid":"warn","template-invalid":"ignore"}}"#,
        )
        .unwrap();
        assert_eq!(settings.updates, Updates::Ratchet);
        let rule = RULES
            .iter()
            .find(|rule| rule.id == "template-invalid")
            .unwrap();
        assert_eq!(settings.level(rule), Level::Ignore);
    }

    #[test]
    fn every_mistake_is_told_at_once() {
        assert_eq!(
            mistakes(
                r#"{"level":{},"levels":{"architecture-missing":"warn","no-workload-nodes":"wran","placement-invalid":1},
                    "updates":"stirct","images":"verify","repair":{},"serviceAccount":"policy-server",
                    "commonTemplates":{"Fedora":""},"description":1}"#
            ),
            "the settings have 11 mistakes:\n\
             - commonTemplates.Fedora: must be the url of the registry, as in docker://quay.io/containerdisks/fedora:latest, not ``\n\
             - commonTemplates.Fedora: not the name of a template: lower case letters, digits, - and . are\n\
             - images: `verify` is not in this version of the policy: it does not look at registries yet; use `ignore` or leave it out\n\
             - levels.architecture-missing: no rule has this name; did you mean `architectures-missing`?\n\
             - levels.no-workload-nodes: must be one of deny, warn, ignore, not `wran`; did you mean `warn`?\n\
             - levels.placement-invalid: must be one of deny, warn, ignore, not a number\n\
             - repair: not in this version of the policy: it never changes an object; leave it out\n\
             - serviceAccount: must be NAMESPACE/NAME of the policy-server's service account, as in kubewarden/policy-server, not `policy-server`\n\
             - settings: unknown setting `description`\n\
             - settings: unknown setting `level`; did you mean `levels`?\n\
             - updates: must be one of ratchet, strict, not `stirct`; did you mean `strict`?"
        );
    }

    #[test]
    fn settings_that_are_no_mapping_are_one_mistake() {
        assert_eq!(
            mistakes("[1]"),
            "the settings have 1 mistake:\n- settings: must be an object, not a list"
        );
    }
}
