//! The module that judges: the embedded one, or one of the user's.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use host::{
    CacheError, Capabilities, Granted, HostCalls, HostError, Options, Policy, Resource,
    cache_directory, context_aware_resources, module_sha256, private,
};
use serde_json::Value;

use crate::foreign::one_line;
use crate::report::Report;

/// A module that is ready.
pub(crate) struct Module {
    policy: Policy,
    foreign: bool,
    /// What it wants to read of a cluster.
    asks_for: Vec<Resource>,
    /// Why the compiled module is not cached for the next run.
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
        let bytes = file.map(std::fs::read).transpose()?.unwrap_or_default();
        let asks_for = context_aware_resources(&bytes).with_context(|| {
            let path = file.unwrap_or(Path::new("")).display();
            format!(
                "--policy {path}: the module's metadata cannot be read; to add metadata, use `kwctl annotate`"
            )
        })?;
        // The embedded one as it is deployed, annotated, is no other.
        let is_ours = || {
            let module = module_sha256(&bytes);
            module.is_some() && module == module_sha256(Policy::embedded_module())
        };
        Ok(Self {
            policy,
            foreign: file.is_some() && !is_ours(),
            asks_for,
            uncached,
        })
    }

    /// Lets the module ask a cluster what its metadata says, if the user grants it.
    ///
    /// MIRRORS: kubewarden-controller crates/kwctl/src/command/run/evaluator.rs,
    /// `build_context_aware_allowed_resources`.
    /// DIVERGES: without the grant kwctl answers what accounts may do.
    pub(crate) fn guarded(&self, cluster: Arc<dyn HostCalls>, is_granted: bool) -> Result<Granted> {
        let (resources, capabilities) = if is_granted {
            (self.asks_for.clone(), Capabilities::all())
        } else {
            let all_but_reviews = [
                "crypto/*",
                "kubernetes/get_resource",
                "kubernetes/list_resources_all",
                "kubernetes/list_resources_by_namespace",
                "net/*",
                "oci/*",
            ];
            (Vec::new(), Capabilities::new(all_but_reviews)?)
        };
        Ok(Granted::new(cluster, resources, capabilities))
    }

    /// Whether it wants to read the nodes of a cluster.
    pub(crate) fn asks_for_nodes(&self) -> bool {
        self.asks_for.contains(&Resource::node())
    }

    /// What it asks for and does not get.
    pub(crate) fn not_granted(&self, is_granted: bool) -> Option<String> {
        if is_granted || self.asks_for.is_empty() {
            return None;
        }
        let resources = self.asks_for.iter();
        let resources = resources.map(|it| format!("{}/{}", it.api_version, it.kind));
        let resources: Vec<String> = resources.collect();
        Some(one_line(&format!(
            "the module of --policy requests access to {}, which is denied; to allow it, use --allow-context-aware",
            resources.join(", ")
        )))
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
        let no_reason = || "the module does not report a reason".to_owned();
        Ok((!verdict.valid).then(|| verdict.message.unwrap_or_else(no_reason)))
    }

    /// Judges a payload.
    pub(crate) fn judge(&self, payload: &[u8], host: Arc<dyn HostCalls>) -> Result<Report> {
        let answer = self.policy.report(payload, Arc::clone(&host)).result;
        // A module of the user's may be this project's in another version, or know nothing of reports; how it says
        // so depends on the language that it is written in.
        let report = match answer {
            Ok(answer) => serde_json::from_slice(&answer)
                .map(|mut report: Report| {
                    report.doubt_unreadable_images();
                    report
                })
                .context("the module's report cannot be read"),
            Err(error) => Err(error.into()),
        };
        if report.is_ok() || !self.foreign {
            return report;
        }
        let verdict = self.policy.validate(payload, host).result?;
        Ok(Report {
            warnings: verdict.warnings.unwrap_or_default(),
            mutates: verdict.mutated_object.is_some(),
            allowed: verdict.accepted,
            code: verdict.code,
            // It could begin with a command to the runner of a pipeline.
            message: verdict
                .message
                .map(|message| format!("the module reports: {}", one_line(&message))),
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
