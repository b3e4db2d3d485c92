//! Registries in the place of the host's ones: what they say of images, as policy-server would answer.

mod connection;
mod logins;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use engine::Image;
use oci_client::Reference;
use sources::Sources;

use self::connection::Connection;
use self::logins::Logins;
use crate::{HostCalls, Request, handler_error};

/// How many images are read at a time: registries limit who asks for more.
const AT_ONCE: usize = 4;

/// How long a registry may take for an answer. The module may wait for two of them before it is interrupted.
const PATIENCE: Duration = Duration::from_secs(12);

/// An error is a sentence or two; a registry can send more.
const LONGEST_ERROR: usize = 600;

/// Answers what is asked about images. An answer is kept, so that the same image is read once, and so is an error.
///
/// MIRRORS: kubewarden-controller crates/policy-evaluator/src/callback_handler/oci.rs and
/// crates/policy-fetcher/src/registry/mod.rs.
/// DIVERGES: policy-server keeps answers for a minute and no errors, ignores a credential helper that fails, and reads
/// answers of any length.
#[derive(Debug)]
pub struct Registries {
    sources: Sources,
    logins: Logins,
    patience: Duration,
    kept: Mutex<BTreeMap<(Asked, String), Answer>>,
}

type Answer = Result<Vec<u8>, String>;

/// What is asked about an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Asked {
    Digest,
    Manifest,
    ManifestAndConfig,
}

impl Registries {
    /// The registries as these sources describe them, with the credentials that docker and podman keep for this user.
    pub fn new(sources: Sources) -> Self {
        Self {
            sources,
            logins: Logins::of_the_environment(),
            patience: PATIENCE,
            kept: Mutex::default(),
        }
    }

    /// The same, if a registry may take so long for an answer.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// The architectures of images, or why they are unknown: several images at a time.
    pub fn architectures(
        &self,
        images: BTreeSet<Image>,
    ) -> BTreeMap<Image, Result<BTreeSet<String>, String>> {
        let threads = AT_ONCE.min(images.len());
        let left = Mutex::new(images.into_iter());
        let read = Mutex::new(BTreeMap::new());
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    loop {
                        let Some(image) = lock(&left).next() else {
                            break;
                        };
                        let architectures = image.architectures(self);
                        lock(&read).insert(image, architectures);
                    }
                });
            }
        });
        read.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self, asked: Asked, image: &str) -> Answer {
        let question = (asked, image.to_owned());
        if let Some(answer) = lock(&self.kept).get(&question) {
            return answer.clone();
        }
        let answer = self.read(asked, image);
        // It goes to a terminal, or into the log of a cluster.
        let answer = answer.map_err(|error| engine::escape(&format!("{error:#}"), LONGEST_ERROR));
        lock(&self.kept).insert(question, answer.clone());
        answer
    }

    /// Asks in each of the ways in which the registry may be reached, until one works.
    fn read(&self, asked: Asked, image: &str) -> Result<Vec<u8>> {
        let reference: Reference = image.parse().with_context(|| {
            format!("`{image}` must be an image as in registry.example.com/name:tag")
        })?;
        let login = self.logins.find(&reference)?;
        let host = reference.resolve_registry();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let mut failures = Vec::new();
        for way in self.sources.ways(host)? {
            let answer = runtime.block_on(async {
                let connection = Connection::new(&reference, &login, self.sources.config(&way));
                let answer = async { connection?.answer(asked).await };
                let answer = tokio::time::timeout(self.patience, answer).await;
                answer.unwrap_or_else(|_| bail!("no answer within {:?}", self.patience))
            });
            match answer {
                Ok(answer) => return Ok(answer),
                Err(error) => failures.push((way.name(), error)),
            }
        }
        // A name that is still looked up is nobody's concern any more.
        runtime.shutdown_background();
        if failures.len() == 1
            && let Some((_, error)) = failures.pop()
        {
            return Err(error);
        }
        let failures = failures
            .iter()
            .map(|(way, error)| format!("{way}: {error:#}"));
        bail!("{}", failures.collect::<Vec<_>>().join("; "))
    }
}

impl engine::Registry for Registries {
    fn manifest(&self, image: &str) -> Result<Vec<u8>, String> {
        self.ask(Asked::Manifest, image)
    }

    fn manifest_and_config(&self, image: &str) -> Result<Vec<u8>, String> {
        self.ask(Asked::ManifestAndConfig, image)
    }
}

/// Answers for images only.
impl HostCalls for Registries {
    fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String> {
        let (asked, image) = match Request::parse(namespace, operation, payload)? {
            Request::OciManifestDigest { image } => (Asked::Digest, image),
            Request::OciManifest { image } => (Asked::Manifest, image),
            Request::OciManifestAndConfig { image } => (Asked::ManifestAndConfig, image),
            other => {
                return Err(handler_error(format_args!(
                    "no registry knows of {other:?}"
                )));
            }
        };
        self.ask(asked, &image).map_err(handler_error)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
