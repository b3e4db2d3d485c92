//! The most expensive requests that users and nodes can send, measured in instructions of the module, whose number is the
//! same on every machine.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Map, Value, json};

use crate::metered;

/// The size of a request in bytes, about.
const SIZE: usize = 1_000_000;
/// The limit for each megabyte of a request, in millions of instructions, without reading the nodes.
const MILLIONS_PER_MEGABYTE: u64 = 2_500;
/// The number of nodes. All of them differ.
const NODES: usize = 5_000;

/// A kind of request: its name, and the request with content of about this number of bytes.
type Kind = (&'static str, fn(usize) -> Value);

const KINDS: [Kind; 38] = [
    ("complete templates", |size| {
        listed(size / 280, |n| numbered(n, "amd64,arm64"))
    }),
    ("complete templates, with the import off", |size| {
        let mut request = listed(size / 280, |n| numbered(n, "amd64,arm64"));
        request["object"]["spec"]["featureGates"] = json!({});
        request
    }),
    ("malformed annotations", |size| {
        listed(size / 280, |n| numbered(n, "AMD64,x86_64,x"))
    }),
    ("annotations of 64 unknown entries", |size| {
        listed(size / 560, |n| numbered(n, &entries(n, 64)))
    }),
    ("annotations of 512 distinct unknown entries", |size| {
        listed(size / 4_500, |n| numbered(n, &entries(n * 512, 512)))
    }),
    ("annotations of 512 unknown entries, twice", |size| {
        let twice = |n| [entries(n * 512, 512), entries(n * 512, 512)].join(",");
        listed(size / 9_000, |n| numbered(n, &twice(n)))
    }),
    ("one annotation of unknown entries", |size| {
        listed(1, |_| template("t", &entries(0, size / 8)))
    }),
    ("one annotation of short unknown entries", |size| {
        listed(1, |_| template("t", &"x,y,".repeat(size / 4)))
    }),
    ("one annotation of typos", |size| {
        let typo = |n: usize| format!("amd{n:02}").replace("64", "65");
        let typos: Vec<String> = (0..size / 6).map(|n| typo(n % 100)).collect();
        listed(1, |_| template("t", &typos.join(",")))
    }),
    ("one annotation of blanks and commas", |size| {
        listed(1, |_| template("t", &" ,".repeat(size / 2)))
    }),
    ("one annotation of escaped characters", |size| {
        listed(1, |_| template("t", &"\u{1}".repeat(size / 6)))
    }),
    ("templates of one name", |size| {
        listed(size / 280, |_| template("t", "amd64"))
    }),
    ("templates without a name", |size| {
        listed(size / 280, |_| template("", "amd64"))
    }),
    ("templates of one DataSource", |size| {
        listed(size / 280, |n| {
            let mut template = numbered(n, "amd64,arm64");
            template["spec"]["managedDataSource"] = "t".into();
            template
        })
    }),
    ("templates whose names end with architectures", |size| {
        listed(size / 280, |n| {
            let suffix = if n % 2 == 0 { "" } else { "-amd64" };
            template(&format!("t{}{suffix}", n / 2), "amd64,arm64")
        })
    }),
    ("templates with long names", |size| {
        let long = "x".repeat(250);
        listed(size / 900, |n| template(&format!("{n}{long}"), "amd64"))
    }),
    ("templates with invalid names", |size| {
        listed(size / 280, |n| template(&format!("T_{n}"), "amd64,arm64"))
    }),
    ("templates without storage, of a PVC", |size| {
        listed(size / 350, |n| {
            let mut template = numbered(n, "amd64,arm64");
            template["spec"]["template"]["spec"] =
                json!({"source": {"pvc": {"name": "a", "namespace": "b"}}});
            template
        })
    }),
    ("empty templates", |size| listed(size / 3, |_| json!({}))),
    ("empty templates, without common images", |size| {
        let mut request = listed(size / 3, |_| json!({}));
        request["object"]["spec"]["enableCommonBootImageImport"] = false.into();
        request
    }),
    ("labels of templates", |size| {
        listed(size / 2_500, |n| {
            let mut template = numbered(n, "amd64,arm64");
            template["metadata"]["labels"] = labels(n * 100, 100);
            template
        })
    }),
    ("templates in the status", |size| {
        let status = templates(size / 280, |n| numbered(n, "amd64"));
        created(&json!({"metadata": {"resourceVersion": "1"}, "status": status["spec"]}))
    }),
    ("templates that all change", |size| {
        let side = |url: &str, architectures: &str| {
            templates(size / 560, |n| {
                let mut template = numbered(n, architectures);
                template["spec"]["template"]["spec"]["source"]["registry"]["url"] = url.into();
                template
            })
        };
        let old = side("docker://x.io/a", "amd64,arm64");
        updated(&old, &side("docker://x.io/b", "arm64"))
    }),
    ("templates that are all renamed", |size| {
        let named = |prefix: &str, n| template(&format!("{prefix}{n}"), "amd64,arm64");
        let side = |prefix| templates(size / 560, |n| named(prefix, n));
        updated(&side("a"), &side("b"))
    }),
    ("templates with existing problems", |size| {
        let side = |count| templates(count, |n| numbered(n, "AMD64,x86_64,x"));
        updated(&side(size / 560), &side(size / 560 + 1))
    }),
    ("templates that lose architectures", |size| {
        let side =
            |architectures| templates(size / 560, |n| template(&format!("T_{n}"), architectures));
        updated(&side("amd64,arm64"), &side("AMD64,arm64"))
    }),
    ("keys of the nodeSelector", |size| {
        created(
            &json!({"spec": {"workloads": {"nodePlacement": {"nodeSelector": labels(0, size / 20)}}}}),
        )
    }),
    ("values of NotIn", |size| {
        let values: Vec<String> = (0..size / 10).map(|n| format!("v{n}")).collect();
        let requirement = requirement("zone", "NotIn", &json!(values));
        created(&terms(&json!([requirement])))
    }),
    ("terms", |size| {
        let term = |n| requirement(&format!("l{n}"), "Exists", &Value::Null);
        created(&terms(&(0..size / 70).map(term).collect()))
    }),
    ("terms on host names", |size| {
        let term = |n| host_name(n + 4_000, "In");
        created(&terms(&(0..size / 110).map(term).collect()))
    }),
    ("terms that exclude host names", |size| {
        let term = |n| {
            let host = &host_name(n, "NotIn")["matchExpressions"][0];
            json!({"matchExpressions": [host, {"key": "zone", "operator": "DoesNotExist"}]})
        };
        created(&terms(&(0..size / 160).map(term).collect()))
    }),
    ("terms on names of nodes", |size| {
        let term = |n: usize| json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": [format!("node-{n}")]}]});
        created(&terms(&(0..size / 100).map(|n| term(n + 4_000)).collect()))
    }),
    ("terms that change", |size| {
        let term = |n| host_name(n, "In");
        let side = |start: usize| terms(&(start..start + size / 220).map(term).collect());
        updated(&side(0), &side(1_000))
    }),
    ("operations of jsonpatch", |size| {
        let operation = |n| json!({"op": "add", "path": format!("/spec/cluster/{n}"), "value": 0});
        annotated(
            "ssp.kubevirt.io/jsonpatch",
            &(0..annotation_size(size) / 55).map(operation).collect(),
        )
    }),
    ("operations of jsonpatch that move templates", |size| {
        let path = "/spec/commonTemplates/dataImportCronTemplates/0";
        let operation = json!({"op": "add", "path": path, "value": {"metadata": {"name": "a"}}});
        let patch = vec![operation; annotation_size(size) / 130];
        let mut request = listed(size / 500, |n| numbered(n, "amd64"));
        let annotations = json!({"ssp.kubevirt.io/jsonpatch": json!(patch).to_string()});
        request["object"]["metadata"]["annotations"] = annotations;
        request
    }),
    ("gates of v1", |size| {
        gates(&(0..size / 60).map(near_miss).collect())
    }),
    ("gates of v1 that are equal", |size| {
        gates(&(0..size / 60).map(|_| near_miss(0)).collect())
    }),
    ("gates of v1 beside templates", |size| {
        let mut request = gates(&(0..size / 120).map(near_miss).collect());
        let list = templates(size / 800, |n| numbered(n, "AMD64,x86_64"));
        request["object"]["spec"]["workloadSources"] = list["spec"].clone();
        request
    }),
];

/// All annotations of an object have at most 256 KiB.
fn annotation_size(size: usize) -> usize {
    size / 5
}

/// The name of a gate with up to two wrong letters, in any letter case.
fn near_miss(n: usize) -> Value {
    let name = "enableMultiArchBootImageImport";
    let name: String = name
        .char_indices()
        .map(|(index, letter)| match n {
            _ if index == n % 30 || index == n / 30 % 30 => {
                char::from(b'a' + u8::try_from(n / 900 % 26).unwrap_or_default())
            }
            _ if n >> (index % 16) & 1 == 1 => letter.to_ascii_uppercase(),
            _ => letter,
        })
        .collect();
    json!({"name": name, "state": "Enabled"})
}

fn gates(gates: &Value) -> Value {
    let mut request = created(&json!({}));
    request["kind"]["version"] = "v1".into();
    request["object"]["apiVersion"] = "hco.kubevirt.io/v1".into();
    request["object"]["spec"] = json!({"featureGates": gates});
    request
}

fn annotated(key: &str, value: &Value) -> Value {
    created(&json!({"metadata": {"annotations": {key: value.to_string()}}}))
}

fn entries(start: usize, count: usize) -> String {
    let entries: Vec<String> = (start..start + count).map(|n| format!("x{n}")).collect();
    entries.join(",")
}

fn labels(start: usize, count: usize) -> Value {
    let labels = (start..start + count).map(|n| (format!("label-{n}"), "".into()));
    labels.collect::<Map<_, _>>().into()
}

fn template(name: &str, architectures: &str) -> Value {
    json!({
        "metadata": {"name": name, "annotations": {"ssp.kubevirt.io/dict.architectures": architectures}},
        "spec": {
            "managedDataSource": name, "schedule": "@daily",
            "template": {"spec": {
                "source": {"registry": {"url": "docker://x.io/a"}},
                "storage": {"resources": {"requests": {"storage": "1Gi"}}},
            }},
        },
    })
}

fn templates(count: usize, template: impl Fn(usize) -> Value) -> Value {
    json!({"spec": {"dataImportCronTemplates": (0..count).map(template).collect::<Value>()}})
}

/// A template with a name of its own.
fn numbered(n: usize, architectures: &str) -> Value {
    template(&format!("t{n}"), architectures)
}

/// The creation of an object with this number of templates.
fn listed(count: usize, template: impl Fn(usize) -> Value) -> Value {
    created(&templates(count, template))
}

fn host_name(n: usize, operator: &str) -> Value {
    let key = "kubernetes.io/hostname";
    requirement(key, operator, &json!([format!("node-{n}")]))
}

fn requirement(key: &str, operator: &str, values: &Value) -> Value {
    json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]})
}

