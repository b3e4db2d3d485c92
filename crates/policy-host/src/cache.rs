//! The cache of compiled modules.

use std::path::{Path, PathBuf};

use wasmtime_provider::wasmtime::{Cache, CacheConfig};

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

/// Opens wasmtime's cache in a subdirectory, because wasmtime removes files that it does not know. `None` if the
/// directory cannot be created: then each run compiles the module.
pub(crate) fn open(directory: &Path) -> Option<Cache> {
    private(directory).ok()?;
    let mut config = CacheConfig::new();
    config.with_directory(std::path::absolute(directory).ok()?.join("modules"));
    Cache::new(config).ok()
}

/// Creates the directory of a cache, and checks everything in it. The command runs native code from the cache, so no
/// other user may write to it.
pub fn private(directory: &Path) -> Result<(), String> {
    let name = directory.display();
    let unusable = |error: std::io::Error| format!("{name} cannot be created: {error}");
    let mut builder = std::fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .recursive(true)
        .create(directory)
        .map_err(unusable)?;
    match foreign_entry(directory).map_err(unusable)? {
        None => Ok(()),
        Some(entry) => Err(format!(
            "{} belongs to another user, or others can write to it; delete {name}",
            entry.display()
        )),
    }
}

/// A directory or file of the cache that another user owns or can write to, or a link. Wasmtime's statistics are not
/// code and are written later, so only their owner is checked.
fn foreign_entry(path: &Path) -> std::io::Result<Option<PathBuf>> {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = path.symlink_metadata()?;
    let is_statistic = metadata.is_file()
        && path
            .extension()
            .is_some_and(|extension| extension == "stats");
    let is_writable = metadata.mode() & 0o022 != 0 && !is_statistic;
    let is_own = metadata.uid() == rustix::process::geteuid().as_raw();
    if !is_own || is_writable || metadata.is_symlink() {
        return Ok(Some(path.to_owned()));
    }
    if metadata.is_dir() {
        for entry in std::fs::read_dir(path)? {
            if let Some(found) = foreign_entry(&entry?.path())? {
                return Ok(Some(found));
            }
        }
    }
    Ok(None)
}

/// Makes the files that wasmtime wrote writable only for the user, whatever the umask is.
pub(crate) fn restrict(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let is_directory = path.is_dir();
    let mode = if is_directory { 0o700 } else { 0o600 };
    // If this fails, the next run rejects the entry.
    let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode));
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        restrict(&entry.path());
    }
}
