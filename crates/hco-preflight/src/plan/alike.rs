//! Caches answers for nodes that differ only in their names, because each answer takes a report of the module.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::Value;

use crate::stage::Compared;

/// The cached answers about nodes.
pub(crate) struct Alike<T> {
    /// `None` if a placement distinguishes such nodes.
    known: Option<BTreeMap<String, T>>,
}

impl<T: Copy> Alike<T> {
    pub(crate) fn of(compared: &Compared<'_>) -> Self {
        let known = (!compared.names_hosts()).then(BTreeMap::new);
        Self { known }
    }

    /// The answer about these nodes, or about others that differ only in their names.
    pub(crate) fn get(&mut self, nodes: &[&Value], ask: impl FnOnce() -> Result<T>) -> Result<T> {
        let Some(known) = &mut self.known else {
            return ask();
        };
        let kind: String = nodes.iter().map(|node| nameless(node)).collect();
        if let Some(known) = known.get(&kind) {
            return Ok(*known);
        }
        let answer = ask()?;
        known.insert(kind, answer);
        Ok(answer)
    }
}

/// The fields of a node that a placement compares, without its names.
fn nameless(node: &Value) -> String {
    let mut node = node.clone();
    if let Some(node) = node.as_object_mut() {
        node.remove("spec");
    }
    if let Some(status) = node.get_mut("status").and_then(Value::as_object_mut) {
        status.remove("allocatable");
    }
    if let Some(metadata) = node.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("name");
        let labels = metadata.get_mut("labels").and_then(Value::as_object_mut);
        labels.and_then(|labels| labels.remove("kubernetes.io/hostname"));
    }
    node.to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nodes_with_the_same_labels_are_asked_about_once() {
        let node = |name: &str, zone: &str| {
            let labels = json!({"kubernetes.io/hostname": name, "zone": zone});
            json!({"metadata": {"name": name, "labels": labels}})
        };
        let nodes = [node("a", "1"), node("b", "1"), node("c", "2")];
        for (known, wanted) in [(Some(BTreeMap::new()), 2), (None, 3)] {
            let mut alike = Alike { known };
            let mut asked = 0;
            for node in &nodes {
                let answer = alike.get(&[node], || {
                    asked += 1;
                    Ok(node["metadata"]["labels"]["zone"] == "1")
                });
                assert_eq!(answer.unwrap(), node["metadata"]["labels"]["zone"] == "1");
            }
            assert_eq!(asked, wanted);
        }
    }
}
