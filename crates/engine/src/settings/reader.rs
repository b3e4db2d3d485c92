//! Reads settings, and collects every problem in them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use kube_objects::json::{Field, Json, Kind};
use kube_objects::name::{is_dns1123_label, is_dns1123_subdomain};
use kube_objects::text::{self, quote};
use operator_models::cdi::data_import_cron::SOURCE_KINDS;
use operator_models::cdi::image::Image;
use operator_models::hco::golden_image::StatedTemplate;
use operator_models::hco::version::HcoVersion;
use operator_models::ssp::architecture::KNOWN;

use super::{Levels, Settings};
use crate::cluster::ServiceAccount;
use crate::fix::Repair;
use crate::rule::{Level, RepairKind, Subject};
use crate::rules::RULES;

/// Collects the problems while the settings are read. Their order does not depend on the order of the keys.
#[derive(Default)]
pub(super) struct Reader {
    problems: BTreeSet<String>,
}

impl Reader {
    pub(super) fn finish(self, settings: Settings) -> Result<Settings, String> {
        /// The maximum number of problems in the message.
        const SHOWN: usize = 20;
        let count = self.problems.len();
        if count == 0 {
            return Ok(settings);
        }
        let s = if count == 1 { "" } else { "s" };
        let mut message = format!("{count} problem{s} in the settings:");
        for problem in self.problems.iter().take(SHOWN) {
            // Writing to a String cannot fail.
            let _ = write!(message, "\n- {problem}");
        }
        if let Some(more @ 1..) = count.checked_sub(SHOWN) {
            let _ = write!(message, "\n- and {more} more");
        }
        Err(message)
    }

    pub(super) fn problem(&mut self, path: &str, what: &str) {
        self.problems.insert(format!("{path}: {what}"));
    }

    pub(super) fn unknown(&mut self, path: &str, what: &str, written: &str, known: &[&str]) {
        let hint = text::nearest(written, known).map_or_else(String::new, |nearest| {
            format!("; did you mean `{nearest}`?")
        });
        self.problem(path, &format!("{what}{hint}"));
    }

