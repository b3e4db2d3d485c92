//! A line on the terminal while something takes longer than a second. Own code, because indicatif brings four crates and
//! cannot wait before it shows anything.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The line that is shown now.
static SHOWN: Mutex<Option<String>> = Mutex::new(None);

/// Whether nothing is shown any more.
static SILENT: AtomicBool = AtomicBool::new(false);

/// From now on no line is shown: a program that logs in may ask the user something at any time.
pub(crate) fn silence() {
    SILENT.store(true, Ordering::Relaxed);
}

/// Prints something above the line that is shown.
pub(crate) fn above<T>(print: impl FnOnce() -> T) -> T {
    let shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut error = std::io::stderr();
    // A terminal that is gone is not an error.
    if shown.is_some() {
        let _ = error.write_all(CLEAR);
    }
    let printed = print();
    if let Some(shown) = &*shown {
        let _ = write!(error, "{shown} …").and_then(|()| error.flush());
    }
    printed
}

const CLEAR: &[u8] = b"\r\x1b[K";

/// Shows a line until it is dropped.
#[derive(Debug)]
pub(crate) struct Progress {
    done: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// After how long the line appears.
const PATIENCE: Duration = Duration::from_secs(1);

impl Progress {
    /// Shows `what` on the standard error, if that is a terminal.
    pub(crate) fn start(what: impl Into<String>) -> Self {
        let error = std::io::stderr();
        if error.is_terminal() && !SILENT.load(Ordering::Relaxed) {
            Self::after(PATIENCE, what.into(), error)
        } else {
            let (done, thread) = (None, None);
            Self { done, thread }
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
        Self {
            done: Some(done),
            thread: Some(thread),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.done.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;

    /// Passes on what is written.
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
    fn a_short_wait_shows_nothing() {
        let (to, seen) = seen();
        drop(Progress::after(Duration::from_hours(1), "x".to_owned(), to));
        assert_eq!(seen.iter().collect::<String>(), "");
    }
}
