package confine

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// measure reads the usage of a process from /proc.
func measure(pid int) (Usage, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Usage{}, err
	}
	return parseStatus(string(status))
}

func parseStatus(status string) (u Usage, err error) {
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(line, ":")
		var sum *uint64
		unit := uint64(1)
		switch name {
		case "RssAnon", "RssShmem", "VmSwap", "VmPTE":
			sum, unit = &u.Memory, 1024
		case "Threads":
			sum = &u.Threads
		default:
			continue
		}
		number, _, _ := strings.Cut(strings.TrimSpace(value), " ")
		n, err := strconv.ParseUint(number, 10, 48)
		if err != nil {
			return Usage{}, fmt.Errorf("/proc/PID/status: %s: %w", name, err)
		}
		*sum += n * unit
	}
	return u, nil
}
