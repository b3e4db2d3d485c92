//! The modules that are measured, and how they are called.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hco_preflight::{HostCalls, Options, Policy};

use crate::measure::timed;

const UNHURRIED: Options = Options {
    deadline: Some(Duration::from_mins(1)),
    memory: None,
    cache: None,
};

/// A guest that is handed the list and looks at none of it: what host and engine take by themselves.
pub(crate) const BLIND: &str = r#"(module
    (import "wapc" "__host_call" (func $call (param i32 i32 i32 i32 i32 i32 i32 i32) (result i32)))
    (import "wapc" "__host_response_len" (func $length (result i32)))
    (import "wapc" "__host_response" (func $response (param i32)))
    (import "wapc" "__guest_response" (func $answer (param i32 i32)))
    (memory (export "memory") 1)
    (data (i32.const 0) "kubewardenkubernetes")
    (func (export "__guest_call") (param i32 i32) (result i32)
        (drop (call $call (i32.const 0) (i32.const 10) (i32.const 10) (i32.const 10)
                          (i32.const 10) (i32.const 10) (i32.const 0) (i32.const 0)))
        (drop (memory.grow (i32.add (i32.shr_u (call $length) (i32.const 16)) (i32.const 1))))
        (call $response (i32.const 65536))
        (call $answer (i32.const 0) (i32.const 1))
        i32.const 1))"#;

/// The module that is measured.
pub(crate) fn ours() -> Vec<u8> {
    match std::env::var_os("HCO_BENCH_MODULE") {
        Some(path) => read(Path::new(&path)),
        None => Policy::embedded_module().to_vec(),
    }
}

/// The modules whose cold load is to be measured beside ours, each with the name of its file.
pub(crate) fn others() -> Vec<(String, Vec<u8>)> {
    let paths = std::env::var_os("HCO_BENCH_MODULES").unwrap_or_default();
    std::env::split_paths(&paths)
        .filter(|path| !path.as_os_str().is_empty())
        .map(|path| {
            let name = path.file_stem().unwrap_or_default();
            (name.to_string_lossy().into_owned(), read(&path))
        })
        .collect()
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Builds the module of `benches/usual-way`, with the flags and the profile of the policy's own.
pub(crate) fn usual_way() -> Option<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?;
    let target: PathBuf = std::env::temp_dir().join("hco-usual-way");
    let mut cargo = Command::new("cargo");
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if (text.starts_with("CARGO") && text != "CARGO_HOME") || text.starts_with("RUSTFLAGS") {
            cargo.env_remove(&name);
        }
    }
    let built = cargo
        .args(["build", "--quiet", "--locked", "--package", "usual-way"])
        .args(["--target", "wasm32-wasip1", "--profile", "wasm"])
        .arg("--target-dir")
        .arg(&target)
        .current_dir(root)
        .status();
    built.ok().filter(std::process::ExitStatus::success)?;
    std::fs::read(target.join("wasm32-wasip1/wasm/usual_way.wasm")).ok()
}

pub(crate) fn compile(module: &[u8]) -> Policy {
    Policy::from_bytes(module, &UNHURRIED).unwrap()
}

/// A host with a list. What is measured is not how a host comes by its answer: a copy is made before the clock starts.
///
/// (glibc gives a buffer of more than 32 MiB pages of its own, each of which costs a page fault when it is first
/// written. A copy of 35 MB takes four times as long for each byte as one of 30 MB.)
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

/// Calls a guest once, on an instance of its own.
pub(crate) fn judge(policy: &Policy, payload: &[u8], host: &Arc<Host>) -> Duration {
    *host.ready.lock().unwrap() = Some(host.list.clone());
    let calls: Arc<dyn HostCalls> = Arc::clone(host) as _;
    timed(|| drop(policy.call("validate", payload, calls).result.unwrap()))
}

/// The least linear memory with which a module still answers, found by halving: the provider hides the instance.
pub(crate) fn least_memory(module: &[u8], payload: &[u8], host: &Arc<Host>) -> usize {
    const PAGE: usize = 64 << 10;
    let (mut too_little, mut enough) = (0, (host.list.len() * 8 + (64 << 20)) / PAGE);
    while enough - too_little > 1 {
        let pages = usize::midpoint(too_little, enough);
        let options = Options {
            memory: Some(pages * PAGE),
            ..UNHURRIED
        };
        let calls: Arc<dyn HostCalls> = Arc::clone(host) as _;
        let fits = Policy::from_bytes(module, &options)
            .is_ok_and(|policy| policy.call("validate", payload, calls).result.is_ok());
        if fits {
            enough = pages;
        } else {
            too_little = pages;
        }
    }
    enough * PAGE
}
