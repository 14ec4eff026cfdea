/**
 * Plugins of the MCP host Bulkhead in JavaScript.
 *
 *     import { plugin } from "bulkhead-js";
 *
 *     plugin.tool("greet", ({ name }) => `Hello, ${name}!`);
 *
 * `bulkhead-js build src/index.js --out greet.wasm` makes a module of it. The top level of a script runs once, when the module is
 * loaded; each call then begins with the state after that.
 */

export { fromBase64, toBase64 } from "./bytes.js";
export { Call } from "./call.js";
export { FileError, HostError, PluginError } from "./errors.js";
export { appendFile, exists, mkdir, readDir, readFile, readText, remove, rename, stat, writeFile } from "./files.js";
export {
  abort,
  env,
  fetch,
  git,
  hostCall,
  hostCallRaw,
  lock,
  log,
  message,
  notify,
  print,
  projectDir,
  promptsChanged,
  randomBytes,
  resourceUpdated,
  resourcesChanged,
  sha256,
  sleep,
  stateDir,
} from "./host.js";
export { Plugin, plugin } from "./plugin.js";
export { audio, failed, image, structured, text } from "./results.js";
