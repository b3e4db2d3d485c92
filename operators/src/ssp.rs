//! SSP: which architectures it supports.

pub mod architecture;
