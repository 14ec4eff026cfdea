//go:build unix

package hostile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

// TestHangingCallsAreCancellable checks for various kinds of calls that cancellation ends the call and frees its plugin's only
// slot.
func TestHangingCallsAreCancellable(t *testing.T) {
	t.Parallel()
	const most = 250 // memory in pages
	for name, attack := range map[string][]byte{
		"loop":       forever(),
		"copies":     forever(num(0), num(1), num(15<<20), prefixFC, 10, 0, 0),
		"random":     forever(invoke(wasmtest.Extra, 4096, 15<<20), drop),
		"sleep":      forever(num(4096+24), 0x42, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f, store64, 0, 0, invoke(wasmtest.Extra+1, 4096, 8192, 1, 9000), drop),
		"operations": forever(invoke(wasmtest.HostCall, 0, 2), drop),
		"answers":    forever(invoke(wasmtest.Output, 0, 65536)),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t)
			m := wasmtest.Plugin(exceptUpTo(300, answering(), attack), done, wasi("random_get", wasmtest.TwoToI), wasi("poll_oneoff", wasmtest.FourToI))
			m.Memory = []byte{0, 0x80 | most&0x7f, most >> 7}
			w.addModule("hanging", m.Bytes(), `limits = { time = "5m", concurrency = 1, operations = 100000, queue = "5m" }`)
			s := w.serve()
			for range 3 {
				s.begin("hanging", fmt.Sprintf(`{"pad":%q}`, strings.Repeat("x", 300)))
				id := s.lastID()
				s.checkOthers()
				s.cancel(id)
				if got := s.call("hanging", `{}`); got != (answer{Text: "done"}) {
					t.Errorf("the next call: %+v", got)
				}
			}
			s.end()
			cancelled := 0
			for _, r := range w.calls("hanging") {
				if r.Outcome == "cancelled" {
					cancelled++
				}
			}
			if cancelled != 3 && name != "operations" { // operations may reach their limit before the cancellation
				t.Errorf("the audit log has %d cancelled calls, want 3: %+v", cancelled, w.calls("hanging"))
			}
		})
	}
}
