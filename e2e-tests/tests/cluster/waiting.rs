//! Waits for events in other processes.

use std::thread;
use std::time::{Duration, Instant};

/// Longer than any event takes on a busy machine.
const DEADLINE: Duration = Duration::from_secs(90);

/// Polls until there is a result.
///
/// # Panics
///
/// If there is no result in time: with the last reason.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut ask: impl FnMut() -> Result<T, String>) -> T {
    let begun = Instant::now();
    loop {
        match ask() {
            Ok(answer) => return answer,
            Err(why) if begun.elapsed() > DEADLINE => {
                panic!("{what}: not after {DEADLINE:?}: {why}")
            }
            // Pauses, so that polling does not take time from the awaited process.
            Err(_) => thread::sleep(Duration::from_millis(20)),
        }
    }
}
