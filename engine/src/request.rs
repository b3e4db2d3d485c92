//! The admission request, as the host sends it.

use crate::json::{Field, WrongType};

/// The API group of HyperConverged.
const GROUP: &str = "hco.kubevirt.io";
/// The kind that the policy judges.
const KIND: &str = "HyperConverged";

/// What the user asks the API server to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    /// DELETE and CONNECT: there is no object to judge.
    Other,
}

/// A version of HyperConverged that the policy knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    V1beta1,
    V1,
}

/// The kind that the request names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// No kind. No API server sends this.
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
    pub(crate) sub_resource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) object: Field<'a>,
    pub(crate) old_object: Field<'a>,
}

impl<'a> Request<'a> {
    pub(crate) fn read(field: &Field<'a>) -> Result<Self, WrongType<'a>> {
        let request = field.object();
        let text = |key| Ok::<_, WrongType<'a>>(request.field(key).string()?.unwrap_or_default());
        // The host's own type uses camel case, the SDK's type snake case.
        let sub_resource = match text("subResource")? {
            camel if camel.is_empty() => text("sub_resource")?,
            camel => camel,
        };
        Ok(Self {
            operation: match text("operation")?.as_str() {
                "DELETE" | "CONNECT" => Operation::Other,
                "UPDATE" => Operation::Update,
                // An unknown operation is judged like a CREATE.
                _ => Operation::Create,
            },
            // The audit scanner writes the kind into the resource field, so only the kind is used.
            kind: Kind::read(&request.field("kind"))?,
            sub_resource,
            namespace: text("namespace")?,
            name: text("name")?,
            object: request.field("object"),
            old_object: request.field("oldObject"),
        })
    }
}

impl Kind {
    fn read<'a>(field: &Field<'a>) -> Result<Self, WrongType<'a>> {
        if !field.is_present() {
            return Ok(Self::Missing);
        }
        let kind = field.object();
        let text = |key| Ok::<_, WrongType<'a>>(kind.field(key).string()?.unwrap_or_default());
        if text("group")? == GROUP && text("kind")? == KIND {
            let version = text("version")?;
            Ok(Self::HyperConverged { version })
        } else {
            Ok(Self::Other)
        }
    }
}

impl Version {
    /// The version of an object, from its `apiVersion` and the request's kind.
    ///
    /// The API server makes both equal; offline, one of them may be missing. An unknown version is
    /// rejected, regardless of which of them names it.
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
