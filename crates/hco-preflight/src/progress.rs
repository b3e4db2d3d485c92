//! A progress line on the terminal, for operations that take longer than a second. The project has its own code because
//! indicatif depends on four crates and cannot delay the line.

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The current line.
static SHOWN: Mutex<Option<String>> = Mutex::new(None);

/// Prints a text above the current line.
pub(crate) fn above<T>(print: impl FnOnce() -> T) -> T {
    let shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
    above_line(shown.as_deref(), &mut std::io::stderr(), print)
}

fn above_line<T>(shown: Option<&str>, error: &mut impl Write, print: impl FnOnce() -> T) -> T {
    // A closed terminal is not an error.
    if shown.is_some() {
        let _ = error.write_all(CLEAR).and_then(|()| error.flush());
    }
    let printed = print();
    if let Some(shown) = shown {
        let _ = write!(error, "{shown} …").and_then(|()| error.flush());
    }
    printed
}

const CLEAR: &[u8] = b"\r\x1b[K";

/// Shows a line until it is dropped.
#[derive(Debug)]
pub(crate) struct Progress(Option<(Sender<()>, JoinHandle<()>)>);

/// The delay before the line appears.
const PATIENCE: Duration = Duration::from_secs(1);

impl Progress {
    /// Shows `what` on the standard error, if that is a terminal.
    pub(crate) fn start(what: impl Into<String>) -> Self {
        let error = std::io::stderr();
        if error.is_terminal() {
            Self::after(PATIENCE, what.into(), error)
        } else {
            Self(None)
        }
    }

    fn after(patience: Duration, what: String, mut to: impl Write + Send + 'static) -> Self {
        let (done, waiting) = channel::<()>();
        let thread = std::thread::spawn(move || {
            if waiting.recv_timeout(patience) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let show = |shown: Option<String>, text: &[u8], to: &mut dyn Write| {
                let mut line = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
                let _ = to.write_all(text).and_then(|()| to.flush());
                *line = shown;
            };
            show(Some(what.clone()), format!("{what} …").as_bytes(), &mut to);
            let _ = waiting.recv();
            show(None, CLEAR, &mut to);
        });
        Self(Some((done, thread)))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((done, thread)) = self.0.take() {
            drop(done);
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;

    /// Sends the written text to a channel.
    struct Seen(Sender<String>);

    impl Write for Seen {
        fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
            let _ = self.0.send(String::from_utf8_lossy(text).into_owned());
            Ok(text.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn seen() -> (Seen, Receiver<String>) {
        let (sender, receiver) = channel();
        (Seen(sender), receiver)
    }

    #[test]
    fn a_line_appears_and_is_cleared() {
        let (to, seen) = seen();
        let progress = Progress::after(Duration::ZERO, "reading nodes".to_owned(), to);
        assert_eq!(seen.recv().unwrap(), "reading nodes …");
        drop(progress);
        assert_eq!(seen.iter().collect::<String>(), "\r\x1b[K");
    }

    #[test]
    fn what_is_printed_stands_above_the_line() {
        let (mut to, seen) = seen();
        let mut same = Seen(to.0.clone());
        let print = || same.write(b"note: x\n").unwrap();
        assert_eq!(above_line(Some("reading nodes"), &mut to, print), 8);
        drop((to, same));
        let text: String = seen.iter().collect();
        assert_eq!(text, "\r\x1b[Knote: x\nreading nodes …");
    }
}