    /// The fields of an object.
    pub(super) fn fields<'a>(&mut self, path: &str, field: &Field<'a>) -> Vec<(String, Field<'a>)> {
        match field.object().fields() {
            Ok(fields) => fields
                .into_iter()
                .map(|(key, value)| (key.into_owned(), value))
                .collect(),
            Err(error) => {
                self.problem(
                    path,
                    &format!("must be an object, not {}", error.found().kind()),
                );
                Vec::new()
            }
        }
    }

    /// Levels for rules about these subjects.
    pub(super) fn levels(&mut self, path: &str, field: &Field<'_>, subjects: &[Subject]) -> Levels {
        let ids: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
        let all = Level::ALL.map(|level| (level.name(), level));
        let mut levels = Levels::new();
        for (id, level) in self.fields(path, field) {
            let path = format!("{path}.{}", text::escape(&id, 80));
            let level = self.one_of(&path, &level, &all);
            match RULES.iter().find(|rule| rule.id == id) {
                None => self.unknown(&path, "unknown rule", &id, &ids),
                Some(rule) if !subjects.contains(&rule.subject) => self.problem(
                    &path,
                    "the level of this rule cannot be set for individual templates; use `levels`",
                ),
                Some(rule) => {
                    if let Some(level) = level {
                        levels.insert(rule.id, level);
                    }
                }
            }
        }
        levels
    }

    /// The repairs by rule.
    pub(super) fn repairs(&mut self, field: &Field<'_>) -> Vec<(&'static str, Repair)> {
        let mut repairs = Vec::new();
        let repairable = RULES.iter().filter(|rule| rule.repairs != RepairKind::None);
        let repairable: BTreeSet<&str> = repairable.map(|rule| rule.id).collect();
        let repairable: Vec<&str> = repairable.into_iter().collect();
        for (id, field) in self.fields("repair", field) {
            let path = format!("repair.{}", text::escape(&id, 80));
            let rule = RULES.iter().find(|rule| rule.id == id);
            let repair = match rule.map(|rule| rule.repairs) {
                None => {
                    self.unknown(&path, "unknown rule", &id, &repairable);
                    None
                }
                Some(RepairKind::None) => {
                    self.problem(
                        &path,
                        &format!(
                            "the policy cannot repair this rule; it can repair {}",
                            text::list(&repairable, repairable.len())
                        ),
                    );
                    None
                }
                // Forms send empty fields.
                Some(_) if field.json().is_none() => None,
                Some(RepairKind::Import) => self.import_repair(&path, &field),
                Some(RepairKind::FromImage) => {
                    self.one_of(&path, &field, &[("from-image", Repair::FromImage)])
                }
                Some(RepairKind::Normalise) => {
                    self.one_of(&path, &field, &[("normalise", Repair::Normalise)])
                }
            };
            repairs.extend(rule.map(|rule| rule.id).zip(repair));
        }
        repairs
    }

    /// `enable-import`, or `{place-on: ARCHITECTURE}`.
    fn import_repair(&mut self, path: &str, field: &Field<'_>) -> Option<Repair> {
        if field.json().map(Json::kind) != Some(Kind::Object) {
            let word = field.string().ok().flatten();
            if word.as_deref() == Some("enable-import") {
                return Some(Repair::EnableImport);
            }
            self.problem(
                path,
                &format!(
                    "must be `enable-import` or {{place-on: ARCHITECTURE}}, not {}",
                    shown(field)
                ),
            );
            return None;
        }
        let mut architecture = None;
        for (key, value) in self.fields(path, field) {
            if key == "place-on" {
                let known = KNOWN.map(|name| (name, name));
                architecture = self.one_of(&format!("{path}.place-on"), &value, &known);
            } else {
                self.unknown(
                    path,
                    &format!("unknown key {}", quote(&key)),
                    &key,
                    &["place-on"],
                );
            }
        }
        if field
            .object()
            .fields()
            .is_ok_and(|fields| fields.is_empty())
        {
            self.problem(path, "must have the key place-on");
        }
        Some(Repair::PlaceOn(architecture?.to_owned()))
    }

    /// The value for a word from a fixed set.
    pub(super) fn one_of<T: Clone>(
        &mut self,
        path: &str,
        field: &Field<'_>,
        values: &[(&'static str, T)],
    ) -> Option<T> {
        let written = field.string().ok().flatten().unwrap_or_default();
        if let Some((_, value)) = values.iter().find(|(word, _)| *word == written) {
            return Some(value.clone());
        }
        let words: Vec<&str> = values.iter().map(|(word, _)| *word).collect();
        let list = text::list(&words, words.len());
        let what = format!("must be one of {list}, not {}", shown(field));
        self.unknown(path, &what, &written, &words);
        None
    }

    pub(super) fn boolean(&mut self, path: &str, field: &Field<'_>) -> Option<bool> {
        let value = field.boolean().ok().flatten();
        if value.is_none() {
            self.problem(
                path,
                &format!("must be true or false, not {}", shown(field)),
            );
        }
        value
    }

    /// A string that meets a condition. `expected` describes it.
    fn string_where(
        &mut self,
        path: &str,
        field: &Field<'_>,
        expected: &str,
        is_valid: impl Fn(&str) -> bool,
    ) -> Option<String> {
        let written = field.string().ok().flatten();
        let valid = written.filter(|written| is_valid(written));
        if valid.is_none() {
            self.problem(path, &format!("{expected}; it is {}", shown(field)));
        }
        valid
    }

    pub(super) fn version(&mut self, path: &str, field: &Field<'_>) -> Option<String> {
        let expected = "must be a version of HCO or of OpenShift Virtualization in quotes, for example \"1.18\" or \"4.22\"";
        self.string_where(path, field, expected, |written| {
            HcoVersion::parse(written).is_some()
        })
    }

    pub(super) fn namespace(&mut self, path: &str, field: &Field<'_>) -> Option<String> {
        let expected =
            "must be the name of a namespace, for example openshift-virtualization-os-images";
        self.string_where(path, field, expected, is_dns1123_label)
    }

    /// Hosts of registries, with the port if it is not the default.
    pub(super) fn hosts(&mut self, field: &Field<'_>) -> Vec<String> {
        let hosts = field.strings().ok().flatten();
        let is_host = |host: &String| {
            let image = Image::at(&format!("docker://{host}/image"));
            let image = image.and_then(Result::ok);
            image.is_some_and(|image| image.host() == host.to_ascii_lowercase())
        };
        let are_hosts = |hosts: &Vec<String>| !hosts.is_empty() && hosts.iter().all(is_host);
        if !hosts.as_ref().is_some_and(are_hosts) {
            self.problem(
                "registries",
                "must be a list of hosts, with the port if the URLs of the images have one, for example [quay.io, registry.example.com:5000]",
            );
        }
        let hosts = hosts.unwrap_or_default().into_iter();
        hosts.map(|host| host.to_ascii_lowercase()).collect()
    }

    pub(super) fn account(&mut self, field: &Field<'_>) -> Option<ServiceAccount> {
        let expected = "must be the service account of the policy-server in the form NAMESPACE/NAME, for example kubewarden/policy-server";
        let is_account = |written: &str| {
            written.split_once('/').is_some_and(|(namespace, name)| {
                is_dns1123_label(namespace) && is_dns1123_subdomain(name)
            })
        };
        let written = self.string_where("serviceAccount", field, expected, is_account)?;
        let (namespace, name) = written.split_once('/')?;
        Some(ServiceAccount {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })
    }

    /// A template that HCO ships: a registry URL, or an object with its source and its architectures.
    pub(super) fn common_template(
        &mut self,
        name: &str,
        field: &Field<'_>,
    ) -> Option<StatedTemplate> {
        let path = format!("commonTemplates.{}", text::escape(name, 80));
        if !is_dns1123_subdomain(name) {
            self.problem(
                &path,
                "must be the name of a template: lowercase letters, digits, `-` and `.`",
            );
        }
        if field.json().map(Json::kind) != Some(Kind::Object) {
            let expected = "must be a registry URL, for example docker://quay.io/containerdisks/fedora:latest, or {source: SOURCE, architectures: LIST}";
            let url = self.string_where(&path, field, expected, |url| !url.trim().is_empty())?;
            return Some(StatedTemplate::from_url(&url));
        }
        let (mut source, mut architectures) = (None, None);
        for (key, value) in self.fields(&path, field) {
            match key.as_str() {
                "source" => source = Some(value),
                "architectures" => {
                    let expected = "must be the value of the architectures annotation, for example \"amd64,arm64\"";
                    architectures = self.string_where(
                        &format!("{path}.architectures"),
                        &value,
                        expected,
                        |list| !list.trim().is_empty(),
                    );
                }
                unknown => {
                    let what = format!("unknown key {}", quote(unknown));
                    self.unknown(&path, &what, unknown, &["architectures", "source"]);
                }
            }
        }
        let Some(source) = source else {
            self.problem(&path, "must have the key source");
            return None;
        };
        let path = format!("{path}.source");
        for (kind, _) in self.fields(&path, &source) {
            if !SOURCE_KINDS.contains(&kind.as_str()) {
                let what = format!("unknown source {}", quote(&kind));
                self.unknown(&path, &what, &kind, &SOURCE_KINDS);
            }
        }
        if source.object().fields().is_ok_and(|kinds| kinds.is_empty()) {
            let expected = "must be a source, for example {registry: {imageStream: rhel9-guest, pullMethod: node}}";
            self.problem(&path, expected);
        }
        match StatedTemplate::read(&source, architectures) {
            Ok(template) => Some(template),
            Err(error) => {
                let what = format!("must not be {}", error.found().kind());
                self.problem(&error.path().to_string(), &what);
                None
            }
        }
    }
}

/// The invalid value, for a sentence that describes a valid one.
fn shown(field: &Field<'_>) -> String {
    match (field.string(), field.json()) {
        (Ok(Some(text)), _) => quote(&text),
        (_, json) => json.map_or(Kind::Null, Json::kind).to_string(),
    }
}
