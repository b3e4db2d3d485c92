//! The steps of `check` and `fix`, from the command line to the verdicts. `plan` and `status` use the same steps to
//! compare two reports (`compare.rs`). Each step provides the input of the next one, and cheap input is read first:
//!
//! read objects ([`Objects`]) → connect ([`Connected`](connect::Connected)) → settings ([`Settled`](settle::Settled)) →
//! nodes → judge ([`Prepared`])

mod compare;
mod connect;
mod deployed;
mod images;
mod judge;
mod live;
mod nodes;
mod objects;
mod question;
mod seen;
mod settings;
mod settle;
mod snapshot;
mod surroundings;
mod unshipped;

use anyhow::Result;

pub(crate) use self::compare::{Compared, compare, hosts_workloads, observe};
pub(crate) use self::connect::{cluster, is_transient};
pub(crate) use self::judge::Prepared;
pub(crate) use self::nodes::check_connection;
pub(crate) use self::objects::{Purpose, Unread};
pub(crate) use self::question::Question;
pub(crate) use self::settings::validated;
pub(crate) use self::snapshot::{GOLDEN, Reader, Snapshot, Unread as UnreadKind, hyperconverged};
use crate::args::Subject;
use crate::module::Module;
use crate::notes::Notes;
use objects::Objects;

/// Reads all input of a check. The notes are complete even if an error follows.
pub(crate) fn prepare<'s>(
    subject: &'s Subject,
    purpose: Purpose,
    notes: &mut Notes,
) -> Result<Prepared<'s>> {
    let objects = Objects::read(subject, purpose, notes)?;
    let connected = objects.connect(notes)?;
    let module = Module::load(subject.policy.as_deref(), subject.no_cache, notes)?;
    connected.settle(module, notes)?.with_nodes(notes)
}
