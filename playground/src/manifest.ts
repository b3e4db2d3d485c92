// Manifests as kubectl reads them: values, field positions, and edits that do not change the rest of the text.

import { diffArrays } from "diff";
import {
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  type Document,
  type Node,
  type ParsedNode,
  parseAllDocuments,
  type Scalar,
  type ScalarTag,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";

/** An operation of a JSON Patch (RFC 6902); the module uses these three. */
export interface Operation {
  op: "add" | "replace" | "remove";
  path: string;
  value?: unknown;
}

/** Part of a text. */
export interface Range {
  from: number;
  to: number;
}

/** The text is not YAML, or the edit is not possible. */
export class ManifestError extends Error {
  constructor(
    message: string,
    readonly range?: Range,
  ) {
    super(message);
  }
}

/**
 * How kubectl reads a scalar without quotation marks: YAML 1.1 with exceptions, so `yes` is true and `017` is 15.
 *
 * MIRRORS: crates/manifest/src/scalar.rs, which mirrors go.yaml.in/yaml/v2.
 */
const SCALARS: ScalarTag[] = [
  scalar(
    "null",
    /^(?:~|[Nn]ull|NULL)?$/,
    (it) => it === null,
    () => null,
  ),
  scalar(
    "bool",
    /^(?:[Yy]|[Yy]es|YES|[Tt]rue|TRUE|[Oo]n|ON)$/,
    (it) => it === true,
    () => true,
  ),
  scalar(
    "bool",
    /^(?:[Nn]|[Nn]o|NO|[Ff]alse|FALSE|[Oo]ff|OFF)$/,
    (it) => it === false,
    () => false,
  ),
  scalar(
    "int",
    /^[-+]?(?:0[xX][\da-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|0[0-7_]+|[1-9][\d_]*|0)$/,
    (it) => Number.isInteger(it),
    (text) => {
      const [, sign, digits = ""] = /^([-+]?)(.*)$/.exec(text.replaceAll("_", "")) ?? [];
      const number = Number(/^0[0-7]+$/.test(digits) ? `0o${digits}` : digits);
      return sign === "-" ? -number : number;
    },
  ),
  scalar(
    "float",
    /^[-+]?(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][-+]?\d+)?$/,
    (it) => typeof it === "number",
    (text) => Number(text.replaceAll("_", "")),
  ),
];

function scalar(
  name: string,
  test: RegExp,
  identify: (value: unknown) => boolean,
  resolve: (text: string) => unknown,
): ScalarTag {
  const stringify = ({ value, source }: Scalar) => source ?? String(value);
  return { tag: `tag:yaml.org,2002:${name}`, default: true, test, identify, resolve, stringify };
}

const PARSE = {
  schema: "failsafe",
  customTags: SCALARS,
  merge: true,
  prettyErrors: false,
  keepSourceTokens: false,
} as const;

/** An object in a text. */
export class Manifest {
  private constructor(
    private readonly text: string,
    private readonly documents: Document.Parsed[],
    private readonly document: Document.Parsed,
    /** The object: the content of the document, or an item of the list in it. */
    private readonly root: Node | null,
    /** The value, converted to JSON types. */
    readonly value: unknown,
    /** The number of other objects in the text. */
    readonly others: number,
  ) {}

  /** Reads the first HyperConverged in a text or in a list that `kubectl get` prints; otherwise, the first document. */
  static read(text: string): Manifest {
    const documents = parseAllDocuments(text, PARSE) as Document.Parsed[];
    for (const document of documents) {
      const error = document.errors[0];
      if (error) throw new ManifestError(firstLine(error.message), { from: error.pos[0], to: error.pos[1] });
    }
    const objects = documents.flatMap((document) => objectsOf(document).map((root) => ({ document, root })));
    const isIt = ({ root }: { root: Node }) => isMap(root) && root.get("kind") === "HyperConverged";
    const document = documents[0] ?? (parseAllDocuments("null", PARSE)[0] as Document.Parsed);
    const found = objects.find(isIt) ?? { document, root: document.contents };
    let value: unknown;
    try {
      // Nested aliases can expand to more values than fit into memory.
      value = found.root?.toJS(found.document, { maxAliasCount: 1000 });
      JSON.stringify(value);
    } catch {
      throw new ManifestError("The text cannot be read, because an alias contains itself or expands to too much data.");
    }
    return new Manifest(text, documents, found.document, found.root, value ?? null, Math.max(objects.length - 1, 0));
  }

  /** The position of a field, given by the path of a finding; if the field is missing, the position of its parent. */
  find(path: string): Range | undefined {
    // Findings about the cluster have no position in the object.
    if (path === "nodes") return undefined;
    let node = this.root;
    let found: Range | undefined = rangeOf(node, this.text);
    for (const key of segments(path)) {
      if (isAlias(node)) node = node.resolve(this.document) ?? null;
      if (isMap(node)) {
        const pair = pairOf(node, key);
        if (!pair) break;
        found = union(rangeOf(pair.key as Node, this.text), rangeOf(pair.value as Node | null, this.text));
        node = pair.value as Node | null;
      } else if (isSeq(node)) {
        const item = node.items[Number(key)] as Node | undefined;
        if (!item) break;
        found = rangeOf(item, this.text);
        node = item;
      } else break;
    }
    return found;
  }

  /** The text after a patch. Lines that the patch does not change stay as they are if possible. */
  patched(operations: Operation[]): string {
    const style = styleOf(this.text);
    const print = () => this.documents.map((it) => it.toString(style)).join("");
    const before = print();
    for (const operation of operations) apply(this.document, this.root, operation);
    const after = print();
    const kept = merged(this.text, before, after);
    return sameValue(kept, after) ? kept : after;
  }
}

function objectsOf({ contents }: Document.Parsed): Node[] {
  const items = isMap(contents) && (contents.get("kind") as unknown) === "List" ? contents.get("items") : undefined;
  return isSeq(items) ? (items.items as Node[]) : contents ? [contents] : [];
}

/** The value of a text, converted to JSON types; null if the text is empty. */
export function valueOf(text: string): unknown {
  return Manifest.read(text).value;
}

/**
 * Applies the changes between two printed texts to the original text. The printer normalizes blanks and empty lines;
 * the user's own formatting stays.
 */
function merged(original: string, before: string, after: string): string {
  const lines = (text: string) => text.split("\n");
  const words = (line: string) => line.replace(/\s+/g, " ").trim();
  // For each line before the change: whether it stays, and which new lines follow it.
  const stays: boolean[] = [];
  const added = new Map<number, string[]>();
  for (const part of diffArrays(lines(before), lines(after))) {
    if (part.added) added.set(stays.length, part.value);
    else stays.push(...part.value.map(() => !part.removed));
  }
  const result = [...(added.get(0) ?? [])];
  let at = 0;
  // Lines of the original, and the printed lines that correspond to them.
  const region = (originals: string[], printed: string[]) => {
    const end = at + printed.length;
    const isWhole = printed.every(
      (_, index) => stays[at + index] && (at + index + 1 === end || !added.has(at + index + 1)),
    );
    if (isWhole) result.push(...originals);
    for (; at < end; at++) {
      if (!isWhole && stays[at]) result.push(printed[at - end + printed.length] ?? "");
      result.push(...(added.get(at + 1) ?? []));
    }
  };
  const left = lines(original);
  let originals: string[] = [];
  for (const part of diffArrays(lines(original), lines(before), {
    comparator: (one, other) => words(one) === words(other),
  })) {
    // Lines that are only in the original come before lines that are only in the printed text.
    if (part.removed) originals = left.splice(0, part.value.length);
    else if (part.added) {
      region(originals, part.value);
      originals = [];
    } else {
      if (originals.length > 0) region(originals, []);
      originals = [];
      for (const line of part.value) region(left.splice(0, 1), [line]);
    }
  }
  region(originals, []);
  return result.join("\n");
}

function sameValue(one: string, other: string): boolean {
  try {
    const values = (text: string) =>
      JSON.stringify(parseAllDocuments(text, PARSE).map((it) => [it.errors.length, it.toJS()]));
    return values(one) === values(other);
  } catch {
    return false;
  }
}

function firstLine(text: string): string {
  return text.split("\n")[0] ?? "";
}

/** `spec.templates[0].metadata.annotations[a.b/c]`: a key with a dot or a slash is in brackets. */
function segments(path: string): string[] {
  return [...path.matchAll(/\[(.*?)\](?=[.[]|$)|([^.[]+)/g)].map((it) => it[1] ?? it[2] ?? "");
}

function rangeOf(node: Node | null | undefined, text: string): Range | undefined {
  const range = node?.range;
  if (!range) return undefined;
  // A block map or list ends where the next key begins.
  const to = range[0] + text.slice(range[0], range[1]).trimEnd().length;
  return { from: range[0], to };
}

function union(one: Range | undefined, other: Range | undefined): Range | undefined {
  return one && other ? { from: Math.min(one.from, other.from), to: Math.max(one.to, other.to) } : (one ?? other);
}

function pairOf(map: YAMLMap, key: string) {
  return map.items.find((it) => isPair(it) && isScalar(it.key) && String(it.key.value) === key);
}

function apply(document: Document.Parsed, root: Node | null, { op, path, value }: Operation): void {
  const keys = path
    .split("/")
    .slice(1)
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
  const last = keys.pop();
  if (last === undefined) throw new ManifestError("The fix replaces the whole object.");
  let parent: unknown = root;
  keys.forEach((key, index) => {
    const next = keys[index + 1] ?? last;
    parent = child(document, parent, key, /^(?:-|\d+)$/.test(next));
  });
  refuseShared(parent);
  if (isSeq(parent)) {
    const at = last === "-" ? parent.items.length : Number(last);
    if (op === "remove") parent.items.splice(at, 1);
    else if (op === "replace") parent.items.splice(at, 1, document.createNode(value) as ParsedNode);
    else parent.items.splice(at, 0, document.createNode(value) as ParsedNode);
    parent.flow &&= parent.items.length > 0;
  } else if (isMap(parent)) {
    const pair = pairOf(parent, last);
    if (op === "remove") {
      if (pair) parent.items.splice(parent.items.indexOf(pair), 1);
    } else if (pair && isScalar(pair.value) && !isObjectLike(value)) {
      refuseShared(pair.value);
      // Comments and quotation marks stay.
      pair.value.value = value;
      delete pair.value.source;
    } else if (pair) {
      // An earlier fix may have added the parent already.
      if (op === "add" && isEmpty(value) && (isMap(pair.value) || isSeq(pair.value))) return;
      pair.value = document.createNode(value);
    } else {
      // Print `{}` as a block when it gets its first key.
      if (parent.items.length === 0) parent.flow = false;
      parent.items.push(document.createPair(last, value) as never);
    }
  } else throw new ManifestError(`The fix cannot be applied: ${path}`);
}

/** The value of a key. A missing value is created, because a fix can rely on an earlier fix that adds it. */
function child(document: Document.Parsed, parent: unknown, key: string, isList: boolean): unknown {
  refuseShared(parent);
  if (isSeq(parent)) return parent.items[Number(key)];
  if (!isMap(parent)) throw new ManifestError("The fix cannot be applied to this object.");
  const pair = pairOf(parent, key);
  if (pair && !(isScalar(pair.value) && pair.value.value === null) && pair.value !== null) return pair.value;
  const made = document.createNode(isList ? [] : {}) as YAMLMap | YAMLSeq;
  made.flow = false;
  if (pair) pair.value = made as never;
  else {
    if (parent.items.length === 0) parent.flow = false;
    parent.items.push(document.createPair(key, made) as never);
  }
  return made;
}

/** An edit below an alias would also change other parts of the text. */
function refuseShared(node: unknown): void {
  const isShared = isAlias(node) || ((isMap(node) || isSeq(node) || isScalar(node)) && node.anchor !== undefined);
  if (isShared) throw new ManifestError("This part of the object uses an anchor or an alias. Change it by hand.");
}

function isEmpty(value: unknown): boolean {
  return isObjectLike(value) && Object.keys(value as object).length === 0;
}

function isObjectLike(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

/** The indentation of the text, so that the printer uses the same. */
function styleOf(text: string) {
  const indents = [...text.matchAll(/^( +)[^\s#]/gm)].map((it) => it[1]?.length ?? 0);
  const indent = indents.reduce((least, it) => Math.min(least, it), 8);
  const list = /^( *)[^\s#][^\n]*:[ \t]*(?:#[^\n]*)?\n(?:[ \t]*(?:#[^\n]*)?\n)*( *)- /m.exec(text);
  const indentSeq = list ? (list[2] ?? "").length > (list[1] ?? "").length : false;
  return {
    lineWidth: 0,
    indent: indents.length > 0 ? Math.max(indent, 2) : 2,
    indentSeq,
    flowCollectionPadding: false,
  } as const;
}
