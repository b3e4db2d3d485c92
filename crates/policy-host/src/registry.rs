//! Answers the module's requests about images from their registries, as policy-server does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Error, Result, anyhow};
use engine::{Contents, Image, Unknown};
use oci_client::Reference;
use registry::{Question, Sources};

use crate::host_calls::{HostCalls, handler_error};

/// The number of images that are read at the same time. Registries limit the rate of requests.
const AT_ONCE: usize = 4;

/// The time limit for a request about an image: login, manifest and configuration together, in all ways in which the
/// registry may be reached.
const PATIENCE: Duration = Duration::from_secs(12);

/// Answers requests about images. Answers and errors are cached for as long as this value exists, so each image is read
/// once.
///
/// MIRRORS: kubewarden-controller crates/policy-evaluator/src/callback_handler/oci.rs and
/// crates/policy-fetcher/src/registry/mod.rs.
/// DIVERGES: policy-server caches answers for a minute and does not cache errors, ignores a credential helper that
/// fails, has no timeout, and reads answers of any length.
#[derive(Debug)]
pub struct Registries {
    sources: Sources,
    pub patience: Duration,
    answers: Mutex<BTreeMap<(Question, String), Answer>>,
}

type Answer = Result<Vec<u8>, String>;

impl Registries {
    /// The registries as these sources describe them, with this user's credentials for docker and podman.
    pub fn new(sources: Sources) -> Self {
        Self {
            sources,
            patience: PATIENCE,
            answers: Mutex::default(),
        }
    }

    /// The contents of images for these architectures, or why they are unknown. Four images are read at a time.
    pub fn contents(
        &self,
        images: BTreeSet<Image>,
        architectures: &BTreeSet<String>,
    ) -> BTreeMap<Image, Result<Contents, Unknown>> {
        let left = Mutex::new(images.into_iter());
        let read = Mutex::new(BTreeMap::new());
        let next = || lock(&left).next();
        std::thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(|| {
                    while let Some(image) = next() {
                        let contents = image.contents(architectures, self);
                        lock(&read).insert(image, contents);
                    }
                });
            }
        });
        read.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self, question: Question, image: &str) -> Answer {
        let key = (question, image.to_owned());
        if let Some(answer) = lock(&self.answers).get(&key) {
            return answer.clone();
        }
        // The error is printed to a terminal, or to the log of a cluster. A registry can send more than the usual sentence.
        let answer = self
            .read(question, image)
            .map_err(|error| engine::escape(&format!("{error:#}"), 600));
        lock(&self.answers).insert(key, answer.clone());
        answer
    }

    fn read(&self, question: Question, image: &str) -> Result<Vec<u8>> {
        let reference: Reference = image.parse().with_context(|| {
            format!("`{image}` is not an image such as registry.example.com/name:tag")
        })?;
        let login = registry::login(&reference)?;
        let answer = registry::answer(&reference, question, login.as_ref(), &self.sources);
        let in_time = async { tokio::time::timeout(self.patience, answer).await };
        let runtime = cluster::runtime().map_err(Error::msg)?;
        let answer = runtime.block_on(in_time);
        answer.map_err(|_| anyhow!("no response within {:?}", self.patience))?
    }
}

impl engine::Registry for Registries {
    fn manifest(&self, image: &str) -> Result<Vec<u8>, String> {
        self.ask(Question::Manifest, image)
    }

    fn manifest_and_config(&self, image: &str) -> Result<Vec<u8>, String> {
        self.ask(Question::ManifestAndConfig, image)
    }
}

impl HostCalls for Registries {
    fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String> {
        let question = match (namespace, operation) {
            ("oci", "v1/oci_manifest") => Question::Manifest,
            ("oci", "v1/oci_manifest_config") => Question::ManifestAndConfig,
            _ => return Err(handler_error("only images can be read")),
        };
        let image: String = serde_json::from_slice(payload).map_err(|error| error.to_string())?;
        self.ask(question, &image).map_err(handler_error)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
