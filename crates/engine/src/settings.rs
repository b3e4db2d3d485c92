//! The policy's settings. All problems in them are reported together, with their paths.

mod reader;

use std::collections::BTreeMap;

use kube_objects::json::{Field, Json, Kind};
use kube_objects::name::is_dns1123_label;
use kube_objects::text::quote;
use operator_models::hco::golden_image::CommonTemplates;
use operator_models::hco::version::HcoVersion;

use self::reader::{SettingsReader, shown};
use crate::cluster::ServiceAccount;
use crate::rule::{Level, Repair, Rule};
use crate::rules::RULES;

/// All settings; the Rancher form also sends `description`.
const KEYS: [&str; 12] = [
    "commonTemplates",
    "denialsAsWarnings",
    "goldenImages",
    "goldenImagesNamespace",
    "hcoVersion",
    "images",
    "levels",
    "registries",
    "repair",
    "serviceAccount",
    "templates",
    "updates",
];

/// The policy's settings. No settings at all are valid, and have the right defaults.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    levels: Levels,
    /// Levels for the templates with a name.
    names: BTreeMap<String, Levels>,
    /// Levels for the templates whose names begin with a prefix, the longest prefix first.
    prefixes: Vec<(String, Levels)>,
    /// Whether existing problems deny an update, too.
    pub(crate) denies_existing_problems: bool,
    pub(crate) images: ImageChecks,
    /// The hosts at which images are looked up, in lower case; all hosts if absent.
    registries: Option<Vec<String>>,
    pub(crate) repairs: Vec<(&'static str, Repair)>,
    pub(crate) service_account: Option<ServiceAccount>,
    /// The version of HCO, where the object does not contain it.
    pub(crate) hco_version: Option<String>,
    /// Whether HCO deploys no golden images, where the object does not show it: HCO deploys SSP on OpenShift only.
    pub(crate) lacks_golden_images: bool,
    /// The namespace of the golden images, where the version of HCO does not show it.
    pub(crate) golden_images_namespace: Option<String>,
    /// Whether findings that deny are also warnings. In monitor mode, Kubewarden drops the message of a denial.
    pub(crate) denials_as_warnings: bool,
    /// The common templates by name. They replace the ones that upstream ships.
    pub(crate) common_templates: Option<CommonTemplates>,
}

type Levels = BTreeMap<&'static str, Level>;

/// Which images are looked up in their registries.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ImageChecks {
    #[default]
    Ignore,
    /// The images of the templates whose annotation HCO reads.
    Verify,
    VerifyAll,
}

impl Settings {
    /// The level of a rule for a template, or for the object as a whole.
    pub(crate) fn level(&self, rule: &Rule, template: Option<&str>) -> Level {
        self.level_in_settings(rule, template).unwrap_or(rule.level)
    }

    pub(crate) fn level_in_settings(&self, rule: &Rule, template: Option<&str>) -> Option<Level> {
        template
            .and_then(|name| self.level_of_template(rule, name))
            .or_else(|| self.levels.get(rule.id).copied())
    }

    /// The level that is set for a template: by its name, or by the longest prefix that sets one.
    fn level_of_template(&self, rule: &Rule, name: &str) -> Option<Level> {
        let by_prefix = self
            .prefixes
            .iter()
            .filter(|(prefix, _)| name.starts_with(prefix));
        let levels = self.names.get(name).into_iter();
        levels
            .chain(by_prefix.map(|(_, levels)| levels))
            .find_map(|levels| levels.get(rule.id).copied())
    }

    /// Whether a rule has an effect on the object or on any template.
    pub(crate) fn is_checked(&self, rule: &Rule) -> bool {
        let by_prefix = self.prefixes.iter().map(|(_, levels)| levels);
        self.names
            .values()
            .chain(by_prefix)
            .filter_map(|levels| levels.get(rule.id).copied())
            .chain([self.level(rule, None)])
            .any(|level| level != Level::Ignore)
    }

    pub(crate) fn wants_images(&self) -> bool {
        self.images != ImageChecks::Ignore
    }

    pub(crate) fn repair(&self, rule: &Rule) -> Option<Repair> {
        let (_, repair) = self.repairs.iter().find(|(id, _)| *id == rule.id)?;
        Some(*repair)
    }

    pub(crate) fn repairs_by_placement(&self) -> bool {
        self.repairs
            .iter()
            .any(|(_, repair)| matches!(repair, Repair::PlaceOn(_)))
    }

