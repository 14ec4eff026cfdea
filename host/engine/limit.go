package engine

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// What the compiler's process may take. A module within the meter's bounds was seen to take up to a third
// of it.
const (
	compilerMemory = 4 << 30 // bytes of address space
	compilerTime   = 5 * time.Minute
)

// limitProcess bounds this process; the system ends it, or refuses it memory, beyond.
func limitProcess() error {
	for _, l := range []struct {
		what  string
		limit int
		most  uint64
	}{
		{"address space", unix.RLIMIT_AS, compilerMemory},
		{"time", unix.RLIMIT_CPU, uint64(compilerTime / time.Second)},
		{"core files", unix.RLIMIT_CORE, 0},
	} {
		if err := unix.Setrlimit(l.limit, &unix.Rlimit{Cur: l.most, Max: l.most}); err != nil {
			return fmt.Errorf("limit %s: %w", l.what, err)
		}
	}
	return nil
}
