//! `--policy`: a module of the user's.

use std::io::Write as _;
use std::process::Stdio;

use rstest::rstest;

use super::{command, scratch};

/// Writes a text to its standard output and error in each evaluation, asks for so many pages of memory, and accepts.
fn module(pages: u32) -> Vec<u8> {
    module_with(pages, "")
}

fn module_with(pages: u32, more: &str) -> Vec<u8> {
    let module = format!(
        r#"(module
            (import "wapc" "__guest_response" (func $respond (param i32 i32)))
            (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
            (memory (export "memory") 1)
            (data (i32.const 0) "{{\22accepted\22:true,\22valid\22:true}}")
            (data (i32.const 64) "::error::\1b[2Jhello\n")
            (data (i32.const 128) "\40\00\00\00\13\00\00\00")
            (func (export "__guest_call") (param $operation i32) (param i32) (result i32)
                (if (i32.eq (local.get $operation) (i32.const 6)) (then (return (i32.const 0))))
                (drop (call $write (i32.const 1) (i32.const 128) (i32.const 1) (i32.const 160)))
                (drop (call $write (i32.const 2) (i32.const 128) (i32.const 1) (i32.const 160)))
                (if (i32.eq (memory.grow (i32.const {pages})) (i32.const -1)) (then unreachable))
                (call $respond (i32.const 0) (i32.const 30))
                (i32.const 1))
            {more})"#
    );
    wat::parse_str(module).unwrap()
}

/// It would be a command for a terminal or a runner of a pipeline, and no part of the JSON.
#[test]
fn what_a_module_prints_is_a_note() {
    let path = scratch("printing-module").join("policy.wasm");
    std::fs::write(&path, module(1)).unwrap();
    let mut check = command();
    check.args([
        "check",
        "-f",
        "accepted.yaml",
        "--nodes",
        "nodes.yaml",
        "-o",
        "json",
        "--policy",
    ]);
    let output = check.arg(&path).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{errors}");
    serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap();
    let note = "note: the module of --policy printed: ::error::\\u{1b}[2Jhello\n";
    assert!(errors.contains(note), "{errors}");
    assert!(!errors.contains('\u{1b}'), "{errors}");
}

/// It is read once.
#[test]
#[cfg(unix)]
fn a_module_can_come_from_a_pipe() {
    let mut check = command();
    check.args([
        "check",
        "-f",
        "accepted.yaml",
        "--nodes",
        "nodes.yaml",
        "--policy",
        "/dev/stdin",
    ]);
    check
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut running = check.spawn().unwrap();
    let mut input = running.stdin.take().unwrap();
    input.write_all(&module(1)).unwrap();
    drop(input);
    let output = running.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// The compiler would report what it expects of WebAssembly text.
#[rstest]
#[case::nothing(b"", "it is empty")]
#[case::text(b"apiVersion: v1\n", "it is text")]
#[case::json(
    b"{\"schemaVersion\":2}",
    "it is JSON, for example the manifest of an image"
)]
#[case::page(b"\n<!DOCTYPE html>", "it is a web page or XML")]
#[case::gzip(
    b"\x1f\x8b\x08\0",
    "it is a compressed archive, for example of an image"
)]
#[case::tar(TAR, "it is a tar archive, for example of an image")]
#[case::component(
    b"\0asm\x0d\0\x01\0",
    "it is WebAssembly of another kind, for example a component"
)]
#[case::binary(b"\x7fELF\x02\0", "it does not begin like a module")]
fn a_file_that_is_no_module_is_named(#[case] contents: &[u8], #[case] what: &str) {
    let path = scratch(&format!("no-module-{}", contents.len())).join("policy.wasm");
    std::fs::write(&path, contents).unwrap();
    let mut check = command();
    check.args([
        "check",
        "-f",
        "accepted.yaml",
        "--arch",
        "amd64=1",
        "--policy",
    ]);
    let output = check.arg(&path).output().unwrap();
    let expected = format!(
        "error: --policy {} is not a WebAssembly module: {what}; to get the module of a policy, run `kwctl pull --output-path policy.wasm registry://ADDRESS`\n",
        path.display()
    );
    assert_eq!(String::from_utf8(output.stderr).unwrap(), expected);
    assert_eq!(output.status.code(), Some(2));
}

/// The header of a file in an archive.
const TAR: &[u8] = &{
    let mut header = [0; 512];
    header[0] = b'a';
    let magic = b"ustar";
    let mut index = 0;
    while index < magic.len() {
        header[257 + index] = magic[index];
        index += 1;
    }
    header
};

#[test]
fn the_memory_of_a_module_is_limited() {
    let path = scratch("large-module").join("policy.wasm");
    for (module, error) in [
        (module_with(1_000, ""), None),
        (module_with(20_000, ""), Some("the module trapped")),
        (module_with(1, "(table 1000 funcref)"), None),
        (
            module_with(1, "(table 300000 funcref)"),
            Some("table minimum size"),
        ),
        (module_with(1, "(memory 1)"), Some("multiple memories")),
    ] {
        std::fs::write(&path, module).unwrap();
        let mut check = command();
        check.args([
            "check",
            "-f",
            "accepted.yaml",
            "--nodes",
            "nodes.yaml",
            "--policy",
        ]);
        let output = check.arg(&path).output().unwrap();
        let code = error.map_or(0, |_| 2);
        assert_eq!(output.status.code(), Some(code), "{error:?}: {output:?}");
        let printed = String::from_utf8(output.stderr).unwrap();
        assert!(printed.contains(error.unwrap_or_default()), "{printed}");
    }
}