    pub(crate) fn allows(&self, host: &str) -> bool {
        let registries = self.registries.as_ref();
        registries.is_none_or(|hosts| hosts.iter().any(|known| known == host))
    }

    /// Reads the settings as the host sends them; missing settings are the defaults.
    ///
    /// The error has one line for each problem.
    pub(crate) fn read(settings: Option<Json<'_>>) -> Result<Self, String> {
        let mut reader = SettingsReader::default();
        let mut read = Self::default();
        if let Some(json) = settings {
            for (key, _, value) in reader.entries("settings", &Field::root(json)) {
                read.set(&mut reader, &key, &value);
            }
        }
        read.check_repairs(&mut reader);
        reader.finish(read)
    }

    /// Reports repairs that cannot work: a repair of an ignored rule has no effect, and without look-ups the
    /// architectures of images are unknown.
    fn check_repairs(&self, reader: &mut SettingsReader) {
        for rule in RULES {
            let Some(repair) = self.repair(rule) else {
                continue;
            };
            let path = format!("repair.{}", rule.id);
            if repair == Repair::FromImage && !self.wants_images() {
                let what = "`from-image` needs `images: verify` or `images: verify-all`";
                reader.problem(&path, what);
            }
            if !self.is_checked(rule) {
                reader.problem(
                    &path,
                    "the level of the rule is `ignore`; remove the repair, or set another level",
                );
            }
        }
    }

    fn set(&mut self, reader: &mut SettingsReader, key: &str, field: &Field<'_>) {
        let kind = field.json().map_or(Kind::Null, Json::kind);
        match key {
            "description" if matches!(kind, Kind::Null | Kind::String) => {}
            "description" => reader.problem("description", "must be a string or null"),
            // A key without a value counts as absent.
            known if KEYS.contains(&known) && kind == Kind::Null => {}
            "levels" => self.levels = reader.levels(key, field, false),
            "templates" => {
                for (pattern, path, levels) in reader.entries(key, field) {
                    let levels = reader.levels(&path, &levels, true);
                    let prefix = pattern.strip_suffix('*');
                    if pattern.is_empty() || prefix.unwrap_or(&pattern).contains('*') {
                        let expected =
                            "must be the name of a template, or a prefix followed by `*`";
                        reader.problem(&path, expected);
                    } else if let Some(prefix) = prefix {
                        self.prefixes.push((prefix.to_owned(), levels));
                    } else {
                        self.names.insert(pattern, levels);
                    }
                }
                self.prefixes
                    .sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
            }
            "updates" => {
                let updates = [("ratchet", false), ("strict", true)];
                let denies = reader.one_of(key, field, &updates);
                self.denies_existing_problems = denies.unwrap_or_default();
            }
            "images" => {
                let images = [
                    ("ignore", ImageChecks::Ignore),
                    ("verify", ImageChecks::Verify),
                    ("verify-all", ImageChecks::VerifyAll),
                ];
                self.images = reader.one_of(key, field, &images).unwrap_or_default();
            }
            "goldenImages" => {
                let lacks = [("auto", false), ("deployed", false), ("absent", true)];
                self.lacks_golden_images = reader.one_of(key, field, &lacks).unwrap_or_default();
            }
            "goldenImagesNamespace" => {
                let expected = "must be the name of a namespace, for example openshift-virtualization-os-images";
                let namespace = |name: String| is_dns1123_label(&name).then_some(name);
                self.golden_images_namespace = reader.parsed(key, field, expected, namespace);
            }
            "hcoVersion" => {
                let expected = "must be a version of HCO or of OpenShift Virtualization in quotes, for example \"1.18\" or \"4.22\"";
                let version = |text: String| HcoVersion::parse(&text).map(|_| text);
                self.hco_version = reader.parsed(key, field, expected, version);
            }
            "denialsAsWarnings" => match field.boolean() {
                Ok(Some(value)) => self.denials_as_warnings = value,
                _ => reader.problem(key, &format!("must be true or false, not {}", shown(field))),
            },
            "registries" => self.registries = Some(reader.hosts(field)),
            "repair" => self.repairs = reader.repairs(field),
            "serviceAccount" => self.service_account = reader.account(key, field),
            "commonTemplates" => {
                let entries = reader.entries(key, field).into_iter();
                let table = entries.filter_map(|(name, path, template)| {
                    let template = reader.common_template(&name, &path, &template)?;
                    Some((name, template))
                });
                self.common_templates = Some(table.collect());
            }
            unknown => {
                let what = format!("unknown setting {}", quote(unknown));
                reader.unknown("settings", &what, unknown, &KEYS);
            }
        }
    }
}
