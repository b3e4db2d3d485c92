//! The nodes of a file in place of a cluster.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use crate::request::ResourceAttributes;
use crate::{HostCalls, Request, handler_error, mask};

/// Nodes as `kubectl get nodes -o yaml` or `-o json` writes them, answered as a cluster would.
#[derive(Debug)]
pub struct NodeList {
    items: Vec<Box<RawValue>>,
    can_i: CanI,
    /// The answer to the last list call: a policy asks with one mask only, and a program judges many objects.
    last: Mutex<Option<Answered>>,
}

#[derive(Debug)]
struct Answered {
    masks: Option<BTreeSet<String>>,
    list: Arc<Vec<u8>>,
}

/// What is said to `kubernetes/can_i`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum CanI {
    /// Everybody may do everything.
    #[default]
    Everything,
    /// Everybody may do these: verb and resource, as in `list`, `nodes`.
    Only(BTreeSet<(String, String)>),
    /// That cannot be known; the error's text.
    Unknown(String),
}

/// Why a file is no list of nodes.
#[derive(Debug, thiserror::Error)]
pub enum NodeListError {
    /// The file cannot be read.
    #[error("the node list `{}` cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// There is nothing in it.
    #[error("the node list is empty; write it with `kubectl get nodes -o yaml`")]
    Empty,
    /// It is no JSON.
    #[error("the node list is no JSON")]
    Json(#[source] serde_json::Error),
    /// It is no YAML.
    #[error("the node list is no YAML")]
    Yaml(#[source] yaml_serde::Error),
    /// It is something else.
    #[error("the node list holds {0}; write it with `kubectl get nodes -o yaml`")]
    Kind(String),
}

/// A list, or one of its items.
#[derive(Deserialize)]
struct Typed<T> {
    kind: Option<String>,
    items: Option<Vec<T>>,
}

impl NodeList {
    /// Reads JSON or YAML from a file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or is no list of nodes.
    pub fn from_file(path: &Path) -> Result<Self, NodeListError> {
        let text = std::fs::read(path).map_err(|source| NodeListError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        Self::from_text(&text)
    }

    /// Reads JSON or YAML: a `List` or `NodeList`, or a single `Node`.
    ///
    /// # Errors
    ///
    /// If it is no list of nodes.
    pub fn from_text(text: &[u8]) -> Result<Self, NodeListError> {
        let items = match text.trim_ascii_start().first() {
            None => return Err(NodeListError::Empty),
            Some(b'{') => items_of_json(text)?,
            Some(_) => items_of_yaml(text)?,
        };
        for item in &items {
            let is_object = item.get().starts_with('{');
            match serde_json::from_str::<Typed<Value>>(item.get()) {
                Ok(Typed { kind, .. }) if is_object => match kind.as_deref() {
                    None | Some("Node") => {}
                    Some(kind) => return Err(NodeListError::Kind(format!("a `{kind}`"))),
                },
                Ok(_) | Err(_) => {
                    return Err(NodeListError::Kind("an item that is no object".to_owned()));
                }
            }
        }
        Ok(Self {
            items,
            can_i: CanI::default(),
            last: Mutex::new(None),
        })
    }

    /// Sets the answers to `can_i`.
    #[must_use]
    pub fn with_can_i(self, can_i: CanI) -> Self {
        Self { can_i, ..self }
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    fn objects(&self) -> impl Iterator<Item = Map<String, Value>> {
        self.items
            .iter()
            .filter_map(|item| serde_json::from_str(item.get()).ok())
    }

    /// MIRRORS: kubewarden-controller crates/policy-evaluator/src/callback_handler/kubernetes/client.rs,
    /// `list_resources_from_reflector`.
    fn list(&self, masks: Option<BTreeSet<String>>) -> Arc<Vec<u8>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answered) = last.as_ref().filter(|answered| answered.masks == masks) {
            return Arc::clone(&answered.list);
        }
        // One item at a time: of an unmasked list only the text is ever kept whole.
        let mut list =
            String::from(r#"{"apiVersion":"v1","kind":"NodeList","metadata":{},"items":["#);
        for (index, object) in self.objects().enumerate() {
            if index > 0 {
                list.push(',');
            }
            list.push_str(&mask::listed(object, masks.as_ref()).to_string());
        }
        list.push_str("]}");
        let list = Arc::new(list.into_bytes());
        *last = Some(Answered {
            masks,
            list: Arc::clone(&list),
        });
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
                // A real host hands selectors to the API server; here is none, and a list that ignored them
                // would be wrong silently.
                for selector in [label_selector, field_selector].into_iter().flatten() {
                    if !selector.is_empty() {
                        return Err(format!(
                            "a node list from a file cannot be searched by the selector `{selector}`"
                        ));
                    }
                }
                Ok(self.list(field_masks).to_vec())
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
                    Some(object) => Ok(mask::got(object, field_masks.as_ref())
                        .to_string()
                        .into_bytes()),
                    None => Err(format!(
                        "Cannot find {api_version}/{kind} named '{name}' inside of namespace '{namespace:?}'"
                    )),
                }
            }
            Request::KubernetesCanI { request, .. } => {
                let allowed = self.can_i.allows(&request.resource_attributes)?;
                Ok(json!({ "allowed": allowed }).to_string().into_bytes())
            }
            Request::OciManifest { image }
            | Request::OciManifestDigest { image }
            | Request::OciManifestAndConfig { image } => Err(format!(
                "the image `{image}` cannot be read: a node list from a file has no registry"
            )),
            Request::DNSLookupHost { host } => Err(format!(
                "the host `{host}` cannot be looked up: a node list from a file has no network"
            )),
        }
    }
}

