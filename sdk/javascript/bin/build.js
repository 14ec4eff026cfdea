/** Makes a module of ABI 1 from a script: esbuild bundles it, and Binaryen joins it with the engine and glue.wat. */

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { createRequire, isBuiltin } from "node:module";
import { existsSync, mkdtempSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import binaryen from "binaryen";
import esbuild from "esbuild";

/** An error of the author's script. */
export class BuildError extends Error {}

const require = createRequire(import.meta.url);
const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const ENGINE_SHA256 = "d4c9375f2b1ca4dc95f72c8aa2982a7a9951ac8011490d79c6582df732b4bbd9"; // quickjs.wasm of quickjs-wasi 3.6.2
const EXPORTS = new Set(["memory", "_initialize", "bulkhead_abi_1", "bulkhead_call"]);
const FEATURES = ["bulk-memory", "bulk-memory-opt", "sign-ext", "nontrapping-float-to-int", "mutable-globals", "multivalue", "reference-types"];

/** Writes the module of a script to the file out. Without system, the module imports only the functions of ABI 1. */
export async function build(script, out, { minify = false, system = true } = {}) {
  if (!existsSync(script)) throw new BuildError(`there is no file ${script}`);
  const { source, map } = await bundle(realpathSync(script), minify);
  const module = strip(merge(source, map, system));
  const temporary = `${out}.${process.pid}.tmp`;
  try {
    writeFileSync(temporary, module);
    renameSync(temporary, out);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** Bundles a script with what it imports. It returns the source, and a source map whose sources are relative to the working directory. */
async function bundle(script, minify) {
  const working = realpathSync(process.cwd());
  const entry = `import ${JSON.stringify(path.join(root, "wasm", "runtime.js"))};\nimport ${JSON.stringify(script)};\n`;
  let result;
  try {
    result = await esbuild.build({
      stdin: { contents: entry, resolveDir: working, sourcefile: "bulkhead-js" },
      absWorkingDir: working,
      outfile: path.join(working, "plugin.js"),
      bundle: true,
      write: false,
      format: "esm",
      platform: "neutral",
      mainFields: ["module", "main"],
      conditions: ["bulkhead"],
      target: "es2023",
      sourcemap: "external",
      sourcesContent: false,
      charset: "utf8",
      legalComments: "inline",
      minify,
      keepNames: minify,
      logLevel: "silent",
      plugins: [nodeModules, oneSDK],
    });
  } catch (error) {
    if (!error.errors) throw error;
    const messages = await esbuild.formatMessages(error.errors, { kind: "error", color: process.stderr.isTTY });
    throw new BuildError(`the script is invalid\n${messages.join("")}`);
  }
  for (const text of await esbuild.formatMessages(result.warnings, { kind: "warning", color: process.stderr.isTTY })) {
    process.stderr.write(text);
  }
  const file = (suffix) => result.outputFiles.find((output) => output.path.endsWith(suffix)).text;
  return { source: file("plugin.js"), map: JSON.stringify(positions(JSON.parse(file(".map")), working)) };
}

/**
 * Returns a source map that is fast to search in: the names of the sources, and for each line of the bundle its segments, as
 * "column,source,line,column" separated by spaces. Of the SDK there is one segment a line.
 */
function positions({ sources, mappings }, working) {
  const names = sources.map((name) => {
    const inSDK = path.relative(root, path.resolve(working, name)).replaceAll(path.sep, "/");
    return /^(src|wasm)\//.test(inSDK) ? `bulkhead-js:${inSDK}` : name;
  });
  const position = [0, 0, 0, 0];
  const lines = mappings.split(";").map((line) => {
    position[0] = 0;
    const segments = [];
    for (const segment of line === "" ? [] : line.split(",")) {
      decodeVLQ(segment).forEach((difference, i) => (position[i] += difference));
      if (segments.length === 0 || !names[position[1]].startsWith("bulkhead-js:")) segments.push(position.join());
    }
    return segments.join(" ");
  });
  return { sources: names, lines };
}

/** Returns the first four numbers of a segment of a source map; the fifth is the index of a name. */
function decodeVLQ(segment) {
  const numbers = [];
  let value = 0;
  let shift = 0;
  for (const character of segment) {
    const digit = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".indexOf(character);
    value += (digit & 31) << shift;
    shift += 5;
    if (digit & 32) continue;
    numbers.push(value & 1 ? -(value >>> 1) : value >>> 1);
    value = shift = 0;
  }
  return numbers.slice(0, 4);
}

/** Refuses modules of Node.js, with a message that says what is there instead. */
const nodeModules = {
  name: "node-modules",
  setup({ onResolve }) {
    onResolve({ filter: /./ }, ({ path: name, kind }) => {
      if (kind === "entry-point" || !isBuiltin(name)) return undefined;
      return { errors: [{ text: `${name} is a module of Node.js, which plugins do not have: bulkhead-js has files, variables, http and git` }] };
    });
  },
};

/** Resolves the SDK to this copy of it, also if the script's directory has another one. */
const oneSDK = {
  name: "one-sdk",
  setup({ onResolve }) {
    onResolve({ filter: /^bulkhead-js$/ }, () => ({ path: path.join(root, "src", "index.js") }));
  },
};

/** Joins the glue, the engine, a script, and what takes the place of the system if the module is to have none. */
function merge(source, map, system) {
  const engine = require.resolve("quickjs-wasi/quickjs.wasm");
  const digest = createHash("sha256").update(readFileSync(engine)).digest("hex");
  if (digest !== ENGINE_SHA256) throw new Error(`${engine} has the SHA-256 ${digest}, not ${ENGINE_SHA256}: install quickjs-wasi 3.6.2`);
  const tool = path.join(path.dirname(fileURLToPath(import.meta.resolve("binaryen"))), "bin", "wasm-merge");
  const directory = mkdtempSync(path.join(tmpdir(), "bulkhead-js-"));
  try {
    const script = path.join(directory, "script.wat");
    const merged = path.join(directory, "merged.wasm");
    writeFileSync(script, scriptModule(Buffer.from(source), Buffer.from(map)));
    // The glue comes first, so that its _initialize keeps the name.
    const modules = [path.join(root, "wasm", "glue.wat"), "env", engine, "engine", script, "script"];
    if (!system) modules.push(path.join(root, "wasm", "nosystem.wat"), "wasi_snapshot_preview1");
    const options = ["--rename-export-conflicts", ...FEATURES.map((feature) => `--enable-${feature}`), "-o", merged];
    const { status, error, stderr } = spawnSync(process.execPath, [tool, ...modules, ...options], { encoding: "utf8" });
    if (error || status !== 0) throw new Error(`wasm-merge failed (${error ?? status}): ${stderr}`);
    return readFileSync(merged);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Returns the text of a module with a script and its source map as data. */
function scriptModule(source, map) {
  const data = (name, bytes) => `
    (global (export "${name}_length") i32 (i32.const ${bytes.length}))
    (data $${name} "${bytes.toString("hex").replace(/../g, "\\$&")}")
    (func (export "${name}") (param i32) (memory.init $${name} (local.get 0) (i32.const 0) (i32.const ${bytes.length})))`;
  return `(module (import "engine" "memory" (memory 1)) ${data("source", source)} ${data("map", map)})`;
}

/** Removes the exports that the host does not call, and then what nothing uses. */
function strip(bytes) {
  const { BulkMemory, BulkMemoryOpt, SignExt, NontrappingFPToInt, MutableGlobals, Multivalue, ReferenceTypes } = binaryen.Features;
  const module = binaryen.readBinary(bytes);
  try {
    module.setFeatures(BulkMemory | BulkMemoryOpt | SignExt | NontrappingFPToInt | MutableGlobals | Multivalue | ReferenceTypes);
    for (let i = module.getNumExports() - 1; i >= 0; i--) {
      const { name } = binaryen.getExportInfo(module.getExportByIndex(i));
      if (!EXPORTS.has(name)) module.removeExport(name);
    }
    module.runPasses(["remove-unused-module-elements"]);
    return module.emitBinary();
  } finally {
    module.dispose();
  }
}
