//! `sonic_rs` as a serde deserializer.

use engine::node::Census;
use engine::placement::Placement;

use crate::{Result, seeds};

pub(crate) fn census(list: Vec<u8>, placement: &Placement) -> Result<Vec<Census>> {
    let mut reader = sonic_rs::Deserializer::from_slice(&list);
    let census = seeds::census(&mut reader, placement)?;
    reader.end()?;
    Ok(census)
}
