import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import {
  HostError, Plugin, PluginError, appendFile, env, exists, failed, fetch, git, hostCall, image, log, mkdir, plugin, print, readDir, readText,
  remove, rename, sha256, stat, structured, writeFile,
} from "bulkhead-js";
import { TestHost } from "bulkhead-js/testing";

const hostFor = (register, options) => {
  const plugin = new Plugin();
  register(plugin);
  return new TestHost({ plugin, ...options });
};

test("results of tools", async () => {
  for (const [returned, want] of [
    ["a", { content: [{ type: "text", text: "a" }] }],
    [7, { content: [{ type: "text", text: "7" }] }],
    [undefined, { content: [] }],
    [{ n: 1 }, { content: [{ type: "text", text: '{"n":1}' }], structuredContent: { n: 1 } }],
    [structured({ n: 1 }, "one"), { content: [{ type: "text", text: "one" }], structuredContent: { n: 1 } }],
    [failed("no"), { content: [{ type: "text", text: "no" }], isError: true }],
    [["a", image(new Uint8Array([255]), "image/png")], { content: [{ type: "text", text: "a" }, { type: "image", data: "/w==", mimeType: "image/png" }] }],
    [image(new Uint8Array(20_000), "image/png"), { content: [{ type: "image", data: Buffer.alloc(20_000).toString("base64"), mimeType: "image/png" }] }],
    [{ content: ["a"], _meta: { b: 1 } }, { content: [{ type: "text", text: "a" }], _meta: { b: 1 } }],
  ]) {
    const host = hostFor((plugin) => plugin.tool("t", async () => returned));
    assert.deepEqual(await host.callTool("t"), want);
  }
});

test("variables that are not set are reported in development", async () => {
  for (const [variables, want] of [
    [{ SET: "" }, []],
    [{ SET: "", BULKHEAD_DEVELOPMENT: "1" }, [{ level: "warn", text: "the variable MISSING is not set: to get it, name it in env of [capabilities] in plugin.toml, and grant it with --env MISSING=VALUE or in the config" }]],
  ]) {
    const host = hostFor((plugin) => plugin.tool("t", async () => [env("SET"), env("MISSING") ?? "unset"]), { env: variables });
    assert.deepEqual((await host.callTool("t")).content.map((item) => item.text), ["", "unset"]);
    assert.deepEqual(host.log, want);
  }
});

test("errors of tools", async () => {
  const host = hostFor((plugin) =>
    plugin
      .tool("throws", () => {
        throw new Error("no such note");
      })
      .tool("bug", () => undefined.missing)
      .tool("rejects", () => Promise.reject(new RangeError("too far")))
      .tool("text", () => {
        throw "a text";
      })
      .tool("rpc", () => {
        throw new PluginError(-32000, "refused", { why: 1 });
      }),
  );
  const textOf = async (name) => {
    const { isError, content } = await host.callTool(name);
    assert.equal(isError, true);
    return content[0].text;
  };
  assert.equal(await textOf("throws"), "no such note");
  assert.match(await textOf("bug"), /^TypeError: /);
  assert.equal(await textOf("rejects"), "RangeError: too far");
  assert.equal(await textOf("text"), "the handler threw a text");
  assert.equal(host.log.length, 4);
  assert.match(host.log[0].text, /plugin\.test\.js/);
  await assert.rejects(host.callTool("rpc"), { code: -32000, message: "refused", data: { why: 1 } });
  await assert.rejects(host.callTool("unknown"), { code: -32602 });
  await assert.rejects(host.request("resources/list"), { code: -32601 });
});

test("registrations that cannot work", () => {
  const handler = () => "";
  const plugin = new Plugin().tool("a", handler);
  for (const register of [
    () => plugin.tool("a", handler),
    () => plugin.tool("", handler),
    () => plugin.tool("b"),
    () => plugin.resource("x:y", {}, handler),
    () => plugin.resource("x:y", undefined, handler),
    () => plugin.resourceTemplate("x:y", { name: "n" }, handler),
    () => plugin.resourceTemplate("x:{a", { name: "n" }, handler),
    () => plugin.resourceTemplate("x:{a}{?b}", { name: "n" }, handler),
    () => plugin.prompts({ list: handler }),
    () => plugin.complete("no"),
  ]) {
    assert.throws(register, TypeError, register.toString());
  }
});

test("describe", async () => {
  const plugin = new Plugin().tool("a", () => "").resource("x:y", { name: "y" }, () => "");
  const host = new TestHost({ plugin });
  const want = { tools: ["a"], prompts: false, resources: true, completions: false };
  assert.deepEqual(await host.request("bulkhead/describe"), want);
});

