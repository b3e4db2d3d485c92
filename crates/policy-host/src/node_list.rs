//! Nodes from a file, in place of a cluster.

mod counts;
pub(crate) mod reduction;
mod stream;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use manifest::{Fields, Limited, ManifestError};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

pub use counts::Counts;
pub use reduction::Labels;

use crate::host_calls::{HostCalls, handler_error, not_found};
use crate::mask;
use crate::request::Request;
use reduction::Reduction;
use stream::Stopped;

/// Nodes in the output format of `kubectl get nodes -o yaml` or `-o json`, which this host serves as a cluster would.
/// Every account may read them.
///
/// A reduced list has only the fields of each node that the policy of this project reads: name, labels, and
/// architecture.
///
/// DIVERGES: the host always sends the whole metadata, whatever the mask says. For a large cluster, that is a hundred
/// megabytes in each of the file, the list, the host and the guest, and this project's module does not use them. For
/// another module, use a list that is not reduced.
#[derive(Debug, Default)]
pub struct NodeList {
    items: Vec<Box<RawValue>>,
    /// The answer to the last list call. A policy always uses the same mask, and a program evaluates many objects.
    last: Mutex<Option<(Masks, Vec<u8>)>>,
}

type Masks = Option<BTreeSet<String>>;

/// Why a file is not a list of nodes.
#[derive(Debug, thiserror::Error)]
pub enum NodeListError {
    /// The file cannot be read.
    #[error("the node list `{}` cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        source: std::io::Error,
    },
    /// The file is empty.
    #[error("the node list is empty; create it with `kubectl get nodes -o yaml`")]
    Empty,
    /// It is not JSON.
    #[error("the node list is not valid JSON")]
    Json(#[source] serde_json::Error),
    /// It is not YAML.
    #[error("the node list is not valid YAML")]
    Yaml(#[from] ManifestError),
    /// It contains something else.
    #[error("the node list contains {0}; create it with `kubectl get nodes -o yaml`")]
    Kind(String),
}

impl NodeList {
    /// Reads JSON or YAML from a file, and keeps all fields.
    pub fn from_file(path: &Path) -> Result<Self, NodeListError> {
        read_file(path, Reduction::Everything)
    }

    /// Reads JSON or YAML, and keeps all fields: a `List` or `NodeList`, or a single `Node`.
    pub fn from_text(text: &[u8]) -> Result<Self, NodeListError> {
        read_text(text, Reduction::Everything)
    }

    /// Reads JSON or YAML from a file, and keeps the fields that the policy of this project reads. A YAML file is never
    /// in memory as a whole.
    pub fn reduced_from_file(path: &Path, labels: &Labels) -> Result<Self, NodeListError> {
        read_file(path, Reduction::Judged(labels))
    }

    /// Reads JSON or YAML, and keeps the fields that the policy of this project reads.
    pub fn reduced_from_text(text: &[u8], labels: &Labels) -> Result<Self, NodeListError> {
        read_text(text, Reduction::Judged(labels))
    }

    /// Creates this number of workers for each architecture, and no control-plane nodes.
    pub fn made_up(counts: &BTreeMap<String, usize>) -> Self {
        Self::of(raw_nodes(counts, ""))
    }

    /// The list with this number of additional workers for each architecture.
    #[must_use]
    pub fn joined_by(&self, counts: &BTreeMap<String, usize>) -> Self {
        let mut items = self.items.clone();
        items.extend(raw_nodes(counts, "joined-"));
        Self::of(items)
    }

    pub(crate) fn of(items: Vec<Box<RawValue>>) -> Self {
        Self {
            items,
            last: Mutex::new(None),
        }
    }

    /// A list of these nodes, with the fields that were kept.
    pub fn of_objects(nodes: &[Value]) -> Self {
        let items = nodes.iter().map(to_raw_value);
        Self::of(items.filter_map(Result::ok).collect())
    }

    /// The nodes, with the fields that are kept.
    pub fn to_objects(&self) -> Vec<Value> {
        self.objects().map(Value::Object).collect()
    }

    /// The nodes as JSON.
    pub fn texts(&self) -> &[Box<RawValue>] {
        &self.items
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    fn objects(&self) -> impl Iterator<Item = Map<String, Value>> {
        self.items
            .iter()
            .filter_map(|item| serde_json::from_str(item.get()).ok())
    }

    fn list(&self, masks: Masks) -> Vec<u8> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, list)) = &*last
            && *known == masks
        {
            return list.clone();
        }
        let list = mask::list("v1", "Node", masks.as_ref(), self.objects());
        *last = Some((masks, list.clone()));
        list
    }

    fn answer(&self, request: Request) -> Result<Vec<u8>, String> {
        match request {
            Request::KubernetesListResourceAll {
                api_version,
                kind,
                label_selector,
                field_selector,
                field_masks,
            } => {
                check_kind(&api_version, &kind)?;
                // A real host passes selectors to the API server. There is no API server here, and a list that ignored
                // selectors would be silently wrong.
                for selector in [label_selector, field_selector].into_iter().flatten() {
                    if !selector.is_empty() {
                        return Err(format!(
                            "a node list from a file does not support the selector `{selector}`"
                        ));
                    }
                }
                Ok(self.list(field_masks))
            }
            Request::KubernetesListResourceNamespace {
                api_version, kind, ..
            } => {
                check_kind(&api_version, &kind)?;
                Err(format!(
                    "resource {api_version}/{kind} is cluster wide. Cannot search for it inside of a namespace"
                ))
            }
            Request::KubernetesGetResource {
                api_version,
                kind,
                name,
                namespace,
                field_masks,
                ..
            } => {
                check_kind(&api_version, &kind)?;
                let named = |object: &Map<String, Value>| {
                    object.get("metadata").and_then(|data| data.get("name")) == Some(&json!(name))
                };
                match self.objects().find(named) {
                    Some(object) => {
                        Ok(mask::got(object, &api_version, &kind, field_masks.as_ref())
                            .to_string()
                            .into_bytes())
                    }
                    None => Err(not_found(&api_version, &kind, &name, namespace.as_deref())),
                }
            }
            Request::KubernetesCanI { .. } => Ok(json!({"allowed": true}).to_string().into_bytes()),
            Request::OciManifest { image }
            | Request::OciManifestDigest { image }
            | Request::OciManifestAndConfig { image } => Err(format!(
                "the image `{image}` cannot be read: only nodes are available"
            )),
            Request::DNSLookupHost { host } => Err(format!(
                "the host `{host}` cannot be looked up: only nodes are available"
            )),
        }
    }
}

