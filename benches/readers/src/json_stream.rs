//! The reader that the policy uses.

use engine::node::Census;
use engine::placement::Placement;

use crate::Result;

pub(crate) fn census(list: Vec<u8>, placement: &Placement) -> Result<Vec<Census>> {
    Ok(engine::node::census(&list, &[placement])?)
}
