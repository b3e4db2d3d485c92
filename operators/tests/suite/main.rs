//! The model, compared with what the operators' own code does with the same objects.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that panics is a test that fails"
)]

mod changes;
mod cluster;
mod data_import_crons;
mod forecast;
mod rows;
mod virtual_machines;
