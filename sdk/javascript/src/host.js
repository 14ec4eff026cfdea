/** Host operations, logs and variables. docs/abi.md describes the operations. */

import { fromBase64, toBase64, toBytes, toText } from "./bytes.js";
import { HostError } from "./errors.js";
import { platform } from "./platform.js";

/** Performs a host operation with its parameters, and returns its result. With bytes it is hash/sha256. */
export function hostCall(op, params = {}, bytes) {
  const response = JSON.parse(toText(hostCallRaw(op, params, bytes)));
  if (response.error) throw new HostError(op, response.error);
  return response.result ?? null;
}

/** Performs a host operation and returns the bytes that the host returned: fs/scan has a binary result. */
export function hostCallRaw(op, params = {}, bytes) {
  let request = toBytes(JSON.stringify({ op, params }));
  if (bytes) {
    const joined = new Uint8Array(request.length + 1 + bytes.length); // a NUL separates them
    joined.set(request);
    joined.set(bytes, request.length + 1);
    request = joined;
  }
  return platform().hostCall(request);
}

/** The response of a web server. */
class Response {
  constructor({ status, url, headers, body }) {
    this.status = status;
    this.ok = status >= 200 && status < 300;
    this.url = url;
    /** Arrays of values by name in lower case. */
    this.headers = headers ?? {};
    this.body = fromBase64(body ?? "");
  }

  text() {
    return toText(this.body);
  }

  json() {
    return JSON.parse(this.text());
  }
}

/** Sends a request to a web server whose origin is granted. It returns when the response is complete; `await` does no harm. */
export function fetch(url, { method, headers, body, redirect, timeout } = {}) {
  const params = { url: String(url), method, redirect, timeout_ms: timeout };
  if (headers) {
    const entries = Object.entries(headers);
    params.headers = Object.fromEntries(entries.map(([name, value]) => [name, Array.isArray(value) ? value.map(String) : [String(value)]]));
  }
  if (body !== undefined) params.body = toBase64(toBytes(body));
  return new Response(hostCall("http/fetch", params));
}

/** Reads of git repositories. A repository is the absolute path of a directory in it. */
export const git = {
  branchExists: (repo, branch) => hostCall("git/branch_exists", { repo, branch }),
  /** Returns the content of a file of a branch as bytes; null if it does not exist. */
  readFile(repo, branch, path) {
    const { found, content } = hostCall("git/read_file", { repo, branch, path });
    return found ? fromBase64(content ?? "") : null;
  },
  /** Returns the abbreviated hash of the newest commit whose message contains a text; null if there is none. */
  findCommit: (repo, text) => hostCall("git/find_commit", { repo, text }).hash || null,
  /** Returns the top directory of the repository that contains a path; null if there is none. */
  topLevel: (path) => hostCall("git/top_level", { path }).top_level || null,
  /** Returns the branch and the commit of HEAD, each absent if there is none. */
  currentBranch: (repo) => hostCall("git/current_branch", { repo }),
  /** Returns the hash of a reference, and its commit; both are absent if it is not found. */
  resolveRef: (repo, ref) => hostCall("git/resolve_ref", { repo, ref }),
  /** Returns the URL of a remote; null if there is none. */
  remoteUrl: (repo, remote) => hostCall("git/remote_url", { repo, remote }).url ?? null,
  /** Returns for each path whether it is ignored; null if there is no repository. */
  ignored: (repo, paths) => hostCall("git/ignored", { repo, paths }).ignored ?? null,
  /** Returns what differs from HEAD and from the index. */
  status: (repo, limit) => hostCall("git/status", { repo, limit }),
  /** Creates a branch with one commit. The content of a change is a string or bytes. */
  commitBranch(repo, { branch, base, message, changes }) {
    const encoded = changes.map((change) => {
      return change.content === undefined ? change : { ...change, content: toBase64(toBytes(change.content)) };
    });
    return hostCall("git/commit_branch", { repo, branch, base, message, changes: encoded });
  },
};

/** Returns the SHA-256 of a string or bytes in hexadecimal digits, computed by the host. */
export function sha256(data) {
  return hostCall("hash/sha256", {}, toBytes(data)).sum;
}

/** Acquires a lock until the call ends; with a directory, that is locked too. */
export function lock(name, folder) {
  hostCall("lock", { name, folder });
}

/** Sends a notification. */
export function notify(method, params = {}) {
  hostCall("notify", { method, params });
}

/** Sends data to the client's log. The level is one of MCP's: debug, info, notice, warning, error, critical, alert, emergency. */
export function message(level, data, logger) {
  notify("notifications/message", { level, logger, data });
}

/** Notifies clients, when the call ends, that the list of prompts has changed. */
export function promptsChanged() {
  notify("notifications/prompts/list_changed");
}

/** Notifies clients, when the call ends, that the list of resources has changed. */
export function resourcesChanged() {
  notify("notifications/resources/list_changed");
}

/** Notifies the clients that subscribed to a resource, when the call ends, that it has changed. */
export function resourceUpdated(uri) {
  notify("notifications/resources/updated", { uri });
}

/** Writes a line to the host's log, which its operator reads. */
export const log = Object.freeze({
  trace: (line) => platform().log(1, String(line)),
  debug: (line) => platform().log(2, String(line)),
  info: (line) => platform().log(3, String(line)),
  warn: (line) => platform().log(4, String(line)),
  error: (line) => platform().log(5, String(line)),
});

/** Writes to standard output, which is part of the host's log. */
export function print(text) {
  platform().print(String(text));
}

/** Returns a variable of the environment; undefined if it is unset. `bulkhead plugin dev` logs that it is, and what to do. */
export function env(name) {
  const value = platform().env(name);
  if (value === undefined && platform().env("BULKHEAD_DEVELOPMENT") !== undefined) {
    log.warn(`the variable ${name} is not set: to get it, name it in env of [capabilities] in plugin.toml, and grant it with --env ${name}=VALUE or in the config`);
  }
  return value;
}

/** Returns the project's directory; empty if there is none. */
export function projectDir() {
  return env("BULKHEAD_PROJECT") ?? "";
}

/** Returns the plugin's state directory, which is writable; empty if there is none. */
export function stateDir() {
  return env("BULKHEAD_STATE") ?? "";
}

/** Returns random bytes of the system's secure source. */
export function randomBytes(length) {
  return platform().randomBytes(length);
}

/** Waits for a number of milliseconds. */
export function sleep(milliseconds) {
  platform().sleep(milliseconds);
}

/** Ends the call as a crash: the client gets a failure with the code trap, and the host discards the instance. */
export function abort(text) {
  platform().log(5, `aborted: ${text}`);
  platform().abort(text);
}