fn terms(terms: &Value) -> Value {
    json!({"spec": {"workloads": {"nodePlacement": {"affinity": {"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms},
    }}}}}})
}

/// An object with the import on and these fields.
fn object(fields: &Value) -> Value {
    let mut object = json!({
        "apiVersion": "hco.kubevirt.io/v1beta1", "kind": "HyperConverged",
        "metadata": {"name": "kubevirt-hyperconverged", "namespace": "kubevirt-hyperconverged"},
        "spec": {"featureGates": {"enableMultiArchBootImageImport": true}},
    });
    json_patch::merge(&mut object, fields);
    object
}

fn created(fields: &Value) -> Value {
    json!({
        "kind": {"group": "hco.kubevirt.io", "version": "v1beta1", "kind": "HyperConverged"},
        "operation": "CREATE", "object": object(fields),
    })
}

fn updated(old: &Value, new: &Value) -> Value {
    let mut request = created(new);
    request["operation"] = "UPDATE".into();
    request["oldObject"] = object(old);
    for side in ["object", "oldObject"] {
        request[side]["metadata"]["resourceVersion"] = "1".into();
    }
    request
}

/// Nodes of two architectures. Each has a name, a host name, and a zone of its own.
fn nodes() -> Vec<u8> {
    let node = |n: usize| {
        let architecture = ["amd64", "arm64"][n % 2];
        json!({
            "metadata": {"name": format!("node-{n}"), "labels": {
                "kubernetes.io/arch": architecture, "node-role.kubernetes.io/worker": "",
                "kubernetes.io/hostname": format!("node-{n}"), "zone": format!("v{n}"), format!("l{n}"): "",
            }},
            "status": {"nodeInfo": {"architecture": architecture}},
        })
    };
    let items: Vec<Value> = (0..NODES).map(node).collect();
    json!({"kind": "NodeList", "items": items})
        .to_string()
        .into_bytes()
}

