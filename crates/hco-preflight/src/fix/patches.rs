//! The changes of `fix` as JSON Patches and as commands, for objects in a cluster.

use std::path::Path;

use anyhow::{Context, Result, bail};
use json_patch::{Patch, PatchOperation, TestOperation};
use kube_objects::name::{is_dns1123_label, is_dns1123_subdomain};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::Fixed;
use crate::apply::LAST_APPLIED;
use crate::args::{self, FixFormat};
use crate::failure::Failure;
use crate::foreign::{self, one_line, shell_word};
use crate::kubectl::Kubectl;
use crate::remedy::json_patch_of;
use crate::stage::{Question, hyperconverged};

/// The destination of a patch.
pub(super) struct Destination<'c> {
    /// The context of the cluster; `None` without a cluster, and in a pod.
    pub(super) context: Option<&'c str>,
    /// Whether the user named a cluster, so that the patch applies to its objects.
    pub(super) is_cluster: bool,
    pub(super) from: Option<&'c Path>,
    pub(super) connection: &'c args::Connection,
    /// Builds commands for the cluster.
    pub(super) kubectl: Kubectl,
}

impl Destination<'_> {
    /// The live object after the change.
    fn wanted(&self, live: &Value, object: &Value) -> Value {
        let wanted = with_metadata_of(live, object);
        if self.is_cluster {
            wanted
        } else {
            // The live object lacks fields that `--from` does not read, for example labels. The patch must not change
            // them.
            hyperconverged(&wanted)
        }
    }

    /// A note about the objects that the patches apply to, and how the API server handles others.
    pub(super) fn note(&self, format: FixFormat) -> Option<String> {
        const REJECTED: &str = "`the server rejected our request due to an error in our request`";
        Some(match (self.from, format) {
            (Some(from), _) => format!(
                "the patches are for the objects in {}: an API server whose objects have changed since then rejects them ({REJECTED}); name the cluster with --context",
                from.display()
            ),
            (None, _) if self.is_cluster => format!(
                "if an object has changed since then, the API server rejects its patch ({REJECTED}): run this again"
            ),
            (None, FixFormat::Commands) => format!(
                "the commands are for the objects as the files have them: an API server whose objects have other values there rejects them ({REJECTED}); for the live objects, add --cluster"
            ),
            (None, FixFormat::JsonPatch) => return None,
        })
    }
}

/// The output of `-o json-patch` for an object.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Record<'l> {
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<&'l str>,
    file: Option<&'l str>,
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    api_version: Option<&'l str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<&'l str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'l str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<&'l Patch>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'l str>,
}

/// The patch of a fixed object: for the live object if there is a cluster, else for the object in the file. A command
/// always applies to a live object.
pub(super) fn patch(
    fixed: &Fixed<'_>,
    destination: &Destination<'_>,
    is_command: bool,
) -> Result<Patch> {
    let question = fixed.question;
    let base = question.live.as_ref();
    if question.place.is_some() && destination.is_cluster && base.is_none() {
        bail!(
            "the object is not in the cluster yet, so it cannot be patched there; use --write, or apply the file first"
        );
    }
    if fixed.made == 0 {
        // The file can contain other changes.
        return Ok(Patch(Vec::new()));
    }
    // An object of `--from` also comes from a cluster, where it can have changed in the meantime.
    let is_live = base.is_some() || question.place.is_none();
    let base = base.unwrap_or(question.object.value());
    let wanted = if is_live {
        destination.wanted(base, &fixed.sent)
    } else {
        with_metadata_of(base, &fixed.sent)
    };
    let patch = shortest(base, &wanted, &fixed.patch)?;
    Ok(if is_live || is_command {
        guarded(base, patch, is_live)
    } else {
        patch
    })
}

/// The other changes of a patch, which come from differences between the file and the live object; `None` if there are
/// none.
pub(super) fn others(fixed: &Fixed<'_>, destination: &Destination<'_>) -> Option<String> {
    const LISTED: usize = 5;

    let question = fixed.question;
    let live = question
        .live
        .as_ref()
        .filter(|_| question.place.is_some())?;
    let changes = json_patch::diff(live, &destination.wanted(live, question.sent())).0;
    let more = changes.len().saturating_sub(LISTED);
    let listed = changes.iter().take(LISTED).map(|it| match it {
        PatchOperation::Remove(it) => format!("removes {}", it.path),
        it => format!("sets {}", it.path()),
    });
    let mut listed: Vec<String> = listed.collect();
    if more > 0 {
        listed.push(format!("{more} more"));
    }
    (!listed.is_empty()).then(|| {
        format!(
            "the patch also makes the other changes of the file ({}); to fix only what is in the cluster, run this without -f",
            one_line(&listed.join(", "))
        )
    })
}

