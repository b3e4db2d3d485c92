//! The worst that users, nodes, and registries can send, in time and memory of the module. `make worst-cases` writes the table
//! of docs/threat-model.md; `cost.rs` tests that the costs do not grow.

#![expect(clippy::indexing_slicing, reason = "JSON whose shape is known")]

use std::sync::{Arc, LazyLock};
use std::time::Instant;

use policy_host::{HostCalls, Options, Policy};
use serde_json::{Value, json};

use crate::cost::{breaches_of_all_pairs, law_of_cost};
use crate::metered::validate_with_images;

/// The longest request body of an API server: `MaxRequestBodyBytes` in k8s.io/apiserver pkg/server/config.go.
const REQUEST: usize = 3 << 20;
/// The largest object that etcd stores by default (`--max-request-bytes`): nodes, and settings.
const STORED: usize = 3 << 19;
/// All annotations of an object: `TotalAnnotationSizeLimitB` in k8s.io/apimachinery pkg/api/validation/objectmeta.go.
const ANNOTATIONS: usize = 256 << 10;
/// The largest manifest that is read.
const MANIFEST: usize = 1 << 20;

const SETTINGS: &str = "author of settings";
const REQUIREMENTS: &str = "250 requirements";
const ARCHITECTURE: &str = "63 bytes";

/// The embedded module, without the deadline of policy-server (2 seconds).
static PATIENT: LazyLock<Policy> = LazyLock::new(|| {
    let options = Options {
        deadline: None,
        ..crate::options()
    };
    Policy::embedded_with(&options).expect("the module compiles")
});

struct Input {
    what: &'static str,
    who: &'static str,
    /// What limits the cost, besides the size of the input.
    limit: &'static str,
    spec: Value,
    metadata: Value,
    status: Value,
    old: Option<Value>,
    settings: Value,
    nodes: Arc<Vec<u8>>,
    manifest: Vec<u8>,
}

impl Input {
    fn payload(&self) -> Vec<u8> {
        let is_v1 = self.spec["featureGates"].is_array();
        let version = if is_v1 { "v1" } else { "v1beta1" };
        let object = |spec: &Value| {
            json!({
                "apiVersion": format!("hco.kubevirt.io/{version}"), "kind": "HyperConverged",
                "metadata": self.metadata, "spec": spec, "status": self.status,
            })
        };
        json!({
            "request": {
                "kind": {"group": "hco.kubevirt.io", "version": version, "kind": "HyperConverged"},
                "operation": if self.old.is_some() { "UPDATE" } else { "CREATE" },
                "object": object(&self.spec),
                "oldObject": self.old.as_ref().map(object),
            },
            "settings": self.settings,
        })
        .to_string()
        .into_bytes()
    }
}

/// Answers the questions for the nodes and for images.
struct Host(Arc<Vec<u8>>, Vec<u8>);

impl HostCalls for Host {
    fn call(&self, namespace: &str, _: &str, _: &[u8]) -> Result<Vec<u8>, String> {
        Ok(if namespace == "oci" {
            self.1.clone()
        } else {
            self.0.to_vec()
        })
    }
}

/// As many items as fit into so many bytes of JSON.
fn fill(bytes: usize, item: impl Fn(usize) -> Value) -> Value {
    let mut left = bytes;
    let items = (0..).map(item).take_while(|item| {
        let size = item.to_string().len() + 1;
        let fits = size <= left;
        left = left.saturating_sub(size);
        fits
    });
    items.collect()
}

fn template(name: &str, architectures: &str) -> Value {
    json!({
        "metadata": {"name": name, "annotations": {"ssp.kubevirt.io/dict.architectures": architectures}},
        "spec": {"template": {"spec": {"source": {"registry": {"url": "docker://x.io/a"}}}}},
    })
}

fn imported(templates: &Value) -> Value {
    json!({"featureGates": {"enableMultiArchBootImageImport": true}, "dataImportCronTemplates": templates})
}

fn entries(count: usize) -> String {
    let entries: Vec<String> = (0..count).map(|entry| format!("x{entry}")).collect();
    entries.join(",")
}

fn count(count: usize, item: impl Fn(usize) -> Value) -> Value {
    (0..count).map(item).collect()
}

fn terms(terms: &Value) -> Value {
    json!({"workloads": {"nodePlacement": {"affinity": {"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms},
    }}}}})
}

