/** Counts lines and words of text files. Each kind of handler of a plugin is here once. */

import {
  FileError, PluginError, exists, failed, log, plugin, projectDir, readDir, readFile, readText, sha256,
} from "bulkhead-js";

const inProject = (path) => `${projectDir()}/${path}`;

/** Counts a text as its UTF-8 bytes are counted: only ASCII white space separates words. */
function tally(text) {
  return {
    lines: text.split("\n").length - (text === "" || text.endsWith("\n") ? 1 : 0),
    words: text.split(/[ \t-\r]+/).filter((word) => word !== "").length,
  };
}

/** The host has validated the arguments against the schema in plugin.toml. */
plugin.tool("js_tally", ({ paths }, call) => {
  const files = [];
  for (const path of paths) {
    try {
      const bytes = readFile(inProject(path));
      files.push({ path, ...tally(new TextDecoder().decode(bytes)), bytes: bytes.length, sha256: sha256(bytes) });
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      return failed(error.message); // the model can read this, and call the tool again with the name of another file
    }
    call.progress(files.length, paths.length, path);
  }
  log.info(`counted ${files.length} files`);
  return { files };
});

/** Returns the names of the Markdown files at the top of the project that begin with a prefix. */
function names(prefix = "") {
  const entries = readDir(projectDir()).filter(({ name, kind }) => kind === "file" && name.endsWith(".md"));
  return entries.map(({ name }) => name).filter((name) => name.startsWith(prefix));
}

plugin.prompt(
  "js_tally_shorten",
  {
    description: "Ask for a shorter version of a file",
    arguments: [{ name: "path", description: "A file of the project", required: true }],
  },
  ({ path }) => {
    if (!exists(inProject(path))) throw PluginError.invalidParams(`there is no file ${path}`);
    const text = readText(inProject(path));
    return `Say this in ${Math.floor(tally(text).words / 2)} words:\n\n${text}`;
  },
);

plugin.resourceTemplate(
  "js-tally:{path}",
  {
    name: "tally of a file",
    mimeType: "text/plain",
    list: () => names().map((name) => ({ uri: `js-tally:${encodeURIComponent(name)}`, name })),
  },
  ({ path }) => {
    if (!exists(inProject(path))) return undefined;
    const { lines, words } = tally(readText(inProject(path)));
    return `${lines} lines, ${words} words`;
  },
);

plugin.complete(({ argument }) => names(argument.value));
