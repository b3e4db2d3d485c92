//! A compiled module and its evaluations.

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use wapc::WapcHost;
use wasmtime_provider::wasmtime::{Config, Engine};
use wasmtime_provider::{EpochDeadlines, WasmtimeEngineProviderBuilder, WasmtimeEngineProviderPre};

use crate::cache;
use crate::host_calls::{HostCalls, failing};

#[derive(Debug, Clone)]
pub struct Options {
    /// The time limit of an evaluation. Policy-server's default is 2 s.
    pub deadline: Duration,
    /// The directory that caches the compiled module for the next run, such as
    /// [`cache_directory`](crate::cache_directory); `None` means no cache. If the directory is broken or cannot be
    /// written to, it is not used.
    pub cache: Option<PathBuf>,
}

/// A policy's module, compiled once. Several threads can evaluate it at the same time. Each evaluation has its own
/// instance, so a guest's state does not affect the next evaluation.
pub struct Policy {
    pre: WasmtimeEngineProviderPre,
    deadline: Duration,
    /// Stops the ticks when it is dropped.
    _ticks: Sender<()>,
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct HostError(String);

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SettingsVerdict {
    pub valid: bool,
    #[serde(default)]
    pub message: Option<String>,
}

impl Policy {
    /// The module of this project, which `build.rs` built from the sources in this workspace.
    pub fn embedded_module() -> &'static [u8] {
        include_bytes!(concat!(env!("OUT_DIR"), "/policy.wasm"))
    }

    /// Any policy that uses waPC, as WebAssembly in the binary or the text format.
    pub fn from_bytes(module: &[u8], options: &Options) -> Result<Self, HostError> {
        let wrong =
            |error: &dyn Display| HostError(format!("the module cannot be compiled: {error:#}"));
        let mut config = Config::new();
        // MIRRORS: kubewarden-controller crates/policy-server/src/lib.rs, `PolicyServer::new_from_config`.
        config.wasm_function_references(true);
        config.epoch_interruption(true);
        // Nothing shows an address in the module, and each run of the command reads the compiled module from the cache.
        config.generate_address_map(false);
        config.native_unwind_info(false);
        let engine = Engine::new(&config).map_err(|error| wrong(&error))?;
        let module = cache::compiled(&engine, module, options.cache.as_deref())
            .map_err(|error| wrong(&error))?;
        let ticks = tick(&engine, options.deadline);
        let pre = WasmtimeEngineProviderBuilder::new()
            .engine(engine)
            .module(module)
            .build_pre()
            .map_err(|error| wrong(&error))?;
        Ok(Self {
            pre,
            deadline: options.deadline,
            _ticks: ticks,
        })
    }

    pub fn validate_settings(&self, settings: &[u8]) -> Result<SettingsVerdict, HostError> {
        let host = failing("settings are valid whatever the cluster is");
        self.decoded("validate_settings", settings, host)
    }

    /// Calls an operation of the module, and reads its answer. `validate` and `report` take
    /// `{"request": …, "settings": …}`.
    pub fn decoded<T: DeserializeOwned>(
        &self,
        operation: &str,
        payload: &[u8],
        host: Arc<dyn HostCalls>,
    ) -> Result<T, HostError> {
        let answer = self.call(operation, payload, host)?;
        serde_json::from_slice(&answer).map_err(|error| {
            HostError(format!(
                "the module's response to `{operation}` cannot be read: {error}"
            ))
        })
    }

    /// Calls any operation of the module, in a new instance.
    pub fn call(
        &self,
        operation: &str,
        payload: &[u8],
        host: Arc<dyn HostCalls>,
    ) -> Result<Vec<u8>, HostError> {
        let deadlines = EpochDeadlines {
            wapc_init: TICKS + 1,
            wapc_func: TICKS + 1,
        };
        let failed = |what: &str, error: &dyn Display| {
            let message = error.to_string();
            HostError(if message.contains(INTERRUPTED) {
                let deadline = self.deadline;
                format!("the module was interrupted because it ran for more than {deadline:?}")
            } else {
                format!("the module {what}: {message}")
            })
        };
        let provider = self
            .pre
            .rehydrate(Some(deadlines))
            .map_err(|error| failed("cannot be started", &error))?;
        // MIRRORS: kubewarden-controller crates/policy-evaluator/src/runtimes/callback.rs, `host_callback`.
        let dispatch = move |_, binding: &str, namespace: &str, operation: &str, payload: &[u8]| {
            match (binding, namespace, operation) {
                // The guest's logs are dropped.
                ("kubewarden", "tracing", "log") => Ok(Vec::new()),
                ("kubewarden", ..) => Ok(host.call(namespace, operation, payload)?),
                _ => Err(format!("unknown binding: {binding}").into()),
            }
        };
        let guest = WapcHost::new(Box::new(provider), Some(Box::new(dispatch)))
            .map_err(|error| failed("cannot be started", &error))?;
        guest
            .call(operation, payload)
            .map_err(|error| failed(&format!("failed in `{operation}`"), &error))
    }
}

/// The provider has no typed error.
///
/// MIRRORS: kubewarden-controller crates/policy-evaluator/src/runtimes/wapc/runtime.rs,
/// `WAPC_EPOCH_INTERRUPTION_ERR_MSG`; only the end of the text, which an interrupted start has too.
const INTERRUPTED: &str = "interrupted, execution deadline exceeded";

/// The number of ticks of a deadline. The deadline is accurate to one twentieth.
const TICKS: u64 = 20;

/// Advances the epoch until the returned sender is dropped, so that a guest that runs for too long is interrupted.
fn tick(engine: &Engine, deadline: Duration) -> Sender<()> {
    let (stop, stopped) = channel();
    let engine = engine.clone();
    // The guest is interrupted at the beginning of a tick, and starts at any time between two ticks. With one more
    // tick, it always has the full time.
    let tick = (deadline / u32::try_from(TICKS).unwrap_or(1)).max(Duration::from_millis(1));
    std::thread::spawn(move || {
        while stopped.recv_timeout(tick) == Err(RecvTimeoutError::Timeout) {
            engine.increment_epoch();
        }
    });
    stop
}
