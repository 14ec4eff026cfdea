package sdk

import "github.com/bulkhead-mcp/bulkhead/sdk/abi"

// Lock acquires the lock called name and holds it until the call ends. It waits while another call of this plugin holds that lock, in this
// host or in another host of the same user. Acquire the lock before reading what the call will change. A name has 1 to 256 bytes. The lock
// is reentrant within a call. It cannot be released earlier.
//
// The error is a *HostError: abi.HostInvalid if the name is invalid, abi.HostUnavailable if the host has no locks, abi.HostFailed if the host
// could not acquire the lock. Lock excludes neither programs that do not call it nor hosts of other users: see LockFolder for files that
// several users can write.
func Lock(name string) error {
	return HostCall(abi.OpLock, abi.Lock{Name: name}, nil)
}

// LockFolder acquires the lock called name, as Lock does. Then it locks the directory at the absolute path folder: all other calls that lock
// the same directory wait, whatever their lock name, plugin, host or user on this machine.
//
// In addition to the errors of Lock, LockFolder returns abi.HostDenied for a directory that the plugin may not write,
// and abi.HostFailed for a directory that does not exist. If the directory's file system does not support locks,
// LockFolder locks only the name.
func LockFolder(name, folder string) error {
	return HostCall(abi.OpLock, abi.Lock{Name: name, Folder: folder}, nil)
}
