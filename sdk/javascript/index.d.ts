/** Plugins of the MCP host Bulkhead in JavaScript and TypeScript. `plugin` is the name to start with. */

// ---- Handlers

/** JSON objects of MCP. Members that this file does not list are allowed. */
export type JsonObject = { [name: string]: unknown };

export type Content =
  | { type: "text"; text: string; [name: string]: unknown }
  | { type: "image" | "audio"; data: string; mimeType: string; [name: string]: unknown }
  | { type: "resource"; resource: { uri: string; text?: string; blob?: string; mimeType?: string }; [name: string]: unknown }
  | { type: "resource_link"; uri: string; name: string; [name: string]: unknown };

export interface ToolResult {
  content: (Content | string)[];
  structuredContent?: object;
  isError?: boolean;
  _meta?: JsonObject;
}

/**
 * What a tool's handler returns: a text (also a number or boolean), an item of content, an array of items and texts, a result of MCP
 * (an object whose `content` is an array), or any other object, which becomes the structured content. Nothing is an empty result.
 */
export type ToolReturn = string | number | bigint | boolean | null | undefined | void | object;

export interface Message {
  role?: "user" | "assistant";
  /** A text, instead of the content. */
  text?: string;
  content?: Content | string;
}

/** What a prompt's handler returns: the text of the user's message, messages, or the result of MCP. */
export type PromptReturn = string | Message | (string | Message)[] | { description?: string; messages: (string | Message)[] };

export interface ResourceContents {
  uri?: string;
  mimeType?: string;
  /** One of these three. */
  text?: string;
  bytes?: Uint8Array;
  blob?: string;
}

/** What a resource's handler returns: a text, bytes, contents, or the result of MCP. */
export type ReadReturn =
  | string
  | Uint8Array
  | ArrayBuffer
  | ResourceContents
  | { contents: ResourceContents[]; ttlMs?: number; cacheScope?: "public" | "private" };

export interface PromptDescription {
  title?: string;
  description?: string;
  arguments?: { name: string; title?: string; description?: string; required?: boolean }[];
  [name: string]: unknown;
}

export interface ResourceDescription {
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  [name: string]: unknown;
}

export interface Prompts {
  list(call: Call): Async<(PromptDescription & { name: string })[]>;
  /** Returns undefined for a name that does not exist. */
  get(name: string, args: Record<string, string>, call: Call): Async<PromptReturn | undefined>;
}

export interface Resources {
  list(call: Call): Async<(ResourceDescription & { uri: string })[]>;
  /** Returns undefined for a URI that does not exist. */
  read(uri: string, call: Call): Async<ReadReturn | undefined>;
}

export interface CompletionRequest {
  ref: { type: "ref/prompt"; name: string } | { type: "ref/resource"; uri: string };
  argument: { name: string; value: string };
  context?: { arguments?: Record<string, string> };
}

type Async<T> = T | Promise<T>;

/** The handlers of a plugin. Those of a module are registered with `plugin`. */
export class Plugin {
  /** Registers a tool of the manifest. The host has validated the arguments against the manifest's schema. */
  tool<Args = any>(name: string, handler: (args: Args, call: Call) => Async<ToolReturn>): this;
  prompt(name: string, handler: (args: Record<string, string>, call: Call) => Async<PromptReturn>): this;
  prompt(name: string, description: PromptDescription, handler: (args: Record<string, string>, call: Call) => Async<PromptReturn>): this;
  /** Registers prompts that are known only during a call. */
  prompts(provider: Prompts): this;
  resource(uri: string, description: ResourceDescription, handler: (call: Call) => Async<ReadReturn>): this;
  /**
   * Registers resources by a URI template: `{name}` stands for a part without slashes, `{+name}` for one with them. The handler gets
   * the decoded variables, and returns undefined for a resource that does not exist. `list` returns resources for resources/list.
   */
  resourceTemplate(
    uriTemplate: string,
    description: ResourceDescription & { list?: (call: Call) => Async<(ResourceDescription & { uri: string })[]> },
    handler: (variables: Record<string, string>, call: Call, uri: string) => Async<ReadReturn | undefined>,
  ): this;
  /** Registers resources that are known only during a call. */
  resources(provider: Resources): this;
  /** Registers the handler of completions, which returns at most 100 values that begin with what the user has typed. */
  complete(
    handler: (request: CompletionRequest, call: Call) => Async<string[] | { values: string[]; total?: number; hasMore?: boolean }>,
  ): this;
  /** Handles a request of ABI 1: see docs/abi.md. */
  handle(request: object): Promise<object>;
}

