//! What we say: one report, rendered for people (message, warnings) and for machines (audit annotations,
//! JSON).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use crate::architecture::is_accepted_by_ssp;
use crate::facts::Facts;
use crate::golden_image::GoldenImage;
use crate::node::Census;
use crate::rule::{Finding, Level};
use crate::text::{cut, percent_encode, plain, quote};

/// The most that a message holds.
const MESSAGE: usize = 4096;
/// The most that one warning holds, and all of them together.
const WARNING: usize = 256;
const WARNINGS: usize = 4096;
/// The most that the audit annotation `findings` holds.
const FINDINGS: usize = 16 * 1024;
/// The longest name of a template in it: what Kubernetes allows for a name.
const NAME: usize = 253;
/// The most that a paragraph of the message holds, so that one rule does not drown the others.
const PARAGRAPH: usize = 1800;
/// How many further templates a paragraph names before it counts the rest, and how many fixes it gives.
const NAMED: usize = 5;
const FIXES: usize = 3;

/// What a request is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Whether the request passes.
    pub allowed: bool,
    /// The HTTP status of a denial: 422 for the user's object, 400 for one that we cannot read, 500 if we could
    /// not judge.
    pub code: Option<u16>,
    /// The denial in words.
    pub message: Option<String>,
    /// The workload nodes by architecture; `None` if no nodes were read.
    pub nodes: Option<BTreeMap<String, usize>>,
    /// The workload architectures, sorted.
    pub workload_architectures: Option<Vec<String>>,
    /// The architectures of the control plane, sorted.
    pub control_plane_architectures: Option<Vec<String>>,
    /// Whether HCO will import for several architectures; `None` if nothing was judged.
    pub multi_arch_import: Option<Import>,
    /// Where VMs boot from each golden image, those of the spec first; `None` if no nodes were read.
    pub templates: Option<Vec<JudgedTemplate>>,
    /// What was found, by rule in the order of the table, then by place in the object.
    pub findings: Vec<JudgedFinding>,
    /// Lines for the user beside the verdict.
    #[serde(skip)]
    pub warnings: Vec<String>,
    /// The contract with machines that read the audit log.
    #[serde(skip)]
    pub audit_annotations: BTreeMap<String, String>,
}

/// The import, as HCO resolves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Import {
    /// On.
    Enabled,
    /// Off.
    Disabled,
}

impl Import {
    fn name(self) -> &'static str {
        match self {
            Self::Enabled => "enabled",
            Self::Disabled => "disabled",
        }
    }
}

/// A golden image against the workload architectures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JudgedTemplate {
    /// Its name.
    pub name: String,
    /// `boots`, `doesNotBoot` or `notSaid`, by workload architecture. Words, because a map of an enum would be
    /// 2 kB of the module.
    pub architectures: BTreeMap<String, String>,
}

impl JudgedTemplate {
    fn new(image: &GoldenImage<'_>, import: bool, census: &Census) -> Self {
        // With the import off CDI takes whatever the importer's node is.
        let value = image
            .annotation
            .value()
            .filter(|_| import || census.workload.len() == 1);
        let mut architectures = BTreeMap::new();
        for name in census.workload.keys() {
            let word = match value {
                None => "notSaid",
                Some(value)
                    if is_accepted_by_ssp(name) && value.split(',').any(|entry| entry == name) =>
                {
                    "boots"
                }
                Some(_) => "doesNotBoot",
            };
            architectures.insert(name.clone(), word.to_owned());
        }
        Self {
            name: image.name.to_owned(),
            architectures,
        }
    }
}

/// What came of a finding, the gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Judged {
    /// It denies the request.
    Deny,
    /// It warns.
    Warn,
    /// It was there before the update.
    Carried,
}

impl Judged {
    pub(crate) fn by(level: Level) -> Self {
        match level {
            Level::Deny => Self::Deny,
            Level::Warn | Level::Ignore => Self::Warn,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Warn => "warn",
            Self::Carried => "carried",
        }
    }
}

/// A finding and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JudgedFinding {
    /// Id of the rule.
    pub rule: &'static str,
    /// What came of it.
    pub level: Judged,
    /// Where the user has to look.
    pub path: String,
    /// The template that it is about.
    pub template: Option<String>,
    /// What is so.
    pub fact: String,
    /// What to type or paste.
    pub fix: String,
}

impl JudgedFinding {
    pub(crate) fn new(rule: &'static str, level: Judged, finding: Finding) -> Self {
        Self {
            rule,
            level,
            path: finding.path,
            template: finding.template.map(|mut name| {
                // No longer name can be one; as it stands otherwise, because machines compare it.
                name.truncate(name.floor_char_boundary(NAME));
                name
            }),
            fact: finding.fact,
            fix: finding.fix,
        }
    }
}

