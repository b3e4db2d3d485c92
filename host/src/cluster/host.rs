//! A live cluster in the place of the host's one: any kind of object, as policy-server would answer.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::api::{Asked, Selectors};
use super::{Cluster, ClusterError, is_name};
use crate::host_calls::{HostCalls, handler_error, not_found};
use crate::mask;
use crate::request::Request;

/// Where the API server has the objects of a kind.
struct Resource {
    /// The path up to the version.
    path: String,
    plural: String,
    /// As grants name it.
    granted: String,
    is_namespaced: bool,
}

/// The resources of a version, as the API server describes them.
#[derive(Deserialize)]
struct Resources {
    resources: Vec<Described>,
}

#[derive(Deserialize)]
struct Described {
    name: String,
    kind: String,
    namespaced: bool,
}

impl Cluster {
    /// DIVERGES: policy-server answers lists from a watch of its own, so it waits for ever where it may not
    /// list. Here the error is returned at once.
    fn answer(&self, request: Request) -> Result<Vec<u8>, String> {
        match request {
            Request::KubernetesListResourceAll {
                api_version,
                kind,
                label_selector,
                field_selector,
                field_masks,
            } => {
                let resource = self.resource(&api_version, &kind)?;
                let path = format!("{}/{}", resource.path, resource.plural);
                let selectors = Selectors {
                    labels: label_selector,
                    fields: field_selector,
                };
                let items = self.items(&path, &resource, &selectors)?;
                Ok(mask::list(&api_version, &kind, field_masks.as_ref(), items))
            }
            Request::KubernetesListResourceNamespace {
                api_version,
                kind,
                namespace,
                label_selector,
                field_selector,
                field_masks,
            } => {
                let resource = self.resource(&api_version, &kind)?;
                if !resource.is_namespaced {
                    return Err(format!(
                        "resource {api_version}/{kind} is cluster wide. Cannot search for it inside of a namespace"
                    ));
                }
                let path = resource.path_in(Some(&namespace))?;
                let path = format!("{path}/{}", resource.plural);
                let selectors = Selectors {
                    labels: label_selector,
                    fields: field_selector,
                };
                let items = self.items(&path, &resource, &selectors)?;
                Ok(mask::list(&api_version, &kind, field_masks.as_ref(), items))
            }
            Request::KubernetesGetResource {
                api_version,
                kind,
                name,
                namespace,
                field_masks,
                ..
            } => {
                let object = self.object(&api_version, &kind, namespace.as_deref(), &name)?;
                let object = mask::got(object, &api_version, &kind, field_masks.as_ref());
                Ok(object.to_string().into_bytes())
            }
            Request::KubernetesCanI { request, .. } => {
                let attributes = &request.resource_attributes;
                let spec = json!({
                    "user": request.user,
                    "groups": request.groups,
                    "resourceAttributes": {
                        "group": attributes.group,
                        "name": attributes.name,
                        "namespace": attributes.namespace,
                        "resource": attributes.resource,
                        "subresource": attributes.subresource,
                        "verb": attributes.verb,
                        "version": attributes.version,
                    },
                });
                match self
                    .review("SubjectAccessReview", &spec)
                    .map_err(|error| message(&error))?
                {
                    Value::Null => Err("SubjectAccessReview did not return a response".to_owned()),
                    status => Ok(status.to_string().into_bytes()),
                }
            }
            Request::OciManifest { image }
            | Request::OciManifestDigest { image }
            | Request::OciManifestAndConfig { image } => Err(format!(
                "the image `{image}` cannot be read: this host does not access registries"
            )),
            Request::DNSLookupHost { host } => Err(format!(
                "the host `{host}` cannot be looked up: this host sends requests only to the cluster"
            )),
        }
    }

    fn object(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Map<String, Value>, String> {
        let resource = self.resource(api_version, kind)?;
        let asked = Asked::new("get", &resource.granted);
        let path = match (namespace, resource.is_namespaced) {
            (None, true) => {
                return Err(format!(
                    "Resource {api_version}/{kind} is namespaced, but no namespace was provided"
                ));
            }
            (namespace, true) => resource.path_in(namespace)?,
            (_, false) => resource.path.clone(),
        };
        let path = format!("{path}/{}", resource.plural);
        let object = self
            .get(&path, name, &asked)
            .map_err(|error| message(&error))?;
        let object = object.ok_or_else(|| not_found(api_version, kind, name, namespace))?;
        asked.read(&object).map_err(|error| message(&error))
    }

    fn items(
        &self,
        path: &str,
        resource: &Resource,
        selectors: &Selectors,
    ) -> Result<impl Iterator<Item = Map<String, Value>> + use<>, String> {
        let asked = Asked::new("list", &resource.granted);
        let items = self.list(path, &asked, selectors, |item| asked.read(item));
        Ok(items.map_err(|error| message(&error))?.into_iter())
    }

    /// MIRRORS: kubewarden-controller crates/policy-evaluator/src/callback_handler/kubernetes/client.rs,
    /// `build_kube_resource`.
    fn resource(&self, api_version: &str, kind: &str) -> Result<Resource, String> {
        let unknown = || format!("Cannot find resource {api_version}/{kind}");
        let (parent, group, version) = match api_version.split_once('/') {
            None if api_version == "v1" => ("/api".to_owned(), "", "v1"),
            Some((group, version)) if is_name(group) && is_name(version) => {
                (format!("/apis/{group}"), group, version)
            }
            _ => {
                return Err(format!(
                    "cannot determine group and version for {api_version}"
                ));
            }
        };
        let path = format!("{parent}/{version}");
        let asked = Asked::new("get", &path);
        let list = self
            .get(&parent, version, &asked)
            .map_err(|error| message(&error))?;
        let list = list.ok_or_else(unknown)?;
        let Resources { resources } = asked.read(&list).map_err(|error| message(&error))?;
        let mut of_kind = resources.into_iter();
        let Described {
            name: plural,
            namespaced,
            ..
        } = of_kind
            .find(|resource| resource.kind == kind)
            .ok_or_else(unknown)?;
        Ok(Resource {
            path,
            granted: match group {
                "" => plural.clone(),
                group => format!("{plural}.{group}"),
            },
            plural,
            is_namespaced: namespaced,
        })
    }
}

impl Resource {
    fn path_in(&self, namespace: Option<&str>) -> Result<String, String> {
        match namespace {
            Some(namespace) if is_name(namespace) => {
                Ok(format!("{}/namespaces/{namespace}", self.path))
            }
            namespace => Err(format!(
                "{:?} is not a valid name of a namespace",
                namespace.unwrap_or_default()
            )),
        }
    }
}

/// The guest gets one line.
fn message(error: &ClusterError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(source) = cause {
        text.push_str(": ");
        text.push_str(&source.to_string());
        cause = source.source();
    }
    text
}

impl HostCalls for Cluster {
    fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String> {
        let request = Request::parse(namespace, operation, payload)?;
        self.answer(request).map_err(handler_error)
    }
}
