//! The module as it is deployed: built by the one profile for it, and annotated.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The project's directory.
pub(crate) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Where the doors keep their files.
pub(crate) fn scratch(name: &str) -> Result<PathBuf, String> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&directory)
        .map_err(|error| format!("{}: {error}", directory.display()))?;
    Ok(directory)
}

/// Where a program is, if it is on PATH.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|directory| directory.join(program))
        .find(|file| file.is_file())
}

/// The annotated module: of `POLICY_WASM` if that is set, else of the sources as they are now.
pub(crate) fn annotated(kwctl: &Path) -> Result<PathBuf, String> {
    let module = match std::env::var_os("POLICY_WASM") {
        Some(module) => Path::new(ROOT).join(module),
        None => build()?,
    };
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
    // It warns of capabilities that are used and not declared, or declared and not used.
    if output.status.success() && !stderr.contains("WARN") {
        Ok(annotated)
    } else {
        Err(format!("kwctl annotate: {}\n{stderr}", output.status))
    }
}

/// Builds the module; cargo knows whether it is stale.
fn build() -> Result<PathBuf, String> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .ok_or("there is no target directory")?;
    let status = Command::new(env!("CARGO"))
        .current_dir(ROOT)
        .args(["build", "--quiet", "--locked", "--profile", "wasm"])
        .args(["--package", "hco-architecture-guard"])
        .args(["--target", "wasm32-wasip1", "--target-dir"])
        .arg(target)
        .status()
        .map_err(|error| format!("cargo build: {error}"))?;
    if status.success() {
        Ok(target.join("wasm32-wasip1/wasm/hco_architecture_guard.wasm"))
    } else {
        Err(format!("cargo build: {status}"))
    }
}
