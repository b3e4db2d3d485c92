//! The module as it is deployed: the embedded module of the preflight, annotated.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The project's directory.
pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// A directory for the files of a test.
///
/// # Errors
///
/// If it cannot be created.
pub fn scratch(name: &str) -> Result<PathBuf, String> {
    let directory = Path::new(env!("SCRATCH")).join(name);
    std::fs::create_dir_all(&directory)
        .map_err(|error| format!("{}: {error}", directory.display()))?;
    Ok(directory)
}

/// The directory for caches of the tests: compiled modules stay for the next run.
pub fn caches() -> PathBuf {
    Path::new(env!("SCRATCH")).join("home/.cache")
}

/// The path of a program, if it is on PATH.
pub fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|directory| directory.join(program))
        .find(|file| file.is_file())
}

/// The module without annotations: `POLICY_WASM` if it is set, otherwise the embedded one, which is always up to date.
/// This crate does not know it, because the engine's tests would then need what runs modules.
///
/// # Errors
///
/// If it cannot be written.
pub fn built(embedded: &[u8]) -> Result<PathBuf, String> {
    if let Some(module) = std::env::var_os("POLICY_WASM") {
        return Ok(Path::new(ROOT).join(module));
    }
    let module = scratch("module")?.join("policy.wasm");
    std::fs::write(&module, embedded).map_err(|error| format!("{}: {error}", module.display()))?;
    Ok(module)
}

/// The module, annotated by kwctl.
///
/// # Errors
///
/// If kwctl fails, or warns.
pub fn annotated(kwctl: &Path, embedded: &[u8]) -> Result<PathBuf, String> {
    let module = built(embedded)?;
    let annotated = scratch("module")?.join("annotated-policy.wasm");
    let output = Command::new(kwctl)
        .current_dir(ROOT)
        .env("NO_COLOR", "1")
        .args(["annotate", "--metadata-path", "policy-metadata.yml"])
        .args(["--usage-path", "README.md", "--output-path"])
        .args([&annotated, &module])
        .output()
        .map_err(|error| format!("kwctl annotate: {error}"))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    // kwctl warns about capabilities that are used but not declared, or declared but not used.
    if output.status.success() && !stderr.contains("WARN") {
        Ok(annotated)
    } else {
        Err(format!("kwctl annotate: {}\n{stderr}", output.status))
    }
}
