//! The same check on several clusters.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, bail};
use policy_host::{Cluster, Connection};

use super::connect::cluster;
use super::objects::{Objects, Purpose};
use super::settle::Own;
use crate::args::Subject;
use crate::foreign::Foreign;
use crate::kubectl::Kubectl;
use crate::notes::Notes;
use crate::progress::{self, Progress};
use crate::prose::count;
use crate::verdict::{Origin, Verdicts};

/// How many clusters are asked at a time: each may have a list of nodes in memory.
const AT_ONCE: usize = 8;

/// What came of a check on a cluster.
pub(crate) struct OnCluster {
    pub(crate) origin: Origin,
    pub(crate) notes: Notes,
    pub(crate) verdicts: Result<Verdicts>,
}

/// The contexts of a check on several clusters; none if it is on one.
pub(crate) fn contexts(
    subject: &Subject,
    is_all: bool,
    notes: &mut Notes,
) -> Result<Option<Vec<String>>> {
    let named = subject.connection.contexts();
    if !is_all && named.len() < 2 {
        return Ok(None);
    }
    // clap does not require --cluster where --arch is given.
    if is_all && !subject.cluster {
        bail!("--all-contexts requires --cluster");
    }
    if let Some(flag) = subject.connection.of_one_cluster() {
        bail!(
            "{flag} cannot be used with several contexts, because it would be used for all of them"
        );
    }
    if !is_all {
        return Ok(Some(named));
    }
    let all = Connection::from(&subject.connection).contexts()?;
    for (context, same) in &all.same {
        notes.push(&format!(
            "skipped the context `{context}`: it has the cluster and the user of `{same}`"
        ));
    }
    if all.names.is_empty() {
        bail!("the kubeconfig has no contexts");
    }
    Ok(Some(all.names))
}

/// Checks the objects on the cluster of each context, and what could not be read of the files. Logs in to all of them first,
/// because a login may ask the user something.
pub(crate) fn on_each(
    subject: &Subject,
    contexts: &[String],
    purpose: Purpose,
    notes: &mut Notes,
) -> Result<(Vec<OnCluster>, Verdicts)> {
    let mut objects = Objects::read(subject, purpose, notes)?;
    let unread = Verdicts {
        failures: std::mem::take(&mut objects.failures),
        ..Verdicts::default()
    };
    let subjects: Vec<Subject> = contexts
        .iter()
        .map(|context| {
            let mut subject = subject.clone();
            subject.connection = subject.connection.with_context(context);
            subject
        })
        .collect();
    let connected = of_each(contexts.iter().zip(&subjects), |(context, subject)| {
        let mut notes = Notes::default();
        let cluster = cluster(&subject.connection, &mut notes).map(Arc::new);
        let server = cluster.as_ref().ok().map(|it| Foreign::from(it.server()));
        let origin = Origin {
            context: Some(Foreign::from(context.as_str())),
            server,
        };
        let objects = Objects {
            subject,
            ..objects.clone()
        };
        (objects, cluster, origin, notes)
    });
    let own = Own::load(subject, notes)?;
    let progress = Progress::start(format!("checking {}", count(connected.len(), "cluster")));
    // One line for all of them.
    progress::silence();
    let clusters = of_each(connected, |(objects, cluster, origin, mut notes)| {
        let verdicts = cluster.and_then(|it| on(it, objects, &own, &mut notes));
        OnCluster {
            origin,
            notes,
            verdicts,
        }
    });
    drop(progress);
    Ok((clusters, unread))
}

/// What comes of each item, in the same order.
fn of_each<T: Send, R: Send>(
    items: impl IntoIterator<Item = T>,
    of: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let items: Vec<T> = items.into_iter().collect();
    let threads = AT_ONCE.min(items.len());
    let left = Mutex::new(items.into_iter().enumerate());
    let done = Mutex::new(BTreeMap::new());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((index, item)) = next() {
                    let result = of(item);
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    done.insert(index, result);
                }
            });
        }
    });
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.into_values().collect()
}

fn on(
    cluster: Arc<Cluster>,
    objects: Objects<'_>,
    own: &Own,
    notes: &mut Notes,
) -> Result<Verdicts> {
    let kubectl = Kubectl::on(&objects.subject.connection, cluster.context());
    let connected = objects.on(Some(cluster), kubectl, notes)?;
    let prepared = connected.settle_with(own, notes)?.with_nodes(notes)?;
    Ok(prepared.judge(notes))
}
