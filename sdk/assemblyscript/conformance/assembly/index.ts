/** The module of the AssemblyScript SDK for the conformance kit. */

import {
  Call, Completion, Contents, Json, Message, Plugin, Prompt, PromptResult, Prompts, ReadResult, Resource, Resources, RpcError,
  ToolResult, hostCall, log, print, readText, serve,
} from "bulkhead-sdk/assembly";
export { bulkhead_abi_1, bulkhead_call } from "bulkhead-sdk/assembly";

function echo(call: Call, args: Json): ToolResult {
  return ToolResult.text(args.get("text").string());
}

function fail(call: Call, args: Json): ToolResult {
  return ToolResult.failed(args.get("message").string());
}

function error(call: Call, args: Json): ToolResult {
  return ToolResult.rpcError(<i32>args.get("code").integer(), args.get("message").string(), args.get("data"));
}

function progress(call: Call, args: Json): ToolResult {
  const steps = args.get("steps").integer();
  for (let step: i64 = 1; step <= steps; step++) call.progress(<f64>step, <f64>steps, "step " + step.toString());
  return ToolResult.text("done");
}

function writeLog(call: Call, args: Json): ToolResult {
  log(<i32>args.get("level").integer(), args.get("text").string());
  return ToolResult.text("done");
}

function printText(call: Call, args: Json): ToolResult {
  print(args.get("text").string());
  return ToolResult.text("done");
}

function read(call: Call, args: Json): ToolResult {
  const text = readText(args.get("path").string());
  return text === null ? ToolResult.failed("it cannot be read") : ToolResult.text(text);
}

function operate(call: Call, args: Json): ToolResult {
  const answer = hostCall(args.get("op").string(), args.get("params"));
  if (!answer.ok) return ToolResult.failed(answer.code);
  return ToolResult.text(answer.result.exists ? answer.result.raw() : "null");
}

let calls = 0;

function count(call: Call, args: Json): ToolResult {
  calls++;
  return ToolResult.text(calls.toString());
}

function ask(call: Call, args: Json): ToolResult {
  call.setState("asked");
  const schema = Json.parse('{"type":"object","properties":{"name":{"type":"string"}}}');
  const answer = call.elicit("name", args.get("message").string(), schema);
  const action = answer.get("action").string();
  return ToolResult.text(call.state + ": " + (action == "accept" ? answer.get("content").get("name").string() : action));
}

function spin(call: Call, args: Json): ToolResult {
  while (true) calls++;
  return ToolResult.text("");
}

function crash(call: Call, args: Json): ToolResult {
  throw new Error("this is wanted");
}

class Saying extends Prompts {
  list(call: Call): Prompt[] {
    return [new Prompt("conform_prompt", "Says a text").argument("text", "", true)];
  }

  get(call: Call, name: string, args: Json): PromptResult {
    if (name != "conform_prompt") return PromptResult.rpcError(RpcError.INVALID_PARAMS, "there is no such prompt");
    return new PromptResult([new Message("user", args.get("text").string())]);
  }
}

class Kit extends Resources {
  list(call: Call): Resource[] {
    return [new Resource("conform:text", "text", "text/plain"), new Resource("conform:bytes", "bytes")];
  }

  templates(call: Call): Resource[] {
    return [new Resource("conform:{name}", "by name")];
  }

  read(call: Call, uri: string): ReadResult {
    if (uri == "conform:text") return new ReadResult([new Contents(uri, "text/plain", "größer")]);
    if (uri != "conform:bytes") return ReadResult.notFound(uri);
    const bytes = new Uint8Array(4);
    bytes[1] = 1;
    bytes[2] = 0xfe;
    bytes[3] = 0xff;
    return new ReadResult([Contents.blob(uri, "", bytes)]);
  }
}

function complete(call: Call, params: Json): Completion {
  const typed = params.get("argument").get("value").string();
  const all = ["alpha", "beta", "büro"];
  const values: string[] = [];
  for (let i = 0; i < all.length; i++) if (all[i].startsWith(typed)) values.push(all[i]);
  return new Completion(values);
}

serve(
  new Plugin()
    .tool("echo", echo)
    .tool("fail", fail)
    .tool("error", error)
    .tool("progress", progress)
    .tool("log", writeLog)
    .tool("print", printText)
    .tool("read_file", read)
    .tool("operate", operate)
    .tool("count", count)
    .tool("ask", ask)
    .tool("spin", spin)
    .tool("crash", crash)
    .prompts(new Saying())
    .resources(new Kit())
    .complete(complete),
);
