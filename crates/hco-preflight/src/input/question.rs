//! An object that the module evaluates.

use std::fmt;
use std::path::Path;

use anyhow::{Result, ensure};
use cluster::foreign::{self, one_line};
use cluster::{Identity, Notes, World, field};
use engine::PatchOperation;
use serde_json::{Value, json};

use crate::args::{AsIf, ClusterSource};
use crate::failure::{Failure, Place};
use crate::input::apply::{self, json_patch_of};
use crate::input::files::Found;
use crate::report::Finding;

#[derive(Debug, Clone)]
pub(crate) struct Question {
    /// The object in its file; `None` for an object in the cluster.
    pub(crate) found: Option<Found>,
    pub(crate) identity: Identity,
    pub(crate) sent: Value,
    pub(crate) against: Against,
}

#[derive(Debug, Clone)]
pub(crate) enum Against {
    Nothing,
    /// The object of `--old`, and the file.
    File(Value, String),
    /// The live object, which a fix of the file changes in this way.
    Live(Value, AsIf),
}

impl fmt::Display for Against {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("checked as a new object"),
            Self::File(_, file) => write!(f, "checked as an update of {}", one_line(file)),
            Self::Live(..) => f.write_str("checked as an update of the live object"),
        }
    }
}

impl Question {
    /// An object of a file, as an update of the object of `--old`, or else of the live object.
    pub(super) fn of_file(
        found: Found,
        as_if: Option<AsIf>,
        source: &ClusterSource,
        old: Option<&(&Path, Vec<Found>)>,
        world: Option<&World>,
        notes: &mut Notes,
    ) -> Result<Self> {
        let (identity, object, place) = (&found.identity, &found.object.value, found.place());
        let namespace = source.connection.namespace.as_deref();
        if let (Some(wanted), Some(own)) = (namespace, &identity.namespace) {
            let what = format!("is in the namespace `{own}`, but -n is `{wanted}`: remove -n");
            ensure!(wanted == own, one_line(&what));
        }
        let default = default_namespace(source, world);
        let (against, missing) = match (old, world) {
            (Some((path, old)), _) => {
                let missing = format!("{} has no object with this name", foreign::path(path));
                (of_old(identity, path, old)?, Some(missing))
            }
            (None, Some(world)) => {
                let live = world.object(identity, namespace)?;
                let is_read = world.has_kind_of(identity);
                let missing = is_read.then(|| not_in(world, identity, default));
                let as_if = as_if.unwrap_or_default();
                let against = live.map_or(Against::Nothing, |live| Against::Live(live, as_if));
                (against, missing)
            }
            (None, None) => (Against::Nothing, None),
        };
        if let (Against::Nothing, Some(missing)) = (&against, missing) {
            notes.push(&format!("{place}: checked as a new object: {missing}"));
        }
        let mut sent = match &against {
            Against::Live(live, as_if) => apply::sent(*as_if, live, object),
            Against::Nothing | Against::File(..) => apply::submitted(object),
        };
        if identity.is_virtual_machine() {
            set_namespace(&mut sent, default);
        }
        Ok(Self {
            identity: identity.clone(),
            found: Some(found),
            sent,
            against,
        })
    }

    pub(super) fn unchanged(live: Value) -> Self {
        Self {
            against: Against::Live(live.clone(), AsIf::default()),
            ..Self::live(live)
        }
    }

    /// A live object, as if it were new.
    pub(super) fn live(object: Value) -> Self {
        Self {
            found: None,
            identity: Identity::of(&object),
            sent: object,
            against: Against::Nothing,
        }
    }

    /// The object as it is in its file.
    pub(crate) fn value(&self) -> &Value {
        let found = self.found.as_ref();
        found.map_or(&self.sent, |found| &found.object.value)
    }

    pub(crate) fn old(&self) -> Option<&Value> {
        match &self.against {
            Against::Nothing => None,
            Against::File(old, _) | Against::Live(old, _) => Some(old),
        }
    }

    pub(crate) fn place(&self) -> Option<Place> {
        self.found.as_ref().map(Found::place)
    }

