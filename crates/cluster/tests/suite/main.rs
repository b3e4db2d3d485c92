//! Tests of the connection to a cluster, and of lists of nodes.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that fails has to stop; what clippy.toml allows in tests does not reach their helpers"
)]

mod client;
mod node_lists;
