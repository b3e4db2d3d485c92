//! The cache of compiled modules: the host uses it again, and tolerates any state of it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use policy_host::{Options, Policy, failing};
use rstest::rstest;

/// The smallest possible guest, so that compiling it takes no time. It always returns the same answer.
fn guest(answer: u8) -> String {
    format!(
        r#"(module
            (import "wapc" "__guest_response" (func $response (param i32 i32)))
            (memory (export "memory") 1)
            (data (i32.const 0) "{answer}")
            (func (export "__guest_call") (param i32 i32) (result i32)
                (call $response (i32.const 0) (i32.const 1))
                i32.const 1))"#
    )
}

fn answer(module: u8, cache: &Path) -> Vec<u8> {
    let options = Options {
        cache: Some(cache.to_owned()),
        ..crate::options()
    };
    let policy = Policy::from_bytes(guest(module).as_bytes(), &options).unwrap();
    policy.call("any", b"", failing("no")).unwrap()
}

fn answers(cache: &Path) {
    assert_eq!(answer(1, cache), b"1");
}

/// The compiled modules of a cache.
fn compiled(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// Replaces a compiled module with another one, which answers 2.
fn replace(file: &Path) {
    let other = tempfile::tempdir().unwrap();
    assert_eq!(answer(2, other.path()), b"2");
    fs::copy(&compiled(other.path())[0], file).unwrap();
}

#[test]
fn a_module_is_compiled_once() {
    let directory = tempfile::tempdir().unwrap();
    let cache = directory.path().join("not").join("there");
    answers(&cache);
    let mode = fs::metadata(&cache).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700, "it is for its user alone");
    let files = compiled(&cache);
    assert_eq!(files.len(), 1, "{files:?}");
    // A cached module is used, even if it was compiled from another one.
    replace(&files[0]);
    assert_eq!(answer(1, &cache), b"2");
    assert_eq!(compiled(&cache), files);
}

/// The next builds of the policy do not fill the disk.
#[test]
fn the_cache_keeps_the_last_modules() {
    let cache = tempfile::tempdir().unwrap();
    for module in 1..=6 {
        assert_eq!(answer(module, cache.path()), module.to_string().as_bytes());
    }
    assert_eq!(compiled(cache.path()).len(), 4);
}

#[rstest]
#[case::garbage(b"garbage")]
#[case::nothing(b"")]
#[case::the_begin_of_such_a_file(b"\x7fELF\x02\x01\x01")]
fn a_broken_cache_is_replaced(#[case] bytes: &[u8]) {
    let directory = tempfile::tempdir().unwrap();
    answers(directory.path());
    let files = compiled(directory.path());
    assert_eq!(files.len(), 1, "{files:?}");
    fs::write(&files[0], bytes).unwrap();
    answers(directory.path());
    assert_eq!(compiled(directory.path()), files);
    assert_ne!(fs::read(&files[0]).unwrap(), bytes);
}

/// Root can write to every directory, so for root the test uses a directory of the kernel.
#[test]
fn a_cache_that_cannot_be_written_to_is_survived() {
    let directory = tempfile::tempdir().unwrap();
    let mut permissions = fs::metadata(directory.path()).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(directory.path(), permissions).unwrap();
    answers(directory.path());
    answers(Path::new("/proc/self/cache"));
    // The path is a file.
    answers(Path::new("/dev/null"));
}

/// The host runs cached modules, so no other user may write to the cache.
#[rstest]
#[case::group(0o770)]
#[case::others(0o707)]
fn a_cache_that_others_can_write_to_is_not_used(#[case] mode: u32) {
    let directory = tempfile::tempdir().unwrap();
    let cache = directory.path().join("cache");
    answers(&cache);
    assert_eq!(compiled(&cache).len(), 1);
    fs::set_permissions(&cache, fs::Permissions::from_mode(mode)).unwrap();
    assert_eq!(answer(2, &cache), b"2");
    assert_eq!(compiled(&cache).len(), 1, "the second module is not kept");
}

/// The host would run native code that another user put there earlier.
#[test]
fn an_entry_that_others_can_write_to_is_not_loaded() {
    let directory = tempfile::tempdir().unwrap();
    let cache = &directory.path().join("cache");
    answers(cache);
    let file = compiled(cache).remove(0);
    for path in [&file, cache] {
        replace(&file);
        let mode = fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}", path.display());
        fs::set_permissions(path, fs::Permissions::from_mode(mode | 0o020)).unwrap();
        answers(cache);
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    // It is loaded where only its user can write.
    assert_eq!(answer(1, cache), b"2");
}
