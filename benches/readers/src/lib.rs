//! A guest that counts nodes with one JSON reader, selected by a feature. `benches/readers.rs` builds and measures it.

#[cfg_attr(feature = "hifijson", path = "hifijson.rs")]
#[cfg_attr(feature = "jiter", path = "jiter.rs")]
#[cfg_attr(feature = "json-stream", path = "json_stream.rs")]
#[cfg_attr(feature = "serde_json", path = "serde_json.rs")]
#[cfg_attr(feature = "simd-json", path = "simd_json.rs")]
#[cfg_attr(feature = "sonic-rs", path = "sonic_rs.rs")]
mod reader;
#[cfg(any(feature = "serde_json", feature = "sonic-rs"))]
mod seeds;

use std::error::Error;

use engine::placement::Placement;
use k8s_openapi::api::core::v1::NodeAffinity;
use wapc_guest::{CallResult, register_function};

type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

/// Called by the host once, before anything else.
#[unsafe(no_mangle)]
pub extern "C" fn wapc_init() {
    register_function("validate", validate);
}

/// Takes a node affinity or null, answers with the census as text.
fn validate(payload: &[u8]) -> CallResult {
    let affinity: Option<NodeAffinity> = serde_json::from_slice(payload)?;
    let placement = Placement::parse(Default::default(), affinity);
    #[expect(clippy::disallowed_methods, reason = "as in src/host.rs")]
    let list = wapc_guest::host_call("kubewarden", "kubernetes", "list_resources_all", b"")?;
    let census = reader::census(list, &placement)?;
    Ok(format!("{census:?}").into_bytes())
}
