/** The handlers of a plugin, and the dispatch of requests. */

import { Answer, notify } from "./host";
import { Json, JsonWriter } from "./json";
import { Completion, Prompt, PromptResult, ReadResult, Resource, RpcError, ToolResult } from "./results";

/** The call that a handler handles. */
export class Call {
  constructor(
    /** When the host ends the call, in milliseconds since 1970; 0: never. */
    public deadline: i64,
    /** The parameters of the request, as in MCP. */
    public params: Json,
  ) {}

  get meta(): Json {
    return this.params.get("_meta");
  }

  /**
   * Notifies the client of the call's progress; total may be 0 and the message empty. It does nothing if the client did not ask
   * for progress.
   */
  progress(done: f64, total: f64, message: string = ""): Answer {
    const token = this.meta.get("progressToken");
    if (!token.exists) return new Answer();
    const params = new JsonWriter().object().key("progressToken").json(token).key("progress").number(done);
    if (total != 0) params.key("total").number(total);
    if (message != "") params.key("message").string(message);
    return notify("notifications/progress", params.endObject().toJson());
  }
}

/** Handles a call of a tool. The arguments are an object, also if the client sent none. */
export type ToolHandler = (call: Call, args: Json) => ToolResult;
/** Handles completion/complete: ref and argument are members of the parameters. */
export type CompleteHandler = (call: Call, params: Json) => Completion;

/** Handles prompts/list and prompts/get. */
export abstract class Prompts {
  abstract list(call: Call): Prompt[];
  /** Returns PromptResult.rpcError with RpcError.INVALID_PARAMS for a name that does not exist. */
  abstract get(call: Call, name: string, args: Json): PromptResult;
}

/** Handles resources/list, resources/templates/list and resources/read. */
export abstract class Resources {
  abstract list(call: Call): Resource[];
  templates(call: Call): Resource[] {
    return [];
  }
  /** Returns ReadResult.notFound for a URI that does not exist. */
  abstract read(call: Call, uri: string): ReadResult;
}

/** The handlers of one plugin. */
export class Plugin {
  private tools: Map<string, ToolHandler> = new Map();
  private offeredPrompts: Prompts | null = null;
  private offeredResources: Resources | null = null;
  private completeHandler: CompleteHandler | null = null;

  tool(name: string, handle: ToolHandler): Plugin {
    this.tools.set(name, handle);
    return this;
  }

  prompts(prompts: Prompts): Plugin {
    this.offeredPrompts = prompts;
    return this;
  }

  resources(resources: Resources): Plugin {
    this.offeredResources = resources;
    return this;
  }

  complete(handle: CompleteHandler): Plugin {
    this.completeHandler = handle;
    return this;
  }

  /** Handles one request of ABI 1 and returns the response. */
  dispatch(request: ArrayBuffer): ArrayBuffer {
    const root = Json.of(request);
    const method = root.get("method").string();
    const result = new JsonWriter().object().key("result");
    const call = new Call(root.get("deadline").integer(), root.get("params"));
    const error = this.handle(method, call, result);
    if (error === null) return result.endObject().written();
    const failed = new JsonWriter().object().key("error");
    error.write(failed);
    return failed.endObject().written();
  }

  /** Writes the result of a request, or returns an error. */
  private handle(method: string, call: Call, w: JsonWriter): RpcError | null {
    const params = call.params;
    const prompts = this.offeredPrompts;
    const resources = this.offeredResources;
    const complete = this.completeHandler;
    if (method == "tools/call") return this.callTool(call, w);
    if (method == "bulkhead/describe") {
      this.describe(w);
      return null;
    }
    if (prompts !== null && method == "prompts/list") {
      const list = prompts.list(call);
      w.object().key("prompts").array();
      for (let i = 0; i < list.length; i++) list[i].write(w);
      w.endArray().endObject();
      return null;
    }
    if (prompts !== null && method == "prompts/get") {
      const result = prompts.get(call, params.get("name").string(), params.get("arguments"));
      if (result.error === null) result.write(w);
      return result.error;
    }
    if (resources !== null && (method == "resources/list" || method == "resources/templates/list")) {
      const templates = method != "resources/list";
      const list = templates ? resources.templates(call) : resources.list(call);
      w.object().key(templates ? "resourceTemplates" : "resources").array();
      for (let i = 0; i < list.length; i++) list[i].write(w, templates ? "uriTemplate" : "uri");
      w.endArray().endObject();
      return null;
    }
    if (resources !== null && method == "resources/read") {
      const result = resources.read(call, params.get("uri").string());
      if (result.error === null) result.write(w);
      return result.error;
    }
    if (complete !== null && method == "completion/complete") {
      const result = complete(call, params);
      if (result.error === null) result.write(w);
      return result.error;
    }
    return new RpcError(RpcError.METHOD_NOT_FOUND, "no handler for " + method);
  }

  private callTool(call: Call, w: JsonWriter): RpcError | null {
    const name = call.params.get("name").string();
    if (!this.tools.has(name)) return new RpcError(RpcError.INVALID_PARAMS, "no handler for tool " + name);
    const args = call.params.get("arguments");
    const result = this.tools.get(name)(call, args.exists ? args : Json.parse("{}"));
    if (result.error === null) result.write(w);
    return result.error;
  }

  private describe(w: JsonWriter): void {
    w.object().key("tools").array();
    const names = this.tools.keys();
    for (let i = 0; i < names.length; i++) w.string(names[i]);
    w.endArray().key("prompts").bool(this.offeredPrompts !== null);
    w.key("resources").bool(this.offeredResources !== null);
    w.key("completions").bool(this.completeHandler !== null).endObject();
  }
}

let served: Plugin | null = null;

/** Makes a plugin the one that this module serves. Call it once, at the top level. */
export function serve(plugin: Plugin): void {
  served = plugin;
}

export function servedPlugin(): Plugin {
  const plugin = served;
  if (plugin === null) throw new Error("no plugin is served: call serve at the top level");
  return plugin;
}
