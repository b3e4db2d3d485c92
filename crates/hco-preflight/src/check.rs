//! `check`: whether objects of files would be accepted, or whether a cluster is all right as it is.

mod cluster;
mod entry;
mod files;
mod output;

use anyhow::Result;

use crate::args;
use crate::exit::Exit;
use crate::terminal::Terminal;

/// Without a file, it is about the live HyperConverged. A check without nodes is a usage error of files.
pub(crate) fn run(args: &args::Check, terminal: &Terminal) -> Result<Exit> {
    if args.subject.filename.is_empty() && args.subject.source.is_live() {
        cluster::run(args, terminal)
    } else {
        files::run(args, terminal)
    }
}
