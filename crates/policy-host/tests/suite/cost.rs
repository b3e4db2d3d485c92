//! What a request costs at most, in instructions of the module: at most linear, whatever a user sends.

mod content;
mod law;
mod machines;
mod request;
mod search;

use std::sync::LazyLock;

use rstest::rstest;
use serde_json::{Value, json};

use crate::metered::validate;
use content::{GENERATORS, Place};
use law::{Cost, Nodes};
use request::{Change, Part, Situation, nodes};

/// Bytes of an object that is judged once, and of one that can be judged again (see `law.rs`).
const LARGE: usize = 150_000;
const SMALL: usize = 100_000;

static FEW: LazyLock<Nodes> = LazyLock::new(|| Nodes::new(10));
static MANY: LazyLock<Nodes> = LazyLock::new(|| Nodes::new(5_000));

/// The cost of a request.
fn measure(request: &[u8], situation: Situation) -> Cost<'_> {
    let nodes = if situation.has_many_nodes {
        &MANY
    } else {
        &FEW
    };
    Cost {
        request,
        nodes,
        metered: validate(request, &nodes.list),
    }
}

/// How two kinds of content, half of the bytes each, break the law.
fn breach(pair: [usize; 2], bytes: usize, situation: Situation) -> Option<String> {
    let request = request(pair, bytes, situation);
    let cost = measure(&request, situation);
    let answer: Value = serde_json::from_slice(&cost.metered.answer).expect("an answer");
    assert!(answer.get("accepted").is_some(), "{answer}");
    Some(format!("{}: {}", describe(pair, situation), cost.breach()?))
}

/// The same for twice the bytes.
fn breach_of_growth(pair: [usize; 2], bytes: usize, situation: Situation) -> Option<String> {
    let [once, twice] = [bytes, 2 * bytes].map(|bytes| request(pair, bytes, situation));
    let empty = request::payload(&[], situation);
    let [half, whole, empty] = [&once, &twice, &empty].map(|request| measure(request, situation));
    let breach = whole
        .breach()
        .or_else(|| whole.breach_of_growth(&half, &empty))?;
    Some(format!("{}: {breach}", describe(pair, situation)))
}

fn request(pair: [usize; 2], bytes: usize, situation: Situation) -> Vec<u8> {
    // Settings have no size, so what comes with them has all the bytes.
    let has_settings = pair.iter().any(|place| is_settings(*place));
    let each = if has_settings { bytes } else { bytes / 2 };
    let parts = pair.map(|place| Part::of(&GENERATORS[place], each));
    request::payload(&parts, situation)
}

fn is_settings(generator: usize) -> bool {
    GENERATORS[generator].place == Place::Settings
}

fn describe(pair: [usize; 2], situation: Situation) -> String {
    let [one, other] = pair.map(|place| GENERATORS[place].name);
    format!("{one} and {other}, {situation:?}")
}

/// All pairs of different kinds of content, and each kind alone. Settings do not grow, so they come with something else.
fn pairs() -> impl Iterator<Item = [usize; 2]> {
    let all = 0..GENERATORS.len();
    let pairs = all.flat_map(|one| (one..GENERATORS.len()).map(move |other| [one, other]));
    pairs.filter(move |[one, _]| !is_settings(*one))
}

/// Pairs with the settings that make an object be judged again and again, if it is small, and each kind alone.
fn judged_again() -> impl Iterator<Item = [usize; 2]> {
    pairs().filter(|[one, other]| is_settings(*other) || one == other)
}

fn alone() -> impl Iterator<Item = [usize; 2]> {
    pairs().filter(|[one, other]| one == other)
}

fn situations() -> impl Iterator<Item = Situation> {
    let changes = [Change::Created, Change::First, Change::Each];
    changes.into_iter().flat_map(|change| {
        [false, true].map(|import| Situation {
            change,
            import,
            has_many_nodes: false,
        })
    })
}

