import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { before, test } from "node:test";
import { compile, instantiate } from "../testdata/run.js";

const script = fileURLToPath(new URL("../testdata/tools.ts", import.meta.url));
const lines = readFileSync(script, "utf8").split("\n");
let module, minified;

/** Returns a pattern of the position of a text in the script, without its column. */
const position = (text) => `tools\\.ts:${lines.findIndex((line) => line.includes(text)) + 1}:`;

before(async () => {
  module = await compile(script);
  minified = await compile(script, { minify: true });
});

/** Calls a tool of the script in a new instance: the first text of the result, whether it is an error, and the log. */
function run(name, compiled = module) {
  const instance = instantiate(compiled);
  const { result } = instance.call("tools/call", { name: "case", arguments: { name } });
  return { text: result.content[0]?.text, failed: result.isError ?? false, log: instance.log };
}

test("exports", () => {
  const names = WebAssembly.Module.exports(module).map(({ name }) => name);
  assert.deepEqual(names.sort(), ["_initialize", "bulkhead_abi_1", "bulkhead_call", "memory"]);
  const modules = new Set(WebAssembly.Module.imports(module).map((item) => item.module));
  assert.deepEqual([...modules].sort(), ["bulkhead", "wasi_snapshot_preview1"]);
});

test("values", () => {
  for (const [name, want] of [
    ["loaded", "at the top level"],
    ["timers", "interval,timeout,interval"],
    ["handledLater", "handled"],
    ["surrogates", "a\ufffdb\ufffd\u{1f600}\\ud800\\\ufffd"],
    ["nul", "a\0b"],
    ["text", "97,239,191,189,226,130,172|A\ufffd|false"],
    ["leftTimer", "returned"],
  ]) {
    assert.deepEqual(run(name), { text: want, failed: false, log: [] }, name);
  }
});

test("random numbers differ between calls from the same state", () => {
  const [a, b] = [run("random").text, run("random").text];
  assert.notEqual(a, b);
  for (const number of `${a},${b}`.split(",")) assert.ok(number >= 0 && number < 1, number);
});

test("errors have the positions of the source", () => {
  for (const compiled of [module, minified]) {
    const { text, failed, log } = run("explode", compiled);
    assert.deepEqual([text, failed], ["RangeError: exploded 1", true]);
    const frames = ["helper\\.ts:3:", position("count: 1"), position("cases[name]()")];
    assert.match(log[0].text, new RegExp(`^tools/call: RangeError: exploded 1\n${frames.map((frame) => ` {4}at .*${frame}\\d+\\)`).join("\n")}$`));
    assert.doesNotMatch(log[0].text, /bulkhead-js:|plugin\.js|native/);
    assert.match(run("later", compiled).log[0].text, new RegExp(`exploded 2\n.*helper\\.ts:3:.*\n.*${position("count: 2")}`));
  }
});

test("a promise that is rejected and not awaited is logged", () => {
  const { text, log } = run("notAwaited");
  assert.equal(text, "returned");
  assert.equal(log.length, 1);
  assert.match(log[0].text, /^tools\/call: a promise was rejected without a handler: RangeError: exploded 3\n.*helper\.ts:3:/);
});

test("a promise that nothing settles is an error", () => {
  assert.match(run("pending").text, /^the handler awaits a promise that nothing can settle/);
});

test("exhausted resources are errors", () => {
  for (const name of ["recursion", "asynchronousRecursion", "nested"]) {
    assert.deepEqual([name, run(name).text], [name, "RangeError: Maximum call stack size exceeded"]);
  }
});

test("other errors", () => {
  assert.equal(run("invalidText").text, "TypeError: TextDecoder: invalid utf-8");
});

test("console", () => {
  const [{ level, text }] = run("log").log;
  assert.equal(level, 4);
  assert.match(text, /^text \{"a":\["1n"\]\} TypeError: shown\n.*tools\.ts:\d+:\d+\)(\n.*)* undefined$/);
});

test("a script that fails when it is loaded", async () => {
  for (const [text, want] of [
    ["\nthrow new Error('at load');\n", /^the script failed when it was loaded: at load\n {4}at .*script\.js:2:/],
    ["\nawait Promise.reject(new TypeError('later'));\n", /^the script failed when it was loaded: TypeError: later\n/],
    ["\nawait new Promise(() => {});\n", /^the script awaits a promise at its top level that nothing can settle/],
  ]) {
    const { error } = instantiate(await compile(text)).call("bulkhead/describe");
    assert.equal(error?.code, -32603);
    assert.match(error.message, want);
  }
});

test("scripts that cannot be built", async () => {
  for (const [text, want] of [
    ["\nconst a = ;\n", /script\.js:2:10:/],
    ["import fs from 'node:fs';\nfs.x();\n", /script\.js:1:15:[^]*node:fs is a module of Node\.js|node:fs is a module of Node\.js[^]*script\.js:1:15:/],
    ["import x from 'no-such-package';\nx();\n", /Could not resolve "no-such-package"/],
  ]) {
    await assert.rejects(compile(text), (error) => error.name === "Error" && want.test(error.message), text);
  }
  await assert.rejects(compile("no/such/file.js"), /there is no file no\/such\/file\.js/);
});
