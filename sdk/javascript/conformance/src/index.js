/** The module of the JavaScript SDK for the conformance kit. */

import { HostError, PluginError, abort, failed, hostCall, log, plugin, print, readText } from "bulkhead-js";

const levels = ["", "trace", "debug", "info", "warn", "error"];
let calls = 0;

plugin
  .tool("echo", ({ text }) => text)
  .tool("fail", ({ message }) => failed(message))
  .tool("error", ({ code, message, data }) => {
    throw new PluginError(code, message, data);
  })
  .tool("progress", async ({ steps }, call) => {
    for (let step = 1; step <= steps; step++) {
      call.progress(step, steps, `step ${step}`);
      await null;
    }
    return "done";
  })
  .tool("log", ({ level, text }) => {
    log[levels[level]](text);
    return "done";
  })
  .tool("print", ({ text }) => {
    print(text);
    return "done";
  })
  .tool("read_file", ({ path }) => readText(path))
  .tool("operate", ({ op, params }) => {
    try {
      return JSON.stringify(hostCall(op, params));
    } catch (error) {
      if (error instanceof HostError) return failed(error.code);
      throw error;
    }
  })
  .tool("count", () => String(++calls))
  .tool("ask", ({ message }, call) => {
    call.setState("asked");
    const answer = call.elicit("name", message, { type: "object", properties: { name: { type: "string" } } });
    return `${call.state}: ${answer.action === "accept" ? answer.content.name : answer.action}`;
  })
  .tool("spin", () => {
    for (;;) calls++;
  })
  .tool("crash", () => abort("this is wanted"))
  .prompt(
    "conform_prompt",
    { description: "Says a text", arguments: [{ name: "text", required: true }] },
    ({ text }) => text,
  )
  .resource("conform:text", { name: "text", mimeType: "text/plain" }, () => "größer")
  .resource("conform:bytes", { name: "bytes" }, () => new Uint8Array([0, 1, 0xfe, 0xff]))
  .resourceTemplate("conform:{name}", { name: "by name" }, () => undefined)
  .complete(({ argument }) => ["alpha", "beta", "büro"].filter((word) => word.startsWith(argument.value)));
