//! `snapshot`: writes the objects of a cluster that `--from` reads.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use anyhow::{Context, Result};
use cluster::{Gap, Notes, Reader, World, foreign};

use crate::args;
use crate::exit::Exit;
use crate::terminal::{Terminal, print_with};

/// The exit code is 2 if the nodes or the HyperConverged cannot be read. Other kinds that cannot be read are missing in
/// the file, and a note names them.
pub(crate) fn run(args: &args::Snapshot, terminal: &Terminal) -> Result<Exit> {
    let mut notes = Notes::default();
    let world = World::of_cluster(None, &args.connection, &[], Reader::Snapshot, &mut notes);
    for Gap { kind, reason, .. } in world.iter().flat_map(|world| &world.gaps) {
        notes.push(&format!("{kind} is not in the snapshot: {reason}"));
    }
    terminal.notes(&notes);
    let world = world?;
    let path = &args.output;
    if path == Path::new("-") {
        print_with(|out| world.write(out))?;
    } else {
        let written = File::create(path).and_then(|file| {
            let mut file = BufWriter::new(file);
            world.write(&mut file)?;
            file.flush()
        });
        written.with_context(|| format!("{} cannot be written", foreign::path(path)))?;
    }
    Ok(Exit::Accepted)
}
