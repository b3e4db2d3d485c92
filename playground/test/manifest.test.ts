// Manifests: values as kubectl reads them, positions of fields, and edits that do not change the rest.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Manifest, type Operation, valueOf } from "../src/manifest";

// As in crates/manifest/src/scalar.rs.
test("a scalar means what it means to kubectl", () => {
  const scalars = "[yes, Off, 017, 0o17, 0x1F, 0b11, 1_000, 1:30, 1e3, .5, -7, +1, ~, null, 08, 1.2.3, 'yes', !!str 1]";
  const values = [true, false, 15, 15, 31, 3, 1000, "1:30", 1000, 0.5, -7, 1, null, null, 8, "1.2.3", "yes", "1"];
  assert.deepEqual(valueOf(scalars), values);
  assert.deepEqual(valueOf("{yes: 1, 5: 2, <<: {a: 3}}"), { true: 1, 5: 2, a: 3 });
  assert.equal(valueOf(""), null);
});

test("the first HyperConverged of several documents is read", () => {
  const manifest = Manifest.read("kind: Namespace\n---\nkind: HyperConverged\nspec: {}\n");
  assert.deepEqual(manifest.value, { kind: "HyperConverged", spec: {} });
  assert.equal(manifest.others, 1);
});

test("a HyperConverged in a list is read, found and changed there", () => {
  const text = "kind: List\nitems:\n  - kind: Pod\n  - kind: HyperConverged\n    spec: {a: 1}\n";
  const manifest = Manifest.read(text);
  assert.deepEqual(manifest.value, { kind: "HyperConverged", spec: { a: 1 } });
  assert.equal(manifest.others, 1);
  assert.deepEqual(manifest.find("spec.a"), { from: text.indexOf("a: 1"), to: text.indexOf("}") });
  assert.equal(manifest.find("nodes"), undefined);
  assert.equal(manifest.patched([{ op: "replace", path: "/spec/a", value: 2 }]), text.replace("a: 1", "a: 2"));
});

test("a field is found by its path, and a missing one by the field above it", () => {
  const text = `spec:
  templates:
    - metadata:
        annotations:
          a.b/c: x # why
    - metadata: &m {name: y}
    - metadata: *m
`;
  const at = (path: string) => {
    const range = Manifest.read(text).find(path);
    return range && text.slice(range.from, range.to);
  };
  assert.equal(at("spec.templates[0].metadata.annotations[a.b/c]"), "a.b/c: x");
  assert.equal(at("spec.templates[1].metadata.name"), "name: y");
  assert.equal(at("spec.templates[1].metadata.annotations[a.b/c]"), "metadata: &m {name: y}");
  assert.equal(at("spec.templates[2].metadata.name"), "name: y");
  assert.match(at("spec.templates[9]") ?? "", /^templates:/);
  assert.match(at("the document") ?? "", /^spec:/);
});

test("a patch changes the lines that it names", () => {
  const patched = (text: string, ...patch: Operation[]) => Manifest.read(text).patched(patch);
  const text = `# head
kind:   HyperConverged   # odd blanks stay
spec:
    templates:
    -   metadata:
            name:  "one"
            annotations:
                a.b/c: 'x'   # quoted
    # the second
    -   metadata: {name: two}
`;
  assert.equal(
    patched(text, { op: "replace", path: "/spec/templates/0/metadata/annotations/a.b~1c", value: "amd64,arm64" }),
    text.replace("'x'   # quoted", "'amd64,arm64' # quoted"),
  );
  assert.equal(
    patched(
      text,
      { op: "add", path: "/spec/gates", value: {} },
      { op: "add", path: "/spec/gates/enabled", value: true },
    ),
    `${text}    gates:\n        enabled: true\n`,
  );
  assert.deepEqual(valueOf(patched(text, { op: "remove", path: "/spec/templates/0" })), {
    kind: "HyperConverged",
    spec: { templates: [{ metadata: { name: "two" } }] },
  });
  // A string that kubectl would read as another type is quoted.
  assert.match(patched("a: b\n", { op: "replace", path: "/a", value: "yes" }), /^a: ["']yes["']$/m);
  // The parent is missing, as if an earlier fix were to add it.
  assert.deepEqual(valueOf(patched("a:\n", { op: "add", path: "/a/b/c", value: "d" })), { a: { b: { c: "d" } } });
  // Other documents stay.
  const two = "kind: A\n---\n# second\nkind: HyperConverged\n";
  assert.equal(patched(two, { op: "add", path: "/x", value: "z" }), `${two}x: z\n`);
});

test("a part with an anchor or an alias is not changed", () => {
  const patch: Operation[] = [{ op: "add", path: "/b/x", value: 1 }];
  assert.throws(() => Manifest.read("a: &a {}\nb: *a\n").patched(patch), /anchor or an alias/);
  assert.throws(() => Manifest.read("b: &a {}\na: *a\n").patched(patch), /anchor or an alias/);
});

test("what is not YAML has a place and a sentence", () => {
  assert.throws(
    () => Manifest.read("a: 1\nb: [\n"),
    (error: { message: string; range: object }) => error.message !== "" && error.range !== undefined,
  );
  assert.throws(() => valueOf("a: &a [*a]\n"), /alias contains itself/);
});
