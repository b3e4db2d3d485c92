//! HCO: the fields that it reads from a HyperConverged, the golden images that it creates, and the nodes that it
//! counts.

pub mod api_version;
pub mod architectures;
pub mod golden_image;
pub mod hyperconverged;
pub mod import;
pub mod jsonpatch;
pub mod node;
pub mod node_info;
pub mod template;
pub mod version;
