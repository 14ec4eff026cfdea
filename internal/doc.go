// Package internal has the parts of Bulkhead that other modules cannot import, in seven districts. Each has a doc.go that names its
// packages: go doc ./internal/DISTRICT. A package imports only its own district and lower ones, which come first in this list;
// tests/imports_test.go checks this, and the few rules inside of districts.
//
//   - base: files, locks, terminals, and what differs between systems; knows nothing of MCP or of plugins
//   - protocol: MCP itself: lines and HTTP, sessions, JSON Schema, questions to clients, calls of tools as command lines
//   - policy: what is served and granted: plugin.toml, bulkhead.toml, the ceiling, trust, what clients are offered
//   - sandbox: what a module may reach: the file tree, git repositories, web servers
//   - runtime: executing a call: queues, worker processes and their confinement, the engine, the audit log,
//     metrics, traces, the live state of servers
//   - authoring: making plugins: build, new, dev, test, conform, record and replay
//   - admin: administering an installation: add, trust, verify, doctor, configuring clients, the
//     pages in a browser, the demo
//
// Between runtime and authoring is package host, the library for programs that embed Bulkhead: Open, Serve, Call, Reload, Watch. On
// top is cmd/bulkhead, which has a file for each command. Packages of plugins are below sdk, and plugins below plugins; neither
// imports anything from here.
//
// To read the path of a call, begin with docs/architecture.md. What is promised about security, and the test of each promise, is in
// docs/security.md.
package internal
