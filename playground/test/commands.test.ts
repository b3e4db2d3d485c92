// The commands to copy: a shell writes every file unchanged, and runs nothing that a file contains.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { kwctlCommand, preflightCommand } from "../src/commands";
import { judge, type Verdict } from "../src/judge";
import { START, type State } from "../src/state";
import { MODULE } from "./answers";

const module = new WebAssembly.Module(readFileSync(MODULE));

function verdictOn(state: State): Verdict {
  const judgement = judge(module, state);
  assert.ok("verdict" in judgement, JSON.stringify(judgement));
  return judgement.verdict;
}

/** Runs a command with fake programs that print their arguments and the files in their directory. */
function run(script: string): string {
  const directory = mkdtempSync(join(tmpdir(), "playground-"));
  for (const program of ["kwctl", "hco-preflight"]) {
    const file = join(directory, program);
    writeFileSync(file, '#!/bin/sh\necho "$@"\nfor file in *; do echo "== $file"; cat "$file"; done\n');
    chmodSync(file, 0o755);
  }
  const env = { ...process.env, PATH: `${directory}:${process.env["PATH"]}` };
  return execFileSync("bash", { input: script, env, cwd: directory, encoding: "utf8" });
}

test("the command of hco-preflight has the files as they were written", () => {
  const state = { ...START, oldObject: START.object, settings: "updates: strict # why\n", whatIf: ["s390x"] };
  const output = run(preflightCommand(state, verdictOn(state)));
  const [first = "", ...files] = output.split(/^(?=== )/m);
  assert.equal(first, "check -f hyperconverged.yaml --old old.yaml --nodes nodes.json --settings settings.yaml\n");
  assert.deepEqual(
    files.map((file) => file.split("\n")[0]),
    ["== hyperconverged.yaml", "== nodes.json", "== old.yaml", "== settings.yaml"],
  );
  assert.equal(files[0], `== hyperconverged.yaml\n${START.object}`);
  assert.equal(files[3], "== settings.yaml\nupdates: strict # why\n");
  assert.match(files[1] ?? "", /"joined-s390x-1"/);
});

test("nothing in a text ends a file, is run by the shell, or is obeyed by a terminal", () => {
  const value = "`id` $(id) ${HOME} \\ ' \u{202e}\u{1b}[2J\t! \u{e0041}";
  const hostile = `${START.object}# END\n  x: ${JSON.stringify(value)}\n`;
  const plain = `${START.object}# $(id) '\n`;
  for (const object of [hostile, plain]) {
    const state = { ...START, object, settings: "END\n" };
    const verdict = verdictOn(state);
    for (const script of [preflightCommand(state, verdict), kwctlCommand(verdict)]) {
      // eslint-disable-next-line no-control-regex
      assert.doesNotMatch(script, /[\0-\x09\x0b-\x1f\x7f!\u{202e}\u{e0041}]/u);
      assert.doesNotMatch(run(script), /uid=/);
    }
  }
  const state = { ...START, object: plain };
  const output = run(preflightCommand(state, verdictOn(state)));
  assert.ok(output.includes(`== hyperconverged.yaml\n${plain}== nodes.json`), output);
});

test("the command of kwctl repeats what the policy asked", () => {
  const state = { ...START, settings: "serviceAccount: kubewarden/policy-server\n" };
  const output = run(kwctlCommand(verdictOn(state)));
  assert.match(output, /^run .*\/annotated-policy.wasm --allow-context-aware --settings-path settings.json/);
  assert.match(output, /KubernetesCanI /);
  assert.match(output, /KubernetesListResourceAll .*status\.nodeInfo\.architecture/);
});
