// From the state to the verdict. Runs in a worker: the input can be large or hostile, and the module can run forever.

import { host, listOf, maskedList, nodesOf, type Exchange } from "./cluster";
import { Manifest, ManifestError, valueOf, type Operation, type Range } from "./manifest";
import { isObject, type State } from "./state";
import { call, GuestError, textOf } from "./wapc";

/** The report of the module, crates/engine/src/report.rs. */
export interface Report {
  allowed: boolean;
  code: number | null;
  message: string | null;
  nodes: Record<string, number> | null;
  workloadArchitectures: string[] | null;
  controlPlaneArchitectures: string[] | null;
  multiArchImport: "enabled" | "disabled" | null;
  templates:
    { name: string; architectures: Record<string, "in-image" | "expected" | "not-imported" | "unknown"> }[] | null;
  forecast: Forecast | null;
  /** Of an update: what the operators made of the old object. */
  forecastBefore: Forecast | null;
  changes: { emptyMeanwhile: string[]; lostImage: string[] } | null;
  findings: Finding[];
  /** All fixes that need no decision. */
  patch: Operation[];
  moreFindings: number;
  repairs: string[];
}

/** What the operators make of an object. */
export interface Forecast {
  dataSources: DataSource[];
  stopped: string | null;
}

export interface DataSource {
  namespace: string;
  name: string;
  pointsTo: string | null;
  architectureLabel: string;
  /** Whether it has a disk; null if that is unknown. */
  filled: boolean | null;
}

export interface Finding {
  rule: string;
  level: "deny" | "warn" | "carried";
  path: string;
  template: string | null;
  fact: string;
  fixes: Remedy[];
}

export interface Remedy {
  summary: string;
  complete: boolean;
  patch: Operation[];
  command: string | null;
}

/** The part of the response of `validate` that `report` does not return. */
interface Validation {
  warnings: string[] | null;
  audit_annotations: Record<string, string> | null;
  mutated_object: unknown;
}

/** The object, the old object, the settings, or the nodes cannot be read. */
export interface Unread {
  pane: "object" | "oldObject" | "settings" | "nodes" | "module";
  sentence: string;
  range?: Range | undefined;
}

export interface Verdict {
  report: Report;
  warnings: string[];
  auditAnnotations: Record<string, string>;
  mutatedObject: unknown;
  request: Request;
  settings: unknown;
  exchanges: Exchange[];
  /** The nodes as a list; null if they cannot be read. */
  nodes: unknown;
  /** The place of each finding in the object's text. */
  places: (Range | undefined)[];
  /** Notes on how to read the verdict. */
  notes: string[];
}

export interface Request {
  uid: string;
  operation: string;
  name: string;
  namespace: string;
  kind: { group: string; version: string; kind: string };
  object: unknown;
  oldObject: unknown;
  [field: string]: unknown;
}

export type Judgement = { verdict: Verdict } | { unread: Unread };

/** Evaluates a request: the whole report, and the parts of the response that only the API server gets. */
export function evaluate(
  module: WebAssembly.Module,
  payload: string,
  list: Parameters<typeof host>[0],
): { report: Report; validation: Validation; exchanges: Exchange[] } {
  const exchanges: Exchange[] = [];
  const report = JSON.parse(call(module, "report", payload, host(list, []))) as Report;
  const validation = JSON.parse(call(module, "validate", payload, host(list, exchanges))) as Validation;
  return { report, validation, exchanges };
}

export function judge(module: WebAssembly.Module, state: State): Judgement {
  let pane: Unread["pane"] = "object";
  try {
    const object = Manifest.read(state.object);
    pane = "oldObject";
    const oldObject = valueOf(state.oldObject);
    pane = "settings";
    const settings = valueOf(state.settings) ?? {};
    pane = "nodes";
    const nodes = nodesOf(state);
    pane = "module";
    const request = requestFor(object.value, oldObject, state.request);
    const listed = (nodes: ReturnType<typeof nodesOf>) => (masks: string[] | null) =>
      Array.isArray(nodes) ? maskedList(nodes, masks) : nodes;
    const payload = JSON.stringify({ request, settings });
    const { report, validation, exchanges } = evaluate(module, payload, listed(nodes));
    if (state.whatIf.length > 0 && oldObject === null) {
      // The forecast for the same object without the joining nodes.
      const without = listed(nodesOf({ ...state, whatIf: [] }));
      report.forecastBefore = (JSON.parse(call(module, "report", payload, host(without, []))) as Report).forecast;
    }
    return {
      verdict: {
        report,
        warnings: validation.warnings ?? [],
        auditAnnotations: validation.audit_annotations ?? {},
        mutatedObject: validation.mutated_object ?? null,
        request,
        settings,
        exchanges,
        nodes: Array.isArray(nodes) ? listOf(nodes) : null,
        places: report.findings.map((finding) => object.find(finding.path)),
        notes: notes(object, state),
      },
    };
  } catch (error) {
    const sentence = error instanceof GuestError ? `The policy failed: ${error.message}` : textOf(error);
    return { unread: { pane, sentence, range: error instanceof ManifestError ? error.range : undefined } };
  }
}

function notes(object: Manifest, state: State): string[] {
  const notes = [];
  const value = object.value;
  if (
    isObject(value) &&
    (value["kind"] !== "HyperConverged" || !String(value["apiVersion"]).startsWith("hco.kubevirt.io/"))
  ) {
    notes.push("The policy checks only HyperConverged objects of hco.kubevirt.io.");
  }
  if (object.others > 0) notes.push("The text has several objects. Only the first HyperConverged is checked.");
  if (Object.keys(state.request).length > 0) {
    notes.push(`The link sets these fields of the admission request: ${JSON.stringify(state.request)}`);
  }
  return notes;
}

/**
 * The admission request that the API server would send.
 *
 * MIRRORS: crates/hco-preflight/src/admission.rs, `request`.
 */
export function requestFor(object: unknown, oldObject: unknown, overlay: State["request"]): Request {
  const fields = isObject(object) ? object : {};
  const metadata = isObject(fields["metadata"]) ? fields["metadata"] : {};
  const text = (value: unknown, otherwise = "") => (typeof value === "string" && value !== "" ? value : otherwise);
  const apiVersion = text(fields["apiVersion"], "hco.kubevirt.io/v1beta1");
  const slash = apiVersion.indexOf("/");
  const [group, version] = [apiVersion.slice(0, Math.max(slash, 0)), apiVersion.slice(slash + 1)];
  return {
    uid: "00000000-0000-0000-0000-000000000000",
    kind: { group, version, kind: text(fields["kind"], "HyperConverged") },
    resource: { group, version, resource: "hyperconvergeds" },
    operation: oldObject === null ? "CREATE" : "UPDATE",
    name: text(metadata["name"]),
    namespace: text(metadata["namespace"]),
    userInfo: { username: "kubernetes-admin", groups: ["system:masters", "system:authenticated"] },
    object,
    oldObject,
    dryRun: false,
    ...overlay,
  };
}
