//! The parts of a release, for maintainers: the metadata in the module, the page on Artifact Hub, the
//! artifact in a registry, the manifest for krew, and the container image. Users do not run any of this code.

#![forbid(unsafe_code)]

mod annotate;
mod artifact_hub;
mod changelog;
mod home;
#[cfg(feature = "registry")]
mod image;
mod metadata;
#[cfg(feature = "registry")]
mod registry;
mod release;
mod size;

#[cfg(feature = "registry")]
pub use ::registry::Sources;
pub use annotate::{annotate, metadata_of};
pub use artifact_hub::{Created, artifact_hub_package};
pub use changelog::{Change, Changelog, Release};
pub use home::{Home, texts};
#[cfg(feature = "registry")]
pub use image::Labels;
pub use metadata::Metadata;
#[cfg(feature = "registry")]
pub use registry::{Pushed, Registry};
pub use release::{BINARIES, Binary, krew_manifest};
pub use size::sizes;
