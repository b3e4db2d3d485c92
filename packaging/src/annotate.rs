//! Writes the metadata into the module, where Kubewarden reads it: a custom section that contains JSON.
//!
//! MIRRORS: kubewarden-controller crates/kwctl/src/annotate.rs. DIVERGES: kwctl parses the module and writes it
//! again, and adds its own version to the annotations, which no program reads. Here, the section is appended to
//! the module, whose bytes do not change.

use anyhow::{Context as _, Result, ensure};
use serde::Serialize;
use wasm_encoder::{CustomSection, Section as _};
use wasmparser::{Parser, Payload};

use crate::Metadata;

const SECTION: &str = "io.kubewarden.metadata";
const USAGE: &str = "io.kubewarden.policy.usage";

/// kwctl asks the module. There is only one version; preflight/tests/suite/operations.rs checks that of the module,
/// and policy-server rejects a module with another version.
const PROTOCOL_VERSION: &str = "v1";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Annotated {
    protocol_version: &'static str,
    #[serde(flatten)]
    metadata: Metadata,
}

/// The module with the metadata, and with the text that explains how to use it.
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

/// The JSON with which a module was annotated; `None` if it was not.
///
/// # Errors
///
/// If the input is not a module.
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

    /// An empty module.
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
        assert_eq!(read["contextAwareResources"][0]["kind"], "Node");
    }

    #[test]
    fn a_module_is_annotated_once() {
        let annotated = annotate(EMPTY, metadata(), String::new()).unwrap();
        let error = annotate(&annotated, metadata(), String::new()).unwrap_err();
        assert!(error.to_string().contains("annotated already"), "{error}");
    }

    #[test]
    fn what_is_no_module_is_refused() {
        assert!(annotate(b"#!/bin/sh", metadata(), String::new()).is_err());
    }
}
