package confine

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestWatchEndsProcessBeyondItsBounds(t *testing.T) {
	bounds := Bounds{Memory: 1 << 30, Threads: 100}
	for _, test := range []struct {
		name  string
		usage Usage
		ends  bool
	}{
		{"nothing", Usage{}, false},
		{"its memory", Usage{Memory: 1 << 30, Threads: 100}, false},
		{"the margin for page tables and code", Usage{Memory: 1<<30 + 1<<26}, false},
		{"more memory", Usage{Memory: 1<<30 + 1<<28}, true},
		{"as many threads as its namespace permits", Usage{Threads: 400}, false},
		{"more threads", Usage{Threads: 401}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended, samples, killed := make(chan struct{}), 0, 0
				go watch(func() (Usage, error) {
					if samples++; samples < 10 {
						return Usage{}, nil
					}
					return test.usage, nil
				}, bounds, func() bool { return true }, ended, func(string) { killed++ })
				time.Sleep(5 * time.Second)
				if (killed == 1) != test.ends || killed > 1 {
					t.Errorf("the process was killed %d times, want it to end: %t", killed, test.ends)
				}
				if test.ends && samples != 10 {
					t.Errorf("killed after %d samples, want 10", samples)
				}
				close(ended)
			})
		})
	}
}

// An idle process may have been taken over, so it is measured too, less often.
func TestWatchMeasuresIdleProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		samples := map[bool]int{}
		for _, active := range []bool{false, true} {
			ended := make(chan struct{})
			go watch(func() (Usage, error) { samples[active]++; return Usage{}, errors.New("it is about to end") },
				Bounds{}, func() bool { return active }, ended, nil)
			time.Sleep(10*time.Second - time.Millisecond)
			close(ended)
			synctest.Wait()
		}
		if samples[false] != 10 || samples[true] != 100 {
			t.Errorf("%d samples of an idle process in 10 s, want 10; %d of an active one, want 100", samples[false], samples[true])
		}
	})
}

func TestWatchReturnsWhereProcessesCannotBeMeasured(t *testing.T) {
	watch(func() (Usage, error) { return Usage{}, errors.ErrUnsupported }, Bounds{}, nil, nil, nil)
}
