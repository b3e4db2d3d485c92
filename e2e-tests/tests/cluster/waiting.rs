//! Waiting for what takes its time in another process.

use std::thread;
use std::time::{Duration, Instant};

/// Longer than anything takes on a busy machine.
const DEADLINE: Duration = Duration::from_secs(90);

/// Asks until there is an answer.
///
/// # Panics
///
/// If there is none in the end: with the last reason why not.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut ask: impl FnMut() -> Result<T, String>) -> T {
    let begun = Instant::now();
    loop {
        match ask() {
            Ok(answer) => return answer,
            Err(why) if begun.elapsed() > DEADLINE => {
                panic!("{what}: not after {DEADLINE:?}: {why}")
            }
            // So that asking does not take the time from what is waited for.
            Err(_) => thread::sleep(Duration::from_millis(20)),
        }
    }
}
