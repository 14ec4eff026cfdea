/** What the SDK needs of its surroundings: wasm/system.js in a module, and testing.js in Node.js. */

let current;

/** Returns the platform. */
export function platform() {
  if (!current) {
    throw new Error("there is no host: build a module with bulkhead-js, or use bulkhead-js/testing in Node.js");
  }
  return current;
}

/** Sets the platform, and returns the one before. */
export function setPlatform(next) {
  const previous = current;
  current = next;
  return previous;
}
