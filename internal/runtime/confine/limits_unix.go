//go:build unix

package confine

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// limit is a resource limit of the process.
type limit struct {
	name     string
	resource int
	limit    uint64
	set      bool
}

// limitsOf returns the limits of c, and the limit that disables core dumps.
func limitsOf(c Config) []limit {
	cpu := uint64((c.CPU + time.Second - 1) / time.Second)
	return []limit{
		{"RLIMIT_CORE", unix.RLIMIT_CORE, 0, true},
		// The Go runtime ignores SIGXCPU, which the soft limit sends: the hard limit sends SIGKILL.
		{"RLIMIT_CPU", unix.RLIMIT_CPU, cpu, c.CPU > 0},
		{"RLIMIT_FSIZE", unix.RLIMIT_FSIZE, c.FileSize, c.FileSize > 0},
		{"RLIMIT_NOFILE", unix.RLIMIT_NOFILE, c.OpenFiles, c.OpenFiles > 0},
		{"RLIMIT_DATA", unix.RLIMIT_DATA, c.Memory, c.Memory > 0},
	}
}

// setLimits sets the limits of c and those in more.
func setLimits(c Config, more ...limit) error {
	for _, l := range append(limitsOf(c), more...) {
		if !l.set {
			continue
		}
		if err := lowerLimit(l.resource, l.limit); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	return nil
}

// lowerLimit sets the soft and the hard limit. A hard limit that is already lower is left unchanged, since only
// privileged processes may raise it.
func lowerLimit(resource int, limit uint64) error {
	var now unix.Rlimit
	if err := unix.Getrlimit(resource, &now); err != nil {
		return err
	}
	limit = min(limit, uint64(now.Max))
	return unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: limit})
}
