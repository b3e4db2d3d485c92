//! The requests of the module to the host.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A host call that this host supports.
///
/// MIRRORS: kubewarden-controller crates/policy-evaluator/src/callback_requests.rs, `CallbackRequestType`, with the
/// same names, fields and order, which recorded sessions are written and compared with. Calls that verify signatures
/// and certificates are left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all_fields = "snake_case")]
pub enum Request {
    /// `oci/v1/manifest_digest`.
    OciManifestDigest {
        /// Reference of the image.
        image: String,
    },
    /// `oci/v1/oci_manifest`.
    OciManifest {
        /// Reference of the image.
        image: String,
    },
    /// `oci/v1/oci_manifest_config`.
    OciManifestAndConfig {
        /// Reference of the image.
        image: String,
    },
    /// `net/v1/dns_lookup_host`.
    DNSLookupHost {
        /// Name to look up.
        host: String,
    },
    /// `kubernetes/list_resources_by_namespace`.
    KubernetesListResourceNamespace {
        /// Group and version.
        api_version: String,
        /// Kind of the objects.
        kind: String,
        /// The namespace of the objects.
        namespace: String,
        /// Label selector.
        label_selector: Option<String>,
        /// Field selector.
        field_selector: Option<String>,
        /// The fields to return; all fields if absent or empty.
        field_masks: Option<BTreeSet<String>>,
    },
    /// `kubernetes/list_resources_all`.
    KubernetesListResourceAll {
        /// Group and version.
        api_version: String,
        /// Kind of the objects.
        kind: String,
        /// Label selector.
        label_selector: Option<String>,
        /// Field selector.
        field_selector: Option<String>,
        /// The fields to return; all fields if absent or empty.
        field_masks: Option<BTreeSet<String>>,
    },
    /// `kubernetes/get_resource`.
    KubernetesGetResource {
        /// Group and version.
        api_version: String,
        /// Kind of the object.
        kind: String,
        /// Its name.
        name: String,
        /// Its namespace.
        namespace: Option<String>,
        /// Whether the host must not answer from its cache.
        disable_cache: bool,
        /// The fields to return; all fields if absent or empty.
        field_masks: Option<BTreeSet<String>>,
    },
    /// `kubernetes/can_i`.
    KubernetesCanI {
        /// The permission to check.
        request: SubjectAccessReview,
        /// Whether the host must not answer from its cache.
        disable_cache: bool,
    },
}

/// A user and an action on a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubjectAccessReview {
    /// Groups of the user.
    pub groups: Option<Vec<String>>,
    /// The action and the resource.
    pub resource_attributes: ResourceAttributes,
    /// The user.
    pub user: String,
}

/// An action and a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceAttributes {
    /// Group of the resource.
    pub group: Option<String>,
    /// Name of an object.
    pub name: Option<String>,
    /// Namespace of the objects.
    pub namespace: Option<String>,
    /// Plural name of the resource.
    pub resource: String,
    /// Subresource.
    pub subresource: Option<String>,
    /// The action.
    pub verb: String,
    /// Version of the resource.
    pub version: Option<String>,
}

/// The form in which a guest sends the one request that has another form in a session.
#[derive(Deserialize)]
struct CanIRequest {
    subject_access_review: SubjectAccessReview,
    disable_cache: bool,
}

impl Request {
    /// Reads a host call.
    ///
    /// MIRRORS: kubewarden-controller crates/policy-evaluator/src/runtimes/callback.rs, `host_callback`.
    ///
    /// # Errors
    ///
    /// The text for the guest: the call is unknown, or the payload cannot be read.
    pub fn parse(namespace: &str, operation: &str, payload: &[u8]) -> Result<Self, String> {
        let list = |variant: &str| {
            // The fields are the same in sessions and in guests' payloads. Only the variant's name is added.
            let fields: serde_json::Value = read(payload)?;
            serde_json::from_value(serde_json::json!({ variant: fields }))
                .map_err(|error| error.to_string())
        };
        match (namespace, operation) {
            ("kubernetes", "list_resources_by_namespace") => {
                list("KubernetesListResourceNamespace")
            }
            ("kubernetes", "list_resources_all") => list("KubernetesListResourceAll"),
            ("kubernetes", "get_resource") => list("KubernetesGetResource"),
            ("kubernetes", "can_i") => {
                let CanIRequest {
                    subject_access_review,
                    disable_cache,
                } = read(payload)?;
                Ok(Self::KubernetesCanI {
                    request: subject_access_review,
                    disable_cache,
                })
            }
            ("oci", "v1/manifest_digest") => {
                read(payload).map(|image| Self::OciManifestDigest { image })
            }
            ("oci", "v1/oci_manifest") => read(payload).map(|image| Self::OciManifest { image }),
            ("oci", "v1/oci_manifest_config") => {
                read(payload).map(|image| Self::OciManifestAndConfig { image })
            }
            ("net", "v1/dns_lookup_host") => read(payload).map(|host| Self::DNSLookupHost { host }),
            ("oci", "v1/verify" | "v2/verify") | ("crypto", "v1/is_certificate_trusted") => Err(
                format!("this host does not verify signatures: {namespace}/{operation}"),
            ),
            ("oci" | "kubernetes" | "net" | "crypto", _) => {
                Err(format!("unknown operation: {operation}"))
            }
            _ => Err(format!("unknown namespace: {namespace}")),
        }
    }
}

fn read<T: DeserializeOwned>(payload: &[u8]) -> Result<T, String> {
    serde_json::from_slice(payload).map_err(|error| error.to_string())
}