test("prompts", async () => {
  const host = hostFor((plugin) =>
    plugin
      .prompt("p", { description: "d", arguments: [{ name: "a", required: true }] }, ({ a }) => [`say ${a}`, { role: "assistant", text: "no" }])
      .prompt("bare", () => "hello")
      .prompts({ list: () => [{ name: "late" }], get: (name) => (name === "late" ? { messages: ["late"], description: "x" } : undefined) }),
  );
  const { prompts } = await host.request("prompts/list");
  assert.deepEqual(prompts, [{ name: "p", description: "d", arguments: [{ name: "a", required: true }] }, { name: "bare" }, { name: "late" }]);
  assert.deepEqual((await host.getPrompt("p", { a: "hi" })).messages, [
    { role: "user", content: { type: "text", text: "say hi" } },
    { role: "assistant", content: { type: "text", text: "no" } },
  ]);
  assert.equal((await host.getPrompt("late")).description, "x");
  await assert.rejects(host.getPrompt("p"), { code: -32602, message: "the argument a of the prompt p is missing" });
  await assert.rejects(host.getPrompt("unknown"), { code: -32602 });
});

test("resources", async () => {
  const host = hostFor((plugin) =>
    plugin
      .resource("x:text", { name: "text", mimeType: "text/plain" }, () => "größer")
      .resource("x:bytes", { name: "bytes" }, () => new Uint8Array([0, 255]))
      .resourceTemplate("x:a.b/{one}/{+rest}", { name: "t", list: () => [{ uri: "x:a.b/1/2", name: "2" }] }, ({ one, rest }) => `${one},${rest}`)
      .resourceTemplate("x:{any}", { name: "any" }, ({ any }) => (any === "known" ? { text: "k", mimeType: "text/html" } : undefined))
      .resources({ list: () => [{ uri: "y:1", name: "1" }], read: (uri) => (uri === "y:1" ? { contents: [{ text: "1" }], ttlMs: 5 } : undefined) }),
  );
  const { resources } = await host.request("resources/list");
  assert.deepEqual(resources.map(({ uri }) => uri), ["x:text", "x:bytes", "x:a.b/1/2", "y:1"]);
  const { resourceTemplates } = await host.request("resources/templates/list");
  assert.deepEqual(resourceTemplates, [{ uriTemplate: "x:a.b/{one}/{+rest}", name: "t" }, { uriTemplate: "x:{any}", name: "any" }]);
  const read = async (uri) => (await host.readResource(uri)).contents[0];
  assert.deepEqual(await read("x:text"), { uri: "x:text", mimeType: "text/plain", text: "größer" });
  assert.deepEqual(await read("x:bytes"), { uri: "x:bytes", blob: "AP8=" });
  assert.deepEqual(await read("x:a.b/a%20b/c/d%"), { uri: "x:a.b/a%20b/c/d%", text: "a b,c/d%" });
  assert.deepEqual(await read("x:known"), { uri: "x:known", mimeType: "text/html", text: "k" });
  assert.deepEqual(await host.readResource("y:1"), { contents: [{ uri: "y:1", text: "1" }], ttlMs: 5 });
  for (const uri of ["x:axb/1/2", "x:unknown", "y:2", "x:known/", "zx:known"]) await assert.rejects(host.readResource(uri), { code: -32002 });
});

