/** The errors that handlers throw, and those that host operations and files throw. */

/** A JSON-RPC error, with which a request fails. Any other error of a tool becomes a result that the model can read. */
export class PluginError extends Error {
  static METHOD_NOT_FOUND = -32601;
  static INVALID_PARAMS = -32602;
  static INTERNAL = -32603;
  static RESOURCE_NOT_FOUND = -32002;

  constructor(code, message, data) {
    super(message);
    if (!Number.isSafeInteger(code)) throw new TypeError(`the code of a PluginError is ${String(code)}, not an integer`);
    this.name = "PluginError";
    this.code = code;
    this.data = data;
  }

  /** The error for invalid parameters, such as a prompt that does not exist. */
  static invalidParams(message) {
    return new PluginError(PluginError.INVALID_PARAMS, message);
  }

  /** The error for a resource that does not exist. */
  static resourceNotFound(uri) {
    return new PluginError(PluginError.RESOURCE_NOT_FOUND, `there is no resource ${uri}`);
  }
}

/** The error of a host operation. The code is denied, invalid, unavailable or failed; the reason is usually absent. */
export class HostError extends Error {
  constructor(op, { code, message, reason }) {
    super(message);
    this.name = "HostError";
    this.op = op;
    this.code = code;
    this.reason = reason;
  }
}

/** The error of a file. The code is a name such as ENOENT. */
export class FileError extends Error {
  constructor(code, operation, path) {
    super(`${operation} ${path}: ${meanings[code] ?? code}`);
    this.name = "FileError";
    this.code = code;
    this.path = path;
  }
}

const meanings = {
  EACCES: "access is denied",
  EEXIST: "it exists already",
  EISDIR: "it is a directory",
  ENOENT: "it does not exist, or it is not granted",
  ENOTDIR: "it is not a directory",
  ENOTEMPTY: "the directory is not empty",
  EPERM: "the operation is not permitted",
};
