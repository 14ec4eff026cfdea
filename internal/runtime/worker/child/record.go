package child

import (
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// record stores an operation for the audit log. A denied operation is sent immediately, since the call may end the process before
// its result is sent.
func (c *running) record(o sandbox.Operation) {
	done := audit.Operation{Op: o.Op, Target: o.Target, Code: o.Code, Outcome: outcome(o.Code), Count: 1}
	if c.recorded && c.trail.Add(done) && done.Outcome == audit.Denied {
		_ = c.server.out.Write(wire.TypeRecord, c.number, wire.EncodeRecord(done)) // the next read reports that the host has ended
	}
}

func outcome(code string) audit.Outcome {
	switch code {
	case "":
		return audit.OK
	case abi.HostDenied:
		return audit.Denied
	}
	return audit.Failed
}

// sendRecords sends the operations that record has stored, together with the result. leftOut is the number of operations that were
// not recorded.
func (c *running) sendRecords() (leftOut int64) {
	all, leftOut := c.trail.Operations()
	for _, o := range all {
		if o.Outcome == audit.Denied {
			o.Count-- // the method record has already sent one record of o
		}
		if o.Count > 0 {
			_ = c.server.out.Delay(wire.TypeRecord, c.number, wire.EncodeRecord(o))
		}
	}
	return leftOut
}
