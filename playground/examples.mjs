// The examples of the page, from e2e-tests/cases/: those of the documentation, and for each rule the first case that fires.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse, parseAllDocuments, stringify } from "yaml";

/** The examples by group; `state` is what a link contains. */
export function examples(directory) {
  const groups = { Documentation: [], Rules: [] };
  for (const file of readdirSync(directory).sort()) {
    if (!file.endsWith(".yaml")) continue;
    const topic = file.slice(0, -".yaml".length);
    const usable = read(join(directory, file)).filter(
      ({ object, cluster, request }) => isObject(object) && typeof cluster === "string" && !request,
    );
    if (topic === "documentation") {
      groups.Documentation.push(...usable.map((it) => example(directory, it, it.name.replaceAll("-", " "))));
    } else {
      const first = usable.find(({ expect }) => (expect.findings ?? []).some((finding) => finding.startsWith(topic)));
      if (first) groups.Rules.push(example(directory, first, topic));
    }
  }
  return groups;
}

/** The cases of a topic, by name. */
function read(file) {
  const cases = parseAllDocuments(readFileSync(file, "utf8")).map((document) => document.toJS());
  return cases.sort((one, other) => (one.name < other.name ? -1 : 1));
}

function example(directory, { object, oldObject, settings, cluster, about }, title) {
  const text = (value) => (value === undefined ? "" : stringify(value, { lineWidth: 0, indentSeq: false }));
  const state = { object: text(object), oldObject: text(oldObject), settings: text(settings) };
  return {
    title,
    about,
    state: { ...state, nodes: nodes(directory, cluster, /[pP]lacement/.test(state.object + state.oldObject)) },
  };
}

/** The nodes as counts if possible: a placement can match labels that counts do not have. */
export function nodes(directory, cluster, isPlaced) {
  const { items } = parse(readFileSync(join(directory, "clusters", `${cluster}.yaml`), "utf8"));
  const counts = {};
  let isCountable = true;
  for (const { metadata, status } of items) {
    const labels = metadata.labels ?? {};
    const isWorker = "node-role.kubernetes.io/worker" in labels;
    const isControlPlane =
      "node-role.kubernetes.io/control-plane" in labels || "node-role.kubernetes.io/master" in labels;
    const architecture = status?.nodeInfo?.architecture;
    if (!architecture || !(isWorker || isControlPlane)) isCountable = false;
    const role = isWorker ? (isControlPlane ? "both" : "worker") : "control-plane";
    counts[architecture] ??= {};
    counts[architecture][role] = (counts[architecture][role] ?? 0) + 1;
  }
  if (isCountable && !isPlaced) return { from: "counts", counts };
  const kept = items.map(({ metadata, status }) => ({
    metadata: { name: metadata.name, labels: metadata.labels },
    status: { nodeInfo: { architecture: status?.nodeInfo?.architecture } },
  }));
  return {
    from: "list",
    list: stringify({ kind: "List", apiVersion: "v1", items: kept }, { lineWidth: 0, indentSeq: false }),
  };
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
