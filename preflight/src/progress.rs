//! A line on the terminal while something takes longer than a second. Own code, because indicatif brings four crates and
//! cannot wait before it shows anything.

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

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
        if error.is_terminal() {
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
            // A terminal that is gone is not an error.
            let _ = write!(to, "{what} …").and_then(|()| to.flush());
            let _ = waiting.recv();
            let _ = write!(to, "\r\x1b[K").and_then(|()| to.flush());
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
        assert_eq!(seen.recv().unwrap(), "reading nodes");
        drop(progress);
        assert_eq!(seen.iter().collect::<String>(), " …\r\x1b[K");
    }

    #[test]
    fn a_short_wait_shows_nothing() {
        let (to, seen) = seen();
        drop(Progress::after(Duration::from_hours(1), "x".to_owned(), to));
        assert_eq!(seen.iter().collect::<String>(), "");
    }
}
