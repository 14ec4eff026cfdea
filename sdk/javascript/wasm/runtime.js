/** Runs a plugin in a module: bin/build.js imports this file before the author's. */

import { setPlatform } from "../src/platform.js";
import { describeError, failure, plugin } from "../src/plugin.js";
import { dropRandomNumbers, dropTimers, runUntil } from "./globals.js";
import { mapStack } from "./sourcemap.js";
import { input, output, setEntry, setRejected, system } from "./system.js";

setPlatform(system);

/** Returns the text of an error with the stack of the author's script. */
system.trace = (error, message) => {
  const stack = typeof error?.stack === "string" ? mapStack(error.stack) : "";
  return stack === "" ? message : `${message}\n${stack}`;
};

// Promises that were rejected without a handler.
const rejected = new Map();
setRejected((promise, reason, handled) => {
  if (handled) rejected.delete(promise);
  else rejected.set(promise, reason);
});

let failedStart; // why the top level of the script failed

/** The engine enters here: with the promise of the script's top level, and with the length of each request. */
setEntry((value) => (typeof value === "number" ? handle(value) : start(value)));

function start(loaded) {
  let settled = false;
  loaded.then(
    () => (settled = true),
    (error) => {
      settled = true;
      failedStart = `the script failed when it was loaded: ${system.trace(error, describeError(error))}`;
    },
  );
  if (!runUntil(() => settled)) failedStart = "the script awaits a promise at its top level that nothing can settle";
  dropTimers();
  reportRejected("the top level");
}

function handle(length) {
  dropRandomNumbers();
  const request = JSON.parse(input(length));
  let response;
  if (failedStart !== undefined) {
    response = { error: { code: -32603, message: failedStart } };
  } else {
    void plugin.handle(request).then((handled) => (response = handled));
    if (!runUntil(() => response !== undefined)) {
      const pending = "the handler awaits a promise that nothing can settle: no job and no timer is left to run";
      response = failure(request.method, new Error(pending));
    }
  }
  dropTimers();
  reportRejected(request.method);
  output(write(response));
}

/** Logs what was rejected in functions that are not awaited. */
function reportRejected(where) {
  for (const reason of rejected.values()) {
    system.log(4, `${where}: a promise was rejected without a handler: ${system.trace(reason, describeError(reason))}`);
  }
  rejected.clear();
}

/** Returns the JSON of a response, in which U+FFFD replaces lone surrogates. */
function write(response) {
  const json = JSON.stringify(response);
  if (!json.includes("\\ud")) return json;
  return json.replace(/\\(ud[89a-f][0-9a-f]{2}|.)/g, (escape) => (escape.length > 2 ? "\ufffd" : escape));
}
