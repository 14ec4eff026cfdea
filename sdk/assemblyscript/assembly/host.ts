/** Logs and host operations. */

import { callHost, writeLog } from "./imports";
import { Json } from "./json";
import { JsonWriter } from "./jsonwriter";

/** The severity of a log line. */
export enum Level {
  Trace = 1,
  Debug,
  Info,
  Warn,
  Error,
}

/** Writes a line to the host's log, which its operator reads. */
export function log(level: Level, line: string): void {
  writeLog(level, line);
}

/** The answer to a host operation. */
export class Answer {
  /** Empty if the operation succeeded; else denied, invalid, unavailable or failed. */
  code: string = "";
  message: string = "";
  /** A cause that a plugin can handle; usually empty. */
  reason: string = "";
  result: Json = Json.absent();

  get ok(): bool {
    return this.code == "";
  }
}

/** Performs an operation of docs/abi.md with its parameters. */
export function hostCall(op: string, params: Json): Answer {
  return hostCallWithBytes(op, params, null);
}

/** Performs hash/sha256, which takes bytes. */
export function hostCallWithBytes(op: string, params: Json, bytes: Uint8Array | null): Answer {
  let request = new JsonWriter().object().key("op").string(op).key("params").json(params).endObject().written();
  if (bytes !== null) {
    const length = request.byteLength;
    const joined = new ArrayBuffer(length + 1 + bytes.length); // a NUL separates them
    memory.copy(changetype<usize>(joined), changetype<usize>(request), length);
    memory.copy(changetype<usize>(joined) + length + 1, bytes.dataStart, bytes.length);
    request = joined;
  }
  const response = Json.of(callHost(request));
  const answer = new Answer();
  const error = response.get("error");
  answer.result = response.get("result");
  if (error.exists) {
    answer.code = error.get("code").string();
    answer.message = error.get("message").string();
    answer.reason = error.get("reason").string();
  }
  return answer;
}

/** Sends a notification, such as notifications/resources/updated. */
export function notify(method: string, params: Json): Answer {
  return hostCall("notify", new JsonWriter().object().key("method").string(method).key("params").json(params).endObject().toJson());
}

/** Sends data to the client's log. Level is one of MCP's: debug, info, notice, warning, error, critical, alert, emergency. */
export function message(level: string, logger: string, data: Json): Answer {
  const params = new JsonWriter().object().key("level").string(level);
  if (logger != "") params.key("logger").string(logger);
  return notify("notifications/message", params.key("data").json(data).endObject().toJson());
}

/** Notifies clients, when the call ends, that the list of prompts has changed. */
export function promptsChanged(): Answer {
  return notify("notifications/prompts/list_changed", Json.parse("{}"));
}

/** Notifies clients, when the call ends, that the list of resources has changed. */
export function resourcesChanged(): Answer {
  return notify("notifications/resources/list_changed", Json.parse("{}"));
}

/** Notifies the clients that subscribed to a resource, when the call ends, that it has changed. */
export function resourceUpdated(uri: string): Answer {
  return notify("notifications/resources/updated", new JsonWriter().object().key("uri").string(uri).endObject().toJson());
}

/** Acquires a lock until the call ends. */
export function lock(name: string): Answer {
  return hostCall("lock", new JsonWriter().object().key("name").string(name).endObject().toJson());
}

/** Acquires a lock, and then locks the directory at an absolute path, until the call ends. */
export function lockFolder(name: string, folder: string): Answer {
  return hostCall("lock", new JsonWriter().object().key("name").string(name).key("folder").string(folder).endObject().toJson());
}

/** The response of a web server. */
export class HttpResponse {
  constructor(public answer: Answer) {}

  /** 0: there is no response; see the answer. */
  get status(): i32 {
    return <i32>this.answer.result.get("status").integer();
  }

  get body(): Uint8Array {
    return this.answer.result.get("body").base64();
  }
}

/** Sends a GET request. For other requests use hostCall with http/fetch. */
export function httpGet(url: string): HttpResponse {
  return new HttpResponse(hostCall("http/fetch", new JsonWriter().object().key("url").string(url).endObject().toJson()));
}

/** Returns the SHA-256 of bytes in hexadecimal digits, computed by the host. */
export function sha256(bytes: Uint8Array): string {
  const answer = hostCallWithBytes("hash/sha256", Json.parse("{}"), bytes);
  if (!answer.ok) throw new Error(answer.message);
  return answer.result.get("sum").string();
}
