//! The jsonpatch annotations, which HCO applies to the resources of other operators.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::hco::import::Import;
use kube_objects::json::{Json, Kind, Object};
use kube_objects::text::folds_to;

use crate::hco::template::{ARCHITECTURES, DEFAULT_PREFERENCE, DEFAULT_PREFERENCE_KIND};

/// The fields of SSP that HCO sets from the templates and the nodes.
pub const IN_SSP: [&str; 3] = [SSP_IMPORT, SSP_CLUSTER, SSP_TEMPLATES];

pub const SSP_TEMPLATES: &str = "/spec/commonTemplates/dataImportCronTemplates";
const SSP_IMPORT: &str = "/spec/enableMultipleArchitectures";
const SSP_CLUSTER: &str = "/spec/cluster";
/// The keys of a template's labels and annotations that a forecast or a rule reads.
const READ_KEYS: [&str; 4] = [
    ARCHITECTURES,
    "template.kubevirt.io/architecture",
    DEFAULT_PREFERENCE,
    DEFAULT_PREFERENCE_KIND,
];

#[derive(Debug, PartialEq, Eq)]
pub struct SspPatch {
    /// The multi-architecture import, if the patch sets it to a literal value.
    pub import: Option<bool>,
    /// The templates that the patch changes in another way; `None` if it can change all.
    pub uncertain: Option<BTreeSet<String>>,
}

impl SspPatch {
    /// Whether SSP creates boot sources for each architecture, if HCO resolves the import to this one.
    pub fn enables_import(&self, import: Import) -> bool {
        self.import.unwrap_or(import == Import::Enabled)
    }

    /// Reads a patch. `templates` are the names of the templates in SSP's order.
    pub fn new<'a>(patch: Option<&'a str>, templates: impl Iterator<Item = &'a str>) -> Self {
        let mut names: Vec<Cow<'a, str>> = templates.map(Cow::Borrowed).collect();
        let operations = patch.map_or(Some(Vec::new()), operations);
        let mut import = None;
        let mut uncertain = operations.as_ref().map(|_| BTreeSet::new());
        // Templates from this position on were moved.
        let mut first_moved = usize::MAX;
        for operation in operations.into_iter().flatten() {
            let changed = if operation.changes(SSP_IMPORT) {
                import = operation.sets_import();
                import.map(|_| Vec::new())
            } else {
                operation.changed(&mut names, &mut first_moved)
            };
            uncertain = uncertain.zip(changed).map(|(mut names, changed)| {
                names.extend(changed);
                names
            });
        }
        if let Some(uncertain) = &mut uncertain {
            uncertain.extend(names.into_iter().skip(first_moved).map(Cow::into_owned));
        }
        Self { import, uncertain }
    }
}

/// Whether a forecast or a rule reads a field below a template.
fn is_read(path: &[&str]) -> bool {
    match path {
        ["metadata", "labels" | "annotations", key, ..] => {
            READ_KEYS.contains(&&*key.replace("~1", "/").replace("~0", "~"))
        }
        _ => true,
    }
}

/// Whether a patch changes one of these fields, or cannot be applied at all.
pub fn overrides(patch: Option<&str>, fields: &[&str]) -> bool {
    let is_one = |operation: &AnnotationOperation<'_>| operation.overrides(fields);
    patch.is_some_and(|patch| operations(patch).is_none_or(|all| all.iter().any(is_one)))
}

/// Whether a patch of KubeVirt switches its gate on with which virt-api accepts VMs of every architecture. HCO applies the
/// patch after it has set the gates.
///
/// MIRRORS: hyperconverged-cluster-operator v1.17.3 controllers/handlers/kubevirt.go, `NewKubeVirt`.
pub fn enables_multi_architecture(patch: Option<&str>) -> bool {
    const GATES: &str = "/spec/configuration/developerConfiguration/featureGates";
    let operations = patch.and_then(operations).unwrap_or_default();
    operations
        .iter()
        .filter(|operation| operation.changes(GATES))
        .any(|operation| {
            let adds = matches!(operation.op.as_deref(), Some("add" | "replace"));
            let value = operation.value.map_or("", |value| value.text());
            adds && value.contains("\"MultiArchitecture\"")
        })
}

pub struct AnnotationOperation<'a> {
    pub text: &'a str,
    op: Option<Cow<'a, str>>,
    pub path: Option<Cow<'a, str>>,
    from: Option<Cow<'a, str>>,
    value: Option<Json<'a>>,
}

/// The operations of a patch; `None` if it is not a patch.
pub fn operations(patch: &str) -> Option<Vec<AnnotationOperation<'_>>> {
    let patch = Json::parse(patch.as_bytes()).ok()?;
    if patch.kind() == Kind::Null {
        return Some(Vec::new());
    }
    let items = patch.items()?;
    let mut operations = Vec::with_capacity(items.len());
    for item in items {
        let members = match item.kind() {
            Kind::Null => Vec::new(),
            _ => item.members()?,
        };
        let member = |key| Some(members.iter().rev().find(|(name, _)| name == key)?.1);
        operations.push(AnnotationOperation {
            text: item.text(),
            op: member("op").and_then(Json::string),
            path: member("path").and_then(Json::string),
            from: member("from").and_then(Json::string),
            value: member("value"),
        });
    }
    Some(operations)
}