    /// Both after a patch of what is sent; `None` if the patch is impossible in the file, which lacks values of the live object.
    pub(crate) fn after(
        &self,
        [value, sent]: [&Value; 2],
        operations: &[PatchOperation],
    ) -> Option<[Value; 2]> {
        let patch = json_patch_of(operations).ok()?;
        let (mut value, mut sent) = (value.clone(), sent.clone());
        json_patch::patch(&mut sent, &patch).ok()?;
        let Against::Live(live, as_if) = &self.against else {
            // The file keeps the fields that are not sent, such as the status.
            json_patch::patch(&mut value, &patch).ok()?;
            return Some([value, sent]);
        };
        for operation in operations {
            value = apply::edited(&value, operation)?;
        }
        (apply::sent(*as_if, live, &value) == sent).then_some([value, sent])
    }

    pub(crate) fn can_fix(&self, finding: &Finding) -> bool {
        let object = [self.value(), &self.sent];
        let fix = finding.complete_fix();
        fix.is_some_and(|fix| self.after(object, &fix.patch).is_some())
    }

    pub(crate) fn failure(&self, what: String) -> Failure {
        Failure::new(self.place(), what)
    }

    pub(super) fn objects(&self) -> impl Iterator<Item = &Value> {
        std::iter::once(&self.sent).chain(self.old())
    }

    /// The settings, and the admission request that the API server would send.
    pub(super) fn payload(&self, object: &Value, old: Option<&Value>, settings: &Value) -> Vec<u8> {
        let (api_version, kind) = (&self.identity.api_version, &self.identity.kind);
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        // kwctl rejects a request without these fields.
        let request = json!({
            "uid": "00000000-0000-0000-0000-000000000000",
            "kind": {"group": group, "version": version, "kind": kind},
            "resource": {"group": group, "version": version, "resource": self.identity.resource()},
            "operation": if old.is_some() { "UPDATE" } else { "CREATE" },
            "name": self.identity.name.as_deref().unwrap_or_default(),
            "namespace": self.identity.namespace.as_deref().unwrap_or_default(),
            "userInfo": {"username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"]},
            "object": object,
            "oldObject": old,
            "dryRun": false,
        });
        json!({"request": request, "settings": settings})
            .to_string()
            .into_bytes()
    }
}

pub(super) fn default_namespace<'s>(
    source: &'s ClusterSource,
    world: Option<&'s World>,
) -> &'s str {
    let named = source.connection.namespace.as_deref();
    named.unwrap_or(world.map_or("default", World::namespace))
}

/// Sets the namespace of the creation, because the DataSources of a VirtualMachine are also read there.
pub(super) fn set_namespace(object: &mut Value, default: &str) {
    if field::namespace(object).is_empty()
        && !default.is_empty()
        && let Some(Value::Object(metadata)) = object.get_mut("metadata")
    {
        metadata.insert("namespace".to_owned(), default.into());
    }
}

/// Why an object is evaluated as a new one although there is a cluster.
fn not_in(world: &World, identity: &Identity, default_namespace: &str) -> String {
    let namespace = identity.namespace.as_deref().unwrap_or(default_namespace);
    let name = identity.name.as_deref().unwrap_or("(without a name)");
    let (cluster, kind) = (world.name(), &identity.kind);
    let hint = match world.hyperconvergeds.first() {
        Some(stored) if identity.is_hyperconverged() => format!(
            "; it has {}, and HCO accepts only one: correct the name or the namespace",
            field::key(stored)
        ),
        _ => String::new(),
    };
    format!("{cluster} has no {kind} {namespace}/{name} yet{hint}")
}

fn of_old(identity: &Identity, path: &Path, old: &[Found]) -> Result<Against> {
    let Some(old) = old.iter().find(|old| old.identity.is_same_object(identity)) else {
        return Ok(Against::Nothing);
    };
    let (new, was) = (&identity.api_version, &old.identity.api_version);
    let version = new.rsplit('/').next().unwrap_or_default();
    ensure!(
        new == was,
        "is {new}, but {} is {was}: only objects of the same version can be compared; get the old object with `kubectl get hyperconvergeds.{version}.hco.kubevirt.io -o yaml`",
        foreign::path(path)
    );
    let file = path.display().to_string();
    Ok(Against::File(old.object.value.clone(), file))
}
