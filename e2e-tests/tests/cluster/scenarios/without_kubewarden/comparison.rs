//! The guard beside the policy: the API server evaluates the guard for each update, and the engine evaluates the update
//! that arrives. The guard's denials are warnings, so that the API server returns the object.

use std::collections::{BTreeMap, BTreeSet};

use e2e_tests::module::ROOT;
use engine::{Outcome, Report};
use serde_json::{Value, json};

use super::scope::{Objects, RULES};
use super::updates::{Update, updates};
use crate::policy::documents;
use crate::scenarios::cases::{collection, replace_crd, serving};
use crate::scenarios::stored::Stored;
use crate::waiting::until;
use crate::world::{NAMESPACE, World};

/// What both said about all updates.
#[derive(Default)]
struct Comparison {
    evaluated: usize,
    refused: usize,
    /// The updates that the guard denies, by rule and API version.
    denied: BTreeMap<(String, String), usize>,
    /// The findings that only the policy denies, by rule and reason.
    left: BTreeMap<(String, &'static str), usize>,
    /// The updates that the guard should have denied.
    missed: Vec<String>,
    mistakes: Vec<String>,
}

pub(super) fn run(world: &World<'_>) {
    apply(world);
    let mut comparison = Comparison::default();
    for ((file, version), updates) in updates() {
        // There are cases of versions that HCO does not have.
        let Some(crd) = serving(file, &version) else {
            continue;
        };
        replace_crd(world, &crd);
        let collection = collection(&crd, Some(NAMESPACE));
        for update in updates {
            comparison.add(world, &collection, &version, &update);
        }
    }
    comparison.print_and_assert();
}

/// Applies the guard so that an error of an expression counts as a denial, and each denial is a warning.
fn apply(world: &World<'_>) {
    let rendered = world
        .admin
        .run(&["kustomize", &format!("{ROOT}/deploy/without-kubewarden")]);
    for mut manifest in documents(&rendered.stdout) {
        let kind = manifest["kind"].as_str().unwrap_or_default().to_lowercase();
        let resource = match kind.strip_suffix('y') {
            Some(kind) => format!("{kind}ies"),
            None => format!("{kind}s"),
        };
        if resource == "validatingadmissionpolicies" {
            manifest["spec"]["failurePolicy"] = json!("Fail");
        }
        let path = format!("/apis/admissionregistration.k8s.io/v1/{resource}");
        world.api().must("POST", &path, Some(&manifest));
    }
    let path = format!("{}?dryRun=All", world.path());
    let mut object = world.api().get(&world.path());
    object["spec"]["featureGates"]["enableMultiArchBootImageImport"] = json!(false);
    until("the guard is in effect", || {
        let (_, answer, warnings) = world.api().replace(&path, &object)?;
        (!warnings.is_empty())
            .then_some(())
            .ok_or_else(|| answer.to_string())
    });
}

/// The rules for which the guard denies an update, or its error.
fn rules_in(warnings: &[String]) -> Result<BTreeSet<String>, String> {
    let start = "Validation failed for ValidatingAdmissionPolicy 'hco-architecture-guard' with binding 'hco-architecture-guard': ";
    let messages = warnings
        .iter()
        .filter_map(|warning| warning.strip_prefix(start));
    let mut rules = BTreeSet::new();
    for message in messages {
        let found = RULES
            .iter()
            .filter(|rule| message.contains(&format!("[{rule}]")));
        let found: Vec<String> = found.map(|&rule| rule.to_owned()).collect();
        if found.is_empty() {
            return Err(message.to_owned());
        }
        rules.extend(found);
    }
    Ok(rules)
}

impl Comparison {
    fn add(&mut self, world: &World<'_>, collection: &str, version: &str, update: &Update) {
        if let Err(why) = self.try_to_add(world, collection, version, update) {
            self.mistakes.push(format!("{}: {why}", update.name));
        }
    }

