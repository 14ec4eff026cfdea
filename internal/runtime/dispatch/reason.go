package dispatch

import (
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
)

// Failures of which only the local user gets the reason: it may name paths of this machine, and what is in them.
const (
	withheldReason = "failed on the server, whose log has the reason"
	withheldBusy   = "did not run on the server, whose log has the reason: repeat the call"
)

// isLocal reports whether a request is made on behalf of the user who runs the host.
func isLocal(r *call.Request) bool {
	return r.Principal == nil || r.Principal.ID == gateway.LocalUser.ID
}

// reasonFor returns the message of a failure for the client of r.
func reasonFor(r *call.Request, failure *engine.Error) string {
	if isLocal(r) {
		return failure.Message
	}
	switch failure.Code {
	case failureSandbox, engine.CodeInternal, engine.CodeModuleMissing, engine.CodeDigest, engine.CodeInvalidModule, engine.CodeStale:
		return withheldReason
	case engine.CodeQueue:
		if failure.Err != nil { // it is not the queue, but a reason that may pass
			return withheldBusy
		}
	}
	return failure.Message
}

// causeFor returns an error for the end of a message to the client of r; empty if the client must not get it.
func causeFor(r *call.Request, err error) string {
	if isLocal(r) {
		return ": " + err.Error()
	}
	return ""
}
