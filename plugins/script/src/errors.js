/** Describes what a script has thrown, with positions in the script. */

const HEAD = 2; // lines that the engine adds before the body of a function
const MAX_FRAMES = 5;
Error.stackTraceLimit = MAX_FRAMES;
const MAX_MESSAGE = 4000;

/** Returns the error's name, message, the line and column, and a text of all of them. */
export function describe(thrown) {
  if (thrown === null) return { name: "Error", message: "null was thrown, which the engine does if its memory is exhausted", text: "out of memory" };
  if (!(thrown instanceof Error)) return { name: "Error", message: `the script threw ${show(thrown)}`, text: `the script threw ${show(thrown)}` };
  const name = show(thrown.name);
  const message = show(thrown.message);
  const frames = framesOf(thrown.stack);
  const described = { name, message };
  if (frames.length > 0) [described.line, described.column] = [frames[0].line, frames[0].column];
  described.text = [`${name}: ${message}`, ...frames.map(({ text }) => `    at ${text}`)].join("\n");
  return described;
}

function show(value) {
  try {
    return String(value).slice(0, MAX_MESSAGE);
  } catch {
    return Object.prototype.toString.call(value);
  }
}

/** Returns the frames in the script. */
function framesOf(stack) {
  const frames = [];
  for (const frame of typeof stack === "string" ? stack.split("\n") : []) {
    const match = /^ *at (?:(.*) \()?<input>:(\d+):(\d+)\)?$/.exec(frame);
    const line = match ? Number(match[2]) - HEAD : 0;
    if (line < 1 || frames.length === MAX_FRAMES) continue;
    const at = `line ${line}, column ${match[3]}`;
    const named = match[1] !== undefined && match[1] !== "anonymous" && match[1] !== "<anonymous>";
    frames.push({ line, column: Number(match[3]), text: named ? `${match[1]} (${at})` : at });
  }
  return frames;
}