/// Nodes with these labels beside the usual ones, and an architecture.
fn nodes(
    count: usize,
    labels: impl Fn(usize) -> Value,
    architecture: impl Fn(usize) -> String,
) -> Arc<Vec<u8>> {
    let node = |number: usize| {
        let mut labels = labels(number);
        for (key, value) in [
            ("kubernetes.io/hostname", format!("node-{number}")),
            ("kubernetes.io/arch", architecture(number)),
            ("node-role.kubernetes.io/worker", String::new()),
        ] {
            labels[key] = value.into();
        }
        json!({
            "metadata": {"name": format!("node-{number}"), "labels": labels},
            "status": {"nodeInfo": {"architecture": architecture(number)}},
        })
    };
    let items: Vec<Value> = (0..count).map(node).collect();
    Arc::new(
        json!({"kind": "NodeList", "items": items})
            .to_string()
            .into_bytes(),
    )
}

fn two_architectures(number: usize) -> String {
    ["amd64", "arm64"][number % 2].to_owned()
}

#[expect(clippy::too_many_lines, reason = "it is a table")]
fn inputs() -> Vec<Input> {
    let few = nodes(10, |_| json!({}), two_architectures);
    let many = nodes(
        5_000,
        |number| json!({"zone": format!("{}", number % 3)}),
        two_architectures,
    );
    let input = |what, who, spec| Input {
        what,
        who,
        limit: if who == SETTINGS {
            "none, see below"
        } else {
            ""
        },
        spec,
        metadata: json!({"name": "kubevirt-hyperconverged", "namespace": "kubevirt-hyperconverged"}),
        status: json!({}),
        old: None,
        settings: json!({}),
        nodes: Arc::clone(&few),
        manifest: b"{}".to_vec(),
    };
    let user = "user";
    let of_templates = |item: &dyn Fn(usize) -> Value| imported(&fill(REQUEST - 500, item));
    let of_terms = |item: &dyn Fn(usize) -> Value| {
        terms(&fill(
            REQUEST - 500,
            |term| json!({"matchExpressions": [item(term)]}),
        ))
    };
    let not_in = |term: usize| json!({"key": "zone", "operator": "NotIn", "values": ["0", "1", "2", format!("{term}")]});
    let of_250_terms = |item: &dyn Fn(usize) -> Value| {
        terms(&count(
            250,
            |term| json!({"matchExpressions": [item(term)]}),
        ))
    };
    // Every node has one of the values, so every term is compared with every node.
    let not_in_many = |term: usize, bytes: usize| {
        json!({"key": "zone", "operator": "NotIn", "values": fill(bytes, |value| match value {
            0..3 => json!(format!("{value}")),
            _ => json!(format!("v{}", term + value)),
        })})
    };
    let names = "n".repeat(57);
    vec![
        input("1,150 templates with 512 unknown entries each", user, imported(&count(1_150, |number| template(&format!("t{number}"), &entries(512))))),
        input("900 templates with every entry twice", user, imported(&count(900, |number| template(&format!("t{number}"), &format!("{0},{0}", entries(256)))))),
        Input { limit: REQUIREMENTS, nodes: Arc::clone(&many), ..input("5,000 terms × 5,000 nodes, another label each", user, terms(&count(5_000, |term| json!({"matchExpressions": [{"key": format!("l{term}"), "operator": "Exists"}]})))) },
        input("templates: `{}`", user, of_templates(&|_| json!({}))),
        input("templates with two words", user, of_templates(&|number| template(&format!("t{number}"), "AMD64,x"))),
        input("templates with the longest names", user, of_templates(&|number| template(&format!("{number}{names}"), "amd64, arm64"))),
        input("templates with the same name", user, of_templates(&|_| template("t", "amd64"))),
        input("one template with a name of 3 MB", user, imported(&json!([template(&"n".repeat(REQUEST - 500), "AMD64")]))),
        input("one annotation of commas", user, imported(&json!([template("t", &",".repeat(REQUEST - 500))]))),
        input("one annotation, another entry each", user, imported(&json!([template("t", &entries(400_000))]))),
        Input {
            old: Some(imported(&fill(STORED, |number| template(&format!("t{number}"), &entries(511))))),
            ..input("an update: every template has another entry", user, of_templates(&|number| template(&format!("t{number}"), &entries(512))))
        },
        Input { limit: REQUIREMENTS, nodes: Arc::clone(&many), ..input("250 terms of many values × 5,000 nodes", user, of_250_terms(&|term| not_in_many(term, REQUEST / 250 - 100))) },
        Input {
            limit: REQUIREMENTS,
            nodes: Arc::clone(&many),
            old: Some(of_250_terms(&|term| not_in_many(term, STORED / 250 - 100))),
            settings: json!({"repair": {"multi-arch-import-disabled": {"place-on": "arm64"}}}),
            ..input("the same in an update, which also repairs the placement", user, of_250_terms(&|term| not_in_many(term + 1, REQUEST / 250 - 100)))
        },
        Input { limit: REQUIREMENTS, nodes: Arc::clone(&many), ..input("terms × 5,000 nodes, `NotIn`", user, of_terms(&not_in)) },
        Input {
            limit: REQUIREMENTS,
            nodes: Arc::clone(&many),
            old: Some(terms(&fill(STORED, |term| json!({"matchExpressions": [{"key": "zone", "operator": "In", "values": [format!("o{term}")]}]})))),
            settings: json!({"repair": {"multi-arch-import-disabled": {"place-on": "arm64"}}}),
            ..input("the same in an update, which also repairs the placement", user, of_terms(&|term| json!({"key": "zone", "operator": "In", "values": [format!("v{term}")]})))
        },
        Input { nodes: Arc::clone(&many), ..input("one term of values × 5,000 nodes", user, terms(&json!([{"matchExpressions": [{"key": "zone", "operator": "In", "values": fill(REQUEST - 500, |value| json!(format!("v{value}")))}]}]))) },
        input("terms with an invalid operator", user, of_terms(&|term| json!({"key": format!("k{term}"), "operator": "is"}))),
        Input {
            nodes: Arc::clone(&many),
            ..input("nodeSelector × 5,000 nodes", user, json!({"workloads": {"nodePlacement": {"nodeSelector": (0..150_000).map(|label| (format!("l{label}"), json!(""))).collect::<serde_json::Map<_, _>>()}}}))
        },
        input("tolerations", user, json!({"workloads": {"nodePlacement": {"tolerations": fill(REQUEST - 500, |number| json!({"key": format!("k{number}"), "operator": "Exists"}))}}})),
        input("v1: misspelled feature gates", user, json!({"featureGates": fill(REQUEST - 500, |number| json!({"name": format!("enableMultiArchBootImageImpo{number}")}))})),
        Input {
            status: json!({"dataImportCronTemplates": fill(REQUEST - 500, |number| {
                let mut template = template(&format!("t{number}"), "x,AMD64");
                template["status"] = json!({"commonTemplate": true});
                template
            })}),
            ..input("common templates in the status", user, imported(&json!([])))
        },
        Input {
            metadata: json!({"name": "h", "namespace": "n", "annotations": {
                "ssp.kubevirt.io/jsonpatch": fill(ANNOTATIONS, |_| json!({})).to_string(),
            }}),
            ..input("jsonpatch annotation of empty operations", user, imported(&json!([])))
        },
        Input {
            metadata: json!({"name": "h", "namespace": "n", "annotations": {
                "ssp.kubevirt.io/jsonpatch": fill(ANNOTATIONS, |number| json!({"op": "add", "path": format!("/spec/cluster/{number}")})).to_string(),
            }}),
            ..input("jsonpatch annotation, another path each", user, imported(&json!([])))
        },
        Input {
            metadata: json!({"name": "h", "namespace": "n", "annotations": {
                "hco.kubevirt.io/v1-only-fields": json!({"featureGates": fill(ANNOTATIONS, |_| json!({"name": "x"}))}).to_string(),
            }}),
            ..input("v1-only-fields annotation of gates", user, json!({}))
        },
        Input {
            settings: json!({"templates": (0..2_000).map(|number| (format!("{}{}*", "t".repeat(number % 250), number), json!({"architectures-missing": "warn"}))).collect::<serde_json::Map<_, _>>()}),
            ..input("2,000 prefixes of 250 lengths, and templates", SETTINGS, of_templates(&|number| template(&format!("{}{number}", "t".repeat(60)), "AMD64,x")))
        },
        Input {
            settings: json!({"levels": (0..60_000).map(|number| (format!("architectures-missin{number}"), json!("x"))).collect::<serde_json::Map<_, _>>()}),
            ..input("60,000 unknown rules", SETTINGS, imported(&json!([])))
        },
        Input { nodes: nodes(5_000, |_| json!({}), |number| format!("arch{number}")), ..input("5,000 nodes, another architecture each, and templates", "kubelet", of_templates(&|number| template(&format!("t{number}"), "amd64"))) },
        Input { nodes: nodes(5_000, |_| json!({}), |number| format!("arch{number}")), ..input("the same, and templates with many architectures each", "kubelet", imported(&count(90, |number| template(&format!("t{number}"), &(0..3_500).map(|number| format!("arch{number}")).collect::<Vec<_>>().join(","))))) },
        Input { limit: ARCHITECTURE, nodes: nodes(5_000, |_| json!({}), |number| format!("{number}{}", "a".repeat(4_000))), ..input("5,000 nodes, an architecture of 4 kB each", "kubelet", imported(&count(100, |number| template(&format!("t{number}"), "amd64")))) },
        Input { limit: ARCHITECTURE, nodes: nodes(1, |_| json!({}), |_| "a".repeat(STORED / 2)), ..input("a node with an architecture of 0.8 MB", "kubelet", imported(&count(1_000, |number| template(&format!("t{number}"), "amd64")))) },
        Input { nodes: nodes(1_000, |_| (0..1_500).map(|label| (format!("example.com/label-{label}"), json!("x".repeat(20)))).collect(), two_architectures), ..input("1,000 nodes with 1,500 labels each", "kubelet", json!({})) },
        Input {
            settings: json!({"images": "verify"}),
            limit: "1 MiB, and 20 lookups in a request",
            manifest: json!({"manifests": fill(MANIFEST - 100, |number| json!({"platform": {"os": "linux", "architecture": format!("a{number}")}}))}).to_string().into_bytes(),
            ..input("a manifest of 1 MB, and templates", "registry", imported(&count(1_000, |number| {
                let mut template = template(&format!("t{number}"), "amd64,arm64");
                template["spec"]["template"]["spec"]["source"]["registry"]["url"] = format!("docker://x.io/a:{number}").into();
                template
            })))
        },
        Input {
            settings: json!({"images": "verify"}),
            limit: "1 MiB, and 20 lookups in a request",
            manifest: vec![b' '; MANIFEST + 1],
            ..input("a manifest over the limit", "registry", imported(&json!([template("t", "amd64,arm64")])))
        },
    ]
}

