//! The admission request, as the host sends it.

use crate::json::{Field, WrongType};

#[derive(Debug)]
pub struct Request<'a> {
    /// For example `UPDATE`.
    pub operation: String,
    /// For example `hco.kubevirt.io`; empty for the core group.
    pub group: String,
    pub version: String,
    /// Empty if the request names no kind. No API server sends this.
    pub kind: String,
    /// For example `status`; empty for the object itself.
    pub sub_resource: String,
    pub namespace: String,
    pub name: String,
    pub object: Field<'a>,
    pub old_object: Field<'a>,
}

impl<'a> Request<'a> {
    pub fn read(field: &Field<'a>) -> Result<Self, WrongType<'a>> {
        let request = field.object();
        // The host's own type uses camel case, the SDK's type snake case.
        let mut sub_resource = request.text("subResource")?;
        if sub_resource.is_empty() {
            sub_resource = request.text("sub_resource")?;
        }
        // The audit scanner writes the kind into the resource field, so only the kind is used.
        let kind = request.object("kind");
        Ok(Self {
            operation: request.text("operation")?,
            group: kind.text("group")?,
            version: kind.text("version")?,
            kind: kind.text("kind")?,
            sub_resource,
            namespace: request.text("namespace")?,
            name: request.text("name")?,
            object: request.field("object"),
            old_object: request.field("oldObject"),
        })
    }
}
