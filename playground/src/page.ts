// The page: three panes, and the reaction to changes in them.

import { diffLines } from "diff";
import { kubectlOutput, kwctlCommand, preflightCommand } from "./commands";
import { createEditor, type Editor } from "./editor";
import { Evaluator } from "./evaluator";
import type { DataSource, Finding, Judgement, Remedy, Report, Unread, Verdict } from "./judge";
import type { Operation, Range } from "./manifest";
import {
  ARCHITECTURES,
  fromFragment,
  limited,
  MOST_NODES,
  NO_GRANT,
  type Nodes,
  ROLES,
  START,
  START_COUNTS,
  type State,
  toFragment,
} from "./state";
import { count, visible } from "./text";
import { textOf } from "./wapc";

interface Example {
  title: string;
  about: string;
  state: Partial<State>;
}

type Child = Node | string | false;

/** An element. Texts become text nodes, with invisible characters escaped: nothing here is ever parsed as HTML. */
function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  properties: Partial<HTMLElementTagNameMap[K]> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = Object.assign(document.createElement(name), properties);
  for (const child of children) if (child !== false) made.append(typeof child === "string" ? visible(child) : child);
  return made;
}

function get<T extends HTMLElement = HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

// The slowest step comes first: the module loads while the editors are created.

const evaluator = new Evaluator();
loadModule().then(
  (module) => evaluator.load(module),
  (error: unknown) => (get("verdict").textContent = visible(`The policy cannot be loaded: ${textOf(error)}`)),
);

/** Compiles the module once, so that a new worker does not have to compile it again. */
async function loadModule(): Promise<WebAssembly.Module> {
  const response = await fetch("policy.wasm.gz");
  if (!response.ok || !response.body) throw new Error(`policy.wasm.gz: ${response.status}`);
  // Some servers declare the file as compressed; the browser has then decompressed it already.
  const isInflated = response.headers.get("content-encoding") !== null;
  const body = isInflated ? response.body : response.body.pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compileStreaming(new Response(body, { headers: { "content-type": "application/wasm" } }));
}

// The controls of the page.

const object = createEditor(get("object"), "HyperConverged", "Paste a HyperConverged", changed);
const oldObject = createEditor(get("old-object"), "Old object", "Paste the object before the update", changed);
const settings = createEditor(get("settings"), "Settings", "For example: updates: strict", changed);
const nodeList = createEditor(get("node-list"), "Node list", "Paste a list of nodes", changed);
const hostError = get<HTMLTextAreaElement>("host-error");
const radios = [...document.querySelectorAll<HTMLInputElement>("input[name=from]")];
const counters = new Map<string, HTMLInputElement>();
const joining = new Map<string, HTMLButtonElement>();
const ROLE_NAMES = { worker: "Worker", "control-plane": "Control plane", both: "Both roles" } as const;

/** Fields of the admission request that a link sets; the page has no control for them. */
let request: State["request"] = {};
/** The judgement that the page shows. */
let shown: Judgement | undefined;
/** While a state is restored, the controls do not report each change. */
let isRestoring = false;

function state(): State {
  return {
    object: object.text,
    oldObject: oldObject.text,
    settings: settings.text,
    nodes: nodes(),
    whatIf: ARCHITECTURES.filter((name) => joining.get(name)?.ariaPressed === "true"),
    request,
  };
}

function nodes(): Nodes {
  const from = radios.find((radio) => radio.checked)?.value;
  if (from === "list") return { from, list: nodeList.text };
  if (from === "error") return { from, error: hostError.value };
  const counts: Record<string, Record<string, number>> = {};
  for (const [key, input] of counters) {
    const [architecture = "", role = ""] = key.split(" ");
    const number = limited(input.valueAsNumber);
    if (number > 0) counts[architecture] = { ...counts[architecture], [role]: number };
  }
  return { from: "counts", counts };
}

