/** The calls of tools that a script makes. The ABI is synchronous, so calls are made together, when nothing else is left to run. */

import { decode, encode, system } from "../../../sdk/javascript/wasm/system.js";

const BATCH = 64; // most calls of one operation, which the host checks

/** The error of a call that failed. */
class ToolError extends Error {
  constructor(tool) {
    super(); // at the time of the call, so that the stack has the line of the script
    this.name = "ToolError";
    this.tool = tool;
  }
}

const setTimer = globalThis.setTimeout; // timers run when no other job is left

export class Calls {
  #queue = [];
  #scheduled = false;
  #note;

  /** note is called with what a tool says beside its value. */
  constructor(note) {
    this.#note = note;
  }

  /** Calls a tool by its name; it returns a promise of its value as declared, or of its text. */
  call = (name, args = {}) => {
    const error = new ToolError(String(name));
    if (args === null || typeof args !== "object" || Array.isArray(args)) {
      error.message = `the arguments of a tool are an object: call it with {name: value}`;
      return Promise.reject(error);
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({ request: `{"name":${JSON.stringify(String(name))},"arguments":${JSON.stringify(args)}}`, resolve, reject, error });
      if (this.#scheduled) return;
      this.#scheduled = true;
      setTimer(() => this.#flush());
    });
  };

  /** Has a function for each name. An object of promises must not look like one, and JSON must not call a tool. */
  tools = new Proxy(Object.freeze(Object.create(null)), {
    get: (_, name) => (typeof name !== "string" || name === "then" || name === "toJSON" ? undefined : (args) => this.call(name, args)),
  });

  /** The number of calls that were not made. */
  get waiting() {
    return this.#queue.length;
  }

  #flush() {
    const batch = this.#queue.splice(0, BATCH);
    this.#scheduled = this.#queue.length > 0;
    if (this.#scheduled) setTimer(() => this.#flush());
    const request = `{"op":"tools/call","params":[${batch.map((one) => one.request).join()}]}`;
    const answer = JSON.parse(decode(system.hostCall(encode(request))));
    for (const [i, { resolve, reject, error }] of batch.entries()) {
      const result = Array.isArray(answer) ? answer[i] : { error: answer.error.message };
      for (const note of result.notes ?? []) this.#note(`${error.tool}: ${note}`);
      if (result.error === undefined) {
        resolve(result.value);
        continue;
      }
      error.message = result.error;
      reject(error);
    }
  }
}
