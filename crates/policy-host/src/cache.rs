//! The cache of compiled modules.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;
use wasmtime_provider::wasmtime::{Engine, Module, Result};

/// The user's cache directory: `$XDG_CACHE_HOME/hco-preflight`, else `~/.cache/hco-preflight`;
/// `~/Library/Caches/hco-preflight` on macOS. `None` if there is no home directory.
pub fn cache_directory() -> Option<PathBuf> {
    // The XDG specification requires programs to ignore relative paths.
    let absolute = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let home = || absolute("HOME");
    let caches = if cfg!(target_os = "macos") {
        home()?.join("Library/Caches")
    } else {
        absolute("XDG_CACHE_HOME").or_else(|| Some(home()?.join(".cache")))?
    };
    Some(caches.join("hco-preflight"))
}

/// Compiles a module, or reads it from the cache. A cache that cannot be used is not an error.
pub(crate) fn compiled(engine: &Engine, module: &[u8], directory: Option<&Path>) -> Result<Module> {
    let Some(directory) = directory.filter(|directory| is_private(directory)) else {
        return Module::new(engine, module);
    };
    let file = directory.join(format!("{:x}.cwasm", Sha256::digest(module)));
    #[expect(
        unsafe_code,
        reason = "wasmtime's own cache, which is slower, does the same"
    )]
    // SAFETY: only this user can write to the directory and to the file, and files are written as a whole. Wasmtime rejects
    // files of another version of it, and of another configuration.
    let cached = unsafe { Module::deserialize_file(engine, &file) };
    cached.or_else(|_| {
        let compiled = Module::new(engine, module)?;
        // If this fails, the next run compiles the module again.
        let _ = store(&compiled.serialize()?, directory, &file);
        Ok(compiled)
    })
}

/// Stores a compiled module, and removes the oldest ones.
fn store(compiled: &[u8], directory: &Path, file: &Path) -> std::io::Result<()> {
    const MOST: usize = 4;
    let mut new = NamedTempFile::new_in(directory)?;
    new.write_all(compiled)?;
    new.persist(file)?;
    let mut modules = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        modules.push((entry.metadata()?.modified()?, entry.path()));
    }
    modules.sort_unstable();
    let excess = modules.len().saturating_sub(MOST);
    for (_, oldest) in modules.into_iter().take(excess) {
        std::fs::remove_file(oldest)?;
    }
    Ok(())
}

/// Creates the directory of a cache, and checks everything in it. The command runs native code from the cache, so no
/// other user may write to it.
fn is_private(directory: &Path) -> bool {
    let mut builder = std::fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let created = builder.recursive(true).create(directory);
    created.is_ok() && is_own(directory).unwrap_or_default()
}

/// Whether a directory or file of the cache, with everything in it, belongs to this user alone, and is not a link.
fn is_own(path: &Path) -> std::io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = path.symlink_metadata()?;
    let is_writable = metadata.mode() & 0o022 != 0;
    let is_foreign = metadata.uid() != rustix::process::geteuid().as_raw();
    if is_foreign || is_writable || metadata.is_symlink() {
        return Ok(false);
    }
    if metadata.is_dir() {
        for entry in std::fs::read_dir(path)? {
            if !is_own(&entry?.path())? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
