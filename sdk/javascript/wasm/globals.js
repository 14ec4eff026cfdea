/** Globals that scripts expect and the engine does not have. */

import { decode, encode, log, runJobs, system } from "./system.js";

globalThis.TextEncoder ??= class TextEncoder {
  get encoding() {
    return "utf-8";
  }
  encode(string = "") {
    return encode(String(string));
  }
};

globalThis.TextDecoder ??= class TextDecoder {
  #fatal;
  #ignoreBOM;
  constructor(label = "utf-8", { fatal = false, ignoreBOM = false } = {}) {
    if (!/^\s*(utf-?8|unicode-1-1-utf-8)\s*$/i.test(label)) throw new RangeError(`TextDecoder: ${label} is not supported, only utf-8`);
    this.#fatal = fatal;
    this.#ignoreBOM = ignoreBOM;
  }
  get encoding() {
    return "utf-8";
  }
  decode(data = new Uint8Array()) {
    const bytes = ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(data);
    const string = decode(bytes);
    if (this.#fatal && string.includes("\ufffd")) {
      const again = encode(string); // differs if a U+FFFD replaces something invalid
      if (again.length !== bytes.length || !again.every((byte, i) => byte === bytes[i])) throw new TypeError("TextDecoder: invalid utf-8");
    }
    return !this.#ignoreBOM && string.startsWith("\ufeff") ? string.slice(1) : string;
  }
};

/** Returns a value as console prints it. */
function show(value) {
  if (typeof value === "string") return value;
  if (value instanceof Error) return system.trace(value, `${value.name}: ${value.message}`);
  if (typeof value === "function") return `[function ${value.name}]`;
  if (typeof value === "object" && value !== null) {
    try {
      return JSON.stringify(value, (_, member) => (typeof member === "bigint" ? `${member}n` : member)) ?? String(value);
    } catch {
      return Object.prototype.toString.call(value); // circular
    }
  }
  return typeof value === "bigint" ? `${value}n` : String(value);
}

const line = (level) => (...values) => log(level, values.map(show).join(" "));
globalThis.console = Object.freeze({ trace: line(1), debug: line(2), log: line(3), info: line(3), warn: line(4), error: line(5) });

// The engine seeds its generator when the module is loaded, so that all calls would get the same numbers.
const RANDOM_NUMBERS = 32;
let numbers = new DataView(new ArrayBuffer(0));
let next = 0;
Math.random = function random() {
  if (next === numbers.byteLength) {
    numbers = new DataView(system.randomBytes(8 * RANDOM_NUMBERS).buffer);
    next = 0;
  }
  const bits = numbers.getUint32(next) * 0x200000 + (numbers.getUint32(next + 4) >>> 11); // 53
  next += 8;
  return bits / 2 ** 53;
};

/** Begins a call with new random numbers. */
export function dropRandomNumbers() {
  next = numbers.byteLength;
}

globalThis.queueMicrotask ??= (callback) => void Promise.resolve().then(callback);

// Timers run when nothing else is left to do in a call. Those that are left when the handler has responded are dropped.
const timers = new Map();
const { now } = Date; // a script may replace the global
let lastTimer = 0;

function schedule(callback, delay, args, interval) {
  if (typeof callback !== "function") throw new TypeError("the callback of a timer is not a function");
  const milliseconds = Math.max(1, Number(delay) || 0);
  timers.set(++lastTimer, { at: now() + milliseconds, run: () => callback(...args), interval: interval ? milliseconds : 0 });
  return lastTimer;
}

globalThis.setTimeout = (callback, delay, ...args) => schedule(callback, delay, args, false);
globalThis.setInterval = (callback, delay, ...args) => schedule(callback, delay, args, true);
globalThis.clearTimeout = globalThis.clearInterval = (timer) => void timers.delete(timer);

const JOBS = 32; // that are run before done is asked again: entering the engine takes longer than a small job

/** Runs jobs and timers until done returns true; it returns false if nothing is left to run. */
export function runUntil(done) {
  for (;;) {
    if (done()) return true;
    if (runJobs(JOBS)) continue;
    if (timers.size === 0) return false;
    let first;
    for (const [id, timer] of timers) if (!first || timer.at < first[1].at) first = [id, timer];
    const [id, timer] = first;
    system.sleep(timer.at - now());
    if (timer.interval) timer.at = now() + timer.interval;
    else timers.delete(id);
    Promise.resolve().then(timer.run);
  }
}

export function dropTimers() {
  timers.clear();
}
