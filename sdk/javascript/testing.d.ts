/** Tests of handlers in Node.js, without a module and without the host. */

import type { Plugin, Question } from "./index.js";

/** Calls a plugin's handlers as the host does. Files are those of this machine, without the sandbox's rules. */
export class TestHost {
  constructor(options?: {
    /** By default the plugin of the module. */
    plugin?: Plugin;
    /** The variables of the environment. PWD is the directory of relative paths. */
    env?: Record<string, string>;
    /**
     * A function for each host operation that the handlers use: it returns the result or throws a HostError. Without one, hash/sha256,
     * lock and notify work, and others are denied.
     */
    operations?: Record<string, (params: any, bytes: Uint8Array) => unknown>;
    /** The client's answers to questions by id. */
    answers?: Record<string, object | ((question: Question) => object)>;
    /** What the client can be asked: everything if there are answers. */
    client?: object;
  });
  readonly log: { level: "trace" | "debug" | "info" | "warn" | "error"; text: string }[];
  readonly notifications: { method: string; params: any }[];
  readonly printed: string;
  /** Calls a tool, and returns its result. A JSON-RPC error is thrown as a PluginError. */
  callTool(name: string, args?: object, meta?: object): Promise<any>;
  getPrompt(name: string, args?: Record<string, string>): Promise<any>;
  readResource(uri: string): Promise<any>;
  complete(ref: object, name: string, value: string): Promise<any>;
  /** Makes a request with the parameters of MCP, and returns its result. */
  request(method: string, params?: object): Promise<any>;
}
