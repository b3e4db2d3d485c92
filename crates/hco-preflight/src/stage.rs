//! Reads the input of the commands. `check` and `fix` evaluate objects ([`Check`]); `plan` and `check` of a cluster compare the
//! states before and after a change ([`Situation`]).

mod check;
mod deployed;
mod images;
mod nodes;
mod policies;
mod question;
mod settings;
mod situation;
mod surroundings;

pub(crate) use self::check::{Check, Purpose};
pub(crate) use self::nodes::check_connection;
pub(crate) use self::question::{Question, Written};
pub(crate) use self::settings::validated;
pub(crate) use self::situation::{
    Hco, Kept, NoHyperConverged, Outlook, Situation, compare, has_virt_handler, observe,
};
