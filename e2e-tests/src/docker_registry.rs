//! The registry that Debian's docker-registry provides, for the tests that push to one.

mod images;

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

pub(crate) use self::images::digest;
pub use self::images::{DOCKER, Manifest, MediaTypes, OCI};
use crate::ports;

/// The only user of a registry with a password.
const USER: &str = "user";
const PASSWORD: &str = "secret";

/// The password for the registry, hashed with bcrypt.
const HTPASSWD: &str = "user:$2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a\n";

/// A running registry. It stops when this value is dropped.
pub struct DockerRegistry {
    child: Child,
    /// The address on which it listens.
    pub address: SocketAddr,
}

impl DockerRegistry {
    /// The error of a test if the program is missing.
    pub const MISSING: &str =
        "docker-registry is not on PATH (Debian: apt install docker-registry)";

    /// The path of the program, if it is on PATH.
    pub fn installed() -> Option<PathBuf> {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path)
            .map(|directory| directory.join("docker-registry"))
            .find(|file| file.is_file())
    }

    /// The configuration of a registry that asks for the password of [`DockerRegistry::credentials`].
    ///
    /// # Errors
    ///
    /// If the file with its passwords cannot be written.
    pub fn with_password(scratch: &Path) -> Result<Value, String> {
        let passwords = scratch.join("htpasswd");
        std::fs::write(&passwords, HTPASSWD)
            .map_err(|error| format!("{}: {error}", passwords.display()))?;
        Ok(json!({"auth": {"htpasswd": {"realm": "test", "path": passwords}}}))
    }

    /// User name and password, as docker stores them.
    pub fn credentials() -> String {
        BASE64_STANDARD.encode(format!("{USER}:{PASSWORD}"))
    }

    /// Starts an empty registry, with a JSON Merge Patch of its configuration, and waits until it listens.
    ///
    /// # Errors
    ///
    /// Why it cannot be started.
    pub fn start(program: &Path, scratch: &Path, config: &Value) -> Result<Self, String> {
        ports::retried(|| Self::try_to_start(program, scratch, config))
    }

    fn try_to_start(program: &Path, scratch: &Path, more: &Value) -> Result<Self, String> {
        let address = ports::free_address().map_err(|error| error.to_string())?;
        let data = scratch.join("data");
        if data.exists() {
            std::fs::remove_dir_all(&data).map_err(|error| error.to_string())?;
        }
        let file = scratch.join("config.yml");
        // JSON is YAML.
        let mut config = json!({
            "version": "0.1",
            "log": {"level": "info"},
            "storage": {"filesystem": {"rootdirectory": data}, "delete": {"enabled": true}},
            "http": {"addr": address.to_string()},
        });
        json_patch::merge(&mut config, more);
        std::fs::write(&file, config.to_string())
            .map_err(|error| format!("{}: {error}", file.display()))?;
        let mut child = Command::new(program)
            .arg("serve")
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("docker-registry: {error}"))?;
        let stderr = child.stderr.take();
        let server = Self { child, address };
        let mut lines = BufReader::new(stderr.ok_or("docker-registry: no log")?).lines();
        let mut log = String::new();
        for line in lines.by_ref().map_while(Result::ok) {
            if line.contains("listening on") {
                // Something has to read the output, or the registry blocks.
                std::thread::spawn(move || lines.for_each(drop));
                return Ok(server);
            }
            log = log + &line + "\n";
        }
        Err(format!("docker-registry did not start:\n{log}"))
    }
}

impl Drop for DockerRegistry {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
