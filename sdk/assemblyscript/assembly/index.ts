/**
 * Plugins of the MCP host Bulkhead in AssemblyScript. Plugin and serve are the two names to start with:
 *
 *     import { Call, Json, Plugin, ToolResult, serve } from "bulkhead-sdk/assembly";
 *     export { bulkhead_abi_1, bulkhead_call } from "bulkhead-sdk/assembly";
 *
 *     function greet(call: Call, args: Json): ToolResult {
 *       return ToolResult.text("Hello, " + args.get("name").string());
 *     }
 *
 *     serve(new Plugin().tool("greet", greet));
 *
 * Compile it with `asc assembly/index.ts --use abort=bulkhead_abort --exportStart _initialize --optimize -o greet.wasm`.
 *
 * Do not keep anything in a variable that a later call needs: each call can begin with the state after the module was loaded.
 */

export { bulkhead_abort, bulkhead_abi_1, bulkhead_call } from "./exports";
export { environment, fileErrno, listDirectory, print, readFile, readText, writeFile } from "./files";
export {
  Answer,
  HttpResponse,
  Level,
  hostCall,
  hostCallWithBytes,
  httpGet,
  lock,
  lockFolder,
  log,
  message,
  notify,
  promptsChanged,
  resourceUpdated,
  resourcesChanged,
  sha256,
} from "./host";
export { Json } from "./json";
export { JsonWriter } from "./jsonwriter";
export { Call, CompleteHandler, Plugin, Prompts, Resources, ToolHandler, serve } from "./plugin";
export { Completion, Contents, Message, Prompt, PromptResult, ReadResult, Resource, RpcError, ToolResult } from "./results";
