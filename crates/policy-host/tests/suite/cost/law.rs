//! The law of cost: what a request takes at most, whatever is in it.
//!
//! It holds for settings with up to 100 entries: whoever writes larger ones can also delete the policy.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::metered::Metered;

/// Instructions of the module for each byte of the request.
const REQUEST: u64 = 2_000;
/// Instructions for what does not grow with the request: the settings, and the findings that are described.
const ONCE: u64 = 50_000_000;
/// An object of so many bytes that is repaired is judged again after each repair: so many times the instructions.
const AGAIN: (usize, u64) = (128 << 10, 4);
/// Instructions for each byte of the list of nodes, and for each requirement of a placement that a node is compared with.
const NODES: [u64; 2] = [100, 600];
/// More requirements of one object are not compared.
const REQUIREMENTS: usize = 250;
/// How much more work twice the size is, in tenths, beside what an empty request takes.
const TWICE: u64 = 25;
/// Work that is too little to be compared with that for twice the size.
const LITTLE: u64 = 5_000_000;
/// Memory for each byte of the request, for ten bytes of the list of nodes, and beside them.
const MEMORY: [usize; 3] = [24, 11, 6 << 20];

/// The law as docs/threat-model.md has it.
pub(super) fn text() -> String {
    let thousand = |number: u64| format!("{},{:03}", number / 1_000, number % 1_000);
    let tenths = |number: u64| format!("{}.{}", number / 10, number % 10);
    let [byte_of_nodes, requirement] = NODES;
    let [request, nodes, beside] = MEMORY;
    let (small, times) = AGAIN;
    format!(
        "- {} instructions of the module for each byte of the request, and {} million for what does not grow with it.\n\
         - For an object of at most {} KiB and settings with `repair`, {times} times as many: it is judged again after each repair.\n\
         - For the nodes, {byte_of_nodes} instructions for each byte of their list, and {requirement} for each node and requirement.\n\
         - For twice the request, {} times the instructions, beside those for an empty request.\n\
         - Memory of {request} times the request, {} times the list of nodes, and {} MiB.\n",
        thousand(REQUEST),
        ONCE / 1_000_000,
        small >> 10,
        tenths(TWICE),
        tenths(nodes as u64),
        beside >> 20,
    )
}

/// A request, its nodes, and what the module took for them.
pub(super) struct Cost<'r> {
    pub(super) request: &'r [u8],
    pub(super) nodes: &'r Nodes,
    pub(super) metered: Metered,
}

/// A list of nodes.
pub(super) struct Nodes {
    pub(super) list: Vec<u8>,
    pub(super) count: u64,
}

impl Nodes {
    pub(super) fn new(count: usize) -> Self {
        Self {
            list: super::nodes(count),
            count: count as u64,
        }
    }
}

impl Cost<'_> {
    /// The instructions that the law allows beside those for the request.
    fn others(&self) -> u64 {
        let [byte, requirement] = NODES;
        let compared = self.nodes.count * self.requirements();
        self.times() * ONCE + byte * self.nodes.list.len() as u64 + requirement * compared
    }

    /// The instructions for each byte of the request.
    pub(super) fn ratio(&self) -> u64 {
        let of_request = self.metered.instructions.saturating_sub(self.others());
        of_request / self.request.len() as u64
    }

    /// The requirements that each node is compared with, before an update and after it.
    fn requirements(&self) -> u64 {
        let payload: Value = serde_json::from_slice(self.request).expect("a request");
        let objects = ["/request/object", "/request/oldObject"];
        let objects = objects.map(|pointer| payload.pointer(pointer).map_or(0, requirements));
        objects.into_iter().sum()
    }

    /// How often the object may be judged.
    fn times(&self) -> u64 {
        #[derive(Deserialize)]
        struct Payload<'r> {
            #[serde(borrow)]
            request: Request<'r>,
            settings: Value,
        }
        #[derive(Deserialize)]
        struct Request<'r> {
            #[serde(borrow)]
            object: &'r RawValue,
        }
        let payload: Payload<'_> = serde_json::from_slice(self.request).expect("a request");
        let (small, times) = AGAIN;
        let is_repaired = payload.settings.get("repair").is_some();
        if is_repaired && payload.request.object.get().len() <= small {
            times
        } else {
            1
        }
    }

    /// How it breaks the law.
    pub(super) fn breach(&self) -> Option<String> {
        let (size, instructions) = (self.request.len(), self.metered.instructions);
        if self.ratio() >= self.times() * REQUEST {
            return Some(format!("{instructions} instructions for {size} bytes"));
        }
        let [request, nodes, beside] = MEMORY;
        let memory = request * size + nodes * self.nodes.list.len() / 10 + beside;
        let taken = self.metered.memory;
        (taken > memory).then(|| format!("{taken} bytes of memory for {size}"))
    }

    /// How it breaks the law if `half` is the cost of half the request, and `empty` that of a request without content.
    pub(super) fn breach_of_growth(&self, half: &Self, empty: &Self) -> Option<String> {
        let [one, two] = [half, self].map(|cost| {
            let instructions = cost.metered.instructions;
            instructions.saturating_sub(empty.metered.instructions)
        });
        let is_more = two * 10 > one * TWICE && two > LITTLE;
        is_more.then(|| format!("{one} instructions, for twice the size {two}"))
    }
}

/// The requirements in the placement of the workloads.
fn requirements(object: &Value) -> u64 {
    let spec = &object["spec"];
    let placements = [
        &spec["workloads"]["nodePlacement"],
        &spec["deployment"]["nodePlacements"]["workload"],
    ];
    let terms =
        "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
    let of_term = |term: &Value| {
        let lists = [&term["matchExpressions"], &term["matchFields"]];
        lists
            .map(|list| list.as_array().map_or(0, Vec::len))
            .into_iter()
            .sum::<usize>()
    };
    let count = placements.into_iter().map(|placement| {
        let labels = placement["nodeSelector"]
            .as_object()
            .map_or(0, serde_json::Map::len);
        let terms = placement.pointer(terms).and_then(Value::as_array);
        labels + terms.into_iter().flatten().map(of_term).sum::<usize>()
    });
    count.sum::<usize>().min(REQUIREMENTS) as u64
}
