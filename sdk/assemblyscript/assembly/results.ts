/** The results of handlers. Each has a list of JSON items, which is written as it is built. */

import { Json } from "./json";
import { JsonWriter } from "./jsonwriter";

/** A JSON-RPC error, with which a request fails. */
export class RpcError {
  static readonly METHOD_NOT_FOUND: i32 = -32601;
  static readonly INVALID_PARAMS: i32 = -32602;
  static readonly INTERNAL: i32 = -32603;
  static readonly RESOURCE_NOT_FOUND: i32 = -32002;

  constructor(
    public code: i32,
    public message: string,
    public data: Json = Json.absent(),
  ) {}

  write(w: JsonWriter): void {
    w.object().key("code").integer(this.code).key("message").string(this.message);
    if (this.data.exists) w.key("data").json(this.data);
    w.endObject();
  }
}

function optional(w: JsonWriter, name: string, value: string): void {
  if (value != "") w.key(name).string(value);
}

/** The result of a tool. */
export class ToolResult {
  error: RpcError | null = null;
  /** Tells the model that the tool failed; the content has the reason. */
  isError: bool = false;
  private content: JsonWriter = new JsonWriter().array();
  private structured: Json = Json.absent();

  /** Returns a result with one text. */
  static text(text: string): ToolResult {
    return new ToolResult().addText(text);
  }

  /** Returns an error that the model can read. */
  static failed(text: string): ToolResult {
    const result = ToolResult.text(text);
    result.isError = true;
    return result;
  }

  /** Returns a JSON-RPC error: the request fails. */
  static rpcError(code: i32, message: string, data: Json = Json.absent()): ToolResult {
    const result = new ToolResult();
    result.error = new RpcError(code, message, data);
    return result;
  }

  /** Returns a JSON object for programs, and its text for the model. */
  static structured(object: Json): ToolResult {
    const result = ToolResult.text(object.raw());
    result.structured = object;
    return result;
  }

  addText(text: string): ToolResult {
    this.content.object().key("type").string("text").key("text").string(text).endObject();
    return this;
  }

  /** Adds an image or audio; kind is "image" or "audio". */
  addMedia(kind: string, bytes: Uint8Array, mimeType: string): ToolResult {
    this.content.object().key("type").string(kind).key("data").base64(bytes).key("mimeType").string(mimeType).endObject();
    return this;
  }

  /** Adds an item of MCP's content. */
  add(item: Json): ToolResult {
    this.content.json(item);
    return this;
  }

  write(w: JsonWriter): void {
    w.object().key("content").json(this.content.endArray().toJson());
    if (this.structured.exists) w.key("structuredContent").json(this.structured);
    if (this.isError) w.key("isError").bool(true);
    w.endObject();
  }
}

/** An item of prompts/list. */
export class Prompt {
  private arguments: JsonWriter = new JsonWriter().array();

  constructor(
    public name: string,
    public description: string = "",
  ) {}

  argument(name: string, description: string, required: bool): Prompt {
    this.arguments.object().key("name").string(name);
    optional(this.arguments, "description", description);
    this.arguments.key("required").bool(required).endObject();
    return this;
  }

  write(w: JsonWriter): void {
    w.object().key("name").string(this.name);
    optional(w, "description", this.description);
    w.key("arguments").json(this.arguments.endArray().toJson()).endObject();
  }
}

/** A message of a prompt; role is "user" or "assistant". */
export class Message {
  constructor(
    public role: string,
    public text: string,
  ) {}
}

/** The result of prompts/get. */
export class PromptResult {
  error: RpcError | null = null;

  constructor(public messages: Message[]) {}

  static rpcError(code: i32, message: string): PromptResult {
    const result = new PromptResult([]);
    result.error = new RpcError(code, message);
    return result;
  }

  write(w: JsonWriter): void {
    w.object().key("messages").array();
    for (let i = 0; i < this.messages.length; i++) {
      const m = this.messages[i];
      w.object().key("role").string(m.role).key("content").object();
      w.key("type").string("text").key("text").string(m.text).endObject().endObject();
    }
    w.endArray().endObject();
  }
}

/** An item of resources/list, or with a URI template of resources/templates/list. */
export class Resource {
  constructor(
    public uri: string,
    public name: string,
    public mimeType: string = "",
    public description: string = "",
  ) {}

  write(w: JsonWriter, uriKey: string): void {
    w.object().key(uriKey).string(this.uri).key("name").string(this.name);
    optional(w, "description", this.description);
    optional(w, "mimeType", this.mimeType);
    w.endObject();
  }
}

/** The content of a resource: text, or bytes if they are not null. */
export class Contents {
  bytes: Uint8Array | null = null;

  constructor(
    public uri: string,
    public mimeType: string,
    public text: string,
  ) {}

  static blob(uri: string, mimeType: string, bytes: Uint8Array): Contents {
    const contents = new Contents(uri, mimeType, "");
    contents.bytes = bytes;
    return contents;
  }
}

/** The result of resources/read. */
export class ReadResult {
  error: RpcError | null = null;

  constructor(public contents: Contents[]) {}

  /** Returns the error for a resource that does not exist. */
  static notFound(uri: string): ReadResult {
    const result = new ReadResult([]);
    result.error = new RpcError(RpcError.RESOURCE_NOT_FOUND, "there is no resource " + uri);
    return result;
  }

  write(w: JsonWriter): void {
    w.object().key("contents").array();
    for (let i = 0; i < this.contents.length; i++) {
      const c = this.contents[i];
      w.object().key("uri").string(c.uri);
      optional(w, "mimeType", c.mimeType);
      const bytes = c.bytes;
      if (bytes !== null) w.key("blob").base64(bytes);
      else w.key("text").string(c.text);
      w.endObject();
    }
    w.endArray().endObject();
  }
}

/** The result of completion/complete: at most 100 values that begin with what the user has typed. */
export class Completion {
  error: RpcError | null = null;

  constructor(public values: string[]) {}

  write(w: JsonWriter): void {
    w.object().key("completion").object().key("values").array();
    for (let i = 0; i < this.values.length; i++) w.string(this.values[i]);
    w.endArray().endObject().endObject();
  }
}
