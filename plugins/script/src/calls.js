/** The calls of tools that a script makes. The ABI is synchronous, so calls are made together, when nothing else is left to run. */

import { decode, encode, system } from "../../../sdk/javascript/wasm/system.js";

const BATCH = 64; // most calls of one operation, which the host checks

/** The error of a call that failed. */
class ToolError extends Error {}
Object.defineProperty(ToolError.prototype, "name", { value: "ToolError", configurable: true, writable: true });

const setTimer = globalThis.setTimeout; // timers run when no other job is left

export class Calls {
  #functions = Object.create(null); // by the name of the tool
  #queue = [];
  #scheduled = false;
  #note;

  /** note is called with what a tool says beside its value. */
  constructor(note) {
    this.#note = note;
  }

  /** Calls a tool by its name; it returns a promise of its value as declared, or of its text. */
  call = (name, args) => this.#function(String(name))(args);

  /** Has a function for each name. An object of promises must not look like one, and JSON must not call a tool. */
  tools = new Proxy(Object.freeze(Object.create(null)), {
    get: (_, name) => (typeof name !== "string" || name === "then" || name === "toJSON" ? undefined : this.#function(name)),
  });

  /** The number of calls that were not made. */
  get waiting() {
    return this.#queue.length;
  }

  /** Returns the function that calls a tool. */
  #function(tool) {
    return (this.#functions[tool] ??= this.#caller(tool));
  }

  #caller(tool) {
    const begin = `{"name":${JSON.stringify(tool)},"arguments":`;
    return (args = {}) => {
      const error = new Error(); // at the time of the call, so that the stack has the line of the script
      if (args === null || typeof args !== "object" || Array.isArray(args)) {
        return Promise.reject(toolError(error, tool, "the arguments of a tool are an object: call it with {name: value}"));
      }
      return new Promise((resolve, reject) => {
        this.#queue.push({ request: begin + JSON.stringify(args), resolve, reject, error, tool });
        if (this.#scheduled) return;
        this.#scheduled = true;
        setTimer(() => this.#flush());
      });
    };
  }

  #flush() {
    const batch = this.#queue.splice(0, BATCH);
    this.#scheduled = this.#queue.length > 0;
    if (this.#scheduled) setTimer(() => this.#flush());
    const request = `{"op":"tools/call","params":[${batch.map((one) => one.request).join("},")}}]}`;
    const answer = JSON.parse(decode(system.hostCall(encode(request))));
    const refused = Array.isArray(answer) ? undefined : { error: answer.error.message };
    for (let i = 0; i < batch.length; i++) {
      const call = batch[i];
      const result = refused ?? answer[i];
      if (result.notes !== undefined) for (const note of result.notes) this.#note(`${call.tool}: ${note}`);
      if (result.error === undefined) call.resolve(result.value);
      else call.reject(toolError(call.error, call.tool, result.error));
    }
  }
}

/** Makes an error that has the stack of a call that of the call's failure. */
function toolError(error, tool, message) {
  Object.setPrototypeOf(error, ToolError.prototype);
  return Object.assign(error, { message, tool });
}