/// Each pair in one of the situations; `make worst-cases` tries all of them, with larger requests.
#[rstest]
fn the_law_of_cost_holds_for_all_pairs(#[values(0, 1, 2, 3)] quarter: usize) {
    let situations: Vec<Situation> = situations().collect();
    let pairs = pairs().enumerate();
    let pairs = pairs.filter(|(number, _)| number % 4 == quarter);
    let breaches = pairs.filter_map(|(number, pair)| {
        // Not the same one for the same kind of content.
        let situation = situations[(number + number / situations.len()) % situations.len()];
        breach(pair, LARGE, situation)
    });
    assert_eq!(breaches.collect::<Vec<_>>(), [""; 0]);
}

/// New objects that are judged again; `make worst-cases` tries updates too.
#[rstest]
fn the_law_of_cost_holds_where_an_object_is_judged_again(#[values(false, true)] import: bool) {
    let situation = Situation {
        change: Change::Created,
        import,
        has_many_nodes: false,
    };
    let breaches = judged_again().filter_map(|pair| breach(pair, SMALL, situation));
    assert_eq!(breaches.collect::<Vec<_>>(), [""; 0]);
}

#[rstest]
fn twice_the_size_is_at_most_two_and_a_half_times_the_work(#[values(false, true)] import: bool) {
    let situation = Situation {
        change: Change::Each,
        import,
        has_many_nodes: false,
    };
    let breaches = alone().filter_map(|pair| breach_of_growth(pair, LARGE, situation));
    assert_eq!(breaches.collect::<Vec<_>>(), [""; 0]);
}

/// Nodes multiply what a placement has.
#[test]
fn the_law_of_cost_holds_for_thousands_of_nodes() {
    let situation = Situation {
        change: Change::First,
        import: true,
        has_many_nodes: true,
    };
    let breaches = alone().filter_map(|pair| breach_of_growth(pair, LARGE, situation));
    assert_eq!(breaches.collect::<Vec<_>>(), [""; 0]);
}

/// The law, for docs/threat-model.md.
pub(crate) fn law_of_cost() -> String {
    law::text()
}

/// All pairs in all situations, and each pair in one of them with thousands of nodes.
pub(crate) fn breaches_of_all_pairs() -> Vec<String> {
    let situations: Vec<Situation> = situations().collect();
    let all = |pair| situations.iter().map(move |situation| (pair, *situation));
    let large: Vec<_> = pairs().flat_map(all).collect();
    let small: Vec<_> = judged_again().flat_map(all).collect();
    let many: Vec<_> = with_many_nodes().collect();
    let mut breaches = in_parallel(&large, |(pair, situation)| {
        breach_of_growth(*pair, LARGE, *situation)
    });
    // An empty request is compared with the nodes, and one with too many requirements is not: their growth says nothing.
    breaches.extend(in_parallel(&many, |(pair, situation)| {
        breach(*pair, 2 * LARGE, *situation)
    }));
    breaches.extend(in_parallel(&small, |(pair, situation)| {
        breach_of_growth(*pair, SMALL / 2, *situation)
    }));
    breaches
}

/// Each pair in one of the situations, with thousands of nodes.
fn with_many_nodes() -> impl Iterator<Item = ([usize; 2], Situation)> {
    pairs()
        .zip(situations().collect::<Vec<_>>().into_iter().cycle())
        .map(|(pair, situation)| {
            let has_many_nodes = true;
            (
                pair,
                Situation {
                    has_many_nodes,
                    ..situation
                },
            )
        })
}

/// On all cores.
fn in_parallel<T: Sync>(cases: &[T], breach: impl Fn(&T) -> Option<String> + Sync) -> Vec<String> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let size = cases.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let threads: Vec<_> = cases
            .chunks(size)
            .map(|cases| scope.spawn(|| cases.iter().filter_map(&breach).collect::<Vec<_>>()))
            .collect();
        let breaches = threads
            .into_iter()
            .map(|thread| thread.join().expect("a thread"));
        breaches.flatten().collect()
    })
}

/// A required affinity of the workloads with these terms.
fn affinity(terms: &Value) -> Value {
    json!({"workloads": {"nodePlacement": {"affinity": {"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms},
    }}}}})
}

