// Asks the worker, and replaces it when it does not answer in time.

import type { Judgement } from "./judge";
import type { Operation } from "./manifest";
import type { State } from "./state";
import type { Answer, Question } from "./worker";

/** The deadline of an evaluation; policy-server's default. */
const DEADLINE = 2000;

interface Job {
  question: Question;
  done: (answer: Answer) => void;
}

export class Evaluator {
  private worker: Worker | undefined;
  private running: Job | undefined;
  private waiting: Job[] = [];
  private timer = 0;
  private module: WebAssembly.Module | undefined;

  /** Starts a worker, so that it is there when the module is. */
  constructor() {
    this.worker = this.start();
  }

  /** Until the module is there, everything waits. */
  load(module: WebAssembly.Module): void {
    this.module = module;
    this.worker?.postMessage({ module });
    this.next();
  }

  /** The verdict on a state; undefined if a later state came first. */
  judge(state: State): Promise<Judgement | undefined> {
    return new Promise((resolve) => {
      // Nobody waits for the verdict on a text that has changed since.
      this.waiting = this.waiting.filter((job) => {
        if (!("judge" in job.question)) return true;
        job.done({ error: "" });
        return false;
      });
      const done = (answer: Answer) => {
        if ("judgement" in answer) resolve(answer.judgement);
        else if ("error" in answer && answer.error !== "") {
          resolve({ unread: { pane: "module", sentence: answer.error } });
        } else resolve(undefined);
      };
      this.ask({ question: { judge: state }, done });
    });
  }

  /** The text of an object after a fix. */
  patched(text: string, patch: Operation[]): Promise<string> {
    return new Promise((resolve, reject) => {
      const done = (answer: Answer) => {
        if ("text" in answer) resolve(answer.text);
        else reject(new Error("error" in answer ? answer.error : ""));
      };
      this.ask({ question: { text, patch }, done });
    });
  }

  private ask(job: Job): void {
    this.waiting.push(job);
    this.next();
  }

  private next(): void {
    if (this.running || !this.module) return;
    const job = this.waiting.shift();
    if (!job) return;
    this.running = job;
    this.worker ??= this.start();
    this.timer = window.setTimeout(() => {
      this.worker?.terminate();
      this.worker = undefined;
      this.finish({
        error: `The policy did not answer within ${DEADLINE / 1000} seconds, so the page stopped it. Change something to check again.`,
      });
    }, DEADLINE);
    this.worker.postMessage(job.question);
  }

  private start(): Worker {
    const worker = new Worker("worker.js", { type: "module" });
    worker.addEventListener("message", ({ data }: MessageEvent<Answer>) => this.finish(data));
    worker.addEventListener("error", (event) => {
      worker.terminate();
      this.worker = undefined;
      this.finish({ error: `The check stopped: ${event.message || "the worker cannot be started"}` });
    });
    if (this.module) worker.postMessage({ module: this.module });
    return worker;
  }

  private finish(answer: Answer): void {
    clearTimeout(this.timer);
    const job = this.running;
    this.running = undefined;
    job?.done(answer);
    this.next();
  }
}
