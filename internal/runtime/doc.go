// Package runtime is the district that executes calls. It takes decisions from policy and never makes any; it must not know how a
// client is connected, and names no plugin.
//
// In the host process:
//   - dispatch: the gateway's Backend: queue and slots of a plugin, specs of workers, operations that need a connection, audit records
//   - worker: starts, watches, drains and replaces worker processes, and retries calls whose worker ended; fairness over all plugins
//   - worker/budget: the memory of all workers: who gets more, which idle worker ends for it, which call ends if there is none
//   - grant: opens granted paths, whose variables are replaced already, as directory handles; follows symbolic links
//   - projectskills: reads the skills of a project, which are untrusted, in the directories that the config names
//   - results: shortens results that are too long for models, and keeps the rest for a while
//   - secret: runs the commands that print secret values, and keeps these for a short time
//   - metrics: counts what the audit log records, and offers it in the format of Prometheus
//   - live: keeps what a server does now, and offers it to the user's other programs at a socket
//   - traces: sends spans of what the audit log records to a collector, by OTLP
//   - writers: claims the directories that the plugins of an HTTP server may write, so that no other server does
//   - audit: writes and reads the audit log, rotation, calls that must not run unrecorded
//   - audit/forward: opens the audit log of a config, with its copies in journald, syslog and on stdout
//   - engine/code: the cache of compiled modules, the compiler process, and the locks by which hosts compile a module once
//   - engine/modinfo: what a file tells about itself, for `bulkhead inspect`
//
// In the compiler process:
//   - engine/meter: rewrites modules, so that they can be interrupted and restored: fuel, stack depth, jumps
//   - engine/meter/wasm: decodes and encodes the binary format of WebAssembly
//
// In host and worker:
//   - worker/wire: frames between host and worker
//   - confine: restricts a process: namespaces, Landlock, seccomp, limits; reports the layers
//   - derived: data that modules derive from files, kept between calls and processes
//
// In the worker process:
//   - worker/child: its main function: confines itself, loads the module, validates each response
//   - engine: instances, time and memory limits, fuel for work of the host, snapshots, cancellation, the ABI
//   - extism: the ABI of plugins that were written for hyper-mcp
//   - dirtypages: which pages a call has written, so that restoring is cheap
//
// What a worker process runs reaches neither dispatch nor grant nor anything that serves clients; tests/imports_test.go checks that.
// Start with dispatch.New and follow a request: dispatch/request.go, worker/worker.go, worker/child/server.go, engine/module.go.
package runtime
