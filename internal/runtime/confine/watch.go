package confine

import (
	"errors"
	"fmt"
	"time"
)

// Usage is what a process uses of the system, as seen from outside.
type Usage struct {
	Memory  uint64 // bytes of memory that the system cannot reclaim: anonymous pages, in memory or swapped out, and page tables
	Threads uint64
}

// Bounds are the limits of a confined process, which Watch enforces from outside. They leave a margin above the limits that Apply sets,
// which end the process first, where the kernel has them. A limit of 0 bounds nothing.
type Bounds struct {
	Memory  uint64 // Config.Memory
	Threads uint64 // Config.Threads
}

const (
	// memoryMargin and memoryMarginShare are for page tables, and for compiled code, which is not writable.
	memoryMargin, memoryMarginShare = 64 << 20, 16
	// threadMargin is how many threads the highest process ID of a PID namespace permits beyond Config.Threads: the kernel does not use
	// that many IDs again once the highest one was reached.
	threadMargin = 300
)

// exceeded returns the reason why a process must end; an empty string if it may go on.
func (b Bounds) exceeded(u Usage) string {
	switch {
	case b.Memory > 0 && u.Memory > b.Memory+b.Memory/memoryMarginShare+memoryMargin:
		return fmt.Sprintf("it used %d MiB of memory, more than the %d MiB that its process may have", u.Memory>>20, b.Memory>>20)
	case b.Threads > 0 && u.Threads > b.Threads+threadMargin:
		return fmt.Sprintf("it had %d threads, more than the %d that its process may have", u.Threads, b.Threads)
	}
	return ""
}

// Intervals of Watch. An idle process may have been taken over by an earlier call.
const (
	watchInterval = 100 * time.Millisecond
	idleInterval  = time.Second
)

// Actions are what Watch does. Each function is called once at most.
type Actions struct {
	Kill func(reason string)
	// Warn is called if a running process cannot be measured, as where /proc is absent, or mounted with hidepid and there are no namespaces.
	// Such a process is not killed: the host may lack files or memory for a while.
	Warn func(err error)
}

// Watch measures a confined process until ended is closed, more often while isActive. If the process exceeds the bounds, Watch kills it
// and returns. RLIMIT_DATA does not count page tables and memory that was made read-only; and the system may not limit threads. On a
// system that measures no processes, Watch returns at once.
func Watch(pid int, b Bounds, isActive func() bool, ended <-chan struct{}, do Actions) {
	watch(func() (Usage, error) { return measure(pid) }, b, isActive, ended, do)
}

// maxFailures is the number of failed measurements in a row after which Watch warns. One or two fail when the process ends.
const maxFailures = 3

func watch(measure func() (Usage, error), b Bounds, isActive func() bool, ended <-chan struct{}, do Actions) {
	failures, warned := 0, false
	for {
		u, err := measure()
		if errors.Is(err, errors.ErrUnsupported) {
			return
		}
		if err != nil {
			failures++
		} else {
			failures = 0
		}
		if failures == maxFailures && !warned {
			warned = true
			do.Warn(err)
		}
		if reason := b.exceeded(u); reason != "" { // without a measurement, nothing is exceeded
			do.Kill(reason)
			return
		}
		interval := idleInterval
		if isActive() {
			interval = watchInterval
		}
		select {
		case <-ended:
			return
		case <-time.After(interval):
		}
	}
}
