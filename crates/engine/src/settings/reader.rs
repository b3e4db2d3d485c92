//! Reads settings, and collects every problem in them.

use std::collections::BTreeSet;

use kube_objects::json::{Field, Json, Kind};
use kube_objects::name::{is_dns1123_label, is_dns1123_subdomain};
use kube_objects::text::{self, quote};
use operator_models::cdi::data_import_cron::SOURCE_KINDS;
use operator_models::cdi::image::Image;
use operator_models::hco::golden_image::CommonTemplate;
use operator_models::ssp::architecture::KNOWN;

use super::Levels;
use crate::cluster::ServiceAccount;
use crate::rule::{Level, Repair, Subject};
use crate::rules::RULES;

/// Collects the problems while the settings are read. Their order does not depend on the order of the keys.
#[derive(Default)]
pub(super) struct SettingsReader {
    problems: BTreeSet<String>,
}

impl SettingsReader {
    pub(super) fn finish<T>(self, settings: T) -> Result<T, String> {
        const SHOWN: usize = 20;
        let count = self.problems.len();
        if count == 0 {
            return Ok(settings);
        }
        let s = if count == 1 { "" } else { "s" };
        let mut lines = vec![format!("{count} problem{s} in the settings:")];
        lines.extend(self.problems.into_iter().take(SHOWN));
        if count > SHOWN {
            lines.push(format!("and {} more", count - SHOWN));
        }
        Err(lines.join("\n- "))
    }

    pub(super) fn problem(&mut self, path: &str, what: &str) {
        self.problems.insert(format!("{path}: {what}"));
    }

    pub(super) fn unknown(&mut self, path: &str, what: &str, written: &str, known: &[&str]) {
        match text::nearest(written, known) {
            Some(nearest) => self.problem(path, &format!("{what}; did you mean `{nearest}`?")),
            None => self.problem(path, what),
        }
    }

