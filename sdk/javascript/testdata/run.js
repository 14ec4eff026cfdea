/** Runs modules in Node.js with a host that only has what these tests need. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { build } from "../bin/build.js";

/** Builds a script, given by its path or its text, and returns the compiled module. */
export async function compile(script, options) {
  const directory = mkdtempSync(path.join(tmpdir(), "bulkhead-js-test-"));
  try {
    const out = path.join(directory, "module.wasm");
    if (script.includes("\n")) {
      const file = path.join(directory, "script.js");
      writeFileSync(file, script);
      script = file;
    }
    await build(script, out, options);
    return new WebAssembly.Module(readFileSync(out));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Returns a new instance: call(method, params) returns the response, and log has the lines. */
export function instantiate(module) {
  const log = [];
  let request, response, memory;
  const view = () => new DataView(memory.buffer);
  const bytes = (at, length) => new Uint8Array(memory.buffer, at, length);
  const wasi = {
    environ_sizes_get(count, size) {
      view().setUint32(count, 0, true);
      view().setUint32(size, 0, true);
      return 0;
    },
    clock_time_get(clock, precision, at) {
      view().setBigUint64(at, BigInt(Date.now()) * 1000000n, true);
      return 0;
    },
    random_get(at, length) {
      crypto.getRandomValues(bytes(at, length));
      return 0;
    },
    poll_oneoff(subscription) {
      const milliseconds = Number(view().getBigUint64(subscription + 24, true)) / 1e6;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
      return 0;
    },
  };
  const instance = new WebAssembly.Instance(module, {
    bulkhead: {
      input: (at, length) => bytes(at, length).set(request),
      output: (at, length) => (response = new TextDecoder("utf-8", { fatal: true }).decode(bytes(at, length))),
      host_call: () => 0,
      host_result: () => {},
      log: (level, at, length) => log.push({ level, text: new TextDecoder().decode(bytes(at, length)) }),
    },
    wasi_snapshot_preview1: new Proxy(wasi, { get: (functions, name) => functions[name] ?? (() => 52) }),
  });
  memory = instance.exports.memory;
  instance.exports._initialize();
  return {
    log,
    call(method, params) {
      request = new TextEncoder().encode(JSON.stringify({ method, params }));
      response = undefined;
      instance.exports.bulkhead_call(request.length);
      return JSON.parse(response);
    },
  };
}