impl<'a> AnnotationOperation<'a> {
    /// Whether it changes one of these fields, or cannot be applied at all.
    pub fn overrides(&self, fields: &[&str]) -> bool {
        !self.is_applicable() || self.touched(fields).is_some()
    }

    /// Whether its form is valid and its path is below /spec/. HCO rejects a patch with any other operation.
    ///
    /// MIRRORS: hyperconverged-cluster-operator controllers/operands/operand.go, applyAnnotationPatch; evanphx/json-patch
    /// v5.9.11 patch.go, validateOperation.
    pub fn is_applicable(&self) -> bool {
        self.is_operation() && self.is_in_spec()
    }

    pub fn is_in_spec(&self) -> bool {
        let path = self.path.as_deref();
        path.is_some_and(|path| path.starts_with("/spec/"))
    }

    fn is_operation(&self) -> bool {
        match self.op.as_deref() {
            Some("add" | "replace") => self.value.is_some(),
            Some("move" | "copy") => self.from.is_some(),
            Some("remove" | "test") => true,
            _ => false,
        }
    }

    /// The pointer to one of these fields, to a parent, or to a child, if the operation changes anything.
    pub fn touched(&self, fields: &[&str]) -> Option<&str> {
        if self.op.as_deref() == Some("test") {
            return None;
        }
        let is_one = |pointer: &&str| fields.iter().any(|field| are_related(pointer, field));
        let pointers = [self.path.as_deref(), self.from.as_deref()];
        pointers.into_iter().flatten().find(is_one)
    }

    /// The pointers to the values that it changes.
    ///
    /// MIRRORS: hyperconverged-cluster-operator controllers/operands/operand.go, applyAnnotationPatch, which decodes the
    /// patched JSON into the object that it patched: a field or a key that is removed keeps its value. The items after a
    /// new or removed one are decoded into other items.
    fn changed_pointers(&self) -> impl Iterator<Item = &str> {
        let is_item = |pointer: &&str| {
            let last = pointer.rsplit('/').next();
            last.is_some_and(|last| last.parse::<i64>().is_ok())
        };
        let (path, from) = (self.path.as_deref(), self.from.as_deref());
        let pointers = match self.op.as_deref() {
            Some("test") => [None, None],
            Some("remove") => [path.filter(is_item), None],
            Some("move") => [path, from.filter(is_item)],
            _ => [path, None],
        };
        pointers.into_iter().flatten()
    }

    /// Whether it changes a field, a parent, or a child.
    fn changes(&self, field: &str) -> bool {
        self.changed_pointers()
            .any(|pointer| are_related(pointer, field))
    }

    /// The import that it sets; `None` if it does something else with this field, or with a parent.
    fn sets_import(&self) -> Option<bool> {
        let is_field = self.path.as_deref()?.split('/').count() == 3;
        let is_set = matches!(self.op.as_deref(), Some("add" | "replace"));
        match self.value.filter(|_| is_field && is_set)?.text() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// The names of the templates that it changes; `None` if it could change any. Keeps `names`, the templates in SSP's
    /// order, and the position of the first one that is moved up to date.
    fn changed(
        &self,
        names: &mut Vec<Cow<'a, str>>,
        first_moved: &mut usize,
    ) -> Option<Vec<String>> {
        if !self.is_applicable() || self.changes(SSP_CLUSTER) {
            return None;
        }
        let mut changed = Vec::new();
        let pointers = self.changed_pointers();
        for pointer in pointers.filter(|pointer| are_related(pointer, SSP_TEMPLATES)) {
            let below: Vec<&str> = pointer.split('/').skip(4).collect();
            let (position, path) = below.split_first()?;
            let index: Option<usize> = position.parse().ok();
            if !path.is_empty() {
                if is_read(path) {
                    changed.push(names.get(index?)?.to_string());
                }
                continue;
            }
            match self.op.as_deref()? {
                "remove" if index? < names.len() => {
                    changed.push(names.remove(index?).into_owned());
                    *first_moved = index?.min(*first_moved);
                }
                "replace" => {
                    let replaced = names.get_mut(index?)?;
                    changed.push(replaced.to_string());
                    *replaced = self.name_in_value()?;
                    changed.push(replaced.to_string());
                }
                "add" if *position == "-" || index? <= names.len() => {
                    let name = self.name_in_value()?;
                    let position = index.unwrap_or(names.len());
                    names.insert(position, name);
                    *first_moved = position.min(*first_moved);
                }
                _ => return None,
            }
        }
        Some(changed)
    }

    fn name_in_value(&self) -> Option<Cow<'a, str>> {
        let metadata = Object::root(self.value?).object("metadata");
        metadata.field("name").string().ok()?.map(Cow::Owned)
    }
}

/// Whether two JSON pointers are equal, or one is a parent of the other. Go decides which segments are equal.
fn are_related(pointer: &str, field: &str) -> bool {
    // HCO's patch library ignores everything before the first slash. No segment of the fields needs an escape.
    let mut segments = pointer.split('/').skip(1);
    field
        .split('/')
        .skip(1)
        .all(|key| segments.next().is_none_or(|segment| folds_to(segment, key)))
}
