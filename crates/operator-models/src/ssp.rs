//! SSP: the architectures that it supports, and how it processes the templates from HCO.

pub mod architecture;
pub mod bundle;
pub mod data_sources;
