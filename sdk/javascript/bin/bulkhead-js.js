#!/usr/bin/env node
import { parseArgs } from "node:util";
import { build, BuildError } from "./build.js";

const usage = `Usage: bulkhead-js build SCRIPT --out MODULE [--minify] [--no-system]

Builds a module of ABI 1 from a JavaScript or TypeScript file and what it imports.

  bulkhead-js build src/index.js --out greet.wasm

  -o, --out MODULE   the file to write
      --minify       make the script smaller; traces keep the lines of the source
      --no-system    leave out files, variables, clocks and random numbers: the module imports nothing of WASI
  -h, --help         print this text

Exit codes: 0 built, 1 the script is invalid, 2 usage.
`;

let options;
try {
  options = parseArgs({
    allowPositionals: true,
    options: { out: { type: "string", short: "o" }, minify: { type: "boolean" }, "no-system": { type: "boolean" }, help: { type: "boolean", short: "h" } },
  });
} catch (error) {
  fail(2, `${error.message}\n\n${usage}`);
}
if (options.values.help) {
  process.stdout.write(usage);
} else {
  const [command, script, ...rest] = options.positionals;
  if (command !== "build" || script === undefined || rest.length > 0 || !options.values.out) fail(2, usage);
  try {
    await build(script, options.values.out, { minify: options.values.minify, system: !options.values["no-system"] });
  } catch (error) {
    if (!(error instanceof BuildError)) throw error;
    fail(1, `bulkhead-js: ${error.message}\n`);
  }
}

function fail(code, text) {
  process.stderr.write(text);
  process.exit(code);
}
