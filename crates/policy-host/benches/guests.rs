//! The modules that are measured, and how to call them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use policy_host::{HostCalls, Options, Policy};
use serde_json::Value;
use wapc::WapcHost;
use wasmtime_provider::wasmtime::{Engine, Module};
use wasmtime_provider::{ResourceLimits, WasmtimeEngineProviderBuilder};

use crate::measure::timed;

const UNHURRIED: Options = Options {
    deadline: Duration::from_mins(1),
    cache: None,
};

/// A guest that lists the nodes but does not read the list.
pub(crate) const BLIND: &str = include_str!("blind.wat");

/// The module that is measured.
pub(crate) fn ours() -> Vec<u8> {
    match std::env::var_os("HCO_BENCH_MODULE") {
        Some(path) => read(Path::new(&path)),
        None => Policy::embedded_module().to_vec(),
    }
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Builds a package below `benches`, with the flags and the profile of the policy.
pub(crate) fn build(package: &str, options: &[&str]) -> Option<Vec<u8>> {
    let benches = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches");
    let target: PathBuf = std::env::temp_dir().join(format!("hco-bench-{package}"));
    let mut cargo = Command::new("cargo");
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if (text.starts_with("CARGO") && text != "CARGO_HOME") || text.starts_with("RUSTFLAGS") {
            cargo.env_remove(&name);
        }
    }
    let built = cargo
        .args(["build", "--quiet", "--locked"])
        .args(["--target", "wasm32-unknown-unknown", "--profile", "wasm"])
        .args(options)
        .arg("--target-dir")
        .arg(&target)
        // The flags are in .cargo/config.toml, which cargo searches for in the parent directories.
        .current_dir(benches.join(package))
        .status();
    built.ok().filter(std::process::ExitStatus::success)?;
    let module = format!(
        "wasm32-unknown-unknown/wasm/{}.wasm",
        package.replace('-', "_")
    );
    std::fs::read(target.join(module)).ok()
}

pub(crate) fn compile(module: &[u8]) -> Policy {
    Policy::from_bytes(module, &UNHURRIED).unwrap()
}

/// A host with a list. The time in which a host gets its list is not measured: the copy is made before the clock starts.
///
/// (In glibc, a buffer of more than 32 MiB gets new pages, each of which costs a page fault at the first write. Copying
/// 35 MB takes four times as long per byte as copying 30 MB.)
pub(crate) struct Host {
    list: Vec<u8>,
    ready: Mutex<Option<Vec<u8>>>,
}

impl Host {
    pub(crate) fn new(list: Vec<u8>) -> Arc<Self> {
        let ready = Mutex::new(None);
        Arc::new(Self { list, ready })
    }

    pub(crate) fn list(&self) -> &[u8] {
        &self.list
    }
}

impl HostCalls for Host {
    fn call(&self, _: &str, _: &str, _: &[u8]) -> Result<Vec<u8>, String> {
        let ready = self.ready.lock().unwrap().take();
        Ok(ready.unwrap_or_else(|| self.list.clone()))
    }
}

/// Calls a guest once, in a new instance. It must evaluate the request.
pub(crate) fn judge(policy: &Policy, payload: &[u8], host: &Arc<Host>) -> Duration {
    *host.ready.lock().unwrap() = Some(host.list.clone());
    let calls: Arc<dyn HostCalls> = Arc::clone(host) as _;
    let mut answer = Vec::new();
    let time = timed(|| answer = policy.call("validate", payload, calls).unwrap());
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    assert!(
        answer.pointer("/accepted") == Some(&Value::Bool(true))
            || [Some(403), Some(422)].contains(&answer.pointer("/code").and_then(Value::as_u64)),
        "{answer}"
    );
    time
}

/// The minimum linear memory with which a module still answers. It is found by trial: the provider does not expose
/// the instance.
pub(crate) fn least_memory(module: &[u8], payload: &[u8], host: &Arc<Host>) -> usize {
    const PAGE: usize = 64 << 10;
    let engine = Engine::default();
    let compiled = Module::new(&engine, module).unwrap();
    let (mut too_little, mut enough) = (0, (host.list.len() * 8 + (64 << 20)) / PAGE);
    while enough - too_little > 1 {
        let pages = usize::midpoint(too_little, enough);
        let provider = WasmtimeEngineProviderBuilder::new()
            .engine(engine.clone())
            .module(compiled.clone())
            .enable_resource_limits(ResourceLimits {
                max_memory_size: Some(pages * PAGE),
                max_table_elements: None,
            })
            .build();
        let calls = Arc::clone(host);
        let dispatch = move |_, _: &str, namespace: &str, operation: &str, payload: &[u8]| {
            Ok(calls.call(namespace, operation, payload)?)
        };
        let guest = WapcHost::new(Box::new(provider.unwrap()), Some(Box::new(dispatch)));
        if guest.is_ok_and(|guest| guest.call("validate", payload).is_ok()) {
            enough = pages;
        } else {
            too_little = pages;
        }
    }
    enough * PAGE
}
