//! What each crate adds to a module. A module with the names of its functions is needed: `make sizes` builds one.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use anyhow::{Context as _, Result, ensure};
use wasmparser::{KnownCustom, Name, Parser, Payload};

/// The bytes of the module by crate, the largest first. A generic function belongs to the crate that defines it, not to the
/// one that uses it.
///
/// # Errors
///
/// If the input is not a module, or has no names.
pub fn sizes(module: &[u8]) -> Result<String> {
    let mut functions = Vec::new();
    let mut imported = 0;
    let mut names = BTreeMap::new();
    let mut bytes: BTreeMap<String, u64> = BTreeMap::new();
    for payload in Parser::new(0).parse_all(module) {
        match payload.context("this is not a WebAssembly module")? {
            Payload::ImportSection(imports) => {
                let imports = imports.into_imports();
                imported = imports
                    .filter(|import| {
                        let is_function = |ty| matches!(ty, wasmparser::TypeRef::Func(_));
                        import.as_ref().is_ok_and(|import| is_function(import.ty))
                    })
                    .count();
            }
            Payload::CodeSectionEntry(body) => functions.push(length(&body.range())),
            Payload::DataSection(data) => {
                bytes.insert("(data)".to_owned(), length(&data.range()));
            }
            Payload::CustomSection(section) => {
                let KnownCustom::Name(subsections) = section.as_known() else {
                    continue;
                };
                for subsection in subsections {
                    if let Name::Function(map) = subsection? {
                        for naming in map {
                            let naming = naming?;
                            names.insert(naming.index, naming.name);
                        }
                    }
                }
            }
            _ => {}
        }
    }
    ensure!(
        !names.is_empty(),
        "the module has no names; run `make sizes`"
    );
    for (number, size) in functions.into_iter().enumerate() {
        let index = u32::try_from(imported + number)?;
        let name = names.get(&index).copied().unwrap_or_default();
        *bytes.entry(crate_of(name)).or_default() += size;
    }
    let mut rows: Vec<(u64, String)> = bytes.into_iter().map(|(name, it)| (it, name)).collect();
    rows.sort_by(|a, b| b.cmp(a));
    let mut table = String::new();
    for (bytes, name) in rows {
        writeln!(table, "{bytes:>8}  {name}")?;
    }
    Ok(table)
}

fn length(range: &Range<u64>) -> u64 {
    range.end.saturating_sub(range.start)
}

/// The crate of a function, according to its name: `<engine::Level as core::fmt::Debug>::fmt` belongs to `engine`.
fn crate_of(symbol: &str) -> String {
    let name = format!("{:#}", rustc_demangle::demangle(symbol));
    let Some((before, _)) = name.split_once("::") else {
        return "(others)".to_owned();
    };
    let is_of_name = |it: char| it.is_alphanumeric() || it == '_';
    let start = before
        .rfind(|it| !is_of_name(it))
        .map_or(0, |place| place + 1);
    before.get(start..).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_belongs_to_the_crate_of_its_name() {
        for (name, wanted) in [
            ("engine::judge::judge", "engine"),
            ("<engine::Level as core::fmt::Debug>::fmt", "engine"),
            ("<&T as core::fmt::Debug>::fmt", "core"),
            (
                "<&mut serde_json::Deserializer<R> as serde::Deserializer>::any",
                "serde_json",
            ),
            ("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core"),
            ("memcpy", "(others)"),
        ] {
            assert_eq!(crate_of(name), wanted, "{name}");
        }
    }

    #[test]
    fn the_bytes_of_each_function_are_those_of_its_crate() {
        let module = "(module (import \"a\" \"b\" (func)) (memory 1) (data (i32.const 0) \"0123\")
            (func $a::b) (func $a::c (drop (i32.const 1))) (func $c::d))";
        let module = wat::parse_str(module).unwrap();
        assert_eq!(
            sizes(&module).unwrap(),
            "      10  (data)\n       7  a\n       2  c\n"
        );
        let error = sizes(b"\0asm\x01\0\0\0").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the module has no names; run `make sizes`"
        );
    }
}