impl HostCalls for NodeList {
    fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String> {
        let request = Request::parse(namespace, operation, payload)?;
        self.answer(request).map_err(handler_error)
    }
}

/// MIRRORS: kubewarden-controller crates/policy-evaluator/src/callback_handler/kubernetes/client.rs,
/// `build_kube_resource`, for a cluster that serves only nodes.
fn check_kind(api_version: &str, kind: &str) -> Result<(), String> {
    if (api_version, kind) == ("v1", "Node") {
        Ok(())
    } else {
        Err(format!("Cannot find resource {api_version}/{kind}"))
    }
}

fn raw_nodes(counts: &BTreeMap<String, usize>, prefix: &str) -> Vec<Box<RawValue>> {
    counts::nodes(counts, prefix)
        .filter_map(|node| to_raw_value(&node).ok())
        .collect()
}

fn read_file(path: &Path, reduction: Reduction<'_>) -> Result<NodeList, NodeListError> {
    let file = File::open(path).map(|file| BufReader::with_capacity(1 << 16, Limited::new(file)));
    let nodes = file.map_err(Stopped::File);
    let nodes = nodes.and_then(|file| read(file, reduction));
    nodes.map_err(|stopped| match stopped {
        Stopped::List(error) => error,
        Stopped::File(source) => NodeListError::Unreadable {
            path: path.to_owned(),
            source,
        },
    })
}

fn read_text(text: &[u8], reduction: Reduction<'_>) -> Result<NodeList, NodeListError> {
    read(text, reduction).map_err(|stopped| match stopped {
        Stopped::List(error) => error,
        // A text in memory cannot have read errors.
        Stopped::File(_) => NodeListError::Empty,
    })
}

fn read(mut text: impl BufRead, reduction: Reduction<'_>) -> Result<NodeList, Stopped> {
    let start = text.fill_buf()?;
    if start.starts_with(MARK) {
        text.consume(MARK.len());
    }
    let nodes = if text.fill_buf()?.trim_ascii_start().starts_with(b"{") {
        let mut bytes = Vec::new();
        text.read_to_end(&mut bytes)?;
        of_json(&bytes, reduction)?
    } else {
        stream::nodes(text, reduction)?
    };
    Ok(NodeList::of(nodes))
}

/// The byte order mark that some editors on Windows write before UTF-8.
const MARK: &[u8] = "\u{feff}".as_bytes();

fn of_json(text: &[u8], reduction: Reduction<'_>) -> Result<Vec<Box<RawValue>>, NodeListError> {
    let list: Fields<'_> = serde_json::from_slice(text).map_err(NodeListError::Json)?;
    let kind = list.get("kind").map(|kind| kind.trim_matches('"'));
    let items = list.get("items").map(serde_json::from_str);
    match (kind, items) {
        (Some("List" | "NodeList") | None, Some(Ok(items))) => {
            let items: Vec<&RawValue> = items;
            let mut lines = Lines {
                text,
                before: 0,
                line: 1,
            };
            items
                .into_iter()
                .map(|item| reduction.of(item.get(), lines.of(item.get())))
                .collect()
        }
        (kind, _) => {
            let whole = || std::str::from_utf8(text).unwrap_or_default();
            single(kind, || reduction.of(whole(), 1)).map(|node| vec![node])
        }
    }
}

/// A document without items can be a node.
fn single<T>(
    kind: Option<&str>,
    node: impl FnOnce() -> Result<T, NodeListError>,
) -> Result<T, NodeListError> {
    match kind {
        Some("Node") => node(),
        Some(kind) => Err(NodeListError::Kind(format!("a `{kind}`"))),
        None => Err(NodeListError::Kind("neither a kind nor items".to_owned())),
    }
}

/// Counts the lines before each of several parts of a text, which are passed in their order.
struct Lines<'t> {
    text: &'t [u8],
    before: usize,
    line: usize,
}

impl Lines<'_> {
    fn of(&mut self, part: &str) -> usize {
        let offset = part.as_ptr() as usize - self.text.as_ptr() as usize;
        let between = self.text.get(self.before..offset).unwrap_or_default();
        self.line += between.split(|&byte| byte == b'\n').count() - 1;
        self.before = offset;
        self.line
    }
}
