//! Where compiled modules are cached.

use std::path::{Path, PathBuf};

use wasmtime_provider::wasmtime::{Cache, CacheConfig};

/// The directory where users expect caches: `$XDG_CACHE_HOME/hco-preflight`, else `~/.cache/hco-preflight`;
/// `~/Library/Caches/hco-preflight` on macOS. None if there is no home.
pub fn cache_directory() -> Option<PathBuf> {
    directory(std::env::consts::OS, |name| {
        std::env::var_os(name).map(PathBuf::from)
    })
}

fn directory(system: &str, variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    // The XDG specification wants relative paths to be ignored.
    let absolute = |name| variable(name).filter(|path| path.is_absolute());
    let caches = match system {
        "macos" => absolute("HOME").map(|home| home.join("Library").join("Caches")),
        "windows" => absolute("LOCALAPPDATA"),
        _ => {
            absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        }
    };
    caches.map(|caches| caches.join("hco-preflight"))
}

/// Wasmtime's own cache, in a directory of its own below the given one, because it removes what it does not
/// know. None if there can be no such directory: then each run compiles.
pub(crate) fn open(directory: &Path) -> Option<Cache> {
    private(directory).ok()?;
    let mut config = CacheConfig::new();
    config.with_directory(std::path::absolute(directory).ok()?.join("modules"));
    Cache::new(config).ok()
}

/// Makes the directory of a cache if it is not there. What is in it is run, so nobody else may write to it.
///
/// # Errors
///
/// Why it cannot be the cache: then each run compiles.
pub fn private(directory: &Path) -> Result<(), String> {
    let name = directory.display();
    let unusable = |error: std::io::Error| format!("{name} cannot be created: {error}");
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .recursive(true)
        .create(directory)
        .map_err(unusable)?;
    let metadata = std::fs::metadata(directory).map_err(unusable)?;
    if is_private(&metadata) {
        Ok(())
    } else {
        Err(format!(
            "{name} belongs to another user, or others can write to it; remove it, or change its owner and set its mode to 700"
        ))
    }
}

#[cfg(unix)]
fn is_private(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    metadata.uid() == rustix::process::geteuid().as_raw() && metadata.mode() & 0o022 == 0
}

/// Other systems keep the caches of users apart.
#[cfg(not(unix))]
fn is_private(_: &std::fs::Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::xdg("linux", &[("XDG_CACHE_HOME", "/x"), ("HOME", "/h")], Some("/x/hco-preflight"))]
    #[case::home("linux", &[("HOME", "/h")], Some("/h/.cache/hco-preflight"))]
    #[case::relative("linux", &[("XDG_CACHE_HOME", "x"), ("HOME", "/h")], Some("/h/.cache/hco-preflight"))]
    #[case::empty("linux", &[("XDG_CACHE_HOME", ""), ("HOME", "")], None)]
    #[case::nothing("linux", &[], None)]
    #[case::mac("macos", &[("XDG_CACHE_HOME", "/x"), ("HOME", "/h")], Some("/h/Library/Caches/hco-preflight"))]
    fn the_directory_is_where_users_expect_it(
        #[case] system: &str,
        #[case] variables: &[(&str, &str)],
        #[case] expected: Option<&str>,
    ) {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| PathBuf::from(value))
        };
        assert_eq!(directory(system, variable), expected.map(PathBuf::from));
    }
}