/// The cost of a kind of request.
struct Cost {
    name: &'static str,
    /// Bytes.
    size: usize,
    /// Instructions beside the list.
    once: u64,
    /// The same for content that is twice as large.
    twice: u64,
    memory: usize,
}

impl Cost {
    fn measure((name, request): &Kind, nodes: &[u8], list: u64) -> Self {
        // These repairs are not applied to a large object.
        let settings = json!({"repair": {
            "multi-arch-import-disabled": "enable-import", "architectures-malformed": "normalise",
        }});
        let payload = |size| {
            json!({"request": request(size), "settings": settings})
                .to_string()
                .into_bytes()
        };
        let (half, full) = (payload(SIZE / 2), payload(SIZE));
        let instructions = |payload: &[u8]| {
            let answer = metered::validate(payload, nodes);
            (answer.instructions.saturating_sub(list), answer.memory)
        };
        let ((once, _), (twice, memory)) = (instructions(&half), instructions(&full));
        Self {
            name,
            size: full.len(),
            once,
            twice,
            memory,
        }
    }

    fn per_megabyte(&self) -> u64 {
        self.twice / u64::try_from(self.size).unwrap_or(u64::MAX)
    }

    /// Whether it is within the limits. The growth of a cheap request says nothing.
    fn is_within_limits(&self) -> bool {
        let grows =
            10 * self.twice >= 23 * self.once && self.per_megabyte() > MILLIONS_PER_MEGABYTE / 50;
        self.per_megabyte() <= MILLIONS_PER_MEGABYTE
            && !grows
            && self.memory <= 30 * self.size + (32 << 20)
    }
}