/// Says if a file manages the live object, because applying the file again reverts the patch.
pub(super) fn kept_elsewhere(question: &Question) -> Option<String> {
    const BY: [(&str, &str); 3] = [
        (
            "/metadata/annotations/argocd.argoproj.io~1tracking-id",
            "Argo CD",
        ),
        ("/metadata/labels/kustomize.toolkit.fluxcd.io~1name", "Flux"),
        (
            "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration",
            "`kubectl apply`",
        ),
    ];
    let live = question.live.as_ref().or_else(|| {
        let value = question.object.value();
        question.place.is_none().then_some(value)
    })?;
    let (_, by) = BY.iter().find(|(path, _)| live.pointer(path).is_some())?;
    Some(format!(
        "the object comes from {by}: make the change in its file as well, because what the file has comes back when it is applied again"
    ))
}

/// The object with the live metadata, because files don't define it. The API server sets most of it, and a file that
/// was exported from a cluster has old values. The namespace can come from `-n` instead of the file. The last applied
/// configuration is kept, because a snapshot does not have all of it.
fn with_metadata_of(live: &Value, object: &Value) -> Value {
    const OF_THE_SERVER: [&str; 7] = [
        "creationTimestamp",
        "generation",
        "managedFields",
        "namespace",
        "resourceVersion",
        "selfLink",
        "uid",
    ];
    let mut object = object.clone();
    let none = Map::new();
    let live = live.get("metadata").and_then(Value::as_object);
    let live = live.unwrap_or(&none);
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in OF_THE_SERVER {
            match live.get(field) {
                Some(value) => drop(metadata.insert(field.to_owned(), value.clone())),
                None => drop(metadata.remove(field)),
            }
        }
        let last = live.get("annotations").and_then(|it| it.get(LAST_APPLIED));
        if let Some(last) = last {
            let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
            if let Some(annotations) = annotations.as_object_mut() {
                annotations
                    .entry(LAST_APPLIED)
                    .or_insert_with(|| last.clone());
            }
        }
    }
    object
}

/// The operations of the fixes if they are sufficient, without repeated ones; else the difference.
fn shortest(base: &Value, wanted: &Value, remedies: &[engine::PatchOperation]) -> Result<Patch> {
    if base == wanted {
        // The live object already has the fields that the file lacks.
        return Ok(Patch(Vec::new()));
    }
    let mut once = Vec::new();
    for operation in remedies {
        if !once.contains(operation) {
            once.push(operation.clone());
        }
    }
    for operations in [once.as_slice(), remedies] {
        let patch = json_patch_of(operations)?;
        let mut patched = base.clone();
        if json_patch::patch(&mut patched, &patch).is_ok() && patched == *wanted {
            return Ok(patch);
        }
    }
    Ok(json_patch::diff(base, wanted))
}

