//! The module of the policy: the embedded one, or another build of it.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use manifest::Limited;
use policy_host::{HostCalls, Options, Policy, cache_directory, private};
use serde_json::Value;

use crate::foreign;
use crate::report::Report;

/// A compiled module.
pub(crate) struct Module {
    policy: Policy,
    /// Why the compiled module is not cached for the next run.
    pub(crate) uncached: Option<String>,
}

impl Module {
    /// Compiles the embedded module, or the build of the policy in a file.
    pub(crate) fn load(file: Option<&Path>, no_cache: bool) -> Result<Self> {
        let cache = cache_directory().filter(|_| !no_cache);
        let uncached = cache.as_deref().and_then(|cache| private(cache).err());
        let options = Options {
            deadline: Some(DEADLINE),
            cache: cache.filter(|_| uncached.is_none()),
            ..Options::default()
        };
        let policy = match file {
            None => Policy::embedded_with(&options)?,
            Some(path) => {
                let option = || format!("--policy {}", foreign::path(path));
                let bytes = File::open(path).and_then(|file| Limited::new(file).bytes());
                let bytes = bytes.with_context(|| {
                    format!(
                        "{} cannot be read; to download a module, run `kwctl pull --output-path policy.wasm ADDRESS`",
                        option()
                    )
                })?;
                Policy::from_bytes(&bytes, &options).with_context(option)?
            }
        };
        Ok(Self { policy, uncached })
    }

    /// Why the module rejects these settings, if it does.
    pub(crate) fn mistakes(&self, settings: &Value) -> Result<Option<String>> {
        let settings = settings.to_string();
        let verdict = self.policy.validate_settings(settings.as_bytes()).result?;
        let no_reason = || "the module does not report a reason".to_owned();
        Ok((!verdict.valid).then(|| verdict.message.unwrap_or_else(no_reason)))
    }

    /// Evaluates a payload.
    pub(crate) fn judge(&self, payload: &[u8], host: Arc<dyn HostCalls>) -> Result<Report> {
        let answer = self.policy.report(payload, host).result?;
        serde_json::from_slice(&answer).context(
            "the module's report cannot be read; --policy supports only builds of this policy",
        )
    }
}

/// The time limit of an evaluation. It is longer than policy-server's limit, because no API server waits for it.
const DEADLINE: Duration = Duration::from_secs(30);
