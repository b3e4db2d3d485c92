//! What a release of the policy is made of, for those who make one: the metadata in the module, the page of
//! Artifact Hub, the artifact in a registry. Nothing of it is in what users run.

#![forbid(unsafe_code)]

mod annotate;
mod artifact_hub;
mod changelog;
mod metadata;
#[cfg(feature = "registry")]
mod registry;
#[cfg(feature = "registry")]
mod sources;

pub use annotate::{annotate, metadata_of};
pub use artifact_hub::{Created, artifact_hub_package};
pub use changelog::{Change, Changelog, Release};
pub use metadata::Metadata;
#[cfg(feature = "registry")]
pub use registry::{Pushed, Registry};
#[cfg(feature = "registry")]
pub use sources::Sources;
