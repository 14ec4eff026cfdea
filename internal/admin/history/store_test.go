package history

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// TestKillAtEachStep ends an update before each write.
func TestKillAtEachStep(t *testing.T) {
	f := newFixture(t)
	killed := errors.New("killed")
	for round := range 5 {
		f.write(300, "")
		for kill := 0; ; kill++ {
			h, steps := f.open(), 0
			h.step = 40_000
			h.store.step = func(string) error {
				if steps++; steps > kill {
					return killed
				}
				return nil
			}
			err := h.Update(t.Context(), nil)
			if err == nil {
				break
			}
			if !errors.Is(err, killed) || kill > 200 {
				t.Fatal(err)
			}
		}
		f.check(fmt.Sprint("round ", round), f.written, time.Time{})
	}
}

func TestDamagedPartIsCountedAgain(t *testing.T) {
	for _, damage := range []func(string) error{
		os.Remove,
		func(path string) error { return os.Truncate(path, 10) },
		func(path string) error { return os.WriteFile(path, []byte("{}"), 0o600) },
	} {
		f := newFixture(t)
		f.write(2000, "")
		h := f.open()
		f.update(h)
		parts, err := filepath.Glob(filepath.Join(h.store.dir, "*.*.json"))
		if err != nil || len(parts) < 2 {
			t.Fatalf("%q, %v", parts, err)
		}
		for _, path := range append(parts, filepath.Join(h.store.dir, stateFile)) {
			if _, err := os.Lstat(path); err != nil {
				continue // a repair has replaced it
			}
			if err := damage(path); err != nil {
				t.Fatal(err)
			}
			f.check(filepath.Base(path), f.written, time.Time{})
			if last, err := f.open().LastUses(t.Context(), audit.Query{}); err != nil || len(last.Uses) < 10 {
				t.Fatalf("%s: %d uses, %v", filepath.Base(path), len(last.Uses), err)
			}
		}
	}
}

func TestTwoProcessesCountOnce(t *testing.T) {
	f := newFixture(t)
	f.write(3000, "")
	done := make(chan error)
	for range 4 {
		h := f.open()
		h.step = 20_000
		go func() { done <- h.Update(context.Background(), nil) }()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	f.check("together", f.written, time.Time{})
}
