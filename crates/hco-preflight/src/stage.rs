//! Reads the input of the commands. `check` and `fix` evaluate objects ([`Check`]); `plan` and `status` compare the states
//! before and after a change ([`Compared`]).

mod check;
mod compare;
mod connect;
mod deployed;
mod evaluator;
mod images;
mod live;
mod nodes;
mod question;
mod seen;
mod settings;
mod snapshot;
mod surroundings;

pub(crate) use self::check::{Check, Purpose, Unread};
pub(crate) use self::compare::{Compared, compare, hosts_workloads, observe};
pub(crate) use self::connect::{cluster, is_transient};
pub(crate) use self::nodes::check_connection;
pub(crate) use self::question::{Question, Written};
pub(crate) use self::settings::validated;
pub(crate) use self::snapshot::{DISKS, GOLDEN, Reader, Snapshot, Unread as UnreadKind};