    fn try_to_add(
        &mut self,
        world: &World<'_>,
        collection: &str,
        version: &str,
        update: &Update,
    ) -> Result<(), String> {
        let api = world.api();
        let create = format!("{collection}?fieldValidation=Ignore");
        let store = |object: &Value| api.try_to("POST", &create, Some(object));
        let Some(stored) = Stored::new(api, collection, &update.old, store)? else {
            self.refused += 1;
            return Ok(());
        };
        let path = format!("{}?fieldValidation=Ignore&dryRun=All", stored.path);
        let (status, arrived, warnings) = api.replace(&path, &stored.updated(&update.new))?;
        if matches!(status.as_u16(), 400 | 422) {
            self.refused += 1;
            return Ok(());
        }
        if !status.is_success() {
            return Err(format!("{status}: {arrived}"));
        }
        self.evaluated += 1;
        let rules = rules_in(&warnings)?;
        let request = update.request(&stored.object, &arrived);
        let payload = json!({"request": request, "settings": {}}).to_string();
        let report = engine::validate(payload.as_bytes(), &update.cluster());
        for rule in &rules {
            *self
                .denied
                .entry((rule.clone(), version.to_owned()))
                .or_default() += 1;
        }
        let objects = Objects {
            old: &stored.object,
            new: &arrived,
        };
        self.count_what_is_left(update, &report, &rules, &objects);
        let denials = denials(&report);
        let is_denied = |rule: &String| denials.iter().any(|(denied, _)| denied == rule);
        if report.code == Some(400) || rules.iter().all(is_denied) {
            return Ok(());
        }
        Err(format!(
            "the guard denies {rules:?}, the policy {denials:?}: {warnings:?}"
        ))
    }

    /// Counts the findings that only the policy denies.
    fn count_what_is_left(
        &mut self,
        update: &Update,
        report: &Report,
        rules: &BTreeSet<String>,
        objects: &Objects<'_>,
    ) {
        for finding in &report.findings {
            let rule = &*finding.rule;
            if finding.level != Outcome::Deny || !RULES.contains(&rule) || rules.contains(rule) {
                continue;
            }
            match objects.out_of_scope(finding) {
                Some(reason) => *self.left.entry((rule.to_owned(), reason)).or_default() += 1,
                None => self
                    .missed
                    .push(format!("{}: {rule}: {}", update.name, finding.fact)),
            }
        }
    }

    fn print_and_assert(&self) {
        println!(
            "  {} updates, and {} that the schema refuses; the guard denies:",
            self.evaluated, self.refused
        );
        for ((rule, version), number) in &self.denied {
            println!("    {number} {rule} ({version})");
        }
        println!("  the guard leaves to the policy:");
        for ((rule, reason), number) in &self.left {
            println!("    {number} {rule}: {reason}");
        }
        println!("    {} inside its scope", self.missed.len());
        for missed in self.missed.iter().take(20) {
            println!("      {missed}");
        }
        let mistakes = &self.mistakes;
        assert!(
            mistakes.is_empty(),
            "{} mistakes:\n{}",
            mistakes.len(),
            mistakes.join("\n")
        );
        for rule in RULES {
            for version in ["v1beta1", "v1"] {
                let key = (rule.to_owned(), version.to_owned());
                assert!(
                    self.denied.contains_key(&key),
                    "{rule} never denies in {version}"
                );
            }
        }
        let denied: usize = self.denied.values().sum();
        assert!(
            self.missed.len() * 9 <= denied,
            "{} of {denied}",
            self.missed.len()
        );
    }
}

/// The rules that deny an update, and their templates.
fn denials(report: &Report) -> Vec<(String, String)> {
    let denials = report
        .findings
        .iter()
        .filter(|finding| finding.level == Outcome::Deny);
    denials
        .map(|finding| {
            let template = finding
                .template
                .as_ref()
                .map(|template| template.raw().to_owned());
            (
                finding.rule.clone().into_owned(),
                template.unwrap_or_default(),
            )
        })
        .collect()
}
