//! The programs of a cluster. They all stop with this process, unless it is killed.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

/// All running programs, and the directories to remove after them: a signal ends this process without unwinding.
static RUNNING: Mutex<Vec<(Arc<Mutex<Child>>, PathBuf)>> = Mutex::new(Vec::new());

/// A running program. It stops when this value is dropped.
pub(crate) struct Process {
    child: Arc<Mutex<Child>>,
    log: PathBuf,
}

impl Process {
    /// Starts a program that stores its log and its data in a directory. Its environment is empty, so that a proxy
    /// or a kubeconfig of the developer has no effect.
    pub(crate) fn start(mut command: Command, directory: &Path) -> io::Result<Self> {
        let program = Path::new(command.get_program())
            .file_name()
            .unwrap_or_default()
            .to_owned();
        let log = directory.join(program).with_extension("log");
        let output = File::create(&log)?;
        // The lock is taken first, so that a signal in between also stops this program.
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let child = command
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()?;
        let child = Arc::new(Mutex::new(child));
        running.push((Arc::clone(&child), directory.to_owned()));
        Ok(Self { child, log })
    }

    /// Checks that it still runs.
    ///
    /// # Errors
    ///
    /// The end of its log, if it does not run.
    pub(crate) fn still_runs(&self) -> Result<(), String> {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        match child.try_wait() {
            Ok(None) => Ok(()),
            ended => Err(format!("it ended ({ended:?}):\n{}", self.end_of_log())),
        }
    }

    /// The last lines of its output.
    pub(crate) fn end_of_log(&self) -> String {
        let log = std::fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        end(&self.child);
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|(child, _)| !Arc::ptr_eq(child, &self.child));
    }
}

fn end(child: &Mutex<Child>) {
    let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
    // It may have exited already. Its data is not needed afterwards, so it is killed.
    let _ = child.kill();
    let _ = child.wait();
}

/// Stops all running programs when this process gets a signal.
pub(crate) fn end_all_on_ctrl_c() {
    ctrlc::set_handler(|| {
        // The lock is held until the process exits, so that no program is started or stopped.
        let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        for (child, _) in running.iter() {
            end(child);
        }
        for (_, directory) in running.iter() {
            let _ = std::fs::remove_dir_all(directory);
        }
        std::process::exit(130);
    })
    .expect("the only handler");
}
