package sdk

import "github.com/bulkhead-mcp/bulkhead/sdk/abi"

// Lock waits until no other call of this plugin, in this host or another one of the same user, holds name, and holds it
// until the call ends: take it before reading what the call will change. Name is a string of 1 to 256 bytes. The lock is
// reentrant within a call, and there is no unlock.
//
// The error is a *HostError: abi.HostInvalid for the name, abi.HostUnavailable if the host has no locks, abi.HostFailed
// if it could not acquire the lock. Hosts of different users do not exclude each other, and neither do programs that take
// no lock: see LockFolder for files that several users can write.
func Lock(name string) error {
	return HostCall(abi.OpLock, abi.Lock{Name: name}, nil)
}

// LockFolder is Lock, and then also locks the directory folder, an absolute path: all other calls that lock the same
// directory wait, whatever their lock name, plugin, host or user on this machine.
//
// In addition to the errors of Lock there are abi.HostDenied for a directory that the plugin may not write, and
// abi.HostFailed for one that does not exist. If the directory's file system does not support locks, only the name is
// locked.
func LockFolder(name, folder string) error {
	return HostCall(abi.OpLock, abi.Lock{Name: name, Folder: folder}, nil)
}
