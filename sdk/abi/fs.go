package abi

// Host operations on files that WASI does not have, each with the types of its parameters -> its result.
const (
	OpFSMode = "fs/mode" // FileMode -> FileModeResult
	OpFSScan = "fs/scan" // Scan -> a binary answer
	OpLock   = "lock"    // Lock -> null
)

// FileMode returns the permission bits of a file or directory, and sets them first if Mode is set. Path is absolute; a
// symbolic link is followed. Only the bits 0777 can be set.
type FileMode struct {
	Path string  `json:"path"`
	Mode *uint32 `json:"mode,omitempty"`
}

// FileModeResult contains the current permission bits.
type FileModeResult struct {
	Mode uint32 `json:"mode"`
}

// Lock waits until no other call of the plugin, in this host or another one of the same user, holds the name, and then
// holds it until the call ends. Name is a string of 1 to 256 bytes. Locks are reentrant within a call.
//
// If Folder is set, to the absolute path of an existing directory that the plugin may write, Lock then also locks that
// directory: all other calls with the same Folder wait, whatever their lock name, plugin, host or user.
type Lock struct {
	Name   string `json:"name"`
	Folder string `json:"folder,omitempty"`
}
