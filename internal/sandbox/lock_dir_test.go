//go:build unix

package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// hostCode returns the code of a host error; "" for nil.
func hostCode(t *testing.T, err error) string {
	t.Helper()
	failure := (*abi.HostError)(nil)
	if err != nil && !errors.As(err, &failure) {
		t.Fatalf("got %v, which is not a host error", err)
	}
	if failure == nil {
		return ""
	}
	return failure.Code
}

func TestLockDirectoryNeedsWriteAccess(t *testing.T) {
	w := newWorld(t)
	for _, folder := range []string{"work/.git/hooks", "work/.private/sub", "work/own/sub", "work/ro/sub", "work/empty"} {
		if err := os.MkdirAll(filepath.Join(string(w), folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"out": "../other", "in": "sub", "readonly": "ro", "git": ".git"} {
		if err := os.Symlink(to, w.path("$W/work/"+link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(w.path("$W/work/file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	grant := w.grant("rw $W/work", "r $W/work/ro", "r $W/workshop", "rw $W/to-come")
	grant.Deny = []string{".private"}
	for _, test := range []struct{ name, folder, code string }{
		{"a granted directory", "$W/work", ""},
		{"in a granted directory", "$W/work/sub", ""},
		{"through a link inside the grant", "$W/work/in", ""},
		{"by a path that goes up", "$W/work/sub/../empty/", ""},
		{"a read-only mount", "$W/workshop", abi.HostDenied},
		{"a read-only mount in a writable one", "$W/work/ro", abi.HostDenied},
		{"in a nested read-only mount", "$W/work/ro/sub", abi.HostDenied},
		{"through a link to a read-only mount", "$W/work/readonly", abi.HostDenied},
		{"through a link out of the grant", "$W/work/out", abi.HostDenied},
		{"an ungranted directory", "$W/other", abi.HostDenied},
		{"in an ungranted directory", "$W/other/sub", abi.HostDenied},
		{"an ancestor of granted directories", "$W", abi.HostDenied},
		{"the root", "/", abi.HostDenied},
		{"a denied directory", "$W/work/.private", abi.HostDenied},
		{"in a denied directory", "$W/work/.private/sub", abi.HostDenied},
		{"a directory of the host", "$W/work/own", abi.HostDenied},
		{"a .git directory", "$W/work/.git", abi.HostDenied},
		{"in a .git directory", "$W/work/.git/hooks", abi.HostDenied},
		{"through a link to a .git directory", "$W/work/git", abi.HostDenied},
		{"an absent directory", "$W/work/none", abi.HostFailed},
		{"an absent granted directory", "$W/to-come", abi.HostFailed},
		{"a file", "$W/work/file", abi.HostFailed},
		{"a relative path", "work", abi.HostInvalid},
		{"a path with NUL", "$W/work/\x00", abi.HostFailed},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, state := range []string{w.path("$W/states"), ""} {
				locker := w.locker(t, Setup{Plugin: "p", Grant: grant, Own: []string{w.path("$W/work/own")}, Places: config.Places{State: state}})
				short, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				call := locker.Begin()
				err := call.Lock(short, abi.Lock{Name: "n", Folder: w.path(test.folder)})
				if got := hostCode(t, err); got != test.code {
					t.Errorf("state %q: got %v, want the code %q", state, err, test.code)
				}
				if test.code != "" && len(call.names)+len(call.dirs) > 0 {
					t.Errorf("after a failed lock the call holds %d names and %d directories", len(call.names), len(call.dirs))
				}
				call.End()
			}
		})
	}
	if left, err := os.ReadDir(w.path("$W/work/empty")); err != nil || len(left) > 0 {
		t.Errorf("a directory that was locked contains %v, %v; want nothing", left, err)
	}
}

// A directory lock excludes calls of other users, of other plugins, and with other names.
func TestLockedDirectoryExcludesOtherCalls(t *testing.T) {
	w := newWorld(t)
	held := abi.Lock{Name: "n", Folder: w.path("$W/work/sub")}
	for _, test := range []struct {
		name          string
		plugin, state string
		ask           abi.Lock
		waits         bool
	}{
		{"another user", "p", "$W/other", held, true},
		{"a user without a state directory", "p", "", held, true},
		{"another plugin", "q", "$W/states", held, true},
		{"another name", "p", "$W/states", abi.Lock{Name: "m", Folder: held.Folder}, true},
		{"another path", "p", "$W/other", abi.Lock{Name: "n", Folder: w.path("$W/work/way/sub")}, true},
		{"another user, another directory", "p", "$W/other", abi.Lock{Name: "n", Folder: w.path("$W/work")}, false},
		{"another user, only the name", "p", "$W/other", abi.Lock{Name: "n"}, false},
		{"the same user, another directory, the name", "p", "$W/states", abi.Lock{Name: "n", Folder: w.path("$W/work")}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := os.Symlink("../work", w.path("$W/work/way")); err != nil && !os.IsExist(err) {
				t.Fatal(err)
			}
			one := w.locker(t, Setup{Plugin: "p", Grant: w.grant("rw $W/work"), Places: config.Places{State: w.path("$W/states")}})
			two := w.locker(t, Setup{Plugin: test.plugin, Grant: w.grant("rw $W/work"), Places: config.Places{State: w.path(test.state)}})
			call := one.Begin()
			defer call.End()
			if err := call.Lock(t.Context(), held); err != nil {
				t.Fatal(err)
			}
			long, end := context.WithTimeout(t.Context(), 10*time.Second)
			defer end()
			waiting := two.Begin()
			defer waiting.End()
			if !test.waits {
				if err := waiting.Lock(long, test.ask); err != nil {
					t.Error(err)
				}
				return
			}
			short, cancel := context.WithTimeout(long, 20*time.Millisecond)
			defer cancel()
			if err := waiting.Lock(short, test.ask); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("while another call holds the lock: got %v, want a timeout", err)
			}
			taken := make(chan error)
			go func() { taken <- waiting.Lock(long, test.ask) }()
			call.End()
			if err := <-taken; err != nil {
				t.Errorf("after the other call released the lock: got %v", err)
			}
		})
	}
}

// A call that holds the lock of a directory can acquire it again by any name and path. It holds the lock once.
func TestLockIsReentrantWithinCall(t *testing.T) {
	w := newWorld(t)
	if err := os.Symlink("sub", w.path("$W/work/in")); err != nil {
		t.Fatal(err)
	}
	locker := w.locker(t, Setup{Plugin: "p", Grant: w.grant("rw $W/work"), Places: config.Places{State: w.path("$W/states")}})
	call := locker.Begin()
	defer call.End()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for _, ask := range []abi.Lock{{Name: "n"}, {Name: "n", Folder: "$W/work/sub"}, {Name: "m", Folder: "$W/work/in"}, {Name: "n", Folder: "$W/work/./sub/"}} {
		ask.Folder = w.path(ask.Folder)
		if err := call.Lock(ctx, ask); err != nil {
			t.Errorf("lock %v again: got %v", ask, err)
		}
	}
	if len(call.names) != 2 || len(call.dirs) != 1 {
		t.Errorf("the call holds %d names and %d directories, want 2 and 1", len(call.names), len(call.dirs))
	}
}

func TestLockedDirectoriesAreBounded(t *testing.T) {
	w := newWorld(t)
	locker := w.locker(t, Setup{Plugin: "p", Grant: w.grant("rw $W/work")})
	call := locker.Begin()
	defer call.End()
	for i := range 17 {
		folder := w.path("$W/work/") + strings.Repeat("n", i+1)
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		err := call.Lock(t.Context(), abi.Lock{Name: "n", Folder: folder})
		if over := i == 16; over != (err != nil && strings.Contains(err.Error(), "locks of 16 directories, the maximum")) {
			t.Errorf("lock of directory %d: got %v, want an error only beyond 16", i, err)
		}
	}
	for _, held := range []string{"n", strings.Repeat("n", 16)} {
		if err := call.Lock(t.Context(), abi.Lock{Name: "n", Folder: w.path("$W/work/") + held}); err != nil {
			t.Errorf("lock of a directory whose lock the call holds: got %v", err)
		}
	}
}

// If a directory is replaced while a call waits for its lock, the call locks the directory that is then at the path.
func TestLockFollowsReplacedDirectory(t *testing.T) {
	w := newWorld(t)
	locker := w.locker(t, Setup{Plugin: "p", Grant: w.grant("rw $W/work")})
	folder := w.path("$W/work/sub")
	call := locker.Begin()
	defer call.End()
	if err := call.Lock(t.Context(), abi.Lock{Name: "n", Folder: folder}); err != nil {
		t.Fatal(err)
	}
	waiting := locker.Begin()
	defer waiting.End()
	waits, taken := make(chan struct{}, 1), make(chan error)
	locker.flock = func(fd, how int) error {
		err := unix.Flock(fd, how)
		if err != nil {
			select {
			case waits <- struct{}{}:
			default:
			}
		}
		return err
	}
	go func() { taken <- waiting.Lock(t.Context(), abi.Lock{Name: "n", Folder: folder}) }()
	<-waits
	if err := errors.Join(os.Rename(folder, folder+"-old"), os.Mkdir(folder, 0o755)); err != nil {
		t.Fatal(err)
	}
	call.End()
	if err := <-taken; err != nil {
		t.Fatal(err)
	}
	late := locker.Begin()
	defer late.End()
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := late.Lock(short, abi.Lock{Name: "n", Folder: folder}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("lock of the new directory, which is held: got %v, want a timeout", err)
	}
	if err := late.Lock(t.Context(), abi.Lock{Name: "n", Folder: folder + "-old"}); err != nil {
		t.Errorf("lock of the old directory, which is free: got %v", err)
	}
}

// If the file system cannot lock directories, a call locks only the name, and the host logs this once.
func TestFileSystemWithoutLocksUsesNameOnly(t *testing.T) {
	for _, errno := range []unix.Errno{unix.ENOLCK, unix.EOPNOTSUPP, unix.EBADF} {
		t.Run(errno.Error(), func(t *testing.T) {
			w := newWorld(t)
			var log strings.Builder
			ask := abi.Lock{Name: "n", Folder: w.path("$W/work")}
			locker := w.locker(t, Setup{
				Plugin: "p", Grant: w.grant("rw $W/work"), Places: config.Places{State: w.path("$W/states")},
				Log: hclog.New(&hclog.LoggerOptions{Output: &log}),
			})
			locker.flock = func(fd, how int) error {
				var stat unix.Stat_t
				if err := unix.Fstat(fd, &stat); err != nil || stat.Mode&unix.S_IFMT == unix.S_IFDIR {
					return errors.Join(err, errno)
				}
				return unix.Flock(fd, how)
			}
			call := locker.Begin()
			defer call.End()
			for range 2 {
				if err := call.Lock(t.Context(), ask); err != nil {
					t.Fatal(err)
				}
			}
			waiting := locker.Begin()
			defer waiting.End()
			short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			if err := waiting.Lock(short, ask); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("lock of the name, which is held: got %v, want a timeout", err)
			}
			if n := strings.Count(log.String(), "cannot be locked"); n != 1 || len(call.dirs) > 0 {
				t.Errorf("%d warnings, want 1; the call holds %d directories, want none; the log:\n%s", n, len(call.dirs), log.String())
			}
			nowhere := w.locker(t, Setup{Plugin: "p", Grant: w.grant("rw $W/work")})
			nowhere.flock = locker.flock
			err := nowhere.Begin().Lock(t.Context(), ask)
			if got := hostCode(t, err); got != abi.HostUnavailable {
				t.Errorf("lock without a state directory: got %v, want the code %s", err, abi.HostUnavailable)
			}
		})
	}
}

func TestDirectoryThatDisappearsIsNotLocked(t *testing.T) {
	w := newWorld(t)
	locker := w.locker(t, Setup{Plugin: "p", Grant: w.grant("rw $W/work"), Places: config.Places{State: w.path("$W/states")}})
	folder := w.path("$W/work/sub")
	locker.flock = func(fd, how int) error {
		if err := os.Remove(folder); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
		return unix.Flock(fd, how)
	}
	call := locker.Begin()
	defer call.End()
	if err := call.lockDir(t.Context(), folder); hostCode(t, err) != abi.HostFailed || len(call.dirs) > 0 {
		t.Errorf("got %v; the call holds %d directories", err, len(call.dirs))
	}
}

// A lock that a call holds stays if a later request for the same name fails.
func TestFailedLockKeepsEarlierLock(t *testing.T) {
	w := newWorld(t)
	locker := w.locker(t, Setup{Plugin: "p", Grant: w.grant("rw $W/work"), Places: config.Places{State: w.path("$W/states")}})
	call := locker.Begin()
	defer call.End()
	if err := call.Lock(t.Context(), abi.Lock{Name: "n"}); err != nil {
		t.Fatal(err)
	}
	if err := call.Lock(t.Context(), abi.Lock{Name: "n", Folder: w.path("$W/work/absent")}); hostCode(t, err) != abi.HostFailed {
		t.Errorf("an absent directory: got %v", err)
	}
	if len(call.names) != 1 {
		t.Error("the call has lost its lock")
	}
}

// An error of the lock itself, other than that the file system has none, fails the operation, and leaves nothing locked.
func TestErrorOfLockIsReturned(t *testing.T) {
	w := newWorld(t)
	locker := w.locker(t, Setup{Plugin: "p", Grant: w.grant("rw $W/work"), Places: config.Places{State: w.path("$W/states")}})
	call := locker.Begin()
	defer call.End()
	tries := 0
	locker.flock = func(int, int) error {
		if tries++; tries == 1 {
			return unix.EINTR
		}
		return unix.EIO
	}
	for name, lock := range map[string]func() error{
		"name":      func() error { return call.Lock(t.Context(), abi.Lock{Name: "n"}) },
		"directory": func() error { return call.lockDir(t.Context(), w.path("$W/work")) },
	} {
		if err := lock(); !errors.Is(err, unix.EIO) || len(call.names)+len(call.dirs) > 0 {
			t.Errorf("%s: got %v; the call holds %d names and %d directories", name, err, len(call.names), len(call.dirs))
		}
	}
	locker.flock = unix.Flock
	if err := os.Mkdir(w.path("$W/states/.locks/p/")+lockFile("dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := call.Lock(t.Context(), abi.Lock{Name: "dir"}); !errors.Is(err, unix.EISDIR) {
		t.Errorf("a directory in place of the file of a lock: got %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := call.Lock(ended, abi.Lock{Name: "free"}); !errors.Is(err, context.Canceled) || len(call.names) > 0 {
		t.Errorf("a call that has ended: got %v", err)
	}
}

// The wait between two tries doubles from 1 ms to 25 ms.
func TestLockBacksOff(t *testing.T) {
	file, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	synctest.Test(t, func(t *testing.T) {
		var waits []time.Duration
		last := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 110*time.Millisecond)
		defer cancel()
		locker := &Locker{flock: func(int, int) error {
			waits = append(waits, time.Since(last)/time.Millisecond)
			last = time.Now()
			return unix.EWOULDBLOCK
		}}
		if err := locker.acquire(ctx, file); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if want := []time.Duration{0, 1, 2, 4, 8, 16, 25, 25, 25}; !slices.Equal(waits, want) {
			t.Errorf("waited %d, want %d", waits, want)
		}
	})
}

func TestClosedLockerRefuses(t *testing.T) {
	w := newWorld(t)
	locker := w.locker(t, Setup{Plugin: "p", Grant: w.grant("rw $W/work"), Places: config.Places{State: w.path("$W/states")}})
	call := locker.Begin()
	defer call.End()
	locker.Close()
	if err := call.Lock(t.Context(), abi.Lock{Name: "n"}); err == nil || len(call.names) > 0 {
		t.Errorf("got %v", err)
	}
}

// The host tells the Locker when it has created a granted directory.
func TestCreatedDirectoryCanBeLocked(t *testing.T) {
	w := newWorld(t)
	locker := w.locker(t, Setup{Plugin: "p", Grant: w.grant("rw $W/work/new")})
	folder := w.path("$W/work/new")
	call := locker.Begin()
	defer call.End()
	if err := call.Lock(t.Context(), abi.Lock{Name: "n", Folder: folder}); hostCode(t, err) != abi.HostFailed {
		t.Errorf("an absent directory: got %v", err)
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := os.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := locker.Created(w.path("$W/work/sub"), dir); err == nil {
		t.Error("a directory that is not granted itself was accepted")
	}
	if err := locker.Created(folder, dir); err != nil {
		t.Fatal(err)
	}
	if err := call.Lock(t.Context(), abi.Lock{Name: "n", Folder: folder}); err != nil {
		t.Error(err)
	}
}

func TestSameFileReportsClosedFiles(t *testing.T) {
	open, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	closed, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	for _, files := range [][2]*os.File{{open, closed}, {closed, open}} {
		if same, err := sameFile(files[0], files[1]); err == nil || same {
			t.Errorf("got %t, %v", same, err)
		}
	}
	if held, err := (&Locks{dirs: []*os.File{closed, open}}).holdsDir(open); err == nil || held {
		t.Errorf("got %t, %v", held, err)
	}
}