impl CanI {
    fn allows(&self, wanted: &ResourceAttributes) -> Result<bool, String> {
        match self {
            Self::Everything => Ok(true),
            Self::Only(allowed) => {
                Ok(allowed.contains(&(wanted.verb.clone(), wanted.resource.clone())))
            }
            Self::Unknown(error) => Err(error.clone()),
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
/// `build_kube_resource`, of a cluster in which there is nothing but nodes.
fn check_kind(api_version: &str, kind: &str) -> Result<(), String> {
    if (api_version, kind) == ("v1", "Node") {
        Ok(())
    } else {
        Err(format!("Cannot find resource {api_version}/{kind}"))
    }
}

fn items_of_json(text: &[u8]) -> Result<Vec<Box<RawValue>>, NodeListError> {
    let list: Typed<Box<RawValue>> = serde_json::from_slice(text).map_err(NodeListError::Json)?;
    items(list, || {
        serde_json::from_slice(text).map_err(NodeListError::Json)
    })
}

fn items_of_yaml(text: &[u8]) -> Result<Vec<Box<RawValue>>, NodeListError> {
    let document: Value = yaml_serde::from_slice(text).map_err(NodeListError::Yaml)?;
    let raw = |value: &Value| to_raw_value(value).map_err(NodeListError::Json);
    let list = match &document {
        Value::Null => return Err(NodeListError::Empty),
        Value::Object(_) => Typed {
            kind: document
                .get("kind")
                .and_then(Value::as_str)
                .map(str::to_owned),
            items: match document.get("items") {
                Some(Value::Array(items)) => Some(items.iter().map(raw).collect::<Result<_, _>>()?),
                _ => None,
            },
        },
        _ => return Err(NodeListError::Kind("no object".to_owned())),
    };
    items(list, || raw(&document))
}

fn items(
    list: Typed<Box<RawValue>>,
    whole: impl FnOnce() -> Result<Box<RawValue>, NodeListError>,
) -> Result<Vec<Box<RawValue>>, NodeListError> {
    match (list.kind.as_deref(), list.items) {
        (Some("List" | "NodeList") | None, Some(items)) => Ok(items),
        (Some("Node"), None) => Ok(vec![whole()?]),
        (Some(kind), _) => Err(NodeListError::Kind(format!("a `{kind}`"))),
        (None, None) => Err(NodeListError::Kind("neither a kind nor items".to_owned())),
    }
}
