//! The code of the policy: the embedded module, another build of it, or the engine in this program.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use manifest::{LIMIT, read_up_to};
use policy_host::{HostCalls, Options, Policy, cache_directory, private};
use serde_json::{Value, json};

use crate::foreign::{self, one_line};
use crate::notes::Notes;
use crate::report::Report;

pub(crate) enum Module {
    /// A module, so that the verdict is the cluster's.
    Compiled(Box<Policy>),
    /// The engine in this program. It reads only nodes.
    Linked,
}

impl Module {
    /// Compiles the embedded module, or the build of the policy in a file.
    pub(crate) fn load(file: Option<&Path>, no_cache: bool, notes: &mut Notes) -> Result<Self> {
        let cache = cache_directory().filter(|_| !no_cache);
        let uncached = cache.as_deref().and_then(|cache| private(cache).err());
        let options = Options {
            deadline: DEADLINE,
            cache: cache.filter(|_| uncached.is_none()),
            ..Options::default()
        };
        let policy = match file {
            None => Policy::embedded_with(&options)?,
            Some(path) => {
                let option = || format!("--policy {}", foreign::path(path));
                let bytes = File::open(path).and_then(|file| read_up_to(LIMIT, file));
                let bytes = bytes.with_context(|| {
                    format!(
                        "{} cannot be read; to download a module, run `kwctl pull --output-path policy.wasm ADDRESS`",
                        option()
                    )
                })?;
                Policy::from_bytes(&bytes, &options).with_context(option)?
            }
        };
        if let Some(why) = uncached {
            notes.push(&format!(
                "the module is compiled on every run, because the cache cannot be used: {why}"
            ));
        }
        Ok(Self::Compiled(Box::new(policy)))
    }

    /// Why the settings are rejected, if they are.
    pub(crate) fn mistakes(&self, settings: &Value) -> Result<Option<String>> {
        let settings = settings.to_string();
        match self {
            Self::Compiled(policy) => {
                let verdict = policy.validate_settings(settings.as_bytes())?;
                let no_reason = || "the module does not report a reason".to_owned();
                Ok((!verdict.valid).then(|| verdict.message.unwrap_or_else(no_reason)))
            }
            Self::Linked => Ok(engine::validate_settings(settings.as_bytes()).err()),
        }
    }

    pub(crate) fn judge(&self, payload: &[u8], host: Arc<dyn HostCalls>) -> Result<Report> {
        let policy = match self {
            Self::Compiled(policy) => policy,
            Self::Linked => return Ok(engine::report_change(payload, &NodesOnly(host))),
        };
        let answer = policy.report(payload, host)?;
        let report = serde_json::from_slice(&answer).context(
            "the module's report cannot be read; --policy supports only builds of this policy",
        )?;
        Ok(escaped(report))
    }
}

/// A report whose sentences can be printed. The embedded module has escaped them; another module may not have.
fn escaped(mut report: Report) -> Report {
    let sentences = report.repairs.iter_mut().chain(&mut report.not_checked);
    for sentence in sentences.chain(&mut report.message) {
        *sentence = foreign::lines(sentence);
    }
    for finding in &mut report.findings {
        finding.rule = one_line(&finding.rule).into();
        finding.fact = one_line(&finding.fact);
        finding.fix = foreign::lines(&finding.fix);
        for fix in &mut finding.fixes {
            fix.summary = one_line(&fix.summary);
        }
    }
    report
}

struct NodesOnly(Arc<dyn HostCalls>);

impl engine::Cluster for NodesOnly {
    fn nodes(&self) -> Result<Vec<u8>, String> {
        let request = json!({"kind": engine::Resource::Nodes.kind()}).to_string();
        self.0
            .call("kubernetes", "list_resources_all", request.as_bytes())
    }
}

impl engine::Registry for NodesOnly {
    fn manifest(&self, _: &str) -> Result<Vec<u8>, String> {
        Err("images are not read".to_owned())
    }

    fn manifest_and_config(&self, image: &str) -> Result<Vec<u8>, String> {
        self.manifest(image)
    }
}

/// The time limit of an evaluation. It is longer than policy-server's limit, because no API server waits for it.
const DEADLINE: Duration = Duration::from_secs(30);