impl Report {
    /// Nothing to judge.
    pub(crate) fn accepted() -> Self {
        Self {
            allowed: true,
            code: None,
            message: None,
            nodes: None,
            workload_architectures: None,
            control_plane_architectures: None,
            multi_arch_import: None,
            templates: None,
            findings: Vec::new(),
            warnings: Vec::new(),
            audit_annotations: BTreeMap::new(),
        }
    }

    fn refused(code: u16, message: String) -> Self {
        Self {
            allowed: false,
            code: Some(code),
            message: Some(cut(message, MESSAGE)),
            ..Self::accepted()
        }
    }

    /// An object that we cannot read, which is never silently accepted.
    pub(crate) fn undecodable(namespace: &str, name: &str, what: &str) -> Self {
        let object = object_name(namespace, name);
        let what = plain(what, 1024);
        Self::refused(
            400,
            format!(
                "HyperConverged {object} cannot be read: {what}\n\
                 fix: give it the type that HCO documents: kubectl explain hyperconverged --recursive --api-version=hco.kubevirt.io/v1beta1 (or v1)"
            ),
        )
    }

    /// Settings that should never have got this far.
    pub(crate) fn invalid_settings(namespace: &str, name: &str, mistakes: &str) -> Self {
        let object = object_name(namespace, name);
        Self::refused(
            500,
            format!(
                "HyperConverged {object} cannot be judged: {mistakes}\n\
                 fix: correct spec.settings of the ClusterAdmissionPolicy"
            ),
        )
    }

    /// What the rules said.
    pub(crate) fn judged(
        namespace: &str,
        name: &str,
        facts: &Facts<'_>,
        findings: Vec<JudgedFinding>,
    ) -> Self {
        let census = facts.census_if_read();
        let denies = |finding: &&JudgedFinding| finding.level == Judged::Deny;
        let denying: Vec<&JudgedFinding> = findings.iter().filter(denies).collect();
        let code = if denying.is_empty() {
            None
        } else if denying
            .iter()
            .all(|finding| finding.rule == crate::rules::NODES_UNREADABLE)
        {
            Some(500)
        } else {
            Some(422)
        };
        let mut report = Self {
            allowed: denying.is_empty(),
            code,
            message: code.map(|_| message(&object_name(namespace, name), &denying)),
            nodes: census.map(|census| {
                let mut nodes = BTreeMap::new();
                for (name, count) in &census.workload {
                    nodes.insert(name.clone(), *count);
                }
                nodes
            }),
            workload_architectures: census.map(|census| census.workload.keys().cloned().collect()),
            control_plane_architectures: census
                .map(|census| census.control_plane.iter().cloned().collect()),
            multi_arch_import: Some(if facts.import {
                Import::Enabled
            } else {
                Import::Disabled
            }),
            templates: census.map(|census| {
                let images = facts.images.iter();
                images
                    .map(|image| JudgedTemplate::new(image, facts.import, census))
                    .collect()
            }),
            warnings: warnings(&findings),
            audit_annotations: BTreeMap::new(),
            findings,
        };
        report.audit_annotations = report.annotations();
        report
    }

    fn annotations(&self) -> BTreeMap<String, String> {
        let architectures = |key: &str, list: &Option<Vec<String>>| {
            let encoded: Vec<String> = list
                .as_ref()?
                .iter()
                .map(|name| percent_encode(name, NAME))
                .collect();
            let value = if encoded.is_empty() {
                "none".to_owned()
            } else {
                cut(encoded.join(","), FINDINGS)
            };
            Some((key.to_owned(), value))
        };
        let import = self.multi_arch_import.map(Import::name);
        let pairs = [
            architectures("workload-architectures", &self.workload_architectures),
            architectures(
                "control-plane-architectures",
                &self.control_plane_architectures,
            ),
            import.map(|import| ("multi-arch-import".to_owned(), import.to_owned())),
            words(&self.findings).map(|words| ("findings".to_owned(), words)),
        ];
        let mut annotations = BTreeMap::new();
        for (key, value) in pairs.into_iter().flatten() {
            annotations.insert(key, value);
        }
        annotations
    }
}

fn object_name(namespace: &str, name: &str) -> String {
    let name = if name.is_empty() {
        "(without a name)"
    } else {
        name
    };
    let slash = if namespace.is_empty() { "" } else { "/" };
    format!("{}{slash}{}", plain(namespace, NAME), plain(name, NAME))
}

