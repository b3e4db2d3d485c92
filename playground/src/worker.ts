// The worker: evaluates one state at a time. evaluator.ts terminates it if it takes too long.

import { judge, type Judgement } from "./judge";
import { Manifest, type Operation } from "./manifest";
import type { State } from "./state";
import { textOf } from "./wapc";

export type Question =
  | { judge: State }
  /** The text of the object after a fix. */
  | { text: string; patch: Operation[] };

/** The module must be sent first. The answer to it is `ready`. */
export type Message = { module: WebAssembly.Module } | Question;

export type Answer = { judgement: Judgement } | { text: string } | { error: string };

let module: WebAssembly.Module;

addEventListener("message", ({ data }: MessageEvent<Message>) => {
  if ("module" in data) {
    module = data.module;
    postMessage("ready");
  } else postMessage(answerTo(data));
});

function answerTo(question: Question): Answer {
  try {
    if ("judge" in question) return { judgement: judge(module, question.judge) };
    return { text: Manifest.read(question.text).patched(question.patch) };
  } catch (error) {
    return { error: textOf(error) };
  }
}
