package abi

// Host operations on files that WASI does not have. Each comment states the types of the operation's parameters -> its result.
const (
	OpFSMode       = "fs/mode"        // FileMode -> FileModeResult
	OpFSCreateMode = "fs/create_mode" // FileCreateMode -> null
	OpFSScan       = "fs/scan"        // Scan -> a binary answer, which ScanHeader describes
	OpFSGrants     = "fs/grants"      // null -> FileGrants
	OpLock         = "lock"           // Lock -> null
)

// FileMode requests the permission bits of a file or directory. If Mode is set, the host first sets the bits to Mode, of which only the
// bits 0777 may be set. Path is absolute. A symbolic link is followed.
type FileMode struct {
	Path string  `json:"path"`
	Mode *uint32 `json:"mode,omitempty"`
}

// FileCreateMode sets the permission bits of the files that the call creates from then on, before the umask. Only the bits of 0644, which
// they have otherwise, may be set. Directories are not affected.
type FileCreateMode struct {
	Mode uint32 `json:"mode"`
}

// FileModeResult contains the permission bits after the operation.
type FileModeResult struct {
	Mode uint32 `json:"mode"`
	// Created is when the file was created, in milliseconds since the Unix epoch; nil if the system does not tell.
	Created *int64 `json:"created,omitempty"`
}

// FileGrants are the granted directories without the plugin's state directory, in the order in which they are granted.
type FileGrants struct {
	Directories []FileGrant `json:"directories"`
}

// FileGrant is a granted directory, which need not exist.
type FileGrant struct {
	Path    string   `json:"path"`              // absolute, without symbolic links
	Aliases []string `json:"aliases,omitempty"` // granted paths with symbolic links by which the directory can be reached as well
	Write   bool     `json:"write,omitempty"`
}

// Lock waits until no other call of the plugin holds the lock called Name, in this host or in another host of the same user. The call then
// holds the lock until it ends. Name is a string of 1 to 256 bytes. Locks are reentrant within a call.
//
// Folder, if not empty, is the absolute path of an existing directory that the plugin may write. Lock then locks that directory too: all
// other calls with the same Folder wait, whatever their lock name, plugin, host or user.
type Lock struct {
	Name   string `json:"name"`
	Folder string `json:"folder,omitempty"`
}
