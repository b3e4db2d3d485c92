//! The command as a user runs it.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails has to stop; what clippy.toml allows in tests does not reach their helpers"
)]

mod cli;
