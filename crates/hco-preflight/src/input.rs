//! Reads the input of the commands. `check` and `fix` evaluate objects ([`Check`]); `plan` and `check` of a cluster compare the
//! states before and after a change ([`Situation`]).

pub(crate) mod apply;
mod check;
pub(crate) mod files;
pub(crate) mod hco_version;
mod misplaced;
pub(crate) mod module;
pub(crate) mod nodes;
mod question;
mod settings;
mod situation;
mod surroundings;

pub(crate) use self::check::{Check, Purpose};
pub(crate) use self::question::{Against, Question};
pub(crate) use self::settings::{Policy, validated};
pub(crate) use self::situation::{Hco, Outlook, Situation, compare, has_virt_handler};
