//! SSP: which architectures it supports, and what it makes of the templates that it gets from HCO.

pub mod architecture;
pub mod bundle;
pub mod data_sources;
