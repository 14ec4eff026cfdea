//go:build linux || darwin

package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
)

func TestErrnoMapping(t *testing.T) {
	for name, c := range map[string]struct {
		err      error
		want     sys.Errno
		reported bool
		wasi     uint16 // instead of EIO
	}{
		"none":                               {nil, 0, false, 0},
		"the end of a file":                  {io.EOF, 0, false, 0},
		"a wazero errno":                     {syscall.ENOTEMPTY, sys.ENOTEMPTY, false, 0},
		"within a path error":                {&fs.PathError{Op: "open", Path: "x", Err: syscall.ENOENT}, sys.ENOENT, false, 0},
		"within a link error":                {&os.LinkError{Op: "rename", Old: "x", New: "y", Err: syscall.EISDIR}, sys.EISDIR, false, 0},
		"wrapped":                            {fmt.Errorf("x: %w", syscall.EACCES), sys.EACCES, false, 0},
		"joined":                             {errors.Join(syscall.EPERM, nil), sys.EPERM, false, 0},
		"an errno of wazero":                 {sys.ELOOP, sys.ELOOP, false, 0},
		"a closed file":                      {&fs.PathError{Err: os.ErrClosed}, sys.EBADF, false, 0},
		"a read-only file system":            {syscall.EROFS, sys.EROFS, false, 0},
		"a full disk":                        {syscall.ENOSPC, sys.EIO, true, 51},
		"an exceeded quota":                  {syscall.EDQUOT, sys.EIO, true, 19},
		"a file too large":                   {syscall.EFBIG, sys.EIO, true, 22},
		"a disk error":                       {syscall.EIO, sys.EIO, true, 29},
		"another file system":                {syscall.EXDEV, sys.ENOTSUP, true, 0},
		"not supported":                      {syscall.EOPNOTSUPP, sys.ENOTSUP, false, 0},
		"too many open files":                {syscall.EMFILE, sys.EIO, true, 33},
		"too many open files of the system":  {syscall.ENFILE, sys.EIO, true, 41},
		"too many open files of the plugin":  {tooManyOpen(3), sys.EIO, true, 33},
		"a lost file of a network":           {syscall.ESTALE, sys.EIO, true, 72},
		"a program that runs":                {syscall.ETXTBSY, sys.EAGAIN, true, 0},
		"a socket opened as a file":          {syscall.ENXIO, sys.EPERM, true, 0},
		"a number too large":                 {syscall.EOVERFLOW, sys.ERANGE, true, 0},
		"a path out of the directory":        {fmt.Errorf("x: %w", beneath.ErrEscapes), sys.EPERM, true, 0},
		"a device":                           {fmt.Errorf("x: %w", beneath.ErrSpecial), sys.EPERM, true, 0},
		"an unknown errno":                   {syscall.Errno(4000), sys.EIO, true, 29},
		"an error without errno":             {errors.New("path escapes from parent"), sys.EIO, true, 29},
		"a file that is replaced repeatedly": {errChanged, sys.EIO, true, 29},
	} {
		t.Run(name, func(t *testing.T) {
			var got error
			var wasi uint16
			f := New(Config{Errno: func(errno uint16) { wasi = errno }, OnError: func(op, path string, err error) {
				if op != "op" || path != "/a/b" {
					t.Errorf("reported for the operation %s on %s, want op on /a/b", op, path)
				}
				got = err
			}, Denied: func(string, string) { t.Error("reported as denied") }})
			if errno := f.fail("op", "a/b", c.err); errno != c.want {
				t.Errorf("got %v, want %v", errno, c.want)
			}
			if wasi != c.wasi {
				t.Errorf("reported the errno %d of WASI, want %d", wasi, c.wasi)
			}
			if want := map[bool]error{true: c.err}[c.reported]; got != want {
				t.Errorf("reported %v, want %v", got, want)
			}
		})
	}
}

func TestRefusalNamesItsReason(t *testing.T) {
	for want, r := range map[string]refusal{
		"denied: operation not permitted":                                         {errno: sys.EPERM},
		"denied: the symbolic link would resolve outside the granted directories": {errno: sys.EACCES, why: errLinkEscapes},
	} {
		if got := r.Error(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestFailWithoutListeners(t *testing.T) {
	f := New(Config{})
	if errno := f.fail("op", "/", refusal{errno: sys.EPERM}); errno != sys.EPERM {
		t.Errorf("fail with a refusal: got %v, want EPERM", errno)
	}
	if errno := f.fail("op", "/", syscall.ENOSPC); errno != sys.EIO {
		t.Errorf("fail with ENOSPC: got %v, want EIO", errno)
	}
}

// RLIMIT_FSIZE simulates a full disk: both cause partial writes.
func TestPartialWriteIsReported(t *testing.T) {
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	dir := t.TempDir()
	var reported error
	var wasi uint16
	f := New(Config{
		Mounts:  MountsAt(t, Mount{Path: dir, Write: true}),
		Errno:   func(errno uint16) { wasi = errno },
		OnError: func(_, _ string, err error) { reported = err },
	})
	file, errno := f.OpenFile(filepath.Join(dir, "big"), sys.O_WRONLY|sys.O_CREAT, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	defer file.Close()
	const limit = 1 << 16
	low := old
	low.Cur = limit
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &low); err != nil {
		t.Fatal(err)
	}
	n, errno := file.Write(make([]byte, 2*limit))
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	if n != limit || errno != sys.EIO || wasi != 22 || !errors.Is(reported, syscall.EFBIG) {
		t.Errorf("wrote %d bytes, got %v as WASI's %d and the reported error %v; want %d bytes, EIO as 22 and EFBIG", n, errno, wasi, reported, limit)
	}
}
