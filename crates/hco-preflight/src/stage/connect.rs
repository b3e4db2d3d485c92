//! The second step: connects to the cluster, and reads the live objects.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use policy_host::{Cluster, ClusterError, Connection};
use serde_json::Value;

use super::live::Live;
use super::objects::{Objects, Purpose, Unread};
use super::question::{Question, Written};
use super::snapshot::{Reader, Snapshot, not_listed};
use crate::admission::{self, Identity};
use crate::apply;
use crate::args::{self, Subject};
use crate::failure::{Failure, Place};
use crate::files::Found;
use crate::foreign::{self, chain, one_line};
use crate::kubectl::Kubectl;
use crate::notes::Notes;
use crate::progress::Progress;
use crate::verdict::Against;

/// The objects, with their live versions in the cluster.
pub(crate) struct Connected<'s> {
    pub(super) subject: &'s Subject,
    pub(super) cluster: Option<Arc<Cluster>>,
    /// Builds commands for the cluster.
    pub(super) kubectl: Kubectl,
    /// The objects of `--from`, in place of a cluster.
    pub(super) files: Option<Arc<Snapshot>>,
    pub(super) questions: Vec<Question>,
    /// The objects that the VirtualMachines depend on.
    pub(super) beside: Vec<Value>,
    pub(super) failures: Vec<Failure>,
}

impl Connected<'_> {
    /// The source of live objects, if there is one.
    pub(super) fn live(&self) -> Option<Live<'_>> {
        Live::of(self.cluster.as_deref(), self.files.as_deref())
    }
}

impl<'s> Objects<'s> {
    /// Connects to the cluster if the user named one, and reads the live objects.
    pub(super) fn connect(self, notes: &mut Notes) -> Result<Connected<'s>> {
        let cluster = if self.subject.cluster {
            Some(Arc::new(cluster(&self.subject.connection, notes)?))
        } else {
            None
        };
        let kubectl = Kubectl::of(&self.subject.connection);
        self.on(cluster, kubectl, notes)
    }

    /// Reads the live objects of this cluster.
    pub(super) fn on(
        self,
        cluster: Option<Arc<Cluster>>,
        kubectl: Kubectl,
        notes: &mut Notes,
    ) -> Result<Connected<'s>> {
        let (subject, purpose, mut failures) = (self.subject, self.purpose, self.failures);
        let files = match &subject.from {
            Some(path) => Some(Arc::new(Snapshot::of_files(
                path,
                None,
                Reader::Check,
                notes,
            )?)),
            None => None,
        };
        let live = Live::of(cluster.as_deref(), files.as_deref());
        let namespace = subject.connection.namespace.as_deref();
        let questions = if subject.filename.is_empty() {
            if !matches!(purpose, Purpose::Fix(_)) {
                notes.push(LIVE);
            }
            of_cluster(live, namespace)?
        } else {
            let old = match (&subject.old, self.old, live) {
                (Some(path), Some(found), _) => Old::File(path, found),
                (_, _, Some(live)) => Old::Live(live, purpose),
                (_, _, None) => Old::Nowhere,
            };
            let mut questions = Vec::new();
            for found in self.found {
                let Place { file, line } = found.written.place();
                match old.question(found, namespace, notes) {
                    Ok(question) => questions.push(question),
                    // The requests for the other objects would also wait until the timeout.
                    Err(error) if is_silence(&error) => return Err(error),
                    Err(error) => {
                        failures.push(Failure::in_file(&file, Some(line), chain(&error)));
                    }
                }
            }
            questions
        };
        Ok(Connected {
            subject,
            cluster,
            kubectl,
            files,
            questions,
            beside: self.beside,
            failures,
        })
    }
}

/// The cluster that the user named. A note tells which one it is.
pub(crate) fn cluster(words: &args::Connection, notes: &mut Notes) -> Result<Cluster> {
    cluster_until(None, words, notes)
}

/// The same, but all requests end at this time.
pub(super) fn cluster_until(
    until: Option<Instant>,
    words: &args::Connection,
    notes: &mut Notes,
) -> Result<Cluster> {
    let connection = Connection {
        until,
        ..Connection::from(words)
    };
    let cluster = Cluster::connect(&connection)?;
    notes.push(&asked(cluster.context(), cluster.server(), &connection));
    if let Some(warning) = cluster.warning() {
        notes.push(warning);
    }
    Ok(cluster)
}

/// Whether a cluster may answer another try.
pub(crate) fn is_transient(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<ClusterError>();
    error.is_some_and(ClusterError::is_transient)
}

/// Whether a cluster does not answer.
fn is_silence(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<ClusterError>();
    error.is_some_and(ClusterError::is_silence)
}

fn asked(context: Option<&str>, server: &str, connection: &Connection) -> String {
    let impersonated = connection.impersonate.as_deref();
    let whose = match context {
        Some(context) => format!("the context `{context}`"),
        None => "the service account of this Pod, because there is no kubeconfig".to_owned(),
    };
    let user = impersonated.map(|user| format!(", as the user `{user}`"));
    let user = user.unwrap_or_default();
    format!("using {whose}{user}; API server {server}")
}

/// The meaning of a verdict on a live object.
const LIVE: &str = "live objects are checked as new objects; in the cluster, updates are not denied because of existing problems";

