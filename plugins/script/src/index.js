/**
 * Runs scripts of clients. The host starts this module for `[server] tools = "code"`; it is granted nothing but calls of tools. The value that
 * a script returns goes to the host as JSON in a string, so that the host checks it before anything else does.
 */

import { plugin } from "bulkhead-js";
import { setRejected } from "../../../sdk/javascript/wasm/system.js";
import { Calls } from "./calls.js";
import { Console } from "./console.js";
import { describe } from "./errors.js";
import { addJSON, removeClocks } from "./realm.js";

const AsyncFunction = (async () => {}).constructor;

removeClocks();
addJSON();

// A script has an instance of its own, so what it uses is made when the module is loaded.
const out = new Console();
const calls = new Calls((line) => out.note(line));
const rejected = new Map(); // promises that nothing has handled, with their reasons
setRejected((promise, reason, handled) => (handled ? rejected.delete(promise) : rejected.set(promise, reason)));
globalThis.console = out.api;

plugin.tool("run_script", async ({ code, arguments: args = {} }) => {
  let outcome;
  try {
    const run = new AsyncFunction("args", "tools", "call", code);
    outcome = { value: JSON.stringify(await run(args, calls.tools, calls.call)) };
  } catch (error) {
    outcome = { error: describe(error) };
  }
  for (const reason of rejected.values()) out.note(`a promise was rejected and not awaited: ${describe(reason).text}`);
  if (calls.waiting > 0) out.note(`${calls.waiting} calls of tools were not awaited, and not made`);
  return { content: [], structuredContent: { ...outcome, console: out.lines }, isError: outcome.error !== undefined };
});
