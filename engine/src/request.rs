//! The admission request, as the host hands it over.

use crate::json::{self, Raw, Unreadable};

/// The API group of HyperConverged.
const GROUP: &str = "hco.kubevirt.io";
/// The kind that is judged.
const KIND: &str = "HyperConverged";

/// What the user asks the API server to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    /// DELETE and CONNECT: nothing that could be judged comes to be.
    Other,
}

/// A version of HyperConverged that we can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    V1beta1,
    V1,
}

/// What the request says it is about.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It does not say, which no API server does.
    Missing,
    /// Not a HyperConverged.
    Other,
    HyperConverged {
        version: String,
    },
}

/// One admission request.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) operation: Operation,
    pub(crate) kind: Kind,
    pub(crate) sub_resource: bool,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) object: Option<Raw<'a>>,
    pub(crate) old_object: Option<Raw<'a>>,
}

impl<'a> Request<'a> {
    /// Cuts the request out of the payload of `validate`: the request and the settings.
    pub(crate) fn parse(payload: Raw<'a>) -> Result<(Option<Self>, Option<Raw<'a>>), Unreadable> {
        let [request, settings] =
            json::members(payload, ["request", "settings"]).map_err(|e| e.under("the payload"))?;
        let request = json::optional("request", request, Self::from_raw)?;
        Ok((request, settings))
    }

    fn from_raw(raw: Raw<'a>) -> Result<Self, Unreadable> {
        // Both spellings of the subresource: the host's own type writes camel case, the SDK's snake.
        let [
            kind,
            operation,
            sub_resource,
            sub_resource_snake,
            namespace,
            name,
            object,
            old_object,
        ] = json::members(
            raw,
            [
                "kind",
                "operation",
                "subResource",
                "sub_resource",
                "namespace",
                "name",
                "object",
                "oldObject",
            ],
        )?;
        let text = |segment, raw| {
            Ok::<_, Unreadable>(json::optional(segment, raw, json::string)?.unwrap_or_default())
        };
        Ok(Self {
            // The audit scanner writes the kind where the resource should be, so the kind decides.
            kind: json::optional("kind", kind, |raw| {
                let [group, version, kind] = json::members(raw, ["group", "version", "kind"])?;
                if text("group", group)? == GROUP && text("kind", kind)? == KIND {
                    let version = text("version", version)?;
                    Ok(Kind::HyperConverged { version })
                } else {
                    Ok(Kind::Other)
                }
            })?
            .unwrap_or(Kind::Missing),
            operation: match text("operation", operation)?.as_str() {
                "DELETE" | "CONNECT" => Operation::Other,
                "UPDATE" => Operation::Update,
                // What we do not know brings an object about, until somebody shows otherwise.
                _ => Operation::Create,
            },
            sub_resource: !text("subResource", sub_resource.or(sub_resource_snake))?.is_empty(),
            namespace: text("namespace", namespace)?,
            name: text("name", name)?,
            object,
            old_object,
        })
    }
}

impl Version {
    /// Reads the version out of an object's `apiVersion` and the request's kind.
    ///
    /// The API server makes both the same; offline one of them may be missing. A version that we do not
    /// know is refused, whichever of them names it.
    pub(crate) fn of(api_version: Option<&str>, kind: &str) -> Option<Self> {
        let Some(api_version) = api_version else {
            return Self::parse(kind);
        };
        if !kind.is_empty() {
            Self::parse(kind)?;
        }
        let version = api_version.strip_prefix(GROUP)?.strip_prefix('/')?;
        Self::parse(version)
    }

    fn parse(version: &str) -> Option<Self> {
        match version {
            "v1beta1" => Some(Self::V1beta1),
            "v1" => Some(Self::V1),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::V1beta1 => "v1beta1",
            Self::V1 => "v1",
        }
    }
}
