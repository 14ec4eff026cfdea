package child

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// A denied operation reaches the audit log even if the call then ends the process.
func TestOperationsAreRecorded(t *testing.T) {
	for name, c := range map[string]struct {
		recorded bool
		ops      []sandbox.Operation
		atOnce   int // records before the result of the call
		want     string
		leftOut  int64
	}{
		"none if the call is not recorded": {false, []sandbox.Operation{{Op: "a"}, {Op: "b", Code: abi.HostDenied}}, 0, "", 0},
		"equal ones once":                  {true, []sandbox.Operation{{Op: "a"}, {Op: "a"}, {Op: "b", Code: "invalid"}}, 0, "a ok 2,b failed 1", 0},
		"denied ones at once":              {true, []sandbox.Operation{{Op: "b", Code: abi.HostDenied}, {Op: "b", Code: abi.HostDenied}, {Op: "b", Code: abi.HostDenied}}, 1, "b denied 1,b denied 2", 0},
		"a denied one not twice":           {true, []sandbox.Operation{{Op: "b", Code: abi.HostDenied}}, 1, "b denied 1", 0},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			r := &running{server: &server{out: wire.NewWriter(&out)}, number: 7, recorded: c.recorded}
			for _, o := range c.ops {
				r.record(o)
			}
			var got []string
			collect := func() {
				for _, f := range sent(t, &out) {
					o, err := wire.DecodeRecord(f.Payload)
					if err != nil || f.Type != wire.TypeRecord || f.Call != 7 {
						t.Errorf("got %+v, %v", f, err)
					}
					got = append(got, fmt.Sprint(o.Op, " ", o.Outcome, " ", o.Count))
				}
			}
			if collect(); len(got) != c.atOnce {
				t.Errorf("%d records were sent at once, want %d", len(got), c.atOnce)
			}
			leftOut := r.sendRecords()
			if err := r.server.out.Flush(); err != nil {
				t.Fatal(err)
			}
			if collect(); strings.Join(got, ",") != c.want || leftOut != c.leftOut {
				t.Errorf("got the records %q, and %d left out; want %q", got, leftOut, c.want)
			}
		})
	}
	if outcome("") != audit.OK || outcome(abi.HostDenied) != audit.Denied || outcome("failed") != audit.Failed {
		t.Error("the outcomes of operations")
	}
}
