// The user's input: everything that affects the verdict, and nothing else. A link contains it.

/** The roles of a node. A node of a compact cluster has both. */
export const ROLES = ["worker", "control-plane", "both"] as const;
export type Role = (typeof ROLES)[number];

/** The architectures that the page offers. SSP supports the first three. */
export const ARCHITECTURES = ["amd64", "arm64", "s390x", "ppc64le"] as const;

/** The number of nodes of each architecture and role. */
export type Counts = Record<string, Partial<Record<Role, number>>>;

export type Nodes =
  | { from: "counts"; counts: Counts }
  /** The output of `kubectl get nodes -o yaml`. */
  | { from: "list"; list: string }
  /** The host's error if the policy cannot read the nodes. */
  | { from: "error"; error: string };

export interface State {
  /** YAML of the HyperConverged. */
  object: string;
  /** YAML of the object before the update; empty for a new object. */
  oldObject: string;
  /** YAML of the settings. */
  settings: string;
  nodes: Nodes;
  /** Architectures of joining worker nodes, one node for each. */
  whatIf: string[];
  /** Fields of the admission request that differ from an ordinary request. */
  request: Record<string, unknown>;
}

/** Control-plane nodes with amd64, and workers with amd64 and arm64. */
export const START_COUNTS: Nodes & { from: "counts" } = {
  from: "counts",
  counts: { amd64: { worker: 3, "control-plane": 3 }, arm64: { worker: 2 } },
};

export const START: State = {
  object: `apiVersion: hco.kubevirt.io/v1beta1
kind: HyperConverged
metadata:
  name: kubevirt-hyperconverged
  namespace: kubevirt-hyperconverged
spec:
  workloads: {} # no placement: all worker nodes
`,
  oldObject: "",
  settings: "",
  nodes: START_COUNTS,
  whatIf: [],
  request: {},
};

/** The host's error if the policy is not allowed to read nodes. */
export const NO_GRANT =
  "Policy has not been granted access to Kubernetes v1/Node resources. The violation has been reported.";

/**
 * The fragment of a link: `#1.` and the state as JSON, deflated, in base64url. Fields with their initial value are
 * omitted, so the initial state has no fragment.
 */
export async function toFragment(state: State): Promise<string> {
  const fields = Object.entries(state).filter(([key, value]) => !same(value, START[key as keyof State]));
  if (fields.length === 0) return "";
  const bytes = new TextEncoder().encode(JSON.stringify(Object.fromEntries(fields)));
  const deflated = await through(bytes, new CompressionStream("deflate-raw"));
  let binary = "";
  for (const byte of deflated) binary += String.fromCharCode(byte);
  return `#1.${btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** More than any link needs. Without a limit, a short link could inflate to a thousand times its size. */
const MOST = 16 * 1024 * 1024;

/** The state of a link. Throws if the fragment is not one. */
export async function fromFragment(fragment: string): Promise<State> {
  if (fragment.replace("#", "") === "") return START;
  const text = /^#1\.([\w-]+)$/.exec(fragment)?.[1];
  if (text === undefined) throw new Error("the link is not from this page");
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = await through(
    Uint8Array.from(binary, (it) => it.charCodeAt(0)),
    new DecompressionStream("deflate-raw"),
  );
  return checked(JSON.parse(new TextDecoder().decode(bytes)));
}

async function through(bytes: Uint8Array<ArrayBuffer>, stream: GenericTransformStream): Promise<Uint8Array> {
  const body = new Blob([bytes]).stream().pipeThrough(stream as ReadableWritablePair<Uint8Array, BufferSource>);
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for (const reader = body.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value as Uint8Array<ArrayBuffer>);
    size += value.length;
    if (size > MOST) throw new Error("the link contains too much data");
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

/** A link can come from anybody, so values of the wrong type are ignored. */
function checked(given: unknown): State {
  const fields = isObject(given) ? given : {};
  const text = (key: "object" | "oldObject" | "settings") => {
    const value = fields[key];
    return typeof value === "string" ? value : START[key];
  };
  const whatIf = Array.isArray(fields["whatIf"]) ? fields["whatIf"] : [];
  // A link must not set an object that the editor does not show.
  const { object: _, oldObject: __, ...request } = isObject(fields["request"]) ? fields["request"] : {};
  return {
    object: text("object"),
    oldObject: text("oldObject"),
    settings: text("settings"),
    nodes: checkedNodes(fields["nodes"]),
    whatIf: ARCHITECTURES.filter((name) => whatIf.includes(name)),
    request,
  };
}

function checkedNodes(given: unknown): Nodes {
  if (isObject(given)) {
    if (typeof given["list"] === "string") return { from: "list", list: given["list"] };
    if (typeof given["error"] === "string") return { from: "error", error: given["error"] };
    const counts: Counts = {};
    for (const name of ARCHITECTURES) {
      const roles = isObject(given["counts"]) ? given["counts"][name] : undefined;
      if (!isObject(roles)) continue;
      counts[name] = Object.fromEntries(
        ROLES.map((role) => [role, limited(Number(roles[role] ?? 0))]).filter(([, it]) => it),
      );
    }
    if (given["counts"]) return { from: "counts", counts };
  }
  return START.nodes;
}

/** Kubernetes supports 5,000 nodes. */
export const MOST_NODES = 5000;

export function limited(number: number): number {
  return Number.isFinite(number) ? Math.min(Math.max(Math.trunc(number), 0), MOST_NODES) : 0;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