/// The live objects, evaluated as new objects, so that existing problems are reported too.
fn of_cluster(live: Option<Live<'_>>, namespace: Option<&str>) -> Result<Vec<Question>> {
    let _progress = Progress::start("reading the HyperConverged objects in the cluster");
    let there = live.context("no cluster is specified to read HyperConverged objects from")?;
    let live = there.hyperconvergeds(namespace);
    let live = live.map_err(|error| not_listed(error, namespace))?;
    if live.is_empty() {
        let namespace = namespace.map(|namespace| format!(" in the namespace `{namespace}`"));
        let what = format!(
            "nothing to check: {} has no HyperConverged{}; specify a manifest with -f",
            there.name(),
            one_line(&namespace.unwrap_or_default())
        );
        let (file, line) = (None, None);
        bail!(Unread::Nothing(Failure { file, line, what }));
    }
    Ok(live.into_iter().map(Question::live).collect())
}

/// An object without a namespace, with the namespace in which it will be created. The DataSources of a VirtualMachine
/// are also read there.
pub(super) fn in_namespace(object: &Value, namespace: &str) -> Option<Value> {
    let is_stated = Identity::of(object).namespace.is_some();
    let mut object = Some(object.clone()).filter(|_| !is_stated && !namespace.is_empty())?;
    let metadata = object.get_mut("metadata")?.as_object_mut()?;
    metadata.insert("namespace".to_owned(), Value::from(namespace));
    Some(object)
}

/// The source of the old objects.
enum Old<'c> {
    Nowhere,
    File(&'c Path, Vec<Found>),
    Live(Live<'c>, Purpose),
}

impl Old<'_> {
    fn question(
        &self,
        found: Found,
        namespace: Option<&str>,
        notes: &mut Notes,
    ) -> Result<Question> {
        let (identity, object) = (&found.identity, &found.written.object.value);
        if let (Some(wanted), Some(own)) = (namespace, &identity.namespace)
            && wanted != own
        {
            let what = format!("is in the namespace `{own}`, but -n is `{wanted}`: remove -n");
            bail!(one_line(&what));
        }
        let (against, old) = self.before(identity, namespace)?;
        let there = match (self, &against) {
            (Self::File(path, _), Against::Nothing) => Some(format!(
                "{} has no object with this name",
                foreign::path(path)
            )),
            (Self::Live(live, _), Against::Nothing) if live.has_kind_of(identity) => Some(format!(
                "{} has no {} {}/{} yet",
                live.name(),
                one_line(&identity.kind),
                identity
                    .namespace
                    .as_deref()
                    .or(namespace)
                    .unwrap_or(live.namespace()),
                identity.name.as_deref().unwrap_or_default()
            )),
            _ => None,
        };
        if let Some(there) = there {
            let Place { file, line } = found.written.place();
            let note = format!("{file}:{line}: checked as a new object: {there}");
            notes.push(&note);
        }
        let submitted = admission::submitted(object);
        let sent = match (self, &old) {
            (Self::Live(_, purpose), Some(live)) => apply::sent(purpose.as_if(), live, &submitted),
            (Self::Live(live, _), None) if identity.is_virtual_machine() => {
                let namespace = namespace.unwrap_or(live.namespace());
                in_namespace(&submitted, namespace).unwrap_or(submitted)
            }
            _ => submitted,
        };
        let (old, live) = match self {
            // With an old object, problems would count as existing and would not be fixed.
            Self::Live(_, Purpose::Fix(_)) => (None, old),
            _ => (old, None),
        };
        Ok(Question {
            place: Some(found.written.place()),
            identity: found.identity,
            against,
            object: Written::InFile(found.written),
            sent: Some(sent),
            old,
            live,
        })
    }

    fn before(
        &self,
        identity: &Identity,
        namespace: Option<&str>,
    ) -> Result<(Against, Option<Value>)> {
        match self {
            Self::Nowhere => Ok((Against::Nothing, None)),
            Self::File(path, old) => {
                let same = |old: &&Found| old.identity.is_same_object(identity);
                let Some(old) = old.iter().find(same) else {
                    return Ok((Against::Nothing, None));
                };
                let (new, was) = (&identity.api_version, &old.identity.api_version);
                if new != was {
                    let version = new.rsplit('/').next().unwrap_or_default();
                    bail!(
                        "is {new}, but {} is {was}: only objects of the same version can be compared; get the old object with `kubectl get hyperconvergeds.{version}.hco.kubevirt.io -o yaml`",
                        foreign::path(path)
                    );
                }
                let against = Against::File(path.display().to_string());
                Ok((against, Some(old.written.object.value.clone())))
            }
            Self::Live(live, _) => {
                let live = live.object(identity, namespace)?;
                let against = live.as_ref().map_or(Against::Nothing, |_| Against::Live);
                Ok((against, live))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests cannot write to the directory in which a pod has its service account.
    #[test]
    fn in_a_pod_its_account_is_named() {
        assert_eq!(
            asked(None, "https://10.0.0.1/", &Connection::default()),
            "using the service account of this Pod, because there is no kubeconfig; API server https://10.0.0.1/"
        );
    }
}
