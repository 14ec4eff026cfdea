/** Files, variables and standard output, by WASI. Paths are absolute, or relative to the working directory. */

@external("wasi_snapshot_preview1", "path_open")
declare function path_open(
  fd: i32, lookup: i32, path: usize, length: i32, flags: i32, rights: i64, inheriting: i64, fdFlags: i32, opened: usize,
): i32;
@external("wasi_snapshot_preview1", "fd_read")
declare function fd_read(fd: i32, vectors: usize, count: i32, read: usize): i32;
@external("wasi_snapshot_preview1", "fd_write")
declare function fd_write(fd: i32, vectors: usize, count: i32, written: usize): i32;
@external("wasi_snapshot_preview1", "fd_readdir")
declare function fd_readdir(fd: i32, buffer: usize, length: i32, cookie: i64, used: usize): i32;
@external("wasi_snapshot_preview1", "fd_close")
declare function fd_close(fd: i32): i32;
@external("wasi_snapshot_preview1", "environ_sizes_get")
declare function environ_sizes_get(count: usize, size: usize): i32;
@external("wasi_snapshot_preview1", "environ_get")
declare function environ_get(pointers: usize, buffer: usize): i32;

const ROOT: i32 = 3; // the only preopened directory
const CHUNK: i32 = 65536;
const FOLLOW: i32 = 1;
const CREATE_AND_TRUNCATE: i32 = 1 | 8;
const DIRECTORY: i32 = 2;
const RIGHT_READ: i64 = 1 << 1;
const RIGHT_WRITE: i64 = 1 << 6;
const RIGHT_LIST: i64 = 1 << 14;

/** Returns a variable of the environment; null if it is unset. */
export function environment(name: string): string | null {
  const sizes = new StaticArray<u32>(2);
  environ_sizes_get(changetype<usize>(sizes), changetype<usize>(sizes) + 4);
  const pointers = new StaticArray<u32>(sizes[0]);
  const buffer = new ArrayBuffer(sizes[1]);
  environ_get(changetype<usize>(pointers), changetype<usize>(buffer));
  for (let i = 0; i < pointers.length; i++) {
    const end = changetype<usize>(buffer) + sizes[1];
    const variable = String.UTF8.decodeUnsafe(pointers[i], end - pointers[i], true); // to the first NUL
    if (variable.startsWith(name + "=")) return variable.substring(name.length + 1);
  }
  return null;
}

let lastErrno: i32 = 0;

/**
 * Returns the errno of WASI of the last function of this file that failed, such as 51 (the disk is full), 19 (the quota is exceeded),
 * 33 (too many open files), 2 (not granted) or 44 (does not exist); 0 if none has.
 */
export function fileErrno(): i32 {
  return lastErrno;
}

/** Records an errno, and reports success. */
function succeeded(errno: i32): bool {
  if (errno != 0) lastErrno = errno;
  return errno == 0;
}

/** Opens a path; a negative number is an errno of WASI. */
function open(path: string, flags: i32, rights: i64): i32 {
  if (!path.startsWith("/")) {
    const directory = environment("PWD");
    path = (directory === null ? "" : directory) + "/" + path;
  }
  const bytes = String.UTF8.encode(path.substring(1));
  const opened = new StaticArray<i32>(1);
  const errno = path_open(
    ROOT, FOLLOW, changetype<usize>(bytes), bytes.byteLength, flags, rights, rights, 0, changetype<usize>(opened),
  );
  return succeeded(errno) ? opened[0] : -errno;
}

/** Returns the content of a file; null if it cannot be read. */
export function readFile(path: string): Uint8Array | null {
  const fd = open(path, 0, RIGHT_READ);
  if (fd < 0) return null;
  let content = new ArrayBuffer(CHUNK);
  let length = 0;
  let errno = 0;
  const vector = new StaticArray<u32>(3); // address and length of the buffer, and the number of bytes read
  while (true) {
    if (length == content.byteLength) {
      const larger = new ArrayBuffer(2 * length);
      memory.copy(changetype<usize>(larger), changetype<usize>(content), length);
      content = larger;
    }
    vector[0] = <u32>(changetype<usize>(content) + length);
    vector[1] = content.byteLength - length;
    errno = fd_read(fd, changetype<usize>(vector), 1, changetype<usize>(vector) + 8);
    if (errno != 0 || vector[2] == 0) break;
    length += vector[2];
  }
  fd_close(fd);
  return succeeded(errno) ? Uint8Array.wrap(content, 0, length) : null;
}

/** Returns the text of a file; null if it cannot be read. */
export function readText(path: string): string | null {
  const bytes = readFile(path);
  return bytes === null ? null : String.UTF8.decodeUnsafe(bytes.dataStart, bytes.length);
}

/** Replaces the content of a file, not atomically; false if it cannot be written. */
export function writeFile(path: string, bytes: Uint8Array): bool {
  const fd = open(path, CREATE_AND_TRUNCATE, RIGHT_WRITE);
  if (fd < 0) return false;
  const complete = writeAll(fd, bytes.dataStart, bytes.length);
  return succeeded(fd_close(fd)) && complete;
}

function writeAll(fd: i32, at: usize, length: i32): bool {
  const vector = new StaticArray<u32>(3);
  while (length > 0) {
    vector[0] = <u32>at;
    vector[1] = length;
    if (!succeeded(fd_write(fd, changetype<usize>(vector), 1, changetype<usize>(vector) + 8))) return false;
    at += vector[2];
    length -= vector[2];
  }
  return true;
}

/** Writes to standard output, which is part of the host's log. */
export function print(text: string): void {
  const bytes = String.UTF8.encode(text);
  writeAll(1, changetype<usize>(bytes), bytes.byteLength);
}

/** Returns the names in a directory, those of directories with a slash at their end; null if it cannot be listed. */
export function listDirectory(path: string): string[] | null {
  const fd = open(path, DIRECTORY, RIGHT_LIST | RIGHT_READ);
  if (fd < 0) return null;
  const names: string[] = [];
  const buffer = new ArrayBuffer(CHUNK);
  const used = new StaticArray<u32>(1);
  let cookie: i64 = 0;
  let errno = 0;
  do {
    errno = fd_readdir(fd, changetype<usize>(buffer), CHUNK, cookie, changetype<usize>(used));
    if (errno != 0) break;
    let at = changetype<usize>(buffer);
    const end = at + used[0];
    // An entry: the next cookie, the inode, the length of the name, the type, and the name. The last one may be incomplete.
    while (at + 24 <= end && at + 24 + load<u32>(at, 16) <= end) {
      const length = load<u32>(at, 16);
      const name = String.UTF8.decodeUnsafe(at + 24, length);
      if (name != "." && name != "..") names.push(load<u8>(at, 20) == 3 ? name + "/" : name);
      cookie = load<i64>(at);
      at += 24 + length;
    }
  } while (used[0] == CHUNK);
  fd_close(fd);
  return succeeded(errno) ? names : null;
}