function restore(state: State): void {
  isRestoring = true;
  object.replace(state.object);
  oldObject.replace(state.oldObject);
  settings.replace(state.settings);
  request = state.request;
  for (const radio of radios) radio.checked = radio.value === state.nodes.from;
  nodeList.replace(state.nodes.from === "list" ? state.nodes.list : "");
  hostError.value = state.nodes.from === "error" ? state.nodes.error : NO_GRANT;
  for (const [key, input] of counters) {
    const [architecture = "", role = ""] = key.split(" ");
    const { counts } = state.nodes.from === "counts" ? state.nodes : START_COUNTS;
    input.value = String(counts[architecture]?.[role as "worker"] ?? 0);
  }
  for (const [name, button] of joining) button.ariaPressed = String(state.whatIf.includes(name));
  showNodes();
  isRestoring = false;
  changed();
}

function showNodes(): void {
  const from = nodes().from;
  for (const id of ["counts", "list", "error"]) get(id).hidden = id !== from;
  get("what-if").hidden = from === "error";
}

// From a change to a verdict.

let linkTimer = 0;

function changed(): void {
  if (isRestoring) return;
  note("");
  void check();
  // Browsers limit how often the address can change.
  clearTimeout(linkTimer);
  linkTimer = window.setTimeout(() => void updateLink(), 300);
}

/** The number of checks that were shown; tests wait for the next one. */
let checks = 0;

async function check(): Promise<void> {
  const status = get("verdict");
  status.ariaBusy = "true";
  const judgement = await evaluator.judge(state());
  // If there is none, a later check is in progress.
  if (!judgement) return;
  shown = judgement;
  show(judgement);
  status.ariaBusy = "false";
  status.dataset["checks"] = String(++checks);
  if (checks === 1) performance.mark("first verdict");
}

async function updateLink(): Promise<void> {
  const fragment = await toFragment(state());
  if (fragment === location.hash) return;
  try {
    window.history.replaceState(null, "", fragment || location.pathname + location.search);
  } catch {
    // The link is too long for this browser. The page works without it.
  }
}

// The right pane.

function show(judgement: Judgement): void {
  const isRead = "verdict" in judgement;
  const marks = isRead
    ? judgement.verdict.report.findings.flatMap(({ level }, index) => {
        const place = judgement.verdict.places[index];
        return place ? [{ ...place, level }] : [];
      })
    : [];
  object.mark(marks);
  for (const editor of [oldObject, settings, nodeList]) editor.mark([]);
  if (!isRead) {
    const { pane, range } = judgement.unread;
    const editor = { object, oldObject, settings, nodes: nodeList, module: undefined }[pane];
    if (range) editor?.mark([{ ...range, level: "deny" }]);
  }
  const { kind, text } = isRead ? summary(judgement.verdict) : unreadSummary(judgement.unread);
  const status = get("verdict");
  status.className = kind;
  // A screen reader announces a live region on every write.
  if (status.textContent !== visible(text)) status.textContent = visible(text);
  get("details").replaceChildren(...(isRead ? details(judgement.verdict) : unreadDetails(judgement.unread)));
}

function summary({ report }: Verdict): { kind: string; text: string } {
  const rules = (level: string) => [
    ...new Set(report.findings.filter((it) => it.level === level).map((it) => it.rule)),
  ];
  const [denying, warning, existing] = [rules("deny"), rules("warn"), rules("carried")];
  const parts = [];
  if (!report.allowed) {
    // No rule denies the request: the object or the settings cannot be read.
    const reason = (report.message ?? "").split("\nfix:")[0]?.replace(/\s+/g, " ");
    parts.push(`Denied: ${denying.join(", ") || reason}`);
  } else parts.push("Accepted");
  if (warning.length > 0) parts.push(`Warnings: ${warning.join(", ")}`);
  if (existing.length > 0) parts.push(`Existing problems: ${existing.join(", ")}`);
  const kind = report.allowed ? (parts.length > 1 ? "warned" : "accepted") : "denied";
  return { kind, text: parts.join(". ") };
}

