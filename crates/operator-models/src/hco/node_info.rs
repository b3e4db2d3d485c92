//! The architectures in the status of a HyperConverged, which HCO reads from the nodes.

use kube_objects::json::{Json, Object, Reading, WrongType};
use kube_objects::sorted::Set;

/// The workload architectures in a list of HyperConverged; `None` unless there is one object, and it names some.
///
/// MIRRORS: hyperconverged-cluster-operator api/v1beta1, `NodeInfoStatus`.
///
/// # Errors
///
/// A field of the list or of an object has the wrong type.
pub fn workload_architectures(list: Json<'_>) -> Result<Option<Set<String>>, WrongType<'_>> {
    let mut reading = Reading::default();
    let items = reading.objects(&Object::root(list).field("items"));
    let names = match items.as_slice() {
        [only] => {
            let info = only.object("status").object("nodeInfo");
            reading.take(info.field("workloadsArchitectures").strings())
        }
        _ => None,
    };
    let names = names.into_iter().flatten();
    let names: Set<String> = names.filter(|name| !name.is_empty()).collect();
    reading.finish(Some(names).filter(|names| !names.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Vec<String>> {
        let names = workload_architectures(Json::parse(text.as_bytes()).unwrap()).unwrap();
        names.map(|names| names.iter().cloned().collect())
    }

    #[test]
    fn the_architectures_of_one_object_count() {
        let one = r#"{"status":{"nodeInfo":{"workloadsArchitectures":["arm64","","amd64"]}}}"#;
        let wanted = Some(vec!["amd64".to_owned(), "arm64".to_owned()]);
        assert_eq!(read(&format!(r#"{{"items":[{one}]}}"#)), wanted);
        assert_eq!(read(&format!(r#"{{"items":[{one},{one}]}}"#)), None);
        assert_eq!(read(r#"{"items":[{"status":{}}]}"#), None);
        assert_eq!(read(r#"{"items":[]}"#), None);
    }
}
