//! Invalid settings: every problem is reported, with its path and the nearest valid name.

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn problems(json: &str) -> String {
    engine::validate_settings(json.as_bytes()).unwrap_err()
}

#[test]
fn a_setting_without_a_value_is_the_default() {
    for json in [
        "null",
        r#"{"description":null,"levels":null,"repair":{"architectures-malformed":null}}"#,
    ] {
        assert_eq!(engine::validate_settings(json.as_bytes()), Ok(()), "{json}");
    }
}

#[test]
fn every_problem_is_reported_at_once() {
    assert_eq!(
        problems(
            r#"{"level":{},"levels":{"architectures-malformed":"ignore","architecture-missing":"warn","no-workload-nodes":"wran"},
                "updates":"stirct","images":"verfiy","registries":["quay.io/containerdisks"],"repair":{"multi-arch-import-disabled":"enable","architectures-untidy":"normalize","architectures-malformed":"normalise",
                    "architectures-missing":"from-image","template-invalid":"normalise","architectures-malform":"normalise"},
                "serviceAccount":"policy-server",
                "commonTemplates":{"Fedora":""},"description":1,
                "templates":{"a*b":{"template-invalid":"warn"},"x":{"import-contradiction":"warn","template-bad":"warn"},"y":1}}"#
        ),
        "20 problems in the settings:\n\
         - commonTemplates.Fedora: must be a registry URL, for example docker://quay.io/containerdisks/fedora:latest, or {source: SOURCE, architectures: LIST}; it is ``\n\
         - commonTemplates.Fedora: must be the name of a template: lowercase letters, digits, `-` and `.`\n\
         - description: must be a string or null\n\
         - images: must be one of ignore, verify, verify-all, not `verfiy`; did you mean `verify`?\n\
         - levels.architecture-missing: unknown rule; did you mean `architectures-missing`?\n\
         - levels.no-workload-nodes: must be one of deny, warn, ignore, not `wran`; did you mean `warn`?\n\
         - registries: must be a list of hosts, with the port if the URLs of the images have one, for example [quay.io, registry.example.com:5000]\n\
         - repair.architectures-malform: unknown rule; did you mean `architectures-malformed`?\n\
         - repair.architectures-malformed: the level of the rule is `ignore`; remove the repair, or set another level\n\
         - repair.architectures-missing: `from-image` needs `images: verify` or `images: verify-all`\n\
         - repair.architectures-untidy: must be one of normalise, not `normalize`; did you mean `normalise`?\n\
         - repair.multi-arch-import-disabled: must be `enable-import` or {place-on: ARCHITECTURE}, not `enable`\n\
         - repair.template-invalid: the policy cannot repair this rule; it can repair architectures-malformed, architectures-missing, architectures-untidy, image-architectures-mismatch, multi-arch-import-disabled\n\
         - serviceAccount: must be the service account of the policy-server in the form NAMESPACE/NAME, for example kubewarden/policy-server; it is `policy-server`\n\
         - settings: unknown setting `level`; did you mean `levels`?\n\
         - templates.a*b: must be the name of a template, or a prefix followed by `*`\n\
         - templates.x.import-contradiction: the level of this rule cannot be set for individual templates; use `levels`\n\
         - templates.x.template-bad: unknown rule; did you mean `template-invalid`?\n\
         - templates.y: must be an object, not a number\n\
         - updates: must be one of ratchet, strict, not `stirct`; did you mean `strict`?"
    );
}

#[test]
fn a_value_of_another_form_is_a_problem() {
    assert_eq!(
        problems(
            r#"{"denialsAsWarnings":"yes","goldenImages":"abscent","goldenImagesNamespace":"a.b","hcoVersion":1.2,
                "commonTemplates":{"a":null,"b":{"architectures":"amd64"},
                    "c":{"source":{"pvc":{}},"architecture":"amd64"},
                    "d":{"source":{"pvc":{}},"architectures":["amd64"]},
                    "e":{"source":{}},"f":{"source":{"regsitry":{}}},
                    "g":{"source":{"registry":{"url":1}}}}}"#
        ),
        "11 problems in the settings:\n\
         - commonTemplates.a: must be a registry URL, for example docker://quay.io/containerdisks/fedora:latest, or {source: SOURCE, architectures: LIST}; it is null\n\
         - commonTemplates.b: must have the key source\n\
         - commonTemplates.c: unknown key `architecture`; did you mean `architectures`?\n\
         - commonTemplates.d.architectures: must be the value of the architectures annotation, for example \"amd64,arm64\"; it is a list\n\
         - commonTemplates.e.source: must be a source, for example {registry: {imageStream: rhel9-guest, pullMethod: node}}\n\
         - commonTemplates.f.source: unknown source `regsitry`; did you mean `registry`?\n\
         - commonTemplates.g.source.registry.url: must not be a number\n\
         - denialsAsWarnings: must be true or false, not `yes`\n\
         - goldenImages: must be one of auto, deployed, absent, not `abscent`; did you mean `absent`?\n\
         - goldenImagesNamespace: must be the name of a namespace, for example openshift-virtualization-os-images; it is `a.b`\n\
         - hcoVersion: must be a version of HCO or of OpenShift Virtualization in quotes, for example \"1.18\" or \"4.22\"; it is a number"
    );
    for (repair, problem) in [
        ("{}", ": must have the key place-on"),
        (
            r#"{"placeOn":"arm64"}"#,
            ": unknown key `placeOn`; did you mean `place-on`?",
        ),
        (
            r#"{"place-on":"x86_64"}"#,
            ".place-on: must be one of amd64, arm64, s390x, not `x86_64`",
        ),
    ] {
        let message =
            format!("1 problem in the settings:\n- repair.multi-arch-import-disabled{problem}");
        let repair = format!(r#"{{"repair":{{"multi-arch-import-disabled":{repair}}}}}"#);
        assert_eq!(problems(&repair), message);
    }
    assert!(problems("{").starts_with("the settings are not valid JSON: "));
    let keys: Vec<String> = (0..23).map(|key| format!(r#""x{key}":1"#)).collect();
    let message = problems(&format!("{{{}}}", keys.join(",")));
    assert_eq!(message.lines().count(), 22);
    assert!(message.ends_with("\n- and 3 more"), "{message}");
}
