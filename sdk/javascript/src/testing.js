/** Tests of handlers in Node.js, without a module and without the host. */

import { createHash, randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { toText } from "./bytes.js";
import { FileError, HostError, PluginError } from "./errors.js";
import { setPlatform } from "./platform.js";
import { plugin as defaultPlugin } from "./plugin.js";

const LEVELS = ["", "trace", "debug", "info", "warn", "error"];
const ROUNDS = 10; // of a call that asks

/** Calls a plugin's handlers as the host does. Files are those of this machine, without the sandbox's rules. */
export class TestHost {
  /** The lines of the log, and the notifications that the plugin has sent. */
  log = [];
  notifications = [];
  printed = "";
  #plugin;
  #env;
  #operations;
  #client;
  #answers;
  static #previous = Promise.resolve(); // the run before: runs do not overlap, since there is one platform

  /**
   * env has the variables. operations has a function for each host operation that the handlers use: it gets the parameters and bytes,
   * and returns the result or throws a HostError. Without one, hash/sha256, lock and notify work, and others are denied. answers has
   * the client's answers to questions by id, or functions that get the question and return the answer.
   */
  constructor({ plugin = defaultPlugin, env = {}, operations = {}, answers, client } = {}) {
    this.#plugin = plugin;
    this.#env = env;
    this.#operations = operations;
    this.#answers = answers;
    this.#client = client ?? (answers && { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} });
  }

  /** Calls a tool, and returns its result. A JSON-RPC error is thrown as a PluginError. */
  callTool(name, args = {}, meta) {
    return this.request("tools/call", { name, arguments: args, ...(meta && { _meta: meta }) });
  }

  getPrompt(name, args = {}) {
    return this.request("prompts/get", { name, arguments: args });
  }

  readResource(uri) {
    return this.request("resources/read", { uri });
  }

  complete(ref, name, value) {
    return this.request("completion/complete", { ref, argument: { name, value } });
  }

  /** Makes a request with the parameters of MCP, and returns its result. The questions of the handler are answered. */
  async request(method, params = {}) {
    const request = { method, params };
    if (this.#client) request.client = this.#client;
    for (let round = 0; round <= ROUNDS; round++) {
      const { result, error, ask } = await this.#run(request);
      if (error) throw new PluginError(error.code, error.message, error.data);
      if (!ask) return result;
      request.answers = { ...request.answers, ...this.#answer(ask.requests) };
      request.state = ask.state;
    }
    throw new Error(`the handler asked in more than ${ROUNDS} rounds`);
  }

  #run(request) {
    const run = TestHost.#previous.then(() => this.#handle(request));
    TestHost.#previous = run.catch(() => {});
    return run;
  }

  async #handle(request) {
    const previous = setPlatform(this.#platform());
    try {
      // As in a module, requests and responses are JSON.
      return JSON.parse(JSON.stringify(await this.#plugin.handle(JSON.parse(JSON.stringify(request)))));
    } finally {
      setPlatform(previous);
    }
  }

  #answer(questions) {
    const given = {};
    for (const [id, question] of Object.entries(questions)) {
      const answer = this.#answers[id];
      if (answer === undefined) throw new Error(`the handler asks ${JSON.stringify(id)}, which answers does not have`);
      given[id] = typeof answer === "function" ? answer(question) : answer;
    }
    return given;
  }

  #operate(request) {
    const end = request.indexOf(0);
    const { op, params } = JSON.parse(toText(end < 0 ? request : request.subarray(0, end)));
    const bytes = end < 0 ? new Uint8Array() : request.subarray(end + 1);
    try {
      const operation = this.#operations[op] ?? this.#standard[op];
      if (!operation) throw new HostError(op, { code: "denied", message: `the test has no operation ${op}` });
      const result = operation(params, bytes);
      return result instanceof Uint8Array ? result : new TextEncoder().encode(JSON.stringify({ result }));
    } catch (error) {
      if (!(error instanceof HostError)) throw error;
      const { code, message, reason } = error;
      return new TextEncoder().encode(JSON.stringify({ error: { code, message, reason } }));
    }
  }

  #standard = {
    notify: (notification) => {
      this.notifications.push(notification);
      return null;
    },
    lock: () => null,
    "hash/sha256": (_, bytes) => ({ sum: createHash("sha256").update(bytes).digest("hex") }),
  };

  #platform() {
    const resolve = (name) => path.resolve(this.#env.PWD ?? process.cwd(), name);
    return {
      hostCall: (request) => this.#operate(request),
      log: (level, text) => this.log.push({ level: LEVELS[level], text }),
      print: (text) => (this.printed += text),
      trace: (error, message) => error?.stack ?? message,
      env: (name) => this.#env[name],
      randomBytes: (length) => new Uint8Array(randomBytes(length)),
      sleep: (milliseconds) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds),
      abort(text) {
        throw new Error(`aborted: ${text}`);
      },
      readFile: onFile("read", (name) => new Uint8Array(fs.readFileSync(name)), resolve),
      writeFile: onFile("write", (name, bytes, append) => fs.writeFileSync(name, bytes, { flag: append ? "a" : "w" }), resolve),
      readDir: onFile("list", (name) => fs.readdirSync(name, { withFileTypes: true }).map((e) => ({ name: e.name, kind: kind(e) })), resolve),
      stat: onFile("stat", (name) => describe(fs.statSync(name)), resolve),
      lstat: onFile("stat", (name) => describe(fs.lstatSync(name)), resolve),
      mkdir: onFile("create", (name) => void fs.mkdirSync(name), resolve),
      rmdir: onFile("remove", (name) => fs.rmdirSync(name), resolve),
      unlink: onFile("remove", (name) => fs.unlinkSync(name), resolve),
      rename: onFile("rename", (from, to) => fs.renameSync(from, resolve(to)), resolve),
    };
  }
}

/** Returns a function that does something with a resolved path, and throws the SDK's errors. */
function onFile(operation, act, resolve) {
  return (name, ...args) => {
    try {
      return act(resolve(name), ...args);
    } catch (error) {
      throw typeof error.code === "string" ? new FileError(error.code, operation, name) : error;
    }
  };
}

function kind(entry) {
  return entry.isFile() ? "file" : entry.isDirectory() ? "directory" : entry.isSymbolicLink() ? "link" : "other";
}

function describe(stat) {
  return { kind: kind(stat), size: stat.size, modified: Math.floor(stat.mtimeMs) };
}
