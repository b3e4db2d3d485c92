//! A registry for one test, with a separate directory.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use crate::docker_registry::DockerRegistry;

/// A running registry. It stops, and its directory is removed, when this value is dropped.
pub struct TestRegistry {
    /// It is stopped first.
    registry: Option<DockerRegistry>,
    directory: PathBuf,
}

impl TestRegistry {
    /// Starts a registry with this in its configuration.
    ///
    /// # Panics
    ///
    /// If docker-registry is not installed.
    pub fn start(config: &Value) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let program = DockerRegistry::installed().expect(DockerRegistry::MISSING);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("hco-registry-{}-{number}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&directory).unwrap();
        let registry = DockerRegistry::start(&program, &directory, config).unwrap();
        Self {
            registry: Some(registry),
            directory,
        }
    }

    /// The directory of its images, for another registry that serves them too.
    pub fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    /// Host and port.
    pub fn host(&self) -> String {
        self.address.to_string()
    }
}

impl Deref for TestRegistry {
    type Target = DockerRegistry;

    fn deref(&self) -> &DockerRegistry {
        self.registry.as_ref().unwrap()
    }
}

impl Drop for TestRegistry {
    fn drop(&mut self) {
        drop(self.registry.take());
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
