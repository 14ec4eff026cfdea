#!/usr/bin/env node
// Starts the program in the package for this platform.
"use strict";
const { spawn } = require("node:child_process");
const path = require("node:path");

const name = `@bulkhead-mcp/${process.platform}-${process.arch}`;
let dir;
try {
  dir = path.dirname(require.resolve(`${name}/package.json`));
} catch {
  console.error(`bulkhead: the package ${name}, which contains the program, is not installed. Install with optional dependencies; if there is no such package, no release is built for this platform.`);
  process.exit(1);
}
const child = spawn(path.join(dir, process.platform === "win32" ? "bulkhead.exe" : "bulkhead"), process.argv.slice(2), { stdio: "inherit" });
const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
for (const signal of signals) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`bulkhead: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) {
    process.exit(code);
  }
  for (const each of signals) {
    process.removeAllListeners(each);
  }
  process.kill(process.pid, signal);
});