/// A row of the table.
fn row(input: &Input) -> String {
    let payload = input.payload();
    let host = Arc::new(Host(Arc::clone(&input.nodes), input.manifest.clone()));
    // Compiled before the clock starts.
    let policy = &*PATIENT;
    let started = Instant::now();
    let result = policy.call("validate", &payload, host).result;
    let time = started.elapsed();
    let metered = validate_with_images(&payload, &input.nodes, &input.manifest);
    assert_eq!(result.expect("an answer"), metered.answer);
    let answer: Value = serde_json::from_slice(&metered.answer).expect("JSON");
    let answer = match answer["code"].as_u64() {
        None => "allowed".to_owned(),
        Some(code) => code.to_string(),
    };
    let megabytes = |bytes: usize| format!("{}.{}", bytes / 1_000_000, bytes / 100_000 % 10);
    format!(
        "| {} | {} | {} | {} | {}.{:02} | {}.{} | {} | {answer} | {} |\n",
        input.who,
        input.what,
        megabytes(payload.len()),
        megabytes(input.nodes.len()),
        time.as_secs(),
        time.subsec_millis() / 10,
        metered.instructions / 1_000_000_000,
        metered.instructions / 100_000_000 % 10,
        megabytes(metered.memory),
        input.limit,
    )
}

/// The page has the law as it is tested.
#[test]
fn the_threat_model_states_the_law_of_cost() {
    let page = include_str!("../../../../docs/threat-model.md");
    assert!(page.contains(&law_of_cost()), "run `make worst-cases`");
}

#[test]
#[ignore = "it measures for many minutes, and writes to a file"]
fn worst_cases() {
    let mut table = "| Who | Input | Request (MB) | Nodes (MB) | Time (s) | Instructions (10⁹) | Memory (MB) | Answer | Limit |\n\
                     | --- | --- | ---: | ---: | ---: | ---: | ---: | --- | --- |\n"
        .to_owned();
    table.extend(inputs().iter().map(row));
    assert_eq!(breaches_of_all_pairs(), [""; 0]);
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/threat-model.md");
    let page = std::fs::read_to_string(file).expect("the threat model");
    let (before, rest) = page
        .split_once("<!-- worst-cases -->\n")
        .expect("the beginning of the table");
    let (_, after) = rest
        .split_once("<!-- /worst-cases -->")
        .expect("the end of the table");
    let law = law_of_cost();
    let page = format!("{before}<!-- worst-cases -->\n{law}\n{table}<!-- /worst-cases -->{after}");
    std::fs::write(file, page).expect("the threat model is written");
}
