//! The module that judges: the embedded one, or one of the user's.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use manifest::Limited;
use policy_host::{
    Capabilities, Evaluation, Granted, HostCalls, HostError, Options, Policy, Resource,
    cache_directory, context_aware_resources, module_sha256, private,
};
use serde_json::Value;

use crate::foreign::{self, one_line, shell_word};
use crate::report::Report;

/// A module that is ready.
pub(crate) struct Module {
    policy: Policy,
    foreign: bool,
    /// What it wants to read of a cluster.
    asks_for: Vec<Resource>,
    /// Why the compiled module is not cached for the next run.
    pub(crate) uncached: Option<String>,
}

impl Module {
    /// The embedded module, or that of a file; compiled anew if it is not to be cached.
    pub(crate) fn load(file: Option<&Path>, no_cache: bool) -> Result<Self> {
        let cache = cache_directory().filter(|_| !no_cache);
        let uncached = cache.as_deref().and_then(|cache| private(cache).err());
        let mut options = Options {
            deadline: Some(DEADLINE),
            cache: cache.filter(|_| uncached.is_none()),
            ..Options::default()
        };
        let Some(path) = file else {
            return Ok(Self {
                policy: Policy::embedded_with(&options)?,
                foreign: false,
                asks_for: Vec::new(),
                uncached,
            });
        };
        let of_file = || format!("--policy {}", foreign::path(path));
        // Once, because it can be a pipe.
        let bytes = File::open(path).and_then(|file| Limited::new(file).bytes());
        if bytes.is_err() && path.to_string_lossy().contains("://") {
            let address = shell_word(&foreign::path(path));
            bail!("--policy requires a file; to get one, run `{PULL} {address}`");
        }
        let bytes = bytes.with_context(|| format!("{} cannot be read", of_file()))?;
        if let Some(what) = no_module(&bytes) {
            bail!(
                "{} is not a WebAssembly module: {what}; to get the module of a policy, run `{PULL} registry://ADDRESS`",
                of_file()
            );
        }
        options.memory = Some(MEMORY);
        options.captured = true;
        let asks_for = context_aware_resources(&bytes).with_context(|| {
            format!(
                "{}: the module's metadata cannot be read; to add metadata, use `kwctl annotate`",
                of_file()
            )
        })?;
        // The embedded one as it is deployed, annotated, is no other.
        let module = module_sha256(&bytes);
        let is_ours = module.is_some() && module == module_sha256(Policy::embedded_module());
        Ok(Self {
            policy: Policy::from_bytes(&bytes, &options).with_context(of_file)?,
            foreign: !is_ours,
            asks_for,
            uncached,
        })
    }

    /// Lets the module ask a cluster what its metadata says, if the user grants it.
    ///
    /// MIRRORS: kubewarden-controller crates/kwctl/src/command/run/evaluator.rs,
    /// `build_context_aware_allowed_resources`.
    /// DIVERGES: without the grant kwctl answers what accounts may do.
    pub(crate) fn guarded(&self, cluster: Arc<dyn HostCalls>, is_granted: bool) -> Granted {
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
            (Vec::new(), Capabilities::new(all_but_reviews))
        };
        Granted::new(cluster, resources, capabilities)
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
        let evaluation = self
            .policy
            .validate_settings(settings.to_string().as_bytes());
        let (verdict, _) = answered(evaluation)?;
        let no_reason = || "the module does not report a reason".to_owned();
        Ok((!verdict.valid).then(|| verdict.message.unwrap_or_else(no_reason)))
    }

    /// Judges a payload.
    pub(crate) fn judge(&self, payload: &[u8], host: Arc<dyn HostCalls>) -> Result<Report> {
        let answer = answered(self.policy.report(payload, Arc::clone(&host)));
        // A module of the user's may be this project's in another version, or know nothing of reports; how it says
        // so depends on the language that it is written in.
        let report = match answer {
            Ok((answer, printed)) => serde_json::from_slice(&answer)
                .map(|mut report: Report| {
                    report.printed = printed;
                    report
                })
                .context("the module's report cannot be read"),
            Err(error) => Err(error),
        };
        if report.is_ok() || !self.foreign {
            return report;
        }
        let (verdict, printed) = answered(self.policy.validate(payload, host))?;
        Ok(Report {
            printed,
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

/// How to get a file for `--policy`.
const PULL: &str = "kwctl pull --output-path policy.wasm";

/// What a file is that is no module. Modules can be in the text format as well.
fn no_module(bytes: &[u8]) -> Option<&'static str> {
    const MODULE: &[u8] = b"\0asm\x01\0\0\0";
    let text = std::str::from_utf8(bytes).map(str::trim_start);
    match (bytes, text) {
        ([], _) => Some("it is empty"),
        ([0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..], _) => {
            Some("it is a compressed archive, for example of an image")
        }
        _ if bytes.get(257..262) == Some(b"ustar") => {
            Some("it is a tar archive, for example of an image")
        }
        _ if bytes.starts_with(MODULE) => None,
        ([0, b'a', b's', b'm', ..], _) => {
            Some("it is WebAssembly of another kind, for example a component")
        }
        (_, Ok(text)) if text.starts_with(['(', ';']) => None,
        (_, Ok(text)) if text.starts_with('<') => Some("it is a web page or XML"),
        (_, Ok(text)) if text.starts_with(['{', '[']) => {
            Some("it is JSON, for example the manifest of an image")
        }
        (_, Ok(text)) if !text.contains('\0') => Some("it is text"),
        _ => Some("it does not begin like a module"),
    }
}

/// The answer of a module, and what it printed. An error says what it printed, which is why it ended.
fn answered<T>(evaluation: Evaluation<T>) -> Result<(T, Vec<String>)> {
    let printed = evaluation.printed.lines().map(one_line);
    let printed: Vec<String> = printed.take(LINES).collect();
    let answer = evaluation.result;
    let answer = answer.map_err(|error| match (&error, printed.join(" ")) {
        (HostError::Trap { .. } | HostError::Guest { .. }, printed) if !printed.is_empty() => {
            anyhow::Error::from(error).context(format!("the module printed: {printed}"))
        }
        _ => error.into(),
    })?;
    Ok((answer, printed))
}

/// How many lines of a module are shown.
const LINES: usize = 20;

/// Nobody waits for us as the API server waits for a webhook: longer than any of them may take, for whoever's module on
/// whatever machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// How much memory a module of the user's may have: some times of what a list of 15,000 whole nodes takes.
const MEMORY: usize = 1 << 30;