    /// The entries of an object: key, path, and value.
    pub(super) fn entries<'a>(
        &mut self,
        path: &str,
        field: &Field<'a>,
    ) -> Vec<(String, String, Field<'a>)> {
        match field.object().fields() {
            Ok(fields) => fields
                .into_iter()
                .map(|(key, value)| {
                    let path = format!("{path}.{}", text::escape(&key, 80));
                    (key.into_owned(), path, value)
                })
                .collect(),
            Err(error) => {
                let kind = error.found().kind();
                self.problem(path, &format!("must be an object, not {kind}"));
                Vec::new()
            }
        }
    }

    /// Levels of rules, or only of rules about templates.
    pub(super) fn levels(&mut self, path: &str, field: &Field<'_>, of_templates: bool) -> Levels {
        let ids: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
        let all = Level::ALL.map(|level| (level.into_str(), level));
        let mut levels = Levels::new();
        for (id, path, level) in self.entries(path, field) {
            let level = self.one_of(&path, &level, &all);
            match RULES.iter().find(|rule| rule.id == id) {
                None => self.unknown(&path, "unknown rule", &id, &ids),
                Some(rule) if of_templates && rule.subject != Subject::Template => self.problem(
                    &path,
                    "the level of this rule cannot be set for individual templates; use `levels`",
                ),
                Some(rule) => levels.extend(level.map(|level| (rule.id, level))),
            }
        }
        levels
    }

    pub(super) fn repairs(&mut self, field: &Field<'_>) -> Vec<(&'static str, Repair)> {
        let mut repairs = Vec::new();
        let repairable = RULES.iter().filter(|rule| rule.repair.is_some());
        let mut repairable: Vec<&str> = repairable.map(|rule| rule.id).collect();
        repairable.sort_unstable();
        for (id, path, field) in self.entries("repair", field) {
            let Some(rule) = RULES.iter().find(|rule| rule.id == id) else {
                self.unknown(&path, "unknown rule", &id, &repairable);
                continue;
            };
            let repair = match rule.repair {
                None => {
                    let list = text::list(&repairable, repairable.len());
                    let what = "the policy cannot repair this rule; it can repair";
                    self.problem(&path, &format!("{what} {list}"));
                    None
                }
                // Forms send empty fields.
                _ if field.json().is_none() => None,
                Some(Repair::EnableImport | Repair::PlaceOn(_)) => {
                    self.import_repair(&path, &field)
                }
                Some(repair) => self.one_of(&path, &field, &[(repair.into_str(), repair)]),
            };
            repairs.extend(repair.map(|repair| (rule.id, repair)));
        }
        repairs
    }

    /// `enable-import`, or `{place-on: ARCHITECTURE}`.
    fn import_repair(&mut self, path: &str, field: &Field<'_>) -> Option<Repair> {
        if field.json().map(Json::kind) != Some(Kind::Object) {
            let is_word = field.string() == Ok(Some("enable-import".to_owned()));
            if !is_word {
                let expected = "must be `enable-import` or {place-on: ARCHITECTURE}";
                self.problem(path, &format!("{expected}, not {}", shown(field)));
            }
            return is_word.then_some(Repair::EnableImport);
        }
        let mut architecture = None;
        let entries = self.entries(path, field);
        if entries.is_empty() {
            self.problem(path, "must have the key place-on");
        }
        for (key, value_path, value) in entries {
            if key == "place-on" {
                architecture = self.one_of(&value_path, &value, &KNOWN.map(|name| (name, name)));
            } else {
                let what = format!("unknown key {}", quote(&key));
                self.unknown(path, &what, &key, &["place-on"]);
            }
        }
        architecture.map(Repair::PlaceOn)
    }

    /// The value for a word from a fixed set.
    pub(super) fn one_of<T: Clone>(
        &mut self,
        path: &str,
        field: &Field<'_>,
        values: &[(&'static str, T)],
    ) -> Option<T> {
        let written = field.string().ok().flatten().unwrap_or_default();
        let value = values.iter().find(|(word, _)| *word == written);
        if value.is_none() {
            let words: Vec<&str> = values.iter().map(|(word, _)| *word).collect();
            let list = text::list(&words, words.len());
            let what = format!("must be one of {list}, not {}", shown(field));
            self.unknown(path, &what, &written, &words);
        }
        value.map(|(_, value)| value.clone())
    }

    /// The value of a string. `expected` describes a valid one.
    pub(super) fn parsed<T>(
        &mut self,
        path: &str,
        field: &Field<'_>,
        expected: &str,
        parse: impl FnOnce(String) -> Option<T>,
    ) -> Option<T> {
        let value = field.string().ok().flatten().and_then(parse);
        if value.is_none() {
            self.problem(path, &format!("{expected}; it is {}", shown(field)));
        }
        value
    }

    /// Hosts of registries, with the port if it is not the default.
    pub(super) fn hosts(&mut self, field: &Field<'_>) -> Vec<String> {
        let hosts = field.strings().ok().flatten().unwrap_or_default();
        let is_host = |host: &String| {
            let image = Image::at(&format!("docker://{host}/image"));
            matches!(image, Some(Ok(image)) if image.host() == host.to_ascii_lowercase())
        };
        if hosts.is_empty() || !hosts.iter().all(is_host) {
            self.problem(
                "registries",
                "must be a list of hosts, with the port if the URLs of the images have one, for example [quay.io, registry.example.com:5000]",
            );
        }
        hosts.iter().map(|host| host.to_ascii_lowercase()).collect()
    }

    pub(super) fn account(&mut self, path: &str, field: &Field<'_>) -> Option<ServiceAccount> {
        let expected = "must be the service account of the policy-server in the form NAMESPACE/NAME, for example kubewarden/policy-server";
        self.parsed(path, field, expected, |written| {
            let (namespace, name) = written.split_once('/')?;
            let is_valid = is_dns1123_label(namespace) && is_dns1123_subdomain(name);
            is_valid.then(|| ServiceAccount {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
            })
        })
    }

    /// A template that HCO ships: a registry URL, or an object with its source and its architectures.
    pub(super) fn common_template(
        &mut self,
        name: &str,
        path: &str,
        field: &Field<'_>,
    ) -> Option<CommonTemplate> {
        if !is_dns1123_subdomain(name) {
            let expected = "must be the name of a template: lowercase letters, digits, `-` and `.`";
            self.problem(path, expected);
        }
        let is_stated = |text: &String| !text.trim().is_empty();
        if field.json().map(Json::kind) != Some(Kind::Object) {
            let expected = "must be a registry URL, for example docker://quay.io/containerdisks/fedora:latest, or {source: SOURCE, architectures: LIST}";
            return self.parsed(path, field, expected, |url| {
                is_stated(&url).then(|| CommonTemplate::from_url(name, &url, None))
            });
        }
        let (mut source, mut architectures) = (None, None);
        for (key, value_path, value) in self.entries(path, field) {
            match key.as_str() {
                "source" => source = Some((value_path, value)),
                "architectures" => {
                    let expected = "must be the value of the architectures annotation, for example \"amd64,arm64\"";
                    let list = |list| Some(list).filter(is_stated);
                    architectures = self.parsed(&value_path, &value, expected, list);
                }
                unknown => {
                    let what = format!("unknown key {}", quote(unknown));
                    self.unknown(path, &what, unknown, &["architectures", "source"]);
                }
            }
        }
        let Some((path, source)) = source else {
            self.problem(path, "must have the key source");
            return None;
        };
        for (kind, ..) in self.entries(&path, &source) {
            if !SOURCE_KINDS.contains(&kind.as_str()) {
                let what = format!("unknown source {}", quote(&kind));
                self.unknown(&path, &what, &kind, &SOURCE_KINDS);
            }
        }
        if source.object().fields().is_ok_and(|kinds| kinds.is_empty()) {
            let expected = "must be a source, for example {registry: {imageStream: rhel9-guest, pullMethod: node}}";
            self.problem(&path, expected);
        }
        let template = CommonTemplate::from_source(name, &source, architectures);
        if let Err(error) = &template {
            let kind = error.found().kind();
            self.problem(&error.path().to_string(), &format!("must not be {kind}"));
        }
        template.ok()
    }
}

/// The invalid value, for a sentence that describes a valid one.
pub(super) fn shown(field: &Field<'_>) -> String {
    match (field.string(), field.json()) {
        (Ok(Some(text)), _) => quote(&text),
        (_, json) => json.map_or(Kind::Null, Json::kind).to_string(),
    }
}
