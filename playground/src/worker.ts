// The worker: evaluates one state after the other. It is terminated when it takes too long; see evaluator.ts.

import { judge, type Judgement } from "./judge";
import { Manifest, type Operation } from "./manifest";
import type { State } from "./state";
import { textOf } from "./wapc";

export type Question =
  | { module: WebAssembly.Module }
  | { judge: State }
  /** The text of the object after a fix. */
  | { text: string; patch: Operation[] };

export type Answer = { judgement: Judgement } | { text: string } | { error: string };

let module: WebAssembly.Module;

addEventListener("message", ({ data }: MessageEvent<Question>) => {
  if ("module" in data) module = data.module;
  else postMessage(answer(data));
});

function answer(question: Exclude<Question, { module: WebAssembly.Module }>): Answer {
  try {
    if ("judge" in question) return { judgement: judge(module, question.judge) };
    return { text: Manifest.read(question.text).patched(question.patch) };
  } catch (error) {
    return { error: textOf(error) };
  }
}
