/** The functions of glue.wat, and the platform of the SDK that they make. */

import { FileError } from "../src/errors.js";

const call = globalThis.__bulkhead; // glue.wat describes the operations
delete globalThis.__bulkhead;

const ROOT = 3; // the descriptor of the only preopened directory
const CHUNK = 65536;
const FOLLOW = 1; // a lookup flag
const CREATE = 1; // flags of path_open
const DIRECTORY = 2;
const TRUNCATE = 8;
const APPEND = 1; // a flag of a descriptor
const RIGHT_READ = 1 << 1;
const RIGHT_WRITE = 1 << 6;
const RIGHT_LIST = 1 << 14;
const KINDS = { 3: "directory", 4: "file", 7: "link" };

// Names of errno, by number.
const ERRNO = (
  "OK E2BIG EACCES EADDRINUSE EADDRNOTAVAIL EAFNOSUPPORT EAGAIN EALREADY EBADF EBADMSG EBUSY ECANCELED ECHILD ECONNABORTED " +
  "ECONNREFUSED ECONNRESET EDEADLK EDESTADDRREQ EDOM EDQUOT EEXIST EFAULT EFBIG EHOSTUNREACH EIDRM EILSEQ EINPROGRESS EINTR " +
  "EINVAL EIO EISCONN EISDIR ELOOP EMFILE EMLINK EMSGSIZE EMULTIHOP ENAMETOOLONG ENETDOWN ENETRESET ENETUNREACH ENFILE ENOBUFS " +
  "ENODEV ENOENT ENOEXEC ENOLCK ENOLINK ENOMEM ENOMSG ENOPROTOOPT ENOSPC ENOSYS ENOTCONN ENOTDIR ENOTEMPTY ENOTRECOVERABLE " +
  "ENOTSOCK ENOTSUP ENOTTY ENXIO EOVERFLOW EOWNERDEAD EPERM EPIPE EPROTO EPROTONOSUPPORT EPROTOTYPE ERANGE EROFS ESPIPE ESRCH " +
  "ESTALE ETIMEDOUT ETXTBSY EXDEV ENOTCAPABLE"
).split(" ");

/** Returns the address of bytes, which stays the same as long as they exist. */
const address = (bytes) => (bytes.length === 0 ? 0 : call(0, bytes));
const decodeAt = (at, length) => call(1, at, length);

/** Returns the UTF-8 bytes of a string; a lone surrogate becomes U+FFFD. */
export const encode = (string) => call(2, string.toWellFormed());
/** Returns the string of UTF-8 bytes; what is invalid becomes U+FFFD. */
export const decode = (bytes) => (bytes.length === 0 ? "" : decodeAt(address(bytes), bytes.length));

export const setEntry = (entry) => call(3, entry);
export const setRejected = (rejected) => call(4, rejected);
export const sourceMap = () => call(5);
/** Runs jobs of the engine's queue, at most max, and returns whether there was one. */
export const runJobs = (max) => call(10, max) !== 0;

/** Returns the request of a call. */
export function input(length) {
  const bytes = new Uint8Array(length);
  call(12, address(bytes), length);
  return decode(bytes);
}

/** Sets the response of the call. */
export function output(response) {
  const bytes = encode(response);
  call(13, address(bytes), bytes.length);
}

// Memory for arguments and results of WASI. Operations that use it do not nest.
const cells = new Uint8Array(64);
const cellsAddress = address(cells);
const view = new DataView(cells.buffer);

function checked(errno, operation, path) {
  if (errno !== 0) throw new FileError(ERRNO[errno] ?? `errno ${errno}`, operation, path);
}