/** The plugin of this module. */
export const plugin: Plugin;

/** A question to the client: a method of MCP with its parameters. */
export interface Question {
  method: "elicitation/create" | "sampling/createMessage" | "roots/list";
  params: object;
}

/** The answer to a form or a URL. Clients may not validate the content. */
export type FormAnswer = { action: "accept"; content: Record<string, any> } | { action: "decline" | "cancel"; content?: undefined };

/** The call that a handler handles. */
export class Call {
  private constructor();
  /** When the host ends the call, in milliseconds since 1970; undefined: never. */
  readonly deadline?: number;
  /** The parameters of the request, as in MCP. */
  readonly params: any;
  readonly meta: any;
  /** What the client can be asked: see docs/abi.md. It is undefined if the client cannot be asked. */
  readonly client?: { elicitation?: { form?: object; url?: object }; sampling?: JsonObject; roots?: object };
  /** The string of setState in the run before; empty in the first run. */
  readonly state: string;
  /** Notifies the client of the call's progress, if the client asked for that. */
  progress(progress: number, total?: number, message?: string): void;
  /**
   * Asks the client, and returns the answers by id. The ids distinguish the questions from all others of the call.
   *
   * Until the client has answered, this throws: do not catch it. Then the handler is run again from its start, and gets the answers.
   * So a handler must ask the same questions under the same ids in each run, and what it does before a question is repeated. A call
   * has at most 10 rounds. The manifest must name what is asked in `ask` of `[capabilities]`.
   */
  ask(questions: Record<string, Question>): Record<string, any>;
  /** Asks the user to fill in a form, which must not ask for a secret: see ask. */
  elicit(id: string, message: string, requestedSchema: object): FormAnswer;
  /** Asks the user to open a URL: see ask. */
  openUrl(id: string, message: string, url: string): FormAnswer;
  /** Asks the client's model for a message, with the parameters of sampling/createMessage: see ask. */
  sample(id: string, params: object): any;
  /** Returns the client's roots: see ask. */
  roots(id: string): { uri: string; name?: string }[];
  /** Keeps a string for the next run of the handler. It has an effect only if this run asks. */
  setState(state: string): void;
}

// ---- Results and errors

export function text(value: unknown): ToolResult;
/** Returns an error that the model can read. Other errors that a tool throws become the same, and are logged. */
export function failed(reason: unknown): ToolResult;
/** Returns an object for programs, and its text for the model, which is its JSON unless another one is given. */
export function structured(object: object, forModel?: string): ToolResult;
export function image(bytes: Uint8Array, mimeType: string): Content;
export function audio(bytes: Uint8Array, mimeType: string): Content;

/** A JSON-RPC error, with which a request fails. */
export class PluginError extends Error {
  static readonly METHOD_NOT_FOUND: -32601;
  static readonly INVALID_PARAMS: -32602;
  static readonly INTERNAL: -32603;
  static readonly RESOURCE_NOT_FOUND: -32002;
  constructor(code: number, message: string, data?: unknown);
  readonly code: number;
  readonly data?: unknown;
  static invalidParams(message: string): PluginError;
  static resourceNotFound(uri: string): PluginError;
}

/** The error of a host operation. */
export class HostError extends Error {
  constructor(op: string, error: { code: HostError["code"]; message: string; reason?: string });
  readonly op: string;
  readonly code: "denied" | "invalid" | "unavailable" | "failed";
  /** A cause that a plugin can handle; usually absent. */
  readonly reason?: string;
}

/** The error of a file. */
export class FileError extends Error {
  constructor(code: string, operation: string, path: string);
  /** A name such as ENOENT. */
  readonly code: string;
  readonly path: string;
}

// ---- Files, as far as they are granted. Paths are absolute, or relative to the working directory. Errors are FileErrors.

export type Kind = "file" | "directory" | "link" | "other";

export function readFile(path: string): Uint8Array;
export function readText(path: string): string;
/** Replaces the content of a file, not atomically. */
export function writeFile(path: string, data: string | Uint8Array): void;
export function appendFile(path: string, data: string | Uint8Array): void;
/** Returns the entries of a directory in the order of their names. */
export function readDir(path: string): { name: string; kind: Kind }[];
/** Describes a file or directory; modified is in milliseconds since 1970. */
export function stat(path: string): { kind: Kind; size: number; modified: number };
export function exists(path: string): boolean;
export function mkdir(path: string, options?: { recursive?: boolean }): void;
/** Removes a file or an empty directory. */
export function remove(path: string): void;
/** Renames a file or directory, and replaces an existing file atomically. */
export function rename(from: string, to: string): void;

