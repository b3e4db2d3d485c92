//! Builds the policy's module, which `src/policy.rs` includes.
//!
//! This is a build script and not a step of the Makefile, so every build of this crate (`cargo install`, an editor, a
//! test) gets the module of the same sources. A separate step could be skipped, which would leave the module missing or
//! outdated.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const TARGET: &str = "wasm32-unknown-unknown";

/// The sources of the module, relative to the root of the workspace.
const SOURCES: &[&str] = &[
    "build.rs",
    "src",
    "crates/engine/src",
    "crates/operator-models/src",
    "crates/operator-models/Cargo.toml",
    "crates/kube-objects/src",
    "crates/kube-objects/Cargo.toml",
    "crates/engine/Cargo.toml",
    "Cargo.toml",
    "Cargo.lock",
    ".cargo/config.toml",
    "rust-toolchain.toml",
];

fn main() -> ExitCode {
    match module() {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            say(&format!("cargo::error={sentence}"));
            ExitCode::FAILURE
        }
    }
}

fn module() -> Result<(), String> {
    let manifest = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let root = manifest
        .ancestors()
        .nth(2)
        .ok_or("the crate is outside its workspace")?;
    let out = PathBuf::from(variable("OUT_DIR")?);
    for source in SOURCES {
        let source = root.join(source);
        say(&format!("cargo::rerun-if-changed={}", source.display()));
    }
    for setting in ["OPT_LEVEL", "LTO", "CODEGEN_UNITS", "DEBUG", "STRIP"] {
        say(&format!(
            "cargo::rerun-if-env-changed=CARGO_PROFILE_WASM_{setting}"
        ));
    }

    let target = target_directory(&out);
    let mut cargo = Command::new(variable("CARGO")?);
    cargo
        .args(["build", "--package", "hco-architecture-guard"])
        .args(["--target", TARGET, "--profile", "wasm"])
        // The outer build has updated the lock file, unless it also runs with `--locked`. In both cases, the inner
        // build uses the file as it is. Cargo then needs the network only for crates that are not downloaded yet.
        .arg("--locked")
        .args(["--config", &remap()?])
        .arg("--target-dir")
        .arg(&target)
        // `.cargo/config.toml` in this directory has the module's flags.
        .current_dir(root);
    for (name, _) in env::vars_os() {
        if is_of_the_outer_build(&name) {
            cargo.env_remove(name);
        }
    }
    let ended = cargo
        .output()
        .map_err(|error| format!("cargo could not be started for the policy's module: {error}"))?;
    if !ended.status.success() {
        // Cargo reads the output of build scripts line by line, so each line of the compiler's output is printed
        // separately.
        for line in String::from_utf8_lossy(&ended.stderr).lines() {
            say(&format!("cargo::warning={line}"));
        }
        return Err("the policy's module cannot be built; see the lines above".to_owned());
    }
    let built = target
        .join(TARGET)
        .join("wasm")
        .join("hco_architecture_guard.wasm");
    let copied = std::fs::copy(&built, out.join("policy.wasm"));
    copied.map(drop).map_err(|error| {
        let built = built.display();
        format!("the policy's module {built} cannot be copied: {error}")
    })
}

/// The module contains the paths of its dependencies' sources. Remapping removes the location on this machine, so every
/// build produces the same bytes. The Makefile uses the same flags for `make policy.wasm`.
fn remap() -> Result<String, String> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(env::home_dir()?.join(".cargo")));
    let sources = home
        .ok_or("neither CARGO_HOME nor HOME is set")?
        .join("registry/src");
    Ok(format!(
        "target.{TARGET}.rustflags=[\"--remap-path-prefix={}=/cargo/registry/src\"]",
        sources.display()
    ))
}

/// A separate directory, because the outer cargo locks its own directory until the build script ends. All profiles of
/// the outer build and `make policy.wasm` use the same directory, so the module is built only once.
fn target_directory(out: &Path) -> PathBuf {
    // DIRECTORY/PROFILE/build/policy-host-HASH/out, and with `--target`, DIRECTORY/TRIPLE/PROFILE/…
    let triple = env::var("TARGET").unwrap_or_default();
    let mut directories = out.ancestors().skip(4);
    let target = directories.find(|directory| !directory.ends_with(&triple));
    target.unwrap_or(out).join("policy-module")
}

/// The outer build passes settings to its compiler in variables: flags for coverage, the wrapper for clippy, another
/// target directory. The inner cargo would inherit them, but the module must be the same in every build. Variables for
/// reaching a registry stay, and so do the jobs of the outer build, so that both builds together do not exceed the
/// allowed number of jobs.
fn is_of_the_outer_build(name: &OsString) -> bool {
    const KEPT: [&str; 8] = [
        "CARGO_HOME",
        "CARGO_HTTP_",
        "CARGO_MAKEFLAGS",
        "CARGO_NET_",
        "CARGO_PROFILE_WASM_",
        "CARGO_REGISTR",
        "CARGO_SOURCE_",
        "RUSTUP_",
    ];
    const DROPPED: [&str; 6] = ["CARGO", "CLIPPY_", "HOST", "RUST", "TARGET", "__CARGO"];
    let name = name.to_string_lossy();
    let is_among = |list: &[&str]| list.iter().any(|start| name.starts_with(start));
    is_among(&DROPPED) && !is_among(&KEPT) && name != "HOSTNAME" && name != "HOSTTYPE"
}

fn variable(name: &str) -> Result<OsString, String> {
    env::var_os(name).ok_or_else(|| format!("cargo did not set {name} for the build script"))
}

/// Cargo reads the instructions of a build script from its standard output.
fn say(line: &str) {
    println!("{line}");
}
