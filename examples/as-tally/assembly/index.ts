/** Counts lines and words of text files. Each kind of handler of a plugin is here once. */

import {
  Call, Completion, Contents, Json, JsonWriter, Level, Message, Plugin, Prompt, PromptResult, Prompts, ReadResult, Resource,
  Resources, RpcError, ToolResult, environment, listDirectory, log, readFile, serve, sha256,
} from "bulkhead-sdk/assembly";
export { bulkhead_abi_1, bulkhead_call } from "bulkhead-sdk/assembly";

function project(): string {
  const path = environment("BULKHEAD_PROJECT");
  return path === null ? "" : path;
}

class Tally {
  lines: i32 = 0;
  words: i32 = 0;

  constructor(text: Uint8Array) {
    let inWord = false;
    for (let i = 0; i < text.length; i++) {
      const b = text[i];
      const space = b == 0x20 || (b >= 0x09 && b <= 0x0d);
      if (!space && !inWord) this.words++;
      if (b == 0x0a) this.lines++;
      inWord = !space;
    }
    if (text.length > 0 && text[text.length - 1] != 0x0a) this.lines++;
  }
}

/** The host has validated the arguments against the schema in plugin.toml. */
function count(call: Call, args: Json): ToolResult {
  const paths = args.get("paths").items();
  const w = new JsonWriter().object().key("files").array();
  for (let i = 0; i < paths.length; i++) {
    const path = paths[i].string();
    const text = readFile(project() + "/" + path);
    // The model can read this, and call the tool again with the name of another file.
    if (text === null) return ToolResult.failed(path + " cannot be read");
    const tally = new Tally(text);
    w.object().key("path").string(path).key("lines").integer(tally.lines).key("words").integer(tally.words);
    w.key("bytes").integer(text.length).key("sha256").string(sha256(text)).endObject();
    call.progress(i + 1, paths.length, path);
  }
  log(Level.Info, "counted " + paths.length.toString() + " files");
  return ToolResult.structured(w.endArray().endObject().toJson());
}

/** Returns the names of the Markdown files at the top of the project that begin with a prefix. */
function names(prefix: string): string[] {
  const found: string[] = [];
  const all = listDirectory(project());
  if (all === null) return found;
  for (let i = 0; i < all.length; i++) {
    if (all[i].endsWith(".md") && all[i].startsWith(prefix)) found.push(all[i]);
  }
  return found.sort();
}

class Shorten extends Prompts {
  list(call: Call): Prompt[] {
    return [new Prompt("as_tally_shorten", "Ask for a shorter version of a file").argument("path", "A file of the project", true)];
  }

  get(call: Call, name: string, args: Json): PromptResult {
    if (name != "as_tally_shorten") return PromptResult.rpcError(RpcError.INVALID_PARAMS, "there is no prompt " + name);
    if (!args.get("path").exists) return PromptResult.rpcError(RpcError.INVALID_PARAMS, "the argument path is missing");
    const path = args.get("path").string();
    const text = readFile(project() + "/" + path);
    if (text === null) return PromptResult.rpcError(RpcError.INTERNAL, path + " cannot be read");
    const words = (new Tally(text).words / 2).toString();
    const content = String.UTF8.decodeUnsafe(text.dataStart, text.length);
    return new PromptResult([new Message("user", "Say this in " + words + " words:\n\n" + content)]);
  }
}

const SCHEME = "as-tally:";

class Tallies extends Resources {
  list(call: Call): Resource[] {
    return names("").map<Resource>((name) => new Resource(SCHEME + name, name));
  }

  templates(call: Call): Resource[] {
    return [new Resource(SCHEME + "{path}", "tally of a file")];
  }

  read(call: Call, uri: string): ReadResult {
    const text = readFile(project() + "/" + uri.substring(SCHEME.length));
    if (text === null) return ReadResult.notFound(uri);
    const tally = new Tally(text);
    return new ReadResult([new Contents(uri, "text/plain", tally.lines.toString() + " lines, " + tally.words.toString() + " words")]);
  }
}

function complete(call: Call, params: Json): Completion {
  return new Completion(names(params.get("argument").get("value").string()));
}

serve(new Plugin().tool("as_tally", count).prompts(new Shorten()).resources(new Tallies()).complete(complete));