fn payload(spec: &Value, old: Option<&Value>) -> Vec<u8> {
    let object = |spec: &Value| {
        json!({
            "apiVersion": "hco.kubevirt.io/v1beta1",
            "kind": "HyperConverged",
            "metadata": {"name": "kubevirt-hyperconverged", "namespace": "kubevirt-hyperconverged"},
            "spec": spec,
        })
    };
    json!({
        "request": {
            "uid": "0",
            "kind": {"group": "hco.kubevirt.io", "version": "v1beta1", "kind": "HyperConverged"},
            "operation": if old.is_some() { "UPDATE" } else { "CREATE" },
            "object": object(spec),
            "oldObject": old.map(object),
        },
        "settings": {},
    })
    .to_string()
    .into_bytes()
}

#[rstest]
#[case::values_of_a_label(|term| json!({"key": "zone", "operator": "In", "values": [format!("other-{term}")]}))]
#[case::labels(|term| json!({"key": format!("label-{term}"), "operator": "Exists"}))]
#[case::one_node_each(|term| json!({"key": "kubernetes.io/hostname", "operator": "In", "values": [format!("other-{term}")]}))]
#[case::values_that_every_node_has(|_| json!({"key": "kubernetes.io/arch", "operator": "NotIn", "values": ["amd64", "arm64"]}))]
fn many_terms_and_many_nodes_are_judged(#[case] requirement: fn(usize) -> Value) {
    let nodes = &MANY.list;
    let cost = |terms: usize| {
        let terms = (0..terms)
            .map(|term| json!({"matchExpressions": [requirement(term)]}))
            .collect();
        let measured = validate(&payload(&affinity(&terms), None), nodes);
        let answer: Value = serde_json::from_slice(&measured.answer).expect("an answer");
        // The nodes were compared.
        assert!(
            answer["audit_annotations"]["workload-architectures"].is_string(),
            "{answer}"
        );
        measured.instructions
    };
    let (one, many) = (cost(1), cost(200));
    assert!(many < one * 40, "{one}, for 200 terms {many}");
}

/// The architectures of nodes are part of findings, and a kubelet can report any string.
#[test]
fn long_architectures_cost_no_memory() {
    let name = "a".repeat(4_000);
    let item = json!({"metadata": {"labels": {"node-role.kubernetes.io/worker": ""}}, "status": {"nodeInfo": {"architecture": name}}});
    let nodes = json!({"kind": "NodeList", "items": vec![item; 5_000]}).to_string();
    let templates: Vec<Value> = (0..100)
        .map(|number| json!({"metadata": {"name": format!("t{number}"), "annotations": {"ssp.kubevirt.io/dict.architectures": "amd64"}}}))
        .collect();
    let templates = json!({"featureGates": {"enableMultiArchBootImageImport": true}, "dataImportCronTemplates": templates});
    let measured = validate(&payload(&templates, None), nodes.as_bytes());
    let answer: Value = serde_json::from_slice(&measured.answer).expect("an answer");
    assert_eq!(answer["code"], 403, "{answer}");
    assert!(
        measured.memory < nodes.len() + (6 << 20),
        "{} bytes",
        measured.memory
    );
}

/// HCO has no limit, but the policy-server interrupts a policy after 2 seconds.
#[test]
fn the_longest_affinity_is_compared_with_thousands_of_nodes() {
    let nodes = &MANY.list;
    let zones: Vec<String> = (0..800).map(|value| format!("{value}")).collect();
    let longest = |terms: usize, values: usize| {
        let requirement = |term: usize| {
            let mut values = zones[..values].to_vec();
            values.push(format!("v{term}"));
            json!({"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": values}]})
        };
        affinity(&(0..terms).map(requirement).collect())
    };
    let rules = |spec: &Value, old: Option<&Value>| {
        let measured = validate(&payload(spec, old), nodes);
        let answer: Value = serde_json::from_slice(&measured.answer).expect("an answer");
        let findings = answer["audit_annotations"]["findings"].as_str();
        (
            findings.unwrap_or_default().to_owned(),
            measured.instructions,
        )
    };
    let (findings, instructions) = rules(&longest(250, 800), Some(&longest(250, 799)));
    assert!(findings.starts_with("no-workload-nodes="), "{findings}");
    assert!(instructions < 10_000_000_000, "{instructions}");
    let (findings, instructions) = rules(&longest(251, 800), None);
    // The policy does not compare it: an answer of its own.
    assert_eq!(findings, "");
    assert!(instructions < 10_000_000_000, "{instructions}");
}
