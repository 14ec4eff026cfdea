import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { TestHost } from "bulkhead-js/testing";
import "../src/index.js";

test("counts files", async () => {
  const project = mkdtempSync(join(tmpdir(), "js-tally-"));
  try {
    const host = new TestHost({ env: { BULKHEAD_PROJECT: project } });
    for (const [text, lines, words] of [["", 0, 0], ["a", 1, 1], ["a b\n", 1, 2], ["ü\u00a0b\n\n c\t", 3, 2]]) {
      writeFileSync(join(project, "a.md"), text);
      const { structuredContent } = await host.callTool("js_tally", { paths: ["a.md"] });
      const [{ sha256, ...counts }] = structuredContent.files;
      assert.deepEqual(counts, { path: "a.md", lines, words, bytes: Buffer.byteLength(text) });
    }
    assert.equal((await host.callTool("js_tally", { paths: ["missing.md"] })).isError, true);
    assert.equal((await host.readResource("js-tally:a.md")).contents[0].text, "3 lines, 2 words");
    await assert.rejects(host.readResource("js-tally:missing.md"), { code: -32002 });
    await assert.rejects(host.getPrompt("js_tally_shorten"), { code: -32602 });
  } finally {
    rmSync(project, { recursive: true });
  }
});
