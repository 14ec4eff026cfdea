package abi

// Host operations on files, beyond what WASI can say.
const (
	OpFSMode = "fs/mode" // FileMode -> FileModeResult
	OpLock   = "lock"    // Lock -> null
)

// FileMode asks for the permission bits of a file or folder, and sets them first if Mode is given. Path is
// absolute; a link is followed. Only the bits 0777 are ever set.
type FileMode struct {
	Path string  `json:"path"`
	Mode *uint32 `json:"mode,omitempty"`
}

// FileModeResult holds the bits as they are now.
type FileModeResult struct {
	Mode uint32 `json:"mode"`
}

// Lock waits until no other call of the plugin's, in this host or another of the same user, holds the name,
// and then holds it until the call ends. Name is any text of 1 to 256 bytes. A call that has the name
// already goes on at once.
//
// With Folder it then waits for that folder too, which no other call holds meanwhile, of whatever name, plugin,
// host or user. Folder is the absolute path of a folder that is there and that the plugin may write.
type Lock struct {
	Name   string `json:"name"`
	Folder string `json:"folder,omitempty"`
}
