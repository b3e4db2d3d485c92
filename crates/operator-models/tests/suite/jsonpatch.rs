//! The jsonpatch annotation for SSP: the import that it sets, and the templates for which the forecast does not hold.

use operator_models::hco::jsonpatch::SspPatch;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn effect(operations: &str) -> String {
    let patch = SspPatch::new(Some(operations), ["a", "b", "c"].into_iter());
    let import = patch.import.map_or_else(String::new, |on| on.to_string());
    let uncertain = match patch.uncertain {
        None => "all".to_owned(),
        Some(names) => names.into_iter().collect::<Vec<_>>().join(" "),
    };
    format!("{import}:{uncertain}")
}

/// `@` stands for the path of the templates.
#[test]
fn an_operation_makes_only_the_templates_uncertain_that_it_names() {
    const TABLE: &str = r#"replace /enableMultipleArchitectures true | true:
replace /EnableMultipleArchitectures false | false:
remove /enableMultipleArchitectures | :
add /enableMultipleArchitectures 1 | :all
add /templateValidator/replicas 3 | :
replace /cluster/workloadArchitectures [] | :all
replace /commonTemplates {} | :all
test /cluster 1 | :
remove /cluster | :
add @/1/metadata/labels/team "x" | :
add @/1/metadata/labels {} | :b
add @/1/metadata/labels/template.kubevirt.io~1architecture "arm64" | :b
remove @/1/metadata/annotations/ssp.kubevirt.io~1dict.architectures | :
replace @/2/spec/schedule "@daily" | :c
replace @/3/spec/schedule "@daily" | :all
replace @/-/spec/schedule | :all
replace @ [] | :all
add @/- {"metadata":{"name":"d"}} | :d
add @/0 {"metadata":{"name":"d"}};replace @/1/spec {} | :a b c d
add @/- {} | :all
remove @/0;replace @/0/spec {} | :a b c
remove @/3 | :all
replace @/0 {"metadata":{"name":"d"}} | :a d
copy @/0 | :all"#;
    for line in TABLE.lines() {
        let (operations, expected) = line.split_once(" | ").unwrap();
        let patch: Vec<String> = operations
            .split(';')
            .map(|operation| {
                let parts: Vec<&str> = operation.splitn(3, ' ').collect();
                let path = parts[1].replace('@', "/commonTemplates/dataImportCronTemplates");
                let value = parts.get(2).unwrap_or(&"null");
                format!(
                    r#"{{"op":"{}","path":"/spec{path}","value":{value}}}"#,
                    parts[0]
                )
            })
            .collect();
        let patch = format!("[{}]", patch.join(","));
        assert_eq!(effect(&patch), expected, "{operations}");
    }
    for (patch, expected) in [
        ("{}", ":all"),
        (r#"[{"op":"add","path":"/metadata/labels"}]"#, ":all"),
        (
            r#"[{"op":"copy","from":"/spec/cluster","path":"/spec/x"}]"#,
            ":",
        ),
        (
            r#"[{"op":"move","from":"/spec/cluster","path":"/spec/x"}]"#,
            ":",
        ),
        (
            r#"[{"op":"move","from":"/spec/commonTemplates/dataImportCronTemplates/0","path":"/spec/x"}]"#,
            ":all",
        ),
    ] {
        assert_eq!(effect(patch), expected, "{patch}");
    }
}
