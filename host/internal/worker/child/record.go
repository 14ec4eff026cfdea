package child

import (
	"github.com/bulkhead-mcp/bulkhead/host/audit"
	"github.com/bulkhead-mcp/bulkhead/host/internal/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/host/sandbox"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// record keeps an operation for the audit. One that was refused is sent at once: the call may bring the process
// down with its next step.
func (c *call) record(o sandbox.Operation) {
	done := audit.Operation{Op: o.Op, Target: o.Target, Code: o.Code, Outcome: outcome(o.Code)}
	if c.recorded && c.trail.Add(done) && done.Outcome == audit.Denied {
		_ = c.server.out.Write(wire.TypeRecord, c.number, encoded(done, 1)) // where the host is gone reading says so
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

func encoded(o audit.Operation, count int64) []byte {
	return wire.Record{Op: o.Op, Target: o.Target, Outcome: string(o.Outcome), Code: o.Code, Count: count}.Encode()
}

// sendRecords sends what record kept back, together with the result, and says how many operations more there
// were.
func (c *call) sendRecords() (leftOut int64) {
	all, leftOut := c.trail.Operations()
	for _, o := range all {
		if o.Outcome == audit.Denied {
			o.Count-- // it was sent once
		}
		if o.Count > 0 {
			_ = c.server.out.Delay(wire.TypeRecord, c.number, encoded(o, o.Count))
		}
	}
	return leftOut
}