/** Returns the bytes of a path as WASI takes it, relative to the root. */
function relative(path) {
  if (path.includes("\0")) throw new FileError("EINVAL", "open", JSON.stringify(path));
  return encode(path.startsWith("/") ? path.slice(1) || "." : `${(env("PWD") ?? "").slice(1)}/${path}`.replace(/^\//, ""));
}

function open(operation, path, flags, rights, descriptorFlags = 0) {
  const name = relative(path);
  const errno = call(28, ROOT, FOLLOW, address(name), name.length, flags, rights, descriptorFlags, cellsAddress);
  checked(errno, operation, path);
  return view.getUint32(0, true);
}

function writeAll(fd, bytes) {
  let at = address(bytes);
  let rest = bytes.length;
  while (rest > 0) {
    view.setUint32(0, at, true);
    view.setUint32(4, rest, true);
    const errno = call(26, fd, cellsAddress, 1, cellsAddress + 8);
    if (errno !== 0) return errno;
    at += view.getUint32(8, true);
    rest -= view.getUint32(8, true);
  }
  return 0;
}

function readFile(path) {
  const { size } = stat(path, true);
  const fd = open("open", path, 0, RIGHT_READ);
  let bytes = new Uint8Array(size + 1); // one more than the size, so that the end is found without growing
  let length = 0;
  let errno;
  for (;;) {
    if (length === bytes.length) {
      const larger = new Uint8Array(Math.max(2 * length, CHUNK));
      larger.set(bytes);
      bytes = larger;
    }
    view.setUint32(0, address(bytes) + length, true);
    view.setUint32(4, bytes.length - length, true);
    errno = call(25, fd, cellsAddress, 1, cellsAddress + 8);
    const count = view.getUint32(8, true);
    if (errno !== 0 || count === 0) break;
    length += count;
  }
  call(24, fd);
  checked(errno, "read", path);
  return bytes.subarray(0, length);
}

function writeFile(path, bytes, append) {
  const flags = append ? CREATE : CREATE | TRUNCATE;
  const fd = open("open", path, flags, RIGHT_WRITE, append ? APPEND : 0);
  const errno = writeAll(fd, bytes);
  checked(call(24, fd) || errno, "write", path);
}

function readDir(path) {
  const fd = open("list", path, DIRECTORY, RIGHT_LIST | RIGHT_READ);
  const entries = [];
  const buffer = new Uint8Array(CHUNK);
  const records = new DataView(buffer.buffer);
  const at = address(buffer);
  cells.fill(0, 8, 16); // the cookie
  let errno, used;
  do {
    errno = call(27, fd, at, CHUNK, cellsAddress + 8, cellsAddress);
    if (errno !== 0) break;
    used = view.getUint32(0, true);
    // An entry: the next cookie, the inode, the length of the name, the type, and the name. The last one may be incomplete.
    for (let offset = 0; offset + 24 <= used; ) {
      const length = records.getUint32(offset + 16, true);
      if (offset + 24 + length > used) break;
      const name = decodeAt(at + offset + 24, length);
      if (name !== "." && name !== "..") entries.push({ name, kind: KINDS[buffer[offset + 20]] ?? "other" });
      cells.set(buffer.subarray(offset, offset + 8), 8);
      offset += 24 + length;
    }
  } while (used === CHUNK);
  call(24, fd);
  checked(errno, "list", path);
  return entries;
}

function stat(path, follow) {
  const name = relative(path);
  checked(call(29, ROOT, follow ? FOLLOW : 0, address(name), name.length, cellsAddress), "stat", path);
  return {
    kind: KINDS[cells[16]] ?? "other",
    size: Number(view.getBigUint64(32, true)),
    modified: Number(view.getBigUint64(48, true) / 1000000n),
  };
}

function onPath(operation, number) {
  return (path) => {
    const name = relative(path);
    checked(call(number, ROOT, address(name), name.length), operation, path);
  };
}

function rename(from, to) {
  const [a, b] = [relative(from), relative(to)];
  checked(call(33, ROOT, address(a), a.length, ROOT, address(b), b.length), "rename", from);
}

function env(name) {
  call(20, cellsAddress, cellsAddress + 4);
  const count = view.getUint32(0, true);
  const pointers = new Uint8Array(4 * count);
  const buffer = new Uint8Array(view.getUint32(4, true));
  if (count === 0) return undefined;
  call(21, address(pointers), address(buffer));
  const start = address(buffer);
  const addresses = new DataView(pointers.buffer);
  const prefix = encode(`${name}=`);
  for (let i = 0; i < count; i++) {
    const at = addresses.getUint32(4 * i, true) - start;
    if (!prefix.every((byte, j) => buffer[at + j] === byte)) continue;
    const from = at + prefix.length;
    return decode(buffer.subarray(from, buffer.indexOf(0, from)));
  }
  return undefined;
}

function randomBytes(length) {
  const bytes = new Uint8Array(length);
  if (length > 0) checked(call(22, address(bytes), length), "read", "random numbers");
  return bytes;
}

function sleep(milliseconds) {
  if (!(milliseconds > 0)) return;
  const subscription = new Uint8Array(48); // a relative time of the monotonic clock
  const fields = new DataView(subscription.buffer);
  fields.setUint32(16, 1, true);
  fields.setBigUint64(24, BigInt(Math.min(Math.ceil(milliseconds * 1e6), Number.MAX_SAFE_INTEGER)), true);
  const event = new Uint8Array(32);
  checked(call(23, address(subscription), address(event), 1, cellsAddress), "wait", "for the clock");
}

export function log(level, line) {
  const bytes = encode(line);
  call(16, level, address(bytes), bytes.length);
}

/** What src/platform.js describes. */
export const system = {
  hostCall(request) {
    const bytes = new Uint8Array(call(14, address(request), request.length));
    call(15, address(bytes), bytes.length);
    return bytes;
  },
  log,
  print(text) {
    const bytes = encode(text);
    checked(writeAll(1, bytes), "write", "standard output");
  },
  env,
  randomBytes,
  sleep,
  abort: () => call(11),
  readFile,
  writeFile,
  readDir,
  stat: (path) => stat(path, true),
  lstat: (path) => stat(path, false),
  mkdir: onPath("create", 30),
  rmdir: onPath("remove", 31),
  unlink: onPath("remove", 32),
  rename,
};
