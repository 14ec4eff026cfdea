package sdk

import "github.com/bulkhead-mcp/bulkhead/sdk/abi"

// Lock waits until no other call of this plugin, in this host or another of the same user, holds name, and
// holds it until the call ends: take it before reading what the call will change. Name is any text of 1 to
// 256 bytes; a call that holds it already goes on at once. There is no unlock.
//
// The error is a *HostError: abi.HostInvalid for the name, abi.HostUnavailable where the host has no locks,
// abi.HostFailed where it could not take this one. A call that two hosts of different users serve is not
// kept apart, nor is a program that takes no lock.
func Lock(name string) error {
	return HostCall(abi.OpLock, abi.Lock{Name: name}, nil)
}
