/** The handlers of a plugin, and the dispatch of requests. */

import { Call } from "./call.js";
import { PluginError } from "./errors.js";
import { platform } from "./platform.js";
import { failed, toCompletion, toPromptResult, toReadResult, toToolResult } from "./results.js";
import { compile } from "./templates.js";

export class Plugin {
  #tools = new Map();
  #prompts = new Map();
  #promptProviders = [];
  #resources = new Map();
  #templates = [];
  #resourceProviders = [];
  #complete;

  /** Registers a tool of the manifest: handler(args, call). The host has validated the arguments against the manifest's schema. */
  tool(name, handler) {
    register(this.#tools, "tool", name, handler);
    return this;
  }

  /** Registers a prompt: handler(args, call). The description is an item of prompts/list without its name. */
  prompt(name, description, handler) {
    if (typeof description === "function") [description, handler] = [{}, description];
    register(this.#prompts, "prompt", name, handler, { name, ...description });
    return this;
  }

  /** Registers prompts that are known only during a call: list(call), and get(name, args, call), which returns undefined for unknown names. */
  prompts(provider) {
    requireMethods("prompts", provider, ["list", "get"]);
    this.#promptProviders.push(provider);
    return this;
  }

  /** Registers a resource: handler(call). The description is an item of resources/list without its uri. */
  resource(uri, description, handler) {
    requireName("resource", description?.name, uri);
    register(this.#resources, "resource", uri, handler, { uri, ...description });
    return this;
  }

  /**
   * Registers resources by a URI template: handler(variables, call, uri), which returns undefined for one that does not exist. The
   * description is an item of resources/templates/list without its uriTemplate; its list(call) returns items of resources/list.
   */
  resourceTemplate(uriTemplate, { list, ...description }, handler) {
    requireName("resource template", description.name, uriTemplate);
    requireFunction("resource template", uriTemplate, handler);
    if (list !== undefined && typeof list !== "function") {
      throw new TypeError(`the list of the resource template ${uriTemplate} is not a function: write list: (call) => [${listShape}]`);
    }
    this.#templates.push({ item: { uriTemplate, ...description }, match: compile(uriTemplate), list, handler });
    return this;
  }

  /** Registers resources that are known only during a call: list(call), and read(uri, call), which returns undefined for unknown URIs. */
  resources(provider) {
    requireMethods("resources", provider, ["list", "read"]);
    this.#resourceProviders.push(provider);
    return this;
  }

  /** Registers the handler of completion/complete: handler({ref, argument, context}, call), which returns an array of values. */
  complete(handler) {
    requireFunction("completion", "complete", handler);
    if (this.#complete) throw new TypeError("complete is registered twice");
    this.#complete = handler;
    return this;
  }

  /** Handles a request of ABI 1 and returns the response. It never throws. */
  async handle(request) {
    const call = new Call(request);
    try {
      const result = await this.#dispatch(request.method, call);
      return respond(call) ?? { result };
    } catch (error) {
      return respond(call) ?? failure(request.method, error);
    }
  }

  #dispatch(method, call) {
    const { name, uri, arguments: args } = call.params;
    switch (method) {
      case "tools/call":
        return this.#callTool(name, args ?? {}, call);
      case "bulkhead/describe":
        return this.#describe();
      case "prompts/list":
        if (this.#hasPrompts) return this.#listPrompts(call);
        break;
      case "prompts/get":
        if (this.#hasPrompts) return this.#getPrompt(name, args ?? {}, call);
        break;
      case "resources/list":
        if (this.#hasResources) return this.#listResources(call);
        break;
      case "resources/templates/list":
        if (this.#hasResources) return { resourceTemplates: this.#templates.map(({ item }) => item) };
        break;
      case "resources/read":
        if (this.#hasResources) return this.#readResource(uri, call);
        break;
      case "completion/complete":
        if (this.#complete) return this.#completeArgument(call);
        break;
    }
    throw new PluginError(PluginError.METHOD_NOT_FOUND, `no handler for ${method}`);
  }

  #describe() {
    return {
      tools: [...this.#tools.keys()],
      prompts: this.#hasPrompts,
      resources: this.#hasResources,
      completions: this.#complete !== undefined,
    };
  }

  get #hasPrompts() {
    return this.#prompts.size + this.#promptProviders.length > 0;
  }

  get #hasResources() {
    return this.#resources.size + this.#templates.length + this.#resourceProviders.length > 0;
  }

  async #callTool(name, args, call) {
    const tool = this.#tools.get(name);
    if (!tool) throw PluginError.invalidParams(`no handler for tool ${name}`);
    return toToolResult(await tool.handler(args, call));
  }

  async #listPrompts(call) {
    const prompts = [...this.#prompts.values()].map(({ item }) => item);
    for (const provider of this.#promptProviders) prompts.push(...(await provider.list(call)));
    return { prompts };
  }

  async #getPrompt(name, args, call) {
    const prompt = this.#prompts.get(name);
    if (prompt) {
      for (const argument of prompt.item.arguments ?? []) {
        if (argument.required && !Object.hasOwn(args, argument.name)) {
          throw PluginError.invalidParams(`the argument ${argument.name} of the prompt ${name} is missing`);
        }
      }
      return toPromptResult(await prompt.handler(args, call));
    }
    for (const provider of this.#promptProviders) {
      const result = await provider.get(name, args, call);
      if (result !== undefined) return toPromptResult(result);
    }
    throw PluginError.invalidParams(`there is no prompt ${name}`);
  }

  async #listResources(call) {
    const resources = [...this.#resources.values()].map(({ item }) => item);
    for (const { item, list } of this.#templates) {
      if (list) resources.push(...listed(`the list of the resource template ${item.uriTemplate}`, await list(call)));
    }
    for (const provider of this.#resourceProviders) resources.push(...listed("the list of a provider of resources", await provider.list(call)));
    return { resources };
  }

  async #readResource(uri, call) {
    const resource = this.#resources.get(uri);
    if (resource) return toReadResult(await resource.handler(call), uri, resource.item.mimeType);
    for (const { item, match, handler } of this.#templates) {
      const variables = match(uri);
      if (!variables) continue;
      const result = await handler(variables, call, uri);
      if (result !== undefined) return toReadResult(result, uri, item.mimeType);
    }
    for (const provider of this.#resourceProviders) {
      const result = await provider.read(uri, call);
      if (result !== undefined) return toReadResult(result, uri);
    }
    throw PluginError.resourceNotFound(uri);
  }

  async #completeArgument(call) {
    return toCompletion(await this.#complete(call.params, call));
  }
}

/** Returns the response of a call that asks the client; undefined if it does not. */
function respond(call) {
  const ask = call.pendingAsk;
  return ask && { ask };
}

/** Returns the response of a handler that threw a value. An error that is not a PluginError is logged with its stack. */
export function failure(method, error) {
  if (error instanceof PluginError) return { error: { code: error.code, message: error.message, data: error.data } };
  const message = describeError(error);
  platform().log(4, `${method}: ${platform().trace(error, message)}`);
  return method === "tools/call" ? { result: failed(message) } : { error: { code: PluginError.INTERNAL, message } };
}

/** Returns the message of a thrown value, with the name of an error that is not the author's own. */
export function describeError(error) {
  if (error === null) return "the handler threw null, which the engine does if its memory is exhausted: see limits.memory";
  if (!(error instanceof Error)) return `the handler threw ${String(error)}`;
  const { name, message } = error;
  return ["Error", "HostError", "FileError"].includes(name) ? message : `${name}: ${message}`;
}

function register(handlers, kind, name, handler, item) {
  requireName(kind, name, name);
  requireFunction(kind, name, handler);
  if (handlers.has(name)) throw new TypeError(`the ${kind} ${name} is registered twice`);
  handlers.set(name, { item, handler });
}

/** What a list of resources has to return. */
const listShape = '{ uri: "…", name: "…" }, …';

/** Returns the items that a list function returned, if they are items of resources/list. */
function listed(what, items) {
  if (!Array.isArray(items)) throw new TypeError(`${what} did not return an array: return [${listShape}]`);
  const wrong = items.findIndex((item) => typeof item?.uri !== "string" || typeof item.name !== "string");
  if (wrong >= 0) throw new TypeError(`${what} returned an item [${wrong}] without a uri or a name: return [${listShape}]`);
  return items;
}

function requireName(kind, value, name) {
  if (typeof value !== "string" || value === "") throw new TypeError(`the ${kind} ${String(name)} has no name`);
}

function requireFunction(kind, name, handler) {
  if (typeof handler !== "function") throw new TypeError(`the handler of the ${kind} ${name} is not a function`);
}

function requireMethods(kind, provider, methods) {
  for (const method of methods) {
    if (typeof provider?.[method] !== "function") throw new TypeError(`the provider of ${kind} has no method ${method}`);
  }
}

/** The plugin of this module. */
export const plugin = new Plugin();