const PANES = { object: "HyperConverged", oldObject: "Old object", settings: "Settings", nodes: "Node list" } as const;

function unreadSummary({ pane, sentence }: Unread): { kind: string; text: string } {
  return { kind: "unread", text: `Not checked: ${pane === "module" ? "" : `${PANES[pane]}: `}${sentence}` };
}

function unreadDetails({ pane, range }: Unread): HTMLElement[] {
  const editor = { object, oldObject, settings, nodes: nodeList, module: undefined }[pane];
  return range && editor ? [element("p", {}, lineButton(editor, range))] : [];
}

function details(verdict: Verdict): HTMLElement[] {
  const { report, warnings, auditAnnotations, notes, mutatedObject } = verdict;
  const annotations = Object.entries(auditAnnotations);
  return [
    ...notes.map((note) => element("p", { className: "hint" }, note)),
    ...bootSources(report),
    ...findings(verdict),
    ...matrix(report),
    ...(mutatedObject === null
      ? []
      : section(
          "Repairs",
          element("p", {}, "The policy changes the object:"),
          difference(json(verdict.request.object), json(mutatedObject)),
        )),
    ...(warnings.length === 0
      ? []
      : section("Warnings", element("ul", {}, ...warnings.map((it) => element("li", {}, it))))),
    ...(annotations.length === 0 ? [] : section("Audit annotations", list(annotations))),
    ...section("kubectl", element("pre", { tabIndex: 0 }, kubectlOutput(verdict))),
  ];
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function section(title: string, ...children: HTMLElement[]): HTMLElement[] {
  return [element("h3", {}, title), ...children];
}

function list(pairs: [string, string][]): HTMLElement {
  return element("dl", {}, ...pairs.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
}

const STATES = {
  "in-image": "image has it",
  expected: "expected",
  "not-imported": "not imported",
  unknown: "unknown",
} as const;

function matrix({ templates, nodes }: Report): HTMLElement[] {
  if (!templates || !nodes) return [];
  const names = Object.keys(nodes).sort();
  if (names.length === 0 || templates.length === 0) {
    return section(
      "Golden images",
      element("p", {}, names.length === 0 ? "There are no workload nodes." : "There are no golden images."),
    );
  }
  const head = names.map((name) =>
    element("th", { scope: "col" }, name, element("small", {}, count(nodes[name] ?? 0, "node"))),
  );
  const rows = templates.map((template) => {
    const cells = names.map((name) => {
      const state = template.architectures[name] ?? "unknown";
      return element("td", { className: state }, STATES[state] ?? state);
    });
    return element("tr", {}, element("th", { scope: "row" }, template.name), ...cells);
  });
  const caption = "For which architectures VMs can boot from a golden image";
  const first = element("th", { scope: "col" }, "Golden image");
  return section("Golden images", table("Golden images", caption, [first, ...head], rows));
}

/** A table that scrolls by itself where it is wider than the page. */
function table(label: string, caption: string, head: HTMLElement[], rows: HTMLElement[]): HTMLElement {
  const all = element(
    "table",
    {},
    element("caption", {}, caption),
    element("thead", {}, element("tr", {}, ...head)),
    element("tbody", {}, ...rows),
  );
  return element("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: label }, all);
}

/**
 * What the operators make of the object: a row for each DataSource, with those that have an architecture behind the same name.
 * Of an update, and of a node that joins, a cell shows what was before, too.
 */
function bootSources({ forecast, forecastBefore, changes }: Report): HTMLElement[] {
  if (!forecast) return [];
  const sides = [...(forecastBefore ? [forecastBefore] : []), forecast].map(
    ({ dataSources }) => new Map(dataSources.map((source) => [`${source.namespace}/${source.name}`, source])),
  );
  const rows = new Map<string, Map<string, HTMLElement>>();
  for (const key of [...new Set(sides.flatMap((side) => [...side.keys()]))].sort()) {
    const found = sides.map((side) => side.get(key));
    const suffix = `-${(found.at(-1) ?? found[0])?.architectureLabel ?? ""}`;
    const isOfArchitecture = suffix !== "-" && key.endsWith(suffix);
    const name = isOfArchitecture ? key.slice(0, -suffix.length) : key;
    const meanwhile = changes?.emptyMeanwhile.includes(key) ? "; none until the import is done" : "";
    const isEmpty = meanwhile !== "" || !found.at(-1)?.filled;
    const text = [...new Set(found.map(disk))].join(" → ") + meanwhile;
    const cells = rows.get(name) ?? new Map<string, HTMLElement>();
    const column = isOfArchitecture ? suffix.slice(1) : "";
    rows.set(name, cells.set(column, element("td", { className: isEmpty ? "not-imported" : "expected" }, text)));
  }
  if (rows.size === 0) return [];
  const columns = [...new Set([...rows.values()].flatMap((cells) => [...cells.keys()]))].sort();
  const head = ["Boot source", ...columns.map((column) => column || "Name alone")];
  const namespaces = new Set([...rows.keys()].map((name) => name.split("/")[0] ?? ""));
  const namespace = namespaces.size === 1 ? [...namespaces].join() : "";
  const body = [...rows].map(([name, cells]) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, namespace ? name.slice(namespace.length + 1) : name),
      ...columns.map((column) => cells.get(column) ?? element("td", {}, "–")),
    ),
  );
  const caption = `DataSources${namespace ? ` in ${namespace}` : ""} and their disks, if each import succeeds`;
  const stopped = forecast.stopped === null ? [] : [element("p", {}, STOPPED)];
  const heads = head.map((name) => element("th", { scope: "col" }, name));
  return section("Boot sources", ...stopped, table("Boot sources", caption, heads, body));
}

const STOPPED = "SSP stops before its end: it deletes no DataImportCron, and updates no VM template.";

function disk(source: DataSource | undefined): string {
  if (!source) return "none";
  const { name, pointsTo, filled } = source;
  if (pointsTo !== null) {
    const target = pointsTo.startsWith(`${name}-`) ? pointsTo.slice(name.length + 1) : pointsTo;
    return `points to ${target}${filled ? "" : ", which has no disk"}`;
  }
  if (filled === null) return "unknown";
  return filled ? "a disk" : "no disk";
}

function findings({ report, places }: Verdict): HTMLElement[] {
  if (report.findings.length === 0) return [];
  const items = report.findings.map((finding, index) => findingItem(finding, places[index]));
  const complete = report.findings.flatMap((finding) =>
    finding.fixes.filter((it, index) => index === 0 && it.complete),
  );
  const changing = complete.filter((remedy) => remedy.patch.length > 0);
  const all: HTMLElement[] = [];
  if (changing.length > 1) {
    const title = `Apply fixes: all ${changing.length} that do not need a decision`;
    all.push(element("p", {}, fixButton(title, report.patch, true)));
  }
  if (report.moreFindings > 0) items.push(element("li", {}, `and ${report.moreFindings} more`));
  return section("Findings", ...all, element("ul", { className: "findings" }, ...items));
}

const LEVELS = { deny: "denied", warn: "warning", carried: "existing problem" } as const;

function findingItem(finding: Finding, place: Range | undefined): HTMLLIElement {
  const remedies = finding.fixes.map((remedy, index) => remedyItem(finding, remedy, index));
  return element(
    "li",
    { className: finding.level },
    element(
      "h4",
      {},
      element("span", { className: "level" }, LEVELS[finding.level] ?? finding.level),
      " ",
      finding.rule,
    ),
    element("p", {}, place ? lineButton(object, place) : "", " ", element("code", {}, finding.path)),
    element("p", {}, finding.fact),
    element("ul", { className: "remedies" }, ...remedies),
  );
}

function remedyItem({ fixes }: Finding, remedy: Remedy, index: number): HTMLLIElement {
  const summary = remedy.summary;
  const isAmbiguous = fixes.filter((it) => it.summary === summary).length > 1;
  const title = `Apply fix: ${summary}${isAmbiguous ? ` (${effect(remedy.patch)})` : ""}`;
  return element(
    "li",
    {},
    remedy.patch.length > 0
      ? fixButton(title, remedy.patch, remedy.complete)
      : element("p", {}, `${index > 0 ? "Or " : "To fix this: "}${summary}.`),
    remedy.command !== null && element("pre", { tabIndex: 0 }, remedy.command),
  );
}

/** The last value that a patch sets, as a short text. */
function effect(patch: Operation[]): string {
  const value = patch.at(-1)?.value;
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}

function lineButton(editor: Editor, place: Range): HTMLButtonElement {
  const button = element("button", { type: "button", className: "line" }, `Line ${editor.lineOf(place)}`);
  button.addEventListener("click", () => editor.reveal(place));
  return button;
}

// Fixes.

const dialog = get<HTMLDialogElement>("fix");
/** The text that the Apply button of the dialog puts into the editor. */
let fixed: string | undefined;

function fixButton(title: string, patch: Operation[], isComplete: boolean): HTMLButtonElement {
  const button = element("button", { type: "button" }, title);
  button.addEventListener("click", () => void proposeFix(title, patch, isComplete));
  return button;
}

async function proposeFix(title: string, patch: Operation[], isComplete: boolean): Promise<void> {
  const before = object.text;
  try {
    fixed = await evaluator.patched(before, patch);
  } catch (error) {
    return note(textOf(error));
  }
  if (object.text !== before) return;
  get("fix-heading").textContent = visible(title.replace(/^Apply fix(?:es)?: /, "Fix: "));
  get("fix-review").textContent = isComplete
    ? ""
    : "This fix needs your decision: check that the change is what you want.";
  get("fix-diff").replaceChildren(...difference(before, fixed).childNodes);
  dialog.showModal();
}

get("fix-apply").addEventListener("click", () => {
  dialog.close();
  // The button that opened the dialog disappears with its finding.
  get("verdict-heading").focus();
  if (fixed !== undefined) object.replace(fixed);
});
get("fix-cancel").addEventListener("click", () => dialog.close());

/** The lines that differ, with some context. */
function difference(before: string, after: string): HTMLElement {
  const AROUND = 3;
  const parts = diffLines(before, after);
  const block = element("div", { className: "diff" });
  const line = (name: "ins" | "del" | "span", sign: string, text: string) =>
    block.append(element(name, {}, `${sign} ${text}`), "\n");
  parts.forEach((part, index) => {
    const lines = part.value.replace(/\n$/, "").split("\n");
    if (part.added) for (const it of lines) line("ins", "+", it);
    else if (part.removed) for (const it of lines) line("del", "-", it);
    else {
      const first = index === 0 ? [] : lines.slice(0, AROUND);
      const last = index === parts.length - 1 ? [] : lines.slice(Math.max(first.length, lines.length - AROUND));
      for (const it of first) line("span", " ", it);
      if (first.length + last.length < lines.length) line("span", "…", "");
      for (const it of last) line("span", " ", it);
    }
  });
  return block;
}

// The middle pane.

function buildCluster(): void {
  const head = ROLES.map((role) => element("th", { scope: "col" }, ROLE_NAMES[role]));
  const rows = ARCHITECTURES.map((architecture) => {
    const cells = ROLES.map((role) => element("td", {}, stepper(architecture, role)));
    return element("tr", {}, element("th", { scope: "row" }, architecture), ...cells);
  });
  const columns = element("tr", {}, element("td"), ...head);
  get("counts").append(
    element("table", { className: "counts" }, element("thead", {}, columns), element("tbody", {}, ...rows)),
  );
  const buttons = ARCHITECTURES.map((architecture) => {
    const button = element("button", { type: "button", ariaPressed: "false" }, architecture);
    button.addEventListener("click", () => {
      button.ariaPressed = String(button.ariaPressed !== "true");
      changed();
    });
    joining.set(architecture, button);
    return button;
  });
  get("what-if").append(element("div", { className: "tools" }, ...buttons));
  for (const radio of radios) {
    radio.addEventListener("change", () => {
      showNodes();
      changed();
    });
  }
  hostError.addEventListener("input", changed);
}

function stepper(architecture: string, role: (typeof ROLES)[number]): HTMLElement {
  const what = `${architecture}, ${ROLE_NAMES[role]}`;
  const input = element("input", { type: "number", min: "0", max: String(MOST_NODES), value: "0", ariaLabel: what });
  input.addEventListener("input", changed);
  const step = (by: number, sign: string, name: string) => {
    const button = element("button", { type: "button", ariaLabel: `${name}: ${what}` }, sign);
    button.addEventListener("click", () => {
      input.value = String(limited(limited(input.valueAsNumber) + by));
      changed();
    });
    return button;
  };
  counters.set(`${architecture} ${role}`, input);
  return element("div", { className: "stepper" }, step(-1, "−", "One less"), input, step(1, "+", "One more"));
}

// The header of the page.

async function loadExamples(): Promise<void> {
  const groups = (await (await fetch("examples.json")).json()) as Record<string, Example[]>;
  const examples = Object.values(groups).flat();
  const select = get<HTMLSelectElement>("examples");
  select.append(element("option", { value: "" }, "Choose an example"), element("option", { value: "start" }, "Start"));
  for (const [label, group] of Object.entries(groups)) {
    const options = group.map((it) => element("option", { value: String(examples.indexOf(it)) }, it.title));
    select.append(element("optgroup", { label }, ...options));
  }
  select.addEventListener("change", () => {
    if (select.value === "") return;
    const example = examples[Number(select.value)];
    restore({ ...START, ...example?.state });
    tellAbout(example);
  });
}

function tellAbout(example: Example | undefined): void {
  get("about").textContent = visible(example?.about ?? "");
  get("about").hidden = !example;
}

function note(text: string): void {
  get("note").textContent = visible(text);
}

async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    note(`Copied ${what}.`);
  } catch {
    get<HTMLTextAreaElement>("copy-text").value = text;
    get<HTMLDialogElement>("copy").showModal();
    get<HTMLTextAreaElement>("copy-text").select();
  }
}

