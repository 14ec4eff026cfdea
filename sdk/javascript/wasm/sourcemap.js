/** Positions in the author's files, by the source map that bin/build.js writes. */

import { sourceMap } from "./system.js";

/** Returns a stack with the positions in the author's files, without the frames of the SDK. */
export function mapStack(stack) {
  let map;
  const frames = [];
  for (const frame of stack.split("\n")) {
    const match = /\bplugin\.js:(\d+):(\d+)/.exec(frame);
    if (!match) {
      if (!frame.includes("at __bulkhead (native)")) frames.push(frame);
      continue;
    }
    map ??= JSON.parse(sourceMap());
    const position = find(map, Number(match[1]) - 1, Number(match[2]) - 1) ?? match[0];
    if (!position.startsWith("bulkhead-js:")) frames.push(frame.replace(match[0], () => position));
  }
  return frames.join("\n").trimEnd();
}

/** Returns the position of the last segment of a line that begins at or before a column, or else of the first one. */
function find({ sources, lines }, line, column) {
  let found;
  for (const segment of (lines[line] ?? "").split(" ")) {
    const [generated, source, sourceLine, sourceColumn] = segment.split(",").map(Number);
    if (sourceColumn === undefined || (found && generated > column)) break;
    found = `${sources[source]}:${sourceLine + 1}:${sourceColumn + 1}`;
  }
  return found;
}
