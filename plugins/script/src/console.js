/** What a script prints, which is part of its result. The host gets a copy of each line at once, for the client of a script that is stopped. */

import { log } from "../../../sdk/javascript/wasm/system.js";

const COPY = 1; // the level of the copies: see engine/script.go
const MAX_COPIED = 16 * 1024;
const MAX_LINES = 1000;
const MAX_LENGTH = 64 * 1024; // of all lines, in UTF-16 code units

export class Console {
  lines = [];
  #left = MAX_LENGTH;
  #copied = 0;
  #dropped = 0;

  /** The global console. */
  api = Object.freeze(
    Object.fromEntries(
      ["log", "info", "debug", "trace", "warn", "error"].map((level) => {
        const prefix = level === "warn" || level === "error" ? `${level}: ` : "";
        return [level, (...values) => this.#print(prefix + values.map(show).join(" "))];
      }),
    ),
  );

  /** Adds a line of the host's own, which takes the place of the last one if there are too many. */
  note(line) {
    if (this.#dropped > 0 || this.lines.length === MAX_LINES) this.lines.pop();
    this.lines.push(line.slice(0, 1000));
  }

  #print(line) {
    if (this.#dropped === 0 && line.length <= this.#left && this.lines.length < MAX_LINES - 1) {
      this.#left -= line.length;
      this.lines.push(line);
      if (this.#copied < MAX_COPIED) log(COPY, line);
      this.#copied += line.length + 1;
      return;
    }
    if (this.#dropped++ > 0) this.lines.pop();
    this.lines.push(`(${this.#dropped} more lines are left out: print less)`);
  }
}

function show(value) {
  if (typeof value === "string") return value;
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return Object.prototype.toString.call(value); // circular, or its own code throws
  }
}
