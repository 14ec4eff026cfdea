// Package base is the lowest district: helpers for files, processes, terminals and text that would be of use to any program. A
// package here must not know MCP, plugins, grants or WebAssembly (helpers for tests excepted); one that needs them belongs to a
// higher district. Of this repository it imports only this district and sdk/{atomicfile,filesystem,contain,rawjson,abi}.
//
// Files that people write:
//   - tomlfile: reads and edits TOML, with a line for each problem; comments are preserved
//   - jsonfile: reads and edits JSON with comments, the configuration files of clients
//   - textedit: lines by offset and replaced ranges, for edits of both
//   - jsonvalue: decodes JSON without loss, and compares values for tests of plugins
//   - userfile: reads a file to edit, and replaces it atomically if it is unchanged
//   - watch: reports changes of files, once they have settled
//
// Text and results for people:
//   - visible: replaces invisible code points in untrusted text
//   - usage: the error that the caller can correct, exit code 2
//   - term: what a terminal can display, colours and width
//   - chart: bars and sparklines as text, charts as SVG
//   - progress: progress of concurrent tasks
//   - linequeue: log lines for a writer that may block
//   - cutjson: shortens JSON so that it stays valid, and marks what is missing
//
// Files from elsewhere:
//   - archive: a plain tar whose bytes depend only on the names and contents of its files
//   - download: HTTP requests to servers that the user names, with bounds
//   - signature: signs files and verifies signatures, in the format of minisign
//   - signedfile: keeps signed files that were fetched, and refuses older ones
//
// Addresses, permissions, processes:
//   - origin: parses and normalizes the origin of a URL
//   - httpheader: checks names and values of HTTP headers
//   - ownedpath: whether other users can change a file or directory; the format of the state directory
//   - filelock: locks between processes
//   - tempdir: temporary directories that the next process removes if their own is killed
//   - guard: turns panics into errors
//   - reexec: starts this executable as a worker, a compiler, or to inspect a module
//   - socket: Unix sockets that only the user can connect to
//   - systemd: the socket of a systemd unit, and the state of the process for systemd
//   - platform: what differs between systems in a line or two: open flags, paths in the file tree, job objects
//   - ntfile: files below an open directory on Windows
//
// For tests only:
//   - testcache: builds programs, modules and plugins of tests once for all packages; authoring/wasmtest assembles modules without
//     a compiler
//   - testenv: tiers of tests, helpers for files, recorded data, temporary directories in memory
//
// To see how the packages are written, start with userfile; most are as small.
package base
