package confine

import (
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func init() {
	scenarios["hoard read-only memory"] = func(job) (Report, map[string]string, error) {
		for range 8 {
			b, err := unix.Mmap(-1, 0, 32<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
			if err != nil {
				return nil, nil, err
			}
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			if err := unix.Mprotect(b, unix.PROT_READ); err != nil {
				return nil, nil, err
			}
		}
		return hang()
	}
	scenarios["hoard threads"] = func(job) (Report, map[string]string, error) {
		startThreads(2000)
		return hang()
	}
}

// hang is no deadlock, for which a program without cgo would end.
func hang() (Report, map[string]string, error) {
	time.Sleep(time.Hour)
	return nil, nil, nil
}

func TestParseStatus(t *testing.T) {
	for status, want := range map[string]struct {
		usage Usage
		fails bool
	}{
		"Name:\tx\nVmRSS:\t  900 kB\nRssAnon:\t  10 kB\nRssFile:\t 800 kB\nRssShmem:\t 20 kB\nVmPTE:\t 3 kB\nVmSwap:\t 4 kB\nThreads:\t7\n": {Usage{37 << 10, 7}, false},
		"":                                 {},
		"RssAnon:\t1 kB\nThreads:\tmany\n": {Usage{}, true},
		"RssAnon:\t\n":                     {Usage{}, true},
		"RssAnon:\t-1 kB\n":                {Usage{}, true},
		"RssAnon:\t281474976710656 kB\nThreads:\t1\n": {Usage{}, true},
	} {
		if got, err := parseStatus(status); got != want.usage || (err != nil) != want.fails {
			t.Errorf("%q: got %+v, %v", status, got, err)
		}
	}
	if _, err := measure(-1); err == nil {
		t.Error("a process that does not exist was measured")
	}
}

// TestWatchEndsRealProcess watches processes that use memory which RLIMIT_DATA does not count, and threads without a limit.
func TestWatchEndsRealProcess(t *testing.T) {
	for scenario, bounds := range map[string]Bounds{
		"hoard read-only memory": {Memory: 64 << 20},
		"hoard threads":          {Threads: 100},
	} {
		t.Run(scenario, func(t *testing.T) {
			cmd := exec.Command(program(t), "confined", `{"Scenario": "`+scenario+`"}`)
			must(t, cmd.Start())
			ended, reasons := make(chan struct{}), make(chan string, 1)
			hang := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
			defer hang.Stop()
			go Watch(cmd.Process.Pid, bounds, func() bool { return true }, ended, Actions{Kill: func(reason string) {
				reasons <- reason
				_ = cmd.Process.Kill()
			}})
			_ = cmd.Wait()
			close(ended)
			select {
			case reason := <-reasons:
				t.Log(reason)
			default:
				t.Errorf("the process ended with %v, and was not ended by Watch", cmd.ProcessState)
			}
		})
	}
}
