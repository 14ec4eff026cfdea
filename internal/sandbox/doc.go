// Package sandbox enforces the grants of one plugin on its module: files, environment and host operations. New makes a Box
// from open directories and functions; the engine uses the Box's FS, Env and Operate. Explain, for the host process,
// reports decisions.
//
// Modules are untrusted. Access that is not granted is refused and logged here or in the packages below (vfs for files,
// git for repositories). It is refused at the moment of use and on resolved paths. hidden.go applies deny patterns and
// hides the host's own files.
//
// # The district
//
// sandbox is also the district of what a module can reach. Only this package knows config and manifest; those below it get
// directory handles, functions and plain lists of what is granted, and must know neither plugins nor MCP. Nothing here decides a
// grant, and what the worker process runs opens no path and no connection by itself.
//
//   - vfs: the one file tree of a module: WASI calls, symbolic links, mounts, what must not be replaced
//   - beneath: opens and changes files below a directory handle, by names that cannot leave it
//   - git: reads repositories, stages and commits, creates branches, reads remotes
//   - git/repo: finds the repository below a grant
//   - git/objects: the object database
//   - git/refs: references
//   - git/worktree: the index, and status of the working tree
//   - git/worktree/attributes: which attributes git gives to files
//   - git/worktree/ignore: which paths git ignores
//   - git/remote: git's HTTP protocol
//   - git/gitconfig: a repository's configuration
//   - git/internal/hosterror: the errors of operations on repositories
//   - git/internal/gittest: repositories for tests
//   - fetch: http/fetch, requests to granted origins, credentials, redirects, bounds of requests and responses; in the host process
//   - dial: connects to public addresses only; in the host process
//   - skills: reads directories of instructions for a model, which the host serves; in the host process
//   - internal/seam: lets tests act between two system calls
//
// Operations of a module arrive in operate.go; a file's way is FS of the Box, vfs, beneath.
package sandbox
