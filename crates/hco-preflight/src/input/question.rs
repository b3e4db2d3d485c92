//! An object that the module evaluates.

use cluster::Identity;
use engine::PatchOperation;
use serde_json::{Value, json};

use crate::args::AsIf;
use crate::failure::{Failure, Place};
use crate::input::apply::{self, json_patch_of};
use crate::input::files::Found;
use crate::report::Finding;
use crate::verdict::Against;

/// An object, its old version, and how it is sent to the cluster.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    /// `None` for an object in the cluster.
    pub(crate) place: Option<Place>,
    pub(crate) identity: Identity,
    /// The object with which it is compared.
    pub(crate) against: Against,
    /// The object, with its file if it is in one.
    pub(crate) object: Written,
    /// The object as the API server gets it, if that differs.
    pub(crate) sent: Option<Value>,
    pub(crate) old: Option<Value>,
    /// The live object that a fix of the file changes.
    pub(crate) live: Option<Value>,
    pub(crate) as_if: AsIf,
}

#[derive(Debug, Clone)]
pub(crate) enum Written {
    InFile(Found),
    InCluster(Value),
}

impl Written {
    pub(crate) fn value(&self) -> &Value {
        match self {
            Self::InFile(written) => &written.object.value,
            Self::InCluster(object) => object,
        }
    }

    pub(crate) fn written(&self) -> Option<&Found> {
        match self {
            Self::InFile(written) => Some(written),
            Self::InCluster(_) => None,
        }
    }
}

impl Question {
    /// A live object, as if it were new.
    pub(super) fn live(object: Value) -> Self {
        Self {
            place: None,
            identity: Identity::of(&object),
            against: Against::Nothing,
            object: Written::InCluster(object),
            sent: None,
            old: None,
            live: None,
            as_if: AsIf::default(),
        }
    }

    /// Its value and what is sent of it, after a patch of what is sent; `None` if the patch cannot be made in the file, because
    /// only the live object has the value.
    pub(crate) fn after(
        &self,
        [value, sent]: [&Value; 2],
        operations: &[PatchOperation],
    ) -> Option<[Value; 2]> {
        let patch = json_patch_of(operations).ok()?;
        let (mut value, mut sent) = (value.clone(), sent.clone());
        json_patch::patch(&mut sent, &patch).ok()?;
        let Some(live) = &self.live else {
            // The file keeps the fields that are not sent, such as the status.
            json_patch::patch(&mut value, &patch).ok()?;
            return Some([value, sent]);
        };
        for operation in operations {
            value = apply::edited(&value, operation)?;
        }
        (apply::sent(self.as_if, live, &value) == sent).then_some([value, sent])
    }

    /// Whether `fix` makes the recommended fix of a finding.
    pub(crate) fn can_fix(&self, finding: &Finding) -> bool {
        let object = [self.object.value(), self.sent()];
        let fix = finding.complete_fix();
        fix.is_some_and(|fix| self.after(object, &fix.patch).is_some())
    }

    pub(crate) fn failure(&self, what: String) -> Failure {
        Failure {
            file: self.place.as_ref().map(|place| place.file.clone()),
            line: self.place.as_ref().map(|place| place.line),
            what,
        }
    }

    pub(super) fn objects(&self) -> impl Iterator<Item = &Value> {
        std::iter::once(self.sent()).chain(&self.old)
    }

    /// The object as the API server gets it.
    pub(crate) fn sent(&self) -> &Value {
        self.sent.as_ref().unwrap_or(self.object.value())
    }

    /// The payload of the engine and of the module for a version of the object: the admission request that the API server
    /// would send. It is an update if there is an old object, and else a creation.
    pub(super) fn payload(&self, object: &Value, old: Option<&Value>, settings: &Value) -> Vec<u8> {
        let Identity {
            api_version, kind, ..
        } = &self.identity;
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

    /// The object for the check of VirtualMachines. If it is not in the cluster, it has the status of the file.
    pub(super) fn stored(&self) -> &Value {
        match (&self.old, &self.live) {
            (None, None) => self.object.value(),
            _ => self.sent(),
        }
    }
}
