/** The results of handlers. */

import { toBase64, toBytes } from "./bytes.js";

/** Returns a result with one text. */
export function text(value) {
  return { content: [{ type: "text", text: String(value) }] };
}

/** Returns an error that the model can read. */
export function failed(reason) {
  return { ...text(reason), isError: true };
}

/** Returns an object for programs, and its text for the model, which is its JSON unless another one is given. */
export function structured(object, forModel = JSON.stringify(object)) {
  return { ...text(forModel), structuredContent: object };
}

/** Returns an item of content with an image or audio. */
export function image(bytes, mimeType) {
  return { type: "image", data: toBase64(bytes), mimeType };
}

export function audio(bytes, mimeType) {
  return { type: "audio", data: toBase64(bytes), mimeType };
}

/** Makes a result of MCP from what a tool's handler returns. */
export function toToolResult(value) {
  if (value === undefined || value === null) return { content: [] };
  if (typeof value !== "object") return text(value);
  if (Array.isArray(value)) return { content: value.map(toContent) };
  if (Array.isArray(value.content)) return { ...value, content: value.content.map(toContent) };
  if (typeof value.type === "string" && contentTypes.has(value.type)) return { content: [value] };
  return structured(value);
}

const contentTypes = new Set(["text", "image", "audio", "resource", "resource_link"]);

function toContent(item) {
  return item !== null && typeof item === "object" ? item : { type: "text", text: String(item) };
}

/** Makes a result of prompts/get from what a prompt's handler returns: a text, a message, an array of those, or the result. */
export function toPromptResult(value) {
  if (Array.isArray(value?.messages)) return { ...value, messages: value.messages.map(toMessage) };
  return { messages: (Array.isArray(value) ? value : [value]).map(toMessage) };
}

function toMessage(item) {
  if (typeof item === "string") return { role: "user", content: { type: "text", text: item } };
  if (item === null || typeof item !== "object") throw new TypeError(`a message of a prompt is ${String(item)}`);
  const { role = "user", content, text } = item;
  if (text !== undefined) return { role, content: { type: "text", text: String(text) } };
  return { role, content: typeof content === "string" ? { type: "text", text: content } : content };
}

/** Makes a result of resources/read from what a resource's handler returns: a text, bytes, or the result. */
export function toReadResult(value, uri, mimeType) {
  if (Array.isArray(value?.contents)) return { ...value, contents: value.contents.map((item) => toContents(item, uri)) };
  if (value !== null && typeof value === "object" && !ArrayBuffer.isView(value) && !(value instanceof ArrayBuffer)) {
    return { contents: [toContents(value, uri, mimeType)] };
  }
  return { contents: [toContents(typeof value === "string" ? { text: value } : { bytes: value }, uri, mimeType)] };
}

function toContents({ bytes, ...item }, uri, mimeType) {
  const contents = { uri, mimeType, ...item };
  if (contents.text === undefined && contents.blob === undefined) contents.blob = toBase64(toBytes(bytes));
  return contents;
}

/** Makes a result of completion/complete from an array of values, or the completion. */
export function toCompletion(value) {
  const completion = Array.isArray(value) ? { values: value } : { ...value };
  if (!Array.isArray(completion.values)) throw new TypeError("the handler of a completion returned no array of values");
  if (completion.values.length > 100) {
    completion.total ??= completion.values.length;
    completion.hasMore = true;
    completion.values = completion.values.slice(0, 100);
  }
  completion.values = completion.values.map(String);
  return { completion };
}
