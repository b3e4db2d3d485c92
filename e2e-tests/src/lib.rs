//! The cases in `e2e-tests/cases/`. A file has the cases of one topic. A case has a cluster, settings, a request, and
//! the expected answer. The tests of the engine, the module, kwctl, and policy-server read them from here.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "a case that cannot be read must fail the test that asks for it"
)]

mod answer;
#[cfg(all(feature = "tls", not(target_family = "wasm")))]
mod api_server;
mod case;
#[cfg(all(feature = "tls", not(target_family = "wasm")))]
mod certificate;
mod cluster;
mod crd;
mod docker_registry;
#[cfg(not(target_family = "wasm"))]
pub mod figures;
mod folds;
pub mod http;
mod images;
pub mod module;
mod native;
mod node_server;
pub mod nodes;
mod objects;
mod page;
mod policy_server;
pub mod ports;
pub mod properties;
pub mod repository;
mod scripted_registry;
mod session;
mod test_registry;

pub use answer::{Answer, Verdict};
#[cfg(all(feature = "tls", not(target_family = "wasm")))]
pub use api_server::{ApiServer, recorded};
pub use case::{Arrival, Case, Expected, cases};
#[cfg(all(feature = "tls", not(target_family = "wasm")))]
pub use certificate::certificate;
pub use cluster::{Call, ClusterOf, FakeCluster, Refusal, cluster, clusters};
pub use crd::crd;
pub use docker_registry::{DOCKER, DockerRegistry, Manifest, MediaTypes, OCI};
pub use folds::unfolded;
pub use images::Images;
pub use native::Judged;
pub use node_server::NodeServer;
pub use objects::Objects;
pub use page::{Page, pages};
pub use policy_server::{PolicyServer, Starter, WORKERS};
pub use scripted_registry::{
    Fault, RegistryRequest, ScriptedRegistry, SilentServer, arm64, response,
};
pub use test_registry::TestRegistry;
