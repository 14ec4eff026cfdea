package filelock

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

func TestLockWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	synctest.Test(t, func(t *testing.T) {
		held, err := Lock(t.Context(), path, Exclusive)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if f, err := Lock(ctx, path, Shared); f != nil || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("while the file is locked: %v, %v", f, err)
		}
		time.AfterFunc(time.Minute, func() { held.Close() })
		for range 2 { // shared locks do not exclude each other
			f, err := Lock(t.Context(), path, Shared)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
		}
	})
	if _, err := Lock(t.Context(), filepath.Join(path, "lock"), Exclusive); err == nil {
		t.Error("a file in a file was locked")
	}
}

func TestIsHeld(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lock")
	for _, mode := range []Mode{Exclusive, Shared} {
		held, err := Lock(t.Context(), path, mode)
		if err != nil {
			t.Fatal(err)
		}
		if !IsHeld(path) {
			t.Errorf("mode %d: the lock is not held", mode)
		}
		held.Close()
		if IsHeld(path) {
			t.Errorf("mode %d: the lock is still held", mode)
		}
	}
	if IsHeld(filepath.Join(dir, "none")) {
		t.Error("a lock is held without a file")
	}
	if err := os.Mkdir(filepath.Join(dir, "directory"), 0o700); err != nil {
		t.Fatal(err)
	}
	if !IsHeld(filepath.Join(dir, "directory")) {
		t.Error("what cannot be determined counts as free")
	}
}
