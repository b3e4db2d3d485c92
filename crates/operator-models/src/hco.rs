//! HCO: how it reads a HyperConverged, which golden images it creates, and which nodes count.

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
