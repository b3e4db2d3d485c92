// Sends questions to the worker, and replaces a worker that does not answer in time.

import type { Judgement } from "./judge";
import type { Operation } from "./manifest";
import type { State } from "./state";
import type { Answer, Message, Question } from "./worker";

/** The time limit for an evaluation in milliseconds; the default of policy-server. */
const DEADLINE = 2000;

const TOO_LATE =
  `The policy did not answer within ${DEADLINE / 1000} seconds, so the page stopped it. ` +
  "To check again, change the input.";

interface Job {
  question: Question;
  /** Called without an answer if a later question of the same kind replaced this one. */
  done: (answer?: Answer) => void;
}

export class Evaluator {
  private module: WebAssembly.Module | undefined;
  private worker: Worker | undefined;
  /** The time limit applies to the evaluation, not to the start of a worker. */
  private isReady = false;
  private running: Job | undefined;
  private waiting: Job[] = [];
  private timer = 0;

  /** Starts a worker, so that it is ready when the module is. */
  constructor() {
    this.start();
  }

  /** All questions wait until the module is loaded. */
  load(module: WebAssembly.Module): void {
    this.module = module;
    this.worker?.postMessage({ module } satisfies Message);
  }

  /** The verdict on a state; undefined if a later state replaced it. */
  judge(state: State): Promise<Judgement | undefined> {
    const isCheck = ({ question }: Job) => "judge" in question;
    for (const job of this.waiting.filter(isCheck)) job.done();
    this.waiting = this.waiting.filter((job) => !isCheck(job));
    return new Promise((resolve) => {
      this.ask({ judge: state }, (answer) => {
        if (!answer) resolve(undefined);
        else if ("judgement" in answer) resolve(answer.judgement);
        else resolve({ unread: { pane: "module", sentence: "error" in answer ? answer.error : "" } });
      });
    });
  }

  /** The text of an object after a fix. */
  patched(text: string, patch: Operation[]): Promise<string> {
    return new Promise((resolve, reject) => {
      this.ask({ text, patch }, (answer) => {
        if (answer && "text" in answer) resolve(answer.text);
        else reject(new Error(answer && "error" in answer ? answer.error : ""));
      });
    });
  }

  private ask(question: Question, done: Job["done"]): void {
    this.waiting.push({ question, done });
    if (!this.worker) this.start();
    this.next();
  }

  private next(): void {
    if (!this.isReady || this.running) return;
    this.running = this.waiting.shift();
    if (!this.running) return;
    this.worker?.postMessage(this.running.question satisfies Message);
    this.timer = window.setTimeout(() => this.stop(TOO_LATE), DEADLINE);
  }

  private start(): void {
    this.worker = new Worker("worker.js", { type: "module" });
    this.worker.addEventListener("message", ({ data }: MessageEvent<Answer | "ready">) => {
      if (data === "ready") this.isReady = true;
      else this.finish(data);
      this.next();
    });
    this.worker.addEventListener("error", ({ message }) => {
      this.running ??= this.waiting.shift();
      this.stop(`The check stopped: ${message || "the worker cannot be started"}`);
    });
    if (this.module) this.worker.postMessage({ module: this.module } satisfies Message);
  }

  private stop(error: string): void {
    this.worker?.terminate();
    this.worker = undefined;
    this.isReady = false;
    this.finish({ error });
    // The next worker gets the questions that arrived in the meantime.
    if (this.waiting.length > 0) this.start();
  }

  private finish(answer: Answer): void {
    clearTimeout(this.timer);
    const job = this.running;
    this.running = undefined;
    job?.done(answer);
  }
}
