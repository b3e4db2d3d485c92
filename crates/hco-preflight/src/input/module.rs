//! The module that `check` and `fix` run, so that the verdict is the cluster's: the embedded one, or another build of it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use cluster::foreign::{self, one_line};
use policy_host::{HostCalls, Options, Policy, cache_directory};
use serde_json::Value;

use crate::report::Report;

pub(crate) struct Module(Policy);

/// Why a module, or else the engine in this program, rejects settings; `None` if they are valid.
pub(crate) fn mistakes(module: Option<&Module>, settings: &Value) -> Result<Option<String>> {
    let json = settings.to_string();
    let Some(Module(policy)) = module else {
        return Ok(engine::validate_settings(json.as_bytes()).err());
    };
    let verdict = policy.validate_settings(json.as_bytes())?;
    let no_reason = || "the module does not report a reason".to_owned();
    Ok((!verdict.valid).then(|| verdict.message.unwrap_or_else(no_reason)))
}

impl Module {
    pub(crate) fn load(file: Option<&Path>, no_cache: bool) -> Result<Self> {
        let options = Options {
            deadline: DEADLINE,
            cache: cache_directory().filter(|_| !no_cache),
        };
        Ok(Self(match file {
            None => Policy::from_bytes(Policy::embedded_module(), &options)?,
            Some(path) => {
                let option = || format!("--policy {}", foreign::path(path));
                let bytes = cluster::files::text(path).context("--policy takes a file; to download a module, run `kwctl pull --output-path policy.wasm ADDRESS`")?;
                Policy::from_bytes(&bytes, &options).with_context(option)?
            }
        }))
    }

    pub(crate) fn judge(&self, payload: &[u8], host: Arc<dyn HostCalls>) -> Result<Report> {
        let answer = self.0.call("report", payload, host)?;
        let report = serde_json::from_slice(&answer).context(
            "the module's report cannot be read; --policy supports only builds of this policy",
        )?;
        Ok(escaped(report))
    }
}

/// A report whose sentences can be printed. The embedded module has escaped them; another module may not have.
fn escaped(mut report: Report) -> Report {
    let sentences = report
        .repairs
        .iter_mut()
        .chain(&mut report.not_checked)
        .chain(&mut report.message);
    for sentence in sentences {
        *sentence = foreign::lines(sentence);
    }
    for finding in &mut report.findings {
        finding.rule = one_line(&finding.rule).into();
        finding.fact = one_line(&finding.fact);
        for fix in &mut finding.fixes {
            fix.summary = one_line(&fix.summary);
            fix.command = fix.command.as_deref().map(foreign::lines);
        }
    }
    report
}

/// The time limit of an evaluation. No API server waits for it, and it may need 20 look-ups of images, one after the other.
const DEADLINE: Duration = Duration::from_mins(5);
