//! The state before a change, for `plan` and `status`. The module never has it.

use operator_models::forecast::Objects;

/// The state before a change, and another version of HCO after it.
#[derive(Debug, Default)]
pub struct Comparison<'a> {
    /// The HCO version after the change, for example `1.19` or `4.22`.
    pub version: Option<&'a str>,
    /// The list of the nodes before the change, as JSON; `None` if they stay the same. It is ignored if it is not valid.
    pub nodes_before: Option<&'a str>,
    /// The existing objects, which replace the forecast for the old object.
    pub objects: Objects<'a>,
}
