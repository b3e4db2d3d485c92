//! SSP: the architectures that it supports, and the objects that it creates from the templates that HCO passes to it.

pub mod architecture;
pub mod bundle;
pub mod data_sources;
pub mod template;