// ---- The host

/** Writes a line to the host's log, which its operator reads. console does the same. */
export const log: Record<"trace" | "debug" | "info" | "warn" | "error", (line: string) => void>;
/** Writes to standard output, which is part of the host's log. */
export function print(text: string): void;
/** Returns a variable of the environment; undefined if it is unset. `bulkhead plugin dev` logs that it is, and what to do. */
export function env(name: string): string | undefined;
/** Returns the project's directory; empty if there is none. */
export function projectDir(): string;
/** Returns the plugin's state directory, which is writable; empty if there is none. */
export function stateDir(): string;
export function randomBytes(length: number): Uint8Array;
/** Waits. Timers wait as well, with setTimeout. */
export function sleep(milliseconds: number): void;
/** Ends the call as a crash: the client gets a failure with the code trap, and the host discards the instance. */
export function abort(text: string): never;

/** Performs any operation of docs/abi.md, and throws a HostError. */
export function hostCall(op: string, params?: object, bytes?: Uint8Array): any;
/** Performs an operation and returns the bytes that the host returned: fs/scan has a binary result. */
export function hostCallRaw(op: string, params?: object, bytes?: Uint8Array): Uint8Array;

export interface Response {
  readonly status: number;
  /** Whether the status is 200 to 299. */
  readonly ok: boolean;
  readonly url: string;
  /** Values by name in lower case. */
  readonly headers: Record<string, string[]>;
  readonly body: Uint8Array;
  text(): string;
  json(): any;
}

/** Sends a request to a web server whose origin is granted. It returns when the response is complete; `await` does no harm. */
export function fetch(
  url: string | { toString(): string },
  options?: {
    method?: string;
    headers?: Record<string, string | string[]>;
    body?: string | Uint8Array;
    redirect?: "follow" | "manual";
    /** In milliseconds, less than 30,000. */
    timeout?: number;
  },
): Response;

/** Operations on granted git repositories. A repository is the absolute path of a directory in it. */
export const git: {
  branchExists(repo: string, branch: string): boolean;
  /** Returns the content of a file of a branch; null if it does not exist. */
  readFile(repo: string, branch: string, path: string): Uint8Array | null;
  /** Returns the abbreviated hash of the newest commit whose message contains a text; null if there is none. */
  findCommit(repo: string, text: string): string | null;
  /** Returns the top directory of the repository that contains a path; null if there is none. */
  topLevel(path: string): string | null;
  /** Returns the branch and the commit of HEAD, each absent if there is none. */
  currentBranch(repo: string): { branch?: string; commit?: string };
  resolveRef(repo: string, ref: string): { hash?: string; commit?: string };
  /** Returns the URL of a remote, by default origin; null if there is none. */
  remoteUrl(repo: string, remote?: string): string | null;
  /** Returns for each path whether it is ignored; null if there is no repository. */
  ignored(repo: string, paths: string[]): boolean[] | null;
  status(repo: string, limit?: number): { found: boolean; paths?: { path: string; staged: string; unstaged: string }[]; truncated?: boolean };
  /** Creates a branch with one commit. */
  commitBranch(
    repo: string,
    commit: {
      branch: string;
      base?: string;
      message: string;
      changes: { path: string; content?: string | Uint8Array; mode?: string; deleted?: boolean }[];
    },
  ): { commit: string; parent: string };
};

/** Returns the SHA-256 of a string or bytes in hexadecimal digits, computed by the host. */
export function sha256(data: string | Uint8Array): string;
/** Acquires a lock until the call ends; with the absolute path of a directory, that is locked too. */
export function lock(name: string, folder?: string): void;
/** Sends a notification. */
export function notify(method: string, params?: object): void;
/** Sends data to the client's log. */
export function message(
  level: "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency",
  data: unknown,
  logger?: string,
): void;
/** These three notify clients when the call ends. */
export function promptsChanged(): void;
export function resourcesChanged(): void;
export function resourceUpdated(uri: string): void;

export function toBase64(bytes: Uint8Array): string;
export function fromBase64(text: string): Uint8Array;