test("the list of resources has the shape of resources/list", async () => {
  for (const list of [[], {}, "x"]) {
    assert.throws(() => new Plugin().resourceTemplate("x:{a}", { name: "n", list }, () => ""), /is not a function: write list: \(call\) => \[{ uri/);
  }
  for (const [items, want] of [
    [{ resources: [] }, /did not return an array: return \[{ uri/],
    [undefined, /did not return an array/],
    [["x:1"], /item \[0\] without a uri or a name/],
    [[{ uri: "x:1", name: "1" }, { uri: "x:2" }], /item \[1\] without a uri or a name/],
  ]) {
    for (const host of [
      hostFor((plugin) => plugin.resourceTemplate("x:{a}", { name: "n", list: () => items }, () => "")),
      hostFor((plugin) => plugin.resources({ list: async () => items, read: () => "" })),
    ]) {
      await assert.rejects(host.request("resources/list"), want);
    }
  }
});

test("completion", async () => {
  const many = Array.from({ length: 101 }, (_, i) => `v${i}`);
  const host = hostFor((plugin) => plugin.complete(({ argument }) => many.filter((value) => value.startsWith(argument.value))));
  const { completion } = await host.complete({ type: "ref/prompt", name: "p" }, "a", "v1");
  assert.deepEqual(completion, { values: ["v1", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v100"] });
  const all = (await host.complete({ type: "ref/prompt", name: "p" }, "a", "")).completion;
  assert.deepEqual([all.values.length, all.total, all.hasMore], [100, 101, true]);
});

test("questions to the client", async () => {
  let runs = 0;
  const register = (plugin) =>
    plugin.tool("greet", async (_, call) => {
      runs++;
      call.setState(`run ${runs}`);
      const { content } = call.elicit("name", "Who?", { type: "object" });
      try {
        const both = call.ask({ a: { method: "roots/list", params: {} }, b: { method: "roots/list", params: {} } });
        return `${content.name} ${both.a.roots.length}${both.b.roots.length} ${call.state}`;
      } catch {
        return "caught"; // has no effect, since the client is asked
      }
    });
  const answers = {
    name: ({ params }) => ({ action: "accept", content: { name: params.message } }),
    a: { roots: [] },
    b: { roots: [{ uri: "file:///" }] },
  };
  assert.equal((await hostFor(register, { answers }).callTool("greet")).content[0].text, "Who? 01 run 2");
  assert.equal(runs, 3);
  const unable = await hostFor(register).callTool("greet");
  assert.match(unable.content[0].text, /the client cannot be asked/);
  const refused = await hostFor(register, { answers: { name: { error: { code: -1, message: "rejected" } } } }).callTool("greet");
  assert.equal(refused.content[0].text, 'the client did not answer "name": rejected (-1)');
  await assert.rejects(hostFor(register, { answers: {} }).callTool("greet"), /answers does not have/);
});

test("host operations", async () => {
  const host = hostFor(
    (plugin) =>
      plugin
        .tool("fetch", async () => {
          const response = await fetch("https://example.com/a", { method: "POST", headers: { a: "b" }, body: "ü" });
          return { status: response.status, ok: response.ok, text: response.text() };
        })
        .tool("git", (_, call) => git.readFile("/repo", "main", "none"))
        .tool("hash", () => sha256("abc"))
        .tool("denied", () => {
          try {
            hostCall("git/status", { repo: "/" });
          } catch (error) {
            return `${error instanceof HostError} ${error.code} ${error.op}`;
          }
        })
        .tool("tell", (_, call) => {
          call.progress(1, 2, "half");
          log.info("logged");
          print("printed");
        }),
    {
      operations: {
        "http/fetch": ({ url, method, headers, body }) => {
          assert.deepEqual([url, method, headers, body], ["https://example.com/a", "POST", { a: ["b"] }, "w7w="]);
          return { status: 404, url, headers: {}, body: "bm8=" };
        },
        "git/read_file": () => ({ found: false }),
      },
    },
  );
  assert.deepEqual((await host.callTool("fetch")).structuredContent, { status: 404, ok: false, text: "no" });
  assert.deepEqual(await host.callTool("git"), { content: [] });
  assert.match((await host.callTool("hash")).content[0].text, /^ba7816bf/);
  assert.equal((await host.callTool("denied")).content[0].text, "true denied git/status");
  await host.callTool("tell");
  assert.deepEqual(host.notifications, []);
  await host.callTool("tell", {}, { progressToken: 7 });
  const params = { progressToken: 7, progress: 1, total: 2, message: "half" };
  assert.deepEqual(host.notifications, [{ method: "notifications/progress", params }]);
  assert.deepEqual([host.log.at(-1), host.printed], [{ level: "info", text: "logged" }, "printedprinted"]);
});

test("files", async () => {
  const directory = mkdtempSync(path.join(tmpdir(), "bulkhead-js-test-"));
  try {
    const host = hostFor((plugin) =>
      plugin.tool("files", () => {
        const name = `${directory}/a/b/c.txt`;
        mkdir(`${directory}/a/b`, { recursive: true });
        mkdir(`${directory}/a/b/`, { recursive: true });
        writeFile(name, "ä");
        appendFile(name, new Uint8Array([33]));
        assert.equal(readText(name), "ä!");
        assert.deepEqual([stat(name).kind, stat(name).size], ["file", 3]);
        assert.deepEqual(readDir(`${directory}/a`), [{ name: "b", kind: "directory" }]);
        rename(name, `${directory}/d`);
        assert.deepEqual([exists(name), exists(`${directory}/d`), exists(`${directory}/d/e`)], [false, true, false]);
        remove(`${directory}/d`);
        remove(`${directory}/a/b`);
        assert.throws(() => readText(name), { name: "FileError", code: "ENOENT" });
      }),
    );
    const result = await host.callTool("files");
    assert.deepEqual(result, { content: [] }, JSON.stringify(result));
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test("without a host", () => {
  assert.ok(plugin instanceof Plugin);
  assert.throws(() => readText("/x"), /there is no host/);
});