/// `rule-id/template=deny rule-id=warn`: sorted, one word for a rule and template, the gravest of them.
fn words(findings: &[JudgedFinding]) -> Option<String> {
    // The equals sign belongs to the key, so that the words stand in order as a whole. The gravest level
    // comes last and stays.
    let mut worst: BTreeMap<String, String> = BTreeMap::new();
    let at = |level| {
        findings
            .iter()
            .filter(move |finding| finding.level == level)
    };
    for finding in at(Judged::Carried)
        .chain(at(Judged::Warn))
        .chain(at(Judged::Deny))
    {
        let mut word = finding.rule.to_owned();
        if let Some(template) = finding.template.as_deref().filter(|name| !name.is_empty()) {
            word.push('/');
            word.push_str(&percent_encode(template, NAME));
        }
        word.push('=');
        worst.insert(word, finding.level.name().to_owned());
    }
    let mut words: Vec<String> = worst
        .iter()
        .map(|(word, level)| format!("{word}{level}"))
        .collect();
    let length = |words: &[String]| words.iter().map(|word| word.len() + 1).sum::<usize>();
    if length(&words) > FINDINGS + 1 {
        let all = words.len();
        // Enough room for `truncated=` and any number.
        let mut room = FINDINGS - "truncated=".len() - 20;
        let fitting = words.iter().take_while(|word| {
            let fits = word.len() < room;
            room = room.saturating_sub(word.len() + 1);
            fits
        });
        let fitting = fitting.count();
        words.truncate(fitting);
        words.push(format!("truncated={}", all - fitting));
    }
    (!words.is_empty()).then(|| words.join(" "))
}

/// Groups findings by rule, in the order in which the rules come.
fn by_rule<'f>(findings: &[&'f JudgedFinding]) -> Vec<Vec<&'f JudgedFinding>> {
    let mut groups: Vec<Vec<&JudgedFinding>> = Vec::new();
    for finding in findings {
        match groups.last_mut() {
            Some(group)
                if group
                    .first()
                    .is_some_and(|first| first.rule == finding.rule) =>
            {
                group.push(finding);
            }
            _ => groups.push(vec![finding]),
        }
    }
    groups
}

/// The denial in words: a paragraph for each rule.
fn message(object: &str, denying: &[&JudgedFinding]) -> String {
    /// Room for the line that counts what was left out.
    const REST: usize = 64;
    let count = denying.len();
    let mut message = format!(
        "HyperConverged {object}: {count} problem{}",
        if count == 1 { "" } else { "s" }
    );
    let groups = by_rule(denying);
    for (told, group) in groups.iter().enumerate() {
        let paragraph = paragraph(group);
        if message.len() + paragraph.len() > MESSAGE - REST {
            let left: usize = groups.iter().skip(told).map(Vec::len).sum();
            let _ = write!(message, "\n\nand {left} more");
            break;
        }
        message.push_str(&paragraph);
    }
    message
}

fn paragraph(group: &[&JudgedFinding]) -> String {
    let mut text = String::new();
    let Some((first, others)) = group.split_first() else {
        return text;
    };
    let _ = write!(text, "\n\n[{}] {}: {}", first.rule, first.path, first.fact);
    // Another entry of the same template stands in the same place and has the same fix.
    let elsewhere = others.iter().filter(|finding| finding.path != first.path);
    let mut places: Vec<&str> = Vec::new();
    let mut more = 0_usize;
    for finding in elsewhere {
        if places.last() == Some(&finding.path.as_str()) {
            continue;
        }
        if places.len() == NAMED {
            more += 1;
            continue;
        }
        text.push_str(if places.is_empty() { "\nalso: " } else { ", " });
        places.push(&finding.path);
        match &finding.template {
            Some(name) => {
                let _ = write!(text, "{} ({})", quote(name), short_path(&finding.path));
            }
            None => text.push_str(&finding.path),
        }
    }
    if more > 0 {
        let _ = write!(text, " and {more} more");
    }
    let mut fixes: Vec<&str> = Vec::new();
    for finding in group {
        if fixes.len() < FIXES && !fixes.contains(&finding.fix.as_str()) {
            fixes.push(&finding.fix);
        }
    }
    for fix in fixes {
        let _ = write!(text, "\nfix: {fix}");
    }
    cut(text, PARAGRAPH)
}

/// `dataImportCronTemplates[3]` is enough to find what stands under the same key as the first.
fn short_path(path: &str) -> &str {
    path.find(']')
        .and_then(|end| path.get(..=end))
        .and_then(|path| path.rsplit_once('.'))
        .map_or(path, |(_, last)| last)
}

/// A line for each finding that warns, and one for each rule whose findings were there before.
fn warnings(findings: &[JudgedFinding]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut left = 0_usize;
    let mut room = WARNINGS - 32;
    let mut push = |line: String| {
        let line = cut(line, WARNING);
        if left == 0 && line.len() <= room {
            room -= line.len();
            lines.push(line);
        } else {
            left += 1;
        }
    };
    for finding in findings
        .iter()
        .filter(|finding| finding.level == Judged::Warn)
    {
        push(format!("[{}] {}", finding.rule, finding.fact));
    }
    let carried: Vec<&JudgedFinding> = findings
        .iter()
        .filter(|finding| finding.level == Judged::Carried)
        .collect();
    for group in by_rule(&carried) {
        if let Some(first) = group.first() {
            let more = match group.len() - 1 {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            push(format!("[{}] as before{more}: {}", first.rule, first.fact));
        }
    }
    if left > 0 {
        lines.push(format!("and {left} more"));
    }
    lines
}
