//go:build linux

package engine

import (
	"bytes"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

// growing is a module whose calls add 4 MiB to its memory and write to all of the fourth MiB. Its snapshot is larger than its
// initial memory and lazyBytes.
func growing() []byte {
	const mib = 1 << 20
	return wasmtest.Plugin(wasmtest.Code(
		wasmtest.I32(64), 0x40, 0, 0x1a, // memory.grow, drop
		wasmtest.I32(3*mib), wasmtest.I32(0x55), wasmtest.I32(mib), 0xfc, 11, 0, // memory.fill
		wasmtest.Invoke(wasmtest.Output, 0, 2),
	), "{}").Bytes()
}

// Pages that growth allocates by writing to them, as on systems without MADV_POPULATE_WRITE, do not overwrite the snapshot.
func TestNewInstanceEqualsSnapshot(t *testing.T) {
	m := loadBytes(t, growing(), Spec{})
	for name, advice := range map[string]int{"populated by the system": adviseWrite, "populated by writing": 9999} {
		t.Run(name, func(t *testing.T) {
			defer func(was int) { adviseWrite = was }(adviseWrite)
			adviseWrite = advice
			inst, failure := m.newInstance(t.Context())
			if failure != nil {
				t.Fatal(failure)
			}
			defer inst.close()
			if got := inst.memory.space[:inst.memory.size]; len(got) < 4<<20 || !bytes.Equal(got, m.snapshot.memory) {
				t.Errorf("the memory of %d bytes differs from the snapshot of %d", len(got), len(m.snapshot.memory))
			}
			if inst.memory.written.size == 0 {
				t.Skip("the system records no written pages")
			}
			err := inst.memory.written.tracked.Written(len(m.snapshot.memory), func(from, to int) {
				t.Errorf("pages %#x to %#x count as written before the first call", from, to)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
