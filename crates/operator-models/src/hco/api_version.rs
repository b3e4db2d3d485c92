//! The versions of the HyperConverged API.

use kube_objects::request::Request;
use strum::{EnumString, IntoStaticStr};

const GROUP: &str = "hco.kubevirt.io";
const KIND: &str = "HyperConverged";

pub fn is_hyperconverged(request: &Request<'_>) -> bool {
    request.group == GROUP && request.kind == KIND
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase", const_into_str)]
pub enum ApiVersion {
    V1beta1,
    /// `hco.kubevirt.io/v1`, which HCO serves since 1.18.
    V1,
}

impl ApiVersion {
    /// The version of an object, from its `apiVersion` and the request's kind. Offline, one of them may be missing.
    pub fn from_kind(api_version: Option<&str>, kind: &str) -> Option<Self> {
        let Some(api_version) = api_version else {
            return kind.parse().ok();
        };
        if !kind.is_empty() {
            kind.parse::<Self>().ok()?;
        }
        let version = api_version.strip_prefix(GROUP)?.strip_prefix('/')?;
        version.parse().ok()
    }
}