get("copy-close").addEventListener("click", () => get<HTMLDialogElement>("copy").close());
get("copy-link").addEventListener("click", async () => {
  await updateLink();
  await copy(location.href, "the link");
});
get("copy-kwctl").addEventListener("click", () => {
  if (!shown || "unread" in shown) return note("There is nothing to copy until the policy has checked the input.");
  void copy(kwctlCommand(shown.verdict), "the kwctl command. It needs annotated-policy.wasm in the current directory");
});
get("copy-preflight").addEventListener("click", () => {
  if (!shown || "unread" in shown) return note("There is nothing to copy until the policy has checked the input.");
  if (shown.verdict.nodes === null) return note("hco-preflight needs nodes. Choose Counts or Node list.");
  void copy(preflightCommand(state(), shown.verdict), "the hco-preflight command");
});

// Start.

async function restoreLink(fragment: string): Promise<void> {
  get<HTMLSelectElement>("examples").value = "";
  tellAbout(undefined);
  try {
    restore(await fromFragment(fragment));
  } catch (error) {
    restore(START);
    note(`The link cannot be read: ${textOf(error)}`);
  }
}

buildCluster();
// By now, the address can be another one: it follows the input.
window.addEventListener("hashchange", (event) => void restoreLink(new URL(event.newURL).hash));
void restoreLink(location.hash);
void loadExamples();
