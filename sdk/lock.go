package sdk

import "github.com/bulkhead-mcp/bulkhead/sdk/abi"

// Lock waits until no other call of this plugin, in this host or another of the same user, holds name, and
// holds it until the call ends: take it before reading what the call will change. Name is any text of 1 to
// 256 bytes; a call that holds it already goes on at once. There is no unlock.
//
// The error is a *HostError: abi.HostInvalid for the name, abi.HostUnavailable where the host has no locks,
// abi.HostFailed where it could not take this one. A call that two hosts of different users serve is not
// kept apart, nor is a program that takes no lock: see LockFolder for what several users can write.
func Lock(name string) error {
	return HostCall(abi.OpLock, abi.Lock{Name: name}, nil)
}

// LockFolder is Lock, and then waits for folder too, which no other call holds meanwhile, of whatever name,
// plugin, host or user on this machine. Folder is the absolute path of a folder that is there. Two names keep
// nobody from waiting for one folder.
//
// Beside those of Lock there are the errors abi.HostDenied for a folder that the plugin may not write, and
// abi.HostFailed for one that is not there. Where the folder's file system has no locks, the name alone is held.
func LockFolder(name, folder string) error {
	return HostCall(abi.OpLock, abi.Lock{Name: name, Folder: folder}, nil)
}
