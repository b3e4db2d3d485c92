//! The cache of compiled modules.

use std::fs::DirBuilder;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;
use wasmtime_provider::wasmtime::{Engine, Module, Result};

/// The user's cache directory: `$XDG_CACHE_HOME/hco-preflight`, else `~/.cache/hco-preflight`;
/// `~/Library/Caches/hco-preflight` on macOS. `None` if there is no home directory.
pub fn cache_directory() -> Option<PathBuf> {
    let home = || std::env::home_dir().filter(|home| home.is_absolute());
    let caches = if cfg!(target_os = "macos") {
        home()?.join("Library/Caches")
    } else {
        // The XDG specification requires programs to ignore relative paths.
        std::env::var_os("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
            .or_else(|| Some(home()?.join(".cache")))?
    };
    Some(caches.join("hco-preflight"))
}

/// Compiles a module, or reads it from the cache. A cache that cannot be used is not an error.
pub(crate) fn compiled(engine: &Engine, module: &[u8], directory: Option<&Path>) -> Result<Module> {
    let compile = || Module::new(engine, module);
    let Some(directory) = directory else {
        return compile();
    };
    let created = DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory);
    if created.is_err() || !is_own(directory) {
        return compile();
    }
    let file = directory.join(format!("{:x}.cwasm", Sha256::digest(module)));
    if is_own(&file) {
        #[expect(
            unsafe_code,
            reason = "wasmtime's own cache, which is slower, does the same"
        )]
        // SAFETY: only this user can write to the directory and to the file, and files are written as a whole. Wasmtime
        // rejects files of another version of it, and of another configuration.
        if let Ok(module) = unsafe { Module::deserialize_file(engine, &file) } {
            return Ok(module);
        }
    }
    let compiled = compile()?;
    // If this fails, the next run compiles the module again.
    let _ = store(&compiled.serialize()?, directory, &file);
    Ok(compiled)
}

/// Stores a compiled module, and removes the oldest ones.
fn store(compiled: &[u8], directory: &Path, file: &Path) -> std::io::Result<()> {
    const MOST: usize = 4;
    let mut new = NamedTempFile::new_in(directory)?;
    new.write_all(compiled)?;
    new.persist(file)?;
    let mut modules = std::fs::read_dir(directory)?
        .map(|entry| {
            let entry = entry?;
            Ok((entry.metadata()?.modified()?, entry.path()))
        })
        .collect::<std::io::Result<Vec<_>>>()?;
    modules.sort_unstable();
    for (_, oldest) in modules.iter().rev().skip(MOST) {
        std::fs::remove_file(oldest)?;
    }
    Ok(())
}

/// Whether a directory or file of the cache belongs to this user alone, and is not a link. The command runs native code
/// from the cache, so no other user may write to it.
fn is_own(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| {
        let is_writable = metadata.mode() & 0o022 != 0;
        let is_foreign = metadata.uid() != rustix::process::geteuid().as_raw();
        !is_writable && !is_foreign && !metadata.is_symlink()
    })
}