/// Adds tests of the generation and of the replaced values before the patch, so that the API server rejects the patch
/// if the object has changed in the meantime. The UID is tested because the generation starts again when an object is
/// deleted and created again. The resource version is not tested, because it changes with each status that HCO writes.
///
/// An object of a file may lack fields of the live one. For an added field, the patch tests that the live object does
/// not have it, which the API server compares with null.
///
/// MIRRORS: evanphx/json-patch patch.go, `Patch.test`.
fn guarded(base: &Value, patch: Patch, is_live: bool) -> Patch {
    const GENERATION: &str = "/metadata/generation";
    /// The live object always has these fields, because HCO's CRD has defaults for them.
    const FILLED: [&str; 3] = ["/spec", "/spec/deployment", "/spec/featureGates"];

    if patch.0.is_empty() {
        return patch;
    }
    // A file from an older version of this command does not have a generation either.
    let is_of_file = !is_live || base.pointer(GENERATION).is_none();
    let is_filled = |operation: &PatchOperation| {
        let value = match operation {
            PatchOperation::Add(it) => &it.value,
            PatchOperation::Replace(it) => &it.value,
            _ => return false,
        };
        let path = operation.path();
        let has_none = base.pointer(path.as_str()).is_none_or(Value::is_null);
        is_of_file && has_none && *value == json!({}) && FILLED.contains(&path.as_str())
    };
    let mut empty: Vec<String> = Vec::new();
    let is_in_list = |object: &Value, path: &str| {
        let parent = path.rsplit_once('/').map(|(parent, _)| parent);
        parent.is_some_and(|parent| object.pointer(parent).is_some_and(Value::is_array))
    };
    let mut paths = vec!["/metadata/uid".to_owned(), GENERATION.to_owned()];
    let mut patched = base.clone();
    for operation in &patch.0 {
        let path = operation.path().to_string();
        // Without a generation, another template can be at this index by then.
        let ends = path.match_indices('/').map(|(end, _)| end);
        let parents = ends.filter_map(|end| path.get(..end));
        for item in parents.filter(|it| is_in_list(&patched, it)) {
            let name = format!("{item}/metadata/name");
            if is_of_file && base.pointer(&name) == patched.pointer(&name) && !paths.contains(&name)
            {
                paths.push(name);
            }
        }
        let is_replaced = matches!(
            operation,
            PatchOperation::Replace(_) | PatchOperation::Remove(_) | PatchOperation::Add(_)
        );
        // An earlier operation can have moved the value, and an addition to a list does not replace a value.
        let is_added = matches!(operation, PatchOperation::Add(_)) && is_in_list(&patched, &path);
        if is_replaced
            && !is_added
            && !is_filled(operation)
            && base.pointer(&path) == patched.pointer(&path)
            && !paths.contains(&path)
        {
            paths.push(path.clone());
        }
        if let PatchOperation::Add(it) = operation
            && let Some((parent, _)) = path.rsplit_once('/')
            && (is_of_file && !is_added && !is_filled(operation))
            // The CRD has defaults for booleans.
            && !it.value.is_boolean()
            && (FILLED.contains(&parent) || base.pointer(parent) == patched.pointer(parent))
            && base.pointer(&path).is_none()
        {
            empty.push(path);
        }
        // The patch was computed for this object, so applying it cannot fail.
        let _ = json_patch::patch(&mut patched, std::slice::from_ref(operation));
    }
    let tests = paths.iter().filter_map(|path| {
        let value = base.pointer(path)?.clone();
        let path = path.parse().ok()?;
        Some(PatchOperation::Test(TestOperation { path, value }))
    });
    let empty = empty.iter().filter_map(|path| {
        let (path, value) = (path.parse().ok()?, Value::Null);
        Some(PatchOperation::Test(TestOperation { path, value }))
    });
    let operations = patch.0.iter().filter(|it| !is_filled(it)).cloned();
    Patch(tests.chain(empty).chain(operations).collect())
}

/// A patch as a line of JSON.
pub(super) fn line(
    question: &Question,
    destination: &Destination<'_>,
    result: Result<&Patch, &str>,
) -> Result<String> {
    let identity = &question.identity;
    json_line(&Record {
        context: destination.context,
        file: question.place.as_ref().map(|place| place.file.as_str()),
        line: question.place.as_ref().map(|place| place.line),
        api_version: Some(&identity.api_version),
        namespace: namespace(question),
        name: identity.name.as_deref(),
        patch: result.ok(),
        error: result.err(),
    })
}

/// The error for a file that could not be read, as a line of JSON.
pub(super) fn failed(failure: &Failure) -> Result<String> {
    json_line(&Record {
        file: failure.file.as_deref(),
        line: failure.line,
        error: Some(&failure.what),
        ..Record::default()
    })
}

fn json_line(line: &Record<'_>) -> Result<String> {
    Ok(foreign::json(&serde_json::to_string(line)?) + "\n")
}

/// The namespace of the live object; without one, the namespace in the file.
fn namespace(question: &Question) -> Option<&str> {
    let live = question.live.as_ref();
    let live = live.and_then(|live| live.pointer("/metadata/namespace")?.as_str());
    live.or(question.identity.namespace.as_deref())
}

