//! A live cluster as the host: it answers requests for any kind of object, as policy-server does.

use kube::api::ListParams;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::api::Asked;
use super::{Cluster, ClusterError, is_name};
use crate::host_calls::{HostCalls, handler_error, not_found};
use crate::mask;
use crate::request::Request;

/// The location of a kind's objects in the API.
struct Resource {
    /// The path up to the version.
    path: String,
    plural: String,
    api_version: String,
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
    /// DIVERGES: policy-server answers lists from its own watch, so it waits forever if it does not have the permission
    /// to list. Here the host returns the error immediately.
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
                let params = selecting(label_selector, field_selector);
                let items = self.items(&resource, None, params)?;
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
                let params = selecting(label_selector, field_selector);
                let items = self.items(&resource, Some(&namespace), params)?;
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
                match self.review("SubjectAccessReview", &spec)? {
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
        let asked = resource.asked("get");
        let path = match namespace {
            None if resource.is_namespaced => {
                return Err(format!(
                    "Resource {api_version}/{kind} is namespaced, but no namespace was provided"
                ));
            }
            namespace => resource.path_in(namespace.filter(|_| resource.is_namespaced))?,
        };
        let object = self.get(&path, name, &asked)?;
        let object = object.ok_or_else(|| not_found(api_version, kind, name, namespace))?;
        Ok(asked.read(&object)?)
    }

    fn items(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        params: ListParams,
    ) -> Result<impl Iterator<Item = Map<String, Value>> + use<>, String> {
        let path = resource.path_in(namespace)?;
        let asked = resource.asked("list");
        let items = self.list(&path, &asked, params, |item| asked.read(item))?;
        Ok(items.into_iter())
    }

    /// MIRRORS: kubewarden-controller crates/policy-evaluator/src/callback_handler/kubernetes/client.rs,
    /// `build_kube_resource`.
    fn resource(&self, api_version: &str, kind: &str) -> Result<Resource, String> {
        let unknown = || format!("Cannot find resource {api_version}/{kind}");
        let (parent, version) = match api_version.split_once('/') {
            None if api_version == "v1" => ("/api".to_owned(), "v1"),
            Some((group, version)) if is_name(group) && is_name(version) => {
                (format!("/apis/{group}"), version)
            }
            _ => {
                return Err(format!(
                    "cannot determine group and version for {api_version}"
                ));
            }
        };
        let path = format!("{parent}/{version}");
        let asked = Asked::new("get", &path);
        let list = self.get(&parent, version, &asked)?.ok_or_else(unknown)?;
        let Resources { resources } = asked.read(&list)?;
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
            plural,
            api_version: api_version.to_owned(),
            is_namespaced: namespaced,
        })
    }
}

impl Resource {
    fn asked(&self, verb: &'static str) -> Asked {
        Asked::of(verb, &self.plural, &self.api_version)
    }

    /// The path of its objects, in all namespaces or in one.
    fn path_in(&self, namespace: Option<&str>) -> Result<String, String> {
        let Self { path, plural, .. } = self;
        match namespace {
            None => Ok(format!("{path}/{plural}")),
            Some(namespace) if is_name(namespace) => {
                Ok(format!("{path}/namespaces/{namespace}/{plural}"))
            }
            Some(namespace) => Err(format!("{namespace:?} is not a valid name of a namespace")),
        }
    }
}

fn selecting(label_selector: Option<String>, field_selector: Option<String>) -> ListParams {
    ListParams {
        label_selector,
        field_selector,
        ..ListParams::default()
    }
}

/// The guest gets one line.
impl From<ClusterError> for String {
    fn from(error: ClusterError) -> Self {
        format!("{:#}", anyhow::Error::new(error))
    }
}

impl HostCalls for Cluster {
    fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String> {
        let request = Request::parse(namespace, operation, payload)?;
        self.answer(request).map_err(handler_error)
    }
}