#[test]
#[ignore = "takes minutes: make worst-cases"]
#[expect(clippy::print_stdout, reason = "it prints what it measures")]
fn worst_cases() {
    let nodes = nodes();
    let payload = json!({"request": created(&json!({})), "settings": {}}).to_string();
    let list = metered::validate(payload.as_bytes(), &nodes).instructions;
    let (next, costs) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(kind) = KINDS.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let cost = Cost::measure(kind, &nodes, list);
                    costs.lock().unwrap().push(cost);
                }
            });
        }
    });
    let mut costs = costs.into_inner().unwrap();
    costs.sort_by_key(|cost| std::cmp::Reverse(cost.per_megabyte()));
    println!(
        "The list of {NODES} nodes: {} million instructions",
        list / 1_000_000
    );
    println!(
        "| Content | Request (kB) | Million instructions per MB | Growth | Memory (MB) |\n| --- | ---: | ---: | ---: | ---: |"
    );
    for cost in &costs {
        let growth = 100 * cost.twice / cost.once.max(1);
        println!(
            "| {} | {} | {} | {}.{:02} | {} |",
            cost.name,
            cost.size / 1_000,
            cost.per_megabyte(),
            growth / 100,
            growth % 100,
            cost.memory / 1_000_000,
        );
    }
    costs.retain(|cost| !cost.is_within_limits());
    let names: Vec<&str> = costs.iter().map(|cost| cost.name).collect();
    assert!(names.is_empty(), "beyond the limits: {names:#?}");
}