/// The command that makes the changes in the cluster.
pub(super) fn command(
    question: &Question,
    destination: &Destination<'_>,
    patch: &Patch,
) -> Result<String> {
    let identity = &question.identity;
    let name = identity.name.as_deref();
    let name = name.context("the object has no name, so there is no command for it")?;
    let version = identity.api_version.rsplit('/').next().unwrap_or_default();
    let resource = format!("hyperconvergeds.{version}.hco.kubevirt.io");
    let resource = shell_word(&one_line(&resource));
    let connection = destination.connection;
    let namespace = namespace(question).or(connection.namespace.as_deref());
    // kubectl would read a name such as `--server=URL` as a flag.
    if !is_dns1123_subdomain(name) {
        bail!("the name is not a valid object name, so there is no command for it");
    }
    if namespace.is_some_and(|it| !is_dns1123_label(it)) {
        bail!("the namespace is not a valid object name, so there is no command for it");
    }
    let namespace = namespace.map_or(String::new(), |it| format!("-n {it} "));
    let flags = destination.kubectl.flags();
    let patch = shell_word(&foreign::json(&serde_json::to_string(patch)?));
    Ok(format!(
        "kubectl patch {resource} {name} {namespace}{flags}--type json -p {patch}\n"
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn operations(patch: &Patch) -> Value {
        serde_json::to_value(patch).unwrap()
    }

    #[test]
    fn the_values_that_are_replaced_are_tested() {
        let metadata = json!({"uid": "8c2f", "generation": 3});
        let base = json!({"metadata": metadata, "spec": {"a": 1, "list": [1, 2, 3]}});
        let patch = json!([
            {"op": "replace", "path": "/spec/a", "value": 2},
            {"op": "remove", "path": "/spec/list/0"},
            {"op": "replace", "path": "/spec/list/0", "value": 4},
            {"op": "add", "path": "/spec/list/0", "value": 5},
            {"op": "add", "path": "/spec/b", "value": 6},
        ]);
        let guarded = guarded(&base, serde_json::from_value(patch.clone()).unwrap(), true);
        let operations = operations(&guarded);
        let (tests, rest) = operations.as_array().unwrap().split_at(4);
        assert_eq!(rest, patch.as_array().unwrap());
        assert_eq!(
            Value::from(tests),
            json!([
                {"op": "test", "path": "/metadata/uid", "value": "8c2f"},
                {"op": "test", "path": "/metadata/generation", "value": 3},
                {"op": "test", "path": "/spec/a", "value": 1},
                {"op": "test", "path": "/spec/list/0", "value": 1},
            ])
        );
    }

    /// A snapshot from an older version of this command has no generation.
    #[test]
    fn without_a_generation_the_item_of_a_list_is_tested() {
        let base = json!({"spec": {"list": [{"metadata": {"name": "n"}}]}});
        let path = "/spec/list/0/metadata/annotations";
        let patch = json!([{"op": "add", "path": path, "value": {}}]);
        let guarded = guarded(&base, serde_json::from_value(patch.clone()).unwrap(), true);
        let test = json!({"op": "test", "path": "/spec/list/0/metadata/name", "value": "n"});
        let empty = json!({"op": "test", "path": path, "value": null});
        assert_eq!(operations(&guarded), json!([test, empty, patch[0]]));
    }

    /// The live object can have a field that the file lacks, and an addition would replace it.
    #[test]
    fn what_a_file_lacks_is_added_only_where_nothing_is() {
        let base = json!({"metadata": {"generation": 1}, "spec": {"featureGates": null}});
        let add = |path: &str, value: Value| json!({"op": "add", "path": path, "value": value});
        let gate = add("/spec/featureGates/gate", json!(true));
        let inside = add("/spec/workloads/nodePlacement", json!({}));
        let patch = json!([
            {"op": "replace", "path": "/spec/featureGates", "value": {}},
            gate,
            add("/spec/deployment", json!({})),
            add("/spec/deployment/nodePlacements", json!({})),
            add("/spec/workloads", json!({})),
            inside,
            add("/spec/text", json!("x")),
        ]);
        let guarded = guarded(&base, serde_json::from_value(patch.clone()).unwrap(), false);
        let empty = |path: &str| json!({"op": "test", "path": path, "value": null});
        assert_eq!(
            operations(&guarded),
            json!([
                {"op": "test", "path": "/metadata/generation", "value": 1},
                empty("/spec/deployment/nodePlacements"),
                empty("/spec/workloads"),
                empty("/spec/text"),
                patch[1],
                patch[3],
                patch[4],
                patch[5],
                patch[6],
            ])
        );
    }
}
