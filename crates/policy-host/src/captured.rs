//! What a module prints, kept from the terminal.
//!
//! The provider of the engine hands the standard output and error of this process to each guest. While a module of the
//! user's runs, both lead to a pipe instead.

use std::io::{PipeReader, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use rustix::stdio::{dup2_stderr, dup2_stdout};

/// How much of it is kept.
const LIMIT: u64 = 64 << 10;

/// The standard output and error of the process, until they are put back.
struct Redirected {
    out: OwnedFd,
    err: OwnedFd,
    printed: Receiver<Vec<u8>>,
}

/// Runs something, and returns what it printed besides. Where nothing can be redirected, it prints as always.
pub(crate) fn captured<T>(run: impl FnOnce() -> T) -> (T, String) {
    // The process has one standard output.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    match Redirected::start() {
        Err(_) => (run(), String::new()),
        Ok(redirected) => {
            let result = run();
            (result, redirected.end())
        }
    }
}

impl Redirected {
    fn start() -> std::io::Result<Self> {
        // What was printed before stays where it belongs.
        std::io::stdout().flush()?;
        let (reader, writer) = std::io::pipe()?;
        let out = rustix::io::dup(std::io::stdout())?;
        let err = rustix::io::dup(std::io::stderr())?;
        dup2_stdout(&writer)?;
        dup2_stderr(&writer)?;
        let printed = in_background(reader);
        Ok(Self { out, err, printed })
    }

    fn end(self) -> String {
        let _ = std::io::stdout().flush();
        // Nothing else can be done about a standard output that does not come back.
        let _ = dup2_stdout(&self.out);
        let _ = dup2_stderr(&self.err);
        let printed = self.printed.recv().unwrap_or_default();
        String::from_utf8_lossy(&printed).into_owned()
    }
}

/// Reads to the end, so that nobody who writes has to wait.
fn in_background(mut reader: PipeReader) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut kept = Vec::new();
        let _ = reader.by_ref().take(LIMIT).read_to_end(&mut kept);
        let _ = std::io::copy(&mut reader, &mut std::io::sink());
        let _ = sender.send(kept);
    });
    receiver
}
