//! `snapshot`: writes the objects that `plan` and `status` read from a cluster, for `--from`.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use anyhow::{Context, Result};

use crate::args;
use crate::exit::Exit;
use crate::foreign;
use crate::notes::Notes;
use crate::stage::{self, Reader, Snapshot};
use crate::terminal::{Terminal, print_with};

/// The exit code is 2 if the nodes or the HyperConverged cannot be read. Other kinds that cannot be read are missing in
/// the file, and a note names them.
pub(crate) fn run(args: &args::Snapshot, terminal: &Terminal) -> Result<Exit> {
    let mut notes = Notes::default();
    let cluster = stage::cluster(&args.connection, &mut notes)?;
    let snapshot = Snapshot::of_cluster(
        &cluster,
        args.connection.namespace.as_deref(),
        None,
        Reader::Snapshot,
    );
    for unread in snapshot.iter().flat_map(|snapshot| &snapshot.unread) {
        notes.push(&format!(
            "{} is not in the snapshot: {}",
            unread.kind, unread.reason
        ));
    }
    terminal.notes(&notes);
    let snapshot = snapshot?;
    let path = &args.output;
    if path == Path::new("-") {
        print_with(|out| snapshot.write(out))?;
        return Ok(Exit::Accepted);
    }
    let written = File::create(path).and_then(|file| {
        let mut file = BufWriter::new(file);
        snapshot.write(&mut file)?;
        file.flush()
    });
    written.with_context(|| format!("{} cannot be written", foreign::path(path)))?;
    Ok(Exit::Accepted)
}
