// The native engine's responses to the cases: the output of `cargo run -p e2e-tests --bin answers`.

import { readFileSync } from "node:fs";
import type { Report } from "../src/judge";

/** The directory in which `make playground-test` writes and builds. */
const TARGET = process.env["TARGET"] ?? "../target";
export const SITE = `${TARGET}/playground`;
export const PICTURES = `${TARGET}/playground-pictures`;
export const MODULE = process.env["POLICY_WASM"] ?? "../policy.wasm";

export interface Native {
  name: string;
  request: Record<string, unknown>;
  settings: unknown;
  /** The host's response when the policy lists the nodes; null if it returns an error. */
  nodes: string | null;
  error: string | null;
  report: Report;
  warnings: string[];
  auditAnnotations: Record<string, string>;
  repairedObject: string | null;
}

export function answers(): Native[] {
  const lines = readFileSync(`${TARGET}/playground-answers.jsonl`, "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as Native);
}
