//go:build unix

package writers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestConcurrentClaimsExcludeEachOther has servers that start at the same moment. Of those with different state directories each one may find
// another one's mark before it is removed, so that no server starts; but never two.
func TestConcurrentClaimsExcludeEachOther(t *testing.T) {
	t.Parallel()
	for name, oneState := range map[string]bool{"one state directory": true, "a state directory each": false} {
		t.Run(name, func(t *testing.T) {
			if !oneState && runtime.GOOS != "linux" {
				t.Skip("this system has no marks")
			}
			w := newWorld(t)
			servers, errs := make([]testServer, 8), make([]error, 8)
			for i := range servers {
				servers[i] = w.server(t, w.state)
				if !oneState {
					servers[i].state = filepath.Join(w.root, fmt.Sprint("state-", i))
				}
			}
			synctest.Test(t, func(t *testing.T) {
				var wg sync.WaitGroup
				for i, s := range servers {
					wg.Go(func() { errs[i] = s.Add(t.Context(), []Dir{{Path: w.project, In: s.state}}) })
				}
				wg.Wait()
			})
			started := 0
			for i, err := range errs {
				if conflict := (*Conflict)(nil); err != nil && !errors.As(err, &conflict) {
					t.Errorf("got %v, want a conflict", err)
				}
				if err != nil {
					servers[i].Close()
				} else {
					started++
				}
			}
			if started > 1 || started < 1 && oneState {
				t.Errorf("%d servers have claimed the project", started)
			}
			last := w.server(t, servers[0].state)
			if err := claimAll(t, last, Dir{Path: w.project}); (err != nil) != (started == 1) {
				t.Errorf("after %d servers have claimed the project, another one gets %v", started, err)
			}
		})
	}
}

// While a reload waits for another server, workers are started.
func TestWaitingClaimBlocksNoLocks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.server(t, w.state), w.server(t, w.state)
	if err := errors.Join(claimAll(t, one, Dir{Path: w.project}), claimAll(t, two, Dir{Path: "/s/memory", State: true})); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		go func() { ended <- two.Add(t.Context(), []Dir{{Path: w.project, In: w.state}}) }()
		time.Sleep(patience / 2)
		synctest.Wait()
		if !two.mu.TryLock() { // which Locks needs
			t.Error("a claim that waits blocks the start of workers")
		} else {
			two.mu.Unlock()
		}
		if err := <-ended; err == nil {
			t.Error("two servers have claimed the project")
		}
	})
	if len(two.Locks(w.state)) != 1 {
		t.Error("what the server had claimed before is lost")
	}
}

// A server whose second record cannot be written must not keep others from what it has not got.
func TestFailedWriteRestoresOtherRecords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	states := []string{w.state, filepath.Join(w.root, "t")} // the order of the writes
	one := w.server(t, "")
	add := func(s testServer, dirs ...Dir) (err error) {
		synctest.Test(t, func(t *testing.T) { err = s.Add(t.Context(), dirs) })
		return err
	}
	if err := add(one, Dir{Path: "/s/notes", State: true, In: states[0]}); err != nil {
		t.Fatal(err)
	}
	second := &recordDir{path: filepath.Join(states[1], dirName), server: one.server, name: "second"}
	one.recordDirs[states[1]] = second
	if err := os.MkdirAll(filepath.Join(second.path, second.name+dataSuffix, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	memory := func(state string) Dir { return Dir{Path: "/s/memory", State: true, In: state} }
	if err := add(one, memory(states[0]), memory(states[1])); err == nil {
		t.Fatal("a record was written in the place of a directory")
	}
	if len(one.Locks(states...)) != 1 {
		t.Errorf("the locks are %v", one.Locks(states...))
	}
	if err := add(w.server(t, ""), memory(states[0])); err != nil {
		t.Errorf("a claim that failed excludes others: %v", err)
	}
	conflict := (*Conflict)(nil)
	if err := add(w.server(t, ""), Dir{Path: "/s/notes", State: true, In: states[0]}); !errors.As(err, &conflict) {
		t.Errorf("the claim before it excludes no one: %v", err)
	}
}
