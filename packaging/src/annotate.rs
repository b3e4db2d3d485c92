//! Writes the metadata into the module, where Kubewarden looks for it: a custom section with JSON in it.
//!
//! MIRRORS: kubewarden-controller crates/kwctl/src/annotate.rs. DIVERGES: kwctl reads the module and writes it
//! anew, and adds its own version to the annotations, which nobody reads. Here the section is put behind
//! the module, byte for byte as it is.

use anyhow::{Context as _, Result, ensure};
use serde::Serialize;
use wasm_encoder::{CustomSection, Section as _};
use wasmparser::{Parser, Payload};

use crate::Metadata;

const SECTION: &str = "io.kubewarden.metadata";
const USAGE: &str = "io.kubewarden.policy.usage";

/// kwctl asks the module. There is one version; crates/policy-host/tests/suite/operations.rs asks the module as well,
/// and policy-server refuses to load a module that says another.
const PROTOCOL_VERSION: &str = "v1";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Annotated {
    protocol_version: &'static str,
    #[serde(flatten)]
    metadata: Metadata,
}

/// The module with the metadata in it, and with the text that explains its use.
///
/// # Errors
///
/// If the input is not a module, or is annotated already.
pub fn annotate(module: &[u8], mut metadata: Metadata, usage: String) -> Result<Vec<u8>> {
    ensure!(
        metadata_of(module)?.is_none(),
        "the module is already annotated, and Kubewarden reads only the first annotation; use the module as it was built"
    );
    metadata.annotations.insert(USAGE.to_owned(), usage);
    let data = serde_json::to_vec(&Annotated {
        protocol_version: PROTOCOL_VERSION,
        metadata,
    })?;
    let mut annotated = module.to_owned();
    let section = CustomSection {
        name: SECTION.into(),
        data: data.into(),
    };
    section.append_to(&mut annotated);
    Ok(annotated)
}

/// The JSON that a module was annotated with, if it was.
///
/// # Errors
///
/// What is given is no module.
pub fn metadata_of(module: &[u8]) -> Result<Option<&[u8]>> {
    for payload in Parser::new(0).parse_all(module) {
        if let Payload::CustomSection(section) =
            payload.context("this is not a WebAssembly module")?
            && section.name() == SECTION
        {
            return Ok(Some(section.data()));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A module in which nothing is.
    const EMPTY: &[u8] = b"\0asm\x01\0\0\0";

    fn metadata() -> Metadata {
        Metadata::parse(include_str!("../../policy-metadata.yml")).unwrap()
    }

    #[test]
    fn the_section_is_put_behind_the_module() {
        let annotated = annotate(EMPTY, metadata(), "usage".to_owned()).unwrap();
        assert!(annotated.starts_with(EMPTY));
        let read = metadata_of(&annotated).unwrap().unwrap();
        let read: serde_json::Value = serde_json::from_slice(read).unwrap();
        assert_eq!(read["protocolVersion"], "v1");
        assert_eq!(read["annotations"][USAGE], "usage");
        let resources = read["contextAwareResources"].as_array().unwrap();
        assert!(resources.iter().any(|resource| resource["kind"] == "Node"));
    }

    #[test]
    fn a_module_is_annotated_once() {
        let annotated = annotate(EMPTY, metadata(), String::new()).unwrap();
        let error = annotate(&annotated, metadata(), String::new()).unwrap_err();
        assert!(error.to_string().contains("already annotated"), "{error}");
    }

    #[test]
    fn what_is_no_module_is_refused() {
        assert!(annotate(b"#!/bin/sh", metadata(), String::new()).is_err());
    }
}
