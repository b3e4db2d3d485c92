// The cluster of the page: the nodes that the user describes, and the responses of a Kubewarden host about them.

import { valueOf } from "./manifest";
import { isObject, ROLES, type Nodes, type Role, type State } from "./state";
import type { HostCall } from "./wapc";

/** A node, with the fields that the user describes. */
type Item = Record<string, unknown>;

/** A host call and its response, for the command that repeats the evaluation with kwctl. */
export interface Exchange {
  namespace: string;
  operation: string;
  payload: unknown;
  answer: { ok: string } | { error: string };
}

/** The text in the middle pane is not a list of nodes. */
export class NodesError extends Error {}

/** The nodes of the state, or the error that the host returns instead. */
export function nodesOf({ nodes, whatIf }: State): Item[] | { error: string } {
  if (nodes.from === "error") return { error: nodes.error };
  const joining = whatIf.map((architecture) => node(`joined-${architecture}-1`, architecture, "worker"));
  return [...itemsOf(nodes), ...joining];
}

function itemsOf(nodes: Exclude<Nodes, { from: "error" }>): Item[] {
  if (nodes.from === "counts") {
    return Object.entries(nodes.counts).flatMap(([architecture, counts]) =>
      ROLES.flatMap((role) =>
        Array.from({ length: counts[role] ?? 0 }, (_, index) =>
          node(`${role}-${architecture}-${index + 1}`, architecture, role),
        ),
      ),
    );
  }
  const list = nodes.list.trim() === "" ? null : valueOf(nodes.list);
  const kind = isObject(list) ? (list["kind"] ?? "List") : undefined;
  const isList = kind === "List" || kind === "NodeList";
  const items = kind === "Node" ? [list] : isList && isObject(list) ? list["items"] : undefined;
  if (!Array.isArray(items) || !items.every(isObject)) {
    throw new NodesError("This is not a list of nodes. Paste the output of kubectl get nodes -o yaml.");
  }
  return items;
}

/** A node with the labels that the kubelet and the installer set. */
function node(name: string, architecture: string, role: Role): Item {
  const roles = role === "both" ? ["worker", "control-plane"] : [role];
  const labels: Record<string, string> = {
    "kubernetes.io/arch": architecture,
    "kubernetes.io/hostname": name,
    "kubernetes.io/os": "linux",
  };
  for (const it of roles) labels[`node-role.kubernetes.io/${it}`] = "";
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels },
    status: { nodeInfo: { architecture, operatingSystem: "linux" } },
  };
}

/** The list as the API server would return it, for the commands. */
export function listOf(items: Item[]): unknown {
  return { apiVersion: "v1", kind: "List", items };
}

/** The host's response when the policy lists nodes with these masks. */
export function maskedList(items: Item[], masks: string[] | null): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "NodeList",
    metadata: {},
    items: items.map((item) => masked(item, masks)),
  });
}

/** Answers the guest's calls and records them. `list` returns the nodes for the field masks of the call. */
export function host(list: (masks: string[] | null) => string | { error: string }, exchanges: Exchange[]): HostCall {
  return (namespace, operation, text) => {
    // Log messages do not need an answer.
    if (namespace === "tracing") return "";
    const payload: unknown = JSON.parse(text);
    const answer = answerTo(namespace, operation, payload, list);
    exchanges.push({ namespace, operation, payload, answer });
    if ("ok" in answer) return answer.ok;
    throw new Error(answer.error);
  };
}

/** The error for calls that need a network. MIRRORS: e2e-tests/src/bin/answers.rs. */
const NOT_AVAILABLE = "not available in the playground";

function answerTo(
  namespace: string,
  operation: string,
  payload: unknown,
  list: (masks: string[] | null) => string | { error: string },
): Exchange["answer"] {
  if (namespace === "kubernetes" && operation === "list_resources_all") {
    const call = isObject(payload) ? payload : {};
    if (call["api_version"] !== "v1" || call["kind"] !== "Node") return { error: NOT_AVAILABLE };
    // A list that ignores the selector would be wrong without an error.
    if (call["label_selector"] || call["field_selector"]) return { error: NOT_AVAILABLE };
    const masks = Array.isArray(call["field_masks"]) ? call["field_masks"].map(String) : null;
    const answer = list(masks);
    return typeof answer === "string" ? { ok: answer } : answer;
  }
  return { error: NOT_AVAILABLE };
}

/** A tree of the fields to keep; a node without children keeps everything below it. */
interface Mask extends Map<string, Mask> {}

/**
 * An item as the host sends it: all metadata, and of the other fields only those in the mask.
 *
 * MIRRORS: crates/policy-host/src/mask.rs, which mirrors kubewarden-controller.
 */
export function masked(item: Item, masks: string[] | null): Item {
  const { metadata, apiVersion: _, kind: __, ...rest } = item;
  const kept = isObject(metadata) ? { ...metadata } : {};
  const annotations = isObject(kept["annotations"]) ? { ...kept["annotations"] } : {};
  delete annotations["kubectl.kubernetes.io/last-applied-configuration"];
  const root: Mask = new Map();
  for (const path of masks ?? []) {
    path.split(".").reduce((mask, key) => {
      const below = mask.get(key) ?? (new Map() as Mask);
      mask.set(key, below);
      return below;
    }, root);
  }
  return { ...(prune(rest, root) as Item), metadata: { ...kept, managedFields: [], annotations } };
}

function prune(value: unknown, mask: Mask): unknown {
  if (mask.size === 0) return value;
  if (Array.isArray(value)) return value.map((item) => prune(item, mask));
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([key]) => mask.has(key));
  return Object.fromEntries(kept.map(([key, below]) => [key, prune(below, mask.get(key) ?? new Map())]));
}
