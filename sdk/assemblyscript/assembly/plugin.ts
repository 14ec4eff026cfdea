/** The handlers of a plugin, and the dispatch of requests. */

import { Answer, notify } from "./host";
import { Json } from "./json";
import { JsonWriter } from "./jsonwriter";
import { Completion, Prompt, PromptResult, ReadResult, Resource, RpcError, ToolResult } from "./results";

/** The call that a handler handles. */
export class Call {
  /** When the host ends the call, in milliseconds since 1970; 0: never. */
  readonly deadline: i64;
  /** The parameters of the request, as in MCP. */
  readonly params: Json;
  /** What the client can be asked, as in docs/abi.md; absent if it cannot be asked. */
  readonly client: Json;
  /** The string of setState in the run before; empty in the first run. */
  readonly state: string;
  /** The handler must return, since the client is asked: whatever it returns is ignored. */
  asking: bool = false;
  /** Why the client cannot be asked. */
  refusal: RpcError | null = null;
  private answers: Json;
  private questions: JsonWriter = new JsonWriter().object();
  private nextState: string = "";

  constructor(request: Json) {
    this.deadline = request.get("deadline").integer();
    this.params = request.get("params");
    this.client = request.get("client");
    this.state = request.get("state").string();
    this.answers = request.get("answers");
  }

  /**
   * Asks the client, with a method of MCP: elicitation/create, sampling/createMessage or roots/list. The id distinguishes the question
   * from all others of the call. The manifest must name what is asked in `ask` of `[capabilities]`.
   *
   * A question ends the run of the handler: until the client has answered, the answer is absent, and the handler must return any
   * result. Then it is run again from its start, and gets the answer. So a handler must ask the same questions under the same ids in
   * each run, and what it does before a question is repeated. An answer with the member error says that the client failed or refused.
   */
  ask(id: string, method: string, params: Json): Json {
    const answer = this.answers.get(id);
    if (answer.exists) return answer;
    this.asking = true;
    if (!this.client.exists) {
      const why = "the client cannot be asked: the manifest has no ask in [capabilities], or the config does not grant it";
      this.refusal = new RpcError(RpcError.INTERNAL, why);
    }
    this.questions.key(id).object().key("method").string(method).key("params").json(params).endObject();
    return answer;
  }

  /** Asks the user to fill in a form, which must not ask for a secret: see ask. The answer has an action and a content. */
  elicit(id: string, message: string, schema: Json): Json {
    const params = new JsonWriter().object().key("mode").string("form").key("message").string(message);
    return this.ask(id, "elicitation/create", params.key("requestedSchema").json(schema).endObject().toJson());
  }

  /** Asks the user to open a URL: see ask. */
  openUrl(id: string, message: string, url: string): Json {
    const params = new JsonWriter().object().key("mode").string("url").key("message").string(message);
    return this.ask(id, "elicitation/create", params.key("url").string(url).endObject().toJson());
  }

  /** Keeps a string for the next run of the handler. It has an effect only if this run asks. */
  setState(state: string): void {
    this.nextState = state;
  }

  /** Writes the response of a call that asks. */
  writeAsk(w: JsonWriter): void {
    w.object().key("ask").object().key("requests").json(this.questions.endObject().toJson());
    if (this.nextState != "") w.key("state").string(this.nextState);
    w.endObject().endObject();
  }

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
    const call = new Call(root);
    let error = this.handle(method, call, result);
    if (call.refusal !== null) {
      error = call.refusal;
    } else if (call.asking) {
      const asked = new JsonWriter();
      call.writeAsk(asked);
      return asked.written();
    }
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
