// The waPC host alone: the module answers every case like the engine, including cases that the page cannot express.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { masked } from "../src/cluster";
import { evaluate } from "../src/judge";
import { answers, MODULE } from "./answers";

test("the module answers every case in this host as the engine does natively", () => {
  const module = new WebAssembly.Module(readFileSync(MODULE));
  const all = answers();
  assert.ok(all.length > 490, `only ${all.length} cases`);
  for (const { name, request, settings, nodes, error, ...native } of all) {
    const list = () => nodes ?? { error: error ?? "" };
    const { report, validation } = evaluate(module, JSON.stringify({ request, settings }), list);
    assert.deepEqual(report, native.report, name);
    assert.deepEqual(validation.warnings ?? [], native.warnings, name);
    assert.deepEqual(validation.audit_annotations ?? {}, native.auditAnnotations, name);
    assert.deepEqual(validation.mutated_object, native.repairedObject && JSON.parse(native.repairedObject), name);
  }
});

// As in crates/policy-host/src/mask.rs.
test("the host keeps the metadata of a node, and of the rest what the mask names", () => {
  const node = {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name: "a",
      managedFields: [{ manager: "kubelet" }],
      annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{}", other: "stays" },
    },
    spec: { unschedulable: true },
    status: { nodeInfo: { architecture: "amd64", kernelVersion: "6" }, images: [] },
  };
  assert.deepEqual(masked(node, ["status.nodeInfo.architecture"]), {
    metadata: { name: "a", managedFields: [], annotations: { other: "stays" } },
    status: { nodeInfo: { architecture: "amd64" } },
  });
  assert.deepEqual(masked({ users: [{ name: "Alice", age: 30 }, { age: 25 }] }, ["users.name"]), {
    users: [{ name: "Alice" }, {}],
    metadata: { managedFields: [], annotations: {} },
  });
});
