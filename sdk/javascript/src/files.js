/**
 * Files of the granted directories. Paths are absolute, or relative to the working directory. All functions are synchronous, and throw
 * a FileError.
 */

import { toBytes, toText } from "./bytes.js";
import { FileError } from "./errors.js";
import { platform } from "./platform.js";

/** Returns the content of a file as bytes. */
export function readFile(path) {
  return platform().readFile(String(path));
}

/** Returns the content of a file as text; what is not UTF-8 becomes U+FFFD. */
export function readText(path) {
  return toText(readFile(path));
}

/** Replaces the content of a file, not atomically. The data is a string or bytes. */
export function writeFile(path, data) {
  platform().writeFile(String(path), toBytes(data), false);
}

/** Appends a string or bytes to a file, which is created if it does not exist. */
export function appendFile(path, data) {
  platform().writeFile(String(path), toBytes(data), true);
}

/** Returns the entries of a directory, in the order of their names: {name, kind}, with the kind file, directory, link or other. */
export function readDir(path) {
  const entries = platform().readDir(String(path));
  return entries.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

/** Returns {kind, size, modified} of a file or directory; modified is in milliseconds since 1970. */
export function stat(path) {
  return platform().stat(String(path));
}

/** Returns whether a file or directory exists. */
export function exists(path) {
  try {
    stat(path);
    return true;
  } catch (error) {
    if (error instanceof FileError && (error.code === "ENOENT" || error.code === "ENOTDIR")) return false;
    throw error;
  }
}

/** Creates a directory, and with recursive also those above it. */
export function mkdir(path, { recursive = false } = {}) {
  path = String(path);
  if (!recursive) return platform().mkdir(path);
  const parts = path.split("/");
  const missing = [];
  while (parts.length > 1 && !exists(parts.join("/") || "/")) missing.unshift(parts.pop());
  if (parts.length === 1 && parts[0] !== "" && !exists(parts[0])) platform().mkdir(parts[0]);
  for (const part of missing) {
    parts.push(part);
    if (part !== "" && !exists(parts.join("/"))) platform().mkdir(parts.join("/"));
  }
}

/** Removes a file or an empty directory. */
export function remove(path) {
  path = String(path);
  if (platform().lstat(path).kind === "directory") platform().rmdir(path);
  else platform().unlink(path);
}

/** Renames a file or directory, and replaces an existing file atomically. */
export function rename(from, to) {
  platform().rename(String(from), String(to));
}
