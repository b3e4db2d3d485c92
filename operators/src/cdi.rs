//! CDI: the images that it imports.

pub mod image;
