package code

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// compilerMemory bounds what a compiler's process can write to, in bytes. It does not bound the address space
// (RLIMIT_AS), of which Go reserves more than a gigabyte that it never uses, and each version of Go another amount.
const compilerMemory = 3 << 30

// limitProcess bounds this process; the system ends it, or refuses it memory, beyond.
func limitProcess(cpu time.Duration) error {
	for _, l := range []struct {
		what  string
		limit int
		most  uint64
	}{
		{"memory", unix.RLIMIT_DATA, compilerMemory},
		{"processor time", unix.RLIMIT_CPU, uint64(cpu / time.Second)},
		{"size of files", unix.RLIMIT_FSIZE, maxCode},
		{"core files", unix.RLIMIT_CORE, 0},
	} {
		if err := unix.Setrlimit(l.limit, &unix.Rlimit{Cur: l.most, Max: l.most}); err != nil {
			return fmt.Errorf("limit %s: %w", l.what, err)
		}
	}
	return nil
}
