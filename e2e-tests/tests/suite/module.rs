//! The module as it is deployed: the embedded module of the preflight, annotated.

use std::path::{Path, PathBuf};
use std::process::Command;

use host::{Options, Policy};

/// The project's directory.
pub(crate) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The directory for the files of the doors.
pub(crate) fn scratch(name: &str) -> Result<PathBuf, String> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&directory)
        .map_err(|error| format!("{}: {error}", directory.display()))?;
    Ok(directory)
}

/// The directory for caches of the tests: compiled modules stay for the next run.
pub(crate) fn caches() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("home/.cache")
}

/// As policy-server runs a module, but with a cache.
pub(crate) fn options() -> Options {
    Options {
        cache: Some(caches().join("hco-preflight")),
        ..Options::default()
    }
}

/// The path of a program, if it is on PATH.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|directory| directory.join(program))
        .find(|file| file.is_file())
}

/// The module without annotations: `POLICY_WASM` if it is set, otherwise the embedded one, which is always up to date.
pub(crate) fn built() -> Result<PathBuf, String> {
    if let Some(module) = std::env::var_os("POLICY_WASM") {
        return Ok(Path::new(ROOT).join(module));
    }
    let module = scratch("module")?.join("policy.wasm");
    std::fs::write(&module, Policy::embedded_module())
        .map_err(|error| format!("{}: {error}", module.display()))?;
    Ok(module)
}

/// That module, annotated by kwctl.
pub(crate) fn annotated(kwctl: &Path) -> Result<PathBuf, String> {
    let module = built()?;
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
