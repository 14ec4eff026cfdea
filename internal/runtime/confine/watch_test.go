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
		{"the margin for page tables and code", Usage{Memory: 1<<30 + 1<<26 + 64<<20}, false},
		{"more memory", Usage{Memory: 1<<30 + 1<<26 + 64<<20 + 1}, true},
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
				}, bounds, func() bool { return true }, ended, Actions{Kill: func(string) { killed++ }})
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
				Bounds{}, func() bool { return active }, ended, Actions{Warn: func(error) {}})
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
	watch(func() (Usage, error) { return Usage{}, errors.ErrUnsupported }, Bounds{}, nil, nil, Actions{})
}

// A process that cannot be measured is reported once, and measured again.
func TestWatchReportsProcessThatCannotBeMeasured(t *testing.T) {
	hidden := errors.New("hidden")
	for _, test := range []struct {
		name                string
		failing             func(sample int) bool
		warns, kills, after int
	}{
		{"never", func(int) bool { return true }, 1, 0, maxFailures},
		{"for a moment", func(n int) bool { return n%maxFailures > 0 }, 0, 1, 0},
		{"later", func(n int) bool { return n%10 > 0 }, 1, 1, maxFailures},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended, samples, warned, killed, after := make(chan struct{}), 0, 0, 0, 0
				go watch(func() (Usage, error) {
					samples++
					if test.failing(samples) {
						return Usage{}, hidden
					}
					if samples < 50 {
						return Usage{}, nil
					}
					return Usage{Threads: 1000}, nil
				}, Bounds{Threads: 1}, func() bool { return true }, ended, Actions{
					Kill: func(string) { killed++ },
					Warn: func(err error) {
						if warned++; !errors.Is(err, hidden) {
							t.Error(err)
						}
						after = samples
					},
				})
				time.Sleep(10 * time.Second)
				close(ended)
				synctest.Wait()
				if warned != test.warns || killed != test.kills || after != test.after {
					t.Errorf("%d warnings, after %d samples, and %d kills; want %d, %d and %d", warned, after, killed, test.warns, test.after, test.kills)
				}
			})
		})
	}
}

func TestBoundOfZeroBoundsNothing(t *testing.T) {
	for _, b := range []Bounds{{}, {Memory: 1 << 40}, {Threads: 1 << 40}} {
		if reason := b.exceeded(Usage{Memory: 1 << 39, Threads: 1 << 39}); reason != "" {
			t.Errorf("%+v: %s", b, reason)
		}
	}
}
