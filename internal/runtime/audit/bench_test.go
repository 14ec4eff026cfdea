//go:build unix

package audit_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// BenchmarkWrite measures the time that a record adds to a call. With FailOpen the record is queued, with FailClosed written.
func BenchmarkWrite(b *testing.B) {
	for _, onFailure := range []string{audit.FailOpen, audit.FailClosed} {
		b.Run(onFailure, func(b *testing.B) {
			var host journal
			l, err := audit.Open(audit.Config{File: filepath.Join(b.TempDir(), "audit.jsonl"), OnFailure: onFailure, Log: host.logger()})
			if err != nil {
				b.Fatal(err)
			}
			r := audit.Record{
				Kind: audit.KindCall, Plugin: "chant", Version: "1.4.0", Client: "claude-code 2.1.0", Method: "tools/call", Tool: "chant_search",
				Digest:  "sha256:6b1e0f3a6b1e0f3a6b1e0f3a6b1e0f3a6b1e0f3a6b1e0f3a6b1e0f3a6b1e0f3a",
				Outcome: audit.OK, Duration: 412 * time.Microsecond, Fuel: 1_200_331, BytesIn: 61, BytesOut: 1850,
				Arguments:  []byte(`{"query":"login","status":"ready"}`),
				Operations: []audit.Operation{{Op: "git/read_file", Target: "/home/me/work", Outcome: audit.OK, Count: 2}},
			}
			b.ReportAllocs()
			for b.Loop() {
				r.ID = l.NewID()
				if err := l.Write(r); err != nil {
					b.Fatal(err)
				}
			}
			if err := l.Close(context.Background()); err != nil {
				b.Fatal(err)
			}
			b.Logf("the host's log: %q", host.String()) // a loop without calls can fill the queue
		})
	}
}
