//go:build unix

package audit

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestAppendTimesOutWaitingForLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	var now time.Time
	f := newFile(path, MinMaxSize, 1, func() time.Time { now = now.Add(lockWait); return now })
	defer f.Close()
	if _, err := f.Append([]byte("1\n")); err != nil {
		t.Fatal(err)
	}
	other, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := syscall.Flock(int(other.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if n, err := f.Append([]byte("2\n")); n != 0 || err == nil || !strings.Contains(err.Error(), "another process has held the lock") {
		t.Errorf("appended %d bytes to a locked file: %v", n, err)
	}
	if err := syscall.Flock(int(other.Fd()), syscall.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Append([]byte("3\n")); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "1\n3\n" {
		t.Errorf("the file contains %q, %v", text, err)
	}
}

func TestOpenRegularRefusesSymlinkSwappedInDuringOpen(t *testing.T) {
	dir := t.TempDir()
	path, precious := filepath.Join(dir, "log"), filepath.Join(dir, "precious")
	if err := os.WriteFile(precious, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	target, err := os.Stat(precious)
	if err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_ = os.Symlink(precious, path)
				_ = os.Remove(path)
			}
		}
	}()
	for range 5000 {
		f, err := openRegular(path, os.O_RDWR|os.O_CREATE, 0o022)
		if err != nil {
			continue
		}
		if info, err := f.Stat(); err != nil || os.SameFile(info, target) {
			t.Fatalf("the link was followed: %v", err)
		}
		_ = f.Close()
	}
	close(stop)
	<-stopped
}

func TestAppendSplitsBatchAtRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	f := newFile(path, 10, 3, time.Now)
	defer f.Close()
	if n, err := f.Append([]byte("aaa\nbbb\nccc\ndddddddd\ne\n")); n != 23 || err != nil {
		t.Fatalf("appended %d bytes, want all 23: %v", n, err)
	}
	for name, want := range map[string]string{".3": "aaa\nbbb\n", ".2": "ccc\n", ".1": "dddddddd\n", "": "e\n"} {
		if text, err := os.ReadFile(path + name); err != nil || string(text) != want {
			t.Errorf("%s contains %q, %v, want %q", name, text, err, want)
		}
	}
}
