/** Conversion of bytes. */

const CHUNK = 8192; // a call has a bounded number of arguments

/** Returns the UTF-8 bytes of a string, and bytes unchanged. */
export function toBytes(data) {
  if (typeof data === "string") return new TextEncoder().encode(data);
  if (data instanceof Uint8Array) return data;
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  throw new TypeError("the data is neither a string nor a Uint8Array");
}

/** Returns the text of UTF-8 bytes; what is invalid becomes U+FFFD. */
export function toText(bytes) {
  return new TextDecoder().decode(bytes);
}

/** Returns bytes in standard base64. */
export function toBase64(bytes) {
  let binary = "";
  for (let i = 0; i < bytes.length; i += CHUNK) binary += String.fromCharCode.apply(null, bytes.subarray(i, i + CHUNK));
  return btoa(binary);
}

/** Returns the bytes of standard base64. */
export function fromBase64(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}
