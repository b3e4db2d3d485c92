//! The module that judges: the embedded one, or one of the user's.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use hco_preflight::{
    CacheError, HostCalls, HostError, Options, Policy, cache_directory, module_sha256, private,
};
use serde_json::Value;

use super::foreign::one_line;
use super::verdict::Report;

/// A module that is ready.
pub(crate) struct Module {
    policy: Policy,
    foreign: bool,
    /// Why the compiled module is not kept for the next run.
    pub(crate) uncached: Option<CacheError>,
}

impl Module {
    /// The embedded module, or that of a file; compiled anew if it is not to be cached.
    pub(crate) fn load(file: Option<&Path>, no_cache: bool) -> Result<Self> {
        let cache = cache_directory().filter(|_| !no_cache);
        let uncached = cache.as_deref().and_then(|cache| private(cache).err());
        let options = options(cache.filter(|_| uncached.is_none()));
        let policy = match file {
            None => Policy::embedded_with(&options)?,
            Some(path) => match Policy::from_file(path, &options) {
                // It names the file itself.
                Err(error @ HostError::Unreadable { .. }) => return Err(error.into()),
                read => read.with_context(|| format!("--policy {}", path.display()))?,
            },
        };
        // The embedded one as it is deployed, annotated, is no other.
        let is_ours = |path: &Path| {
            let read = std::fs::read(path).ok();
            let module = read.and_then(|module| module_sha256(&module));
            module.is_some() && module == module_sha256(Policy::embedded_module())
        };
        Ok(Self {
            policy,
            foreign: file.is_some_and(|path| !is_ours(path)),
            uncached,
        })
    }

    /// Whether it is not this project's own.
    pub(crate) fn is_foreign(&self) -> bool {
        self.foreign
    }

    /// What the module says of settings: nothing if they are right.
    pub(crate) fn mistakes(&self, settings: &Value) -> Result<Option<String>> {
        let verdict = self
            .policy
            .validate_settings(settings.to_string().as_bytes())
            .result?;
        let unsaid = || "the module does not say why".to_owned();
        Ok((!verdict.valid).then(|| verdict.message.unwrap_or_else(unsaid)))
    }

    /// Judges a payload.
    pub(crate) fn judge(&self, payload: &[u8], host: Arc<dyn HostCalls>) -> Result<Report> {
        let answer = self.policy.report(payload, Arc::clone(&host)).result;
        // A module of the user's may be this project's in another version, or know nothing of reports; how it says
        // so depends on the language that it is written in.
        let report = match answer {
            Ok(answer) => {
                serde_json::from_slice(&answer).context("the module's report cannot be read")
            }
            Err(error) => Err(error.into()),
        };
        if report.is_ok() || !self.foreign {
            return report;
        }
        let verdict = self.policy.validate(payload, host).result?;
        let mut notes = verdict.warnings.unwrap_or_default();
        if verdict.mutated_object.is_some() {
            notes.push("the module would change the object".to_owned());
        }
        Ok(Report {
            notes,
            allowed: verdict.accepted,
            code: verdict.code,
            // It could begin with a command to the runner of a pipeline.
            message: verdict
                .message
                .map(|message| format!("the module says: {}", one_line(&message))),
            foreign: true,
            ..Report::default()
        })
    }
}

/// Nobody waits for us as the API server waits for a webhook: longer than any of them may take, for whoever's module on
/// whatever machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

fn options(cache: Option<PathBuf>) -> Options {
    Options {
        deadline: Some(DEADLINE),
        cache,
        ..Options::default()
    }
}
