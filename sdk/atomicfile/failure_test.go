package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem/faultfs"
)

// openFiles is the file system of the operating system, with a count of the open files that Create returned.
type openFiles struct {
	filesystem.OS
	count *int
}

func (o openFiles) Create(path string, mode fs.FileMode) (filesystem.File, error) {
	file, err := o.OS.Create(path, mode)
	if err != nil {
		return nil, err
	}
	*o.count++
	return &countedFile{File: file, count: o.count}, nil
}

type countedFile struct {
	filesystem.File
	count  *int
	closed bool
}

func (c *countedFile) Close() error {
	if !c.closed {
		c.closed = true
		*c.count--
	}
	return c.File.Close()
}

// TestEveryFailureIsReported makes each operation fail, and checks that the call returns an error. Links are the exception: a file system
// may lack them. Without an error, the caller would take a file for durable that is lost with the power.
func TestEveryFailureIsReported(t *testing.T) {
	for name, call := range map[string]func(dir string, o atomicfile.Options) error{
		"Replace": func(dir string, o atomicfile.Options) error {
			return atomicfile.Replace(filepath.Join(dir, "old"), []byte("new"), o)
		},
		"Create": func(dir string, o atomicfile.Options) error {
			return atomicfile.Create(filepath.Join(dir, "new"), []byte("new"), o)
		},
		"CreateDir": func(dir string, o atomicfile.Options) error {
			return atomicfile.CreateDir(filepath.Join(dir, "new"), members, o)
		},
		"MkdirAll": func(dir string, o atomicfile.Options) error {
			return atomicfile.MkdirAll(filepath.Join(dir, "new", "below"), o)
		},
		"Sweep": func(dir string, o atomicfile.Options) error { return atomicfile.Sweep(dir, 0, o) },
	} {
		t.Run(name, func(t *testing.T) {
			failed, open := 0, 0
			faultfs.Each(openFiles{count: &open}, faultfs.Fail, func(f *faultfs.FS) {
				f.Reads = true
				dir := t.TempDir()
				must(t, os.WriteFile(filepath.Join(dir, "old"), []byte("old"), 0o644))
				must(t, os.MkdirAll(filepath.Join(dir, ".atomicfile-1.tmp", "left"), 0o755))
				must(t, os.WriteFile(filepath.Join(dir, ".atomicfile-2.tmp"), nil, 0o644))
				err := call(dir, atomicfile.Options{FS: f})
				if open != 0 {
					t.Fatalf("operation %d: %d files are open", f.At, open)
				}
				if !f.Reached() {
					must(t, err)
					return
				}
				failed++
				if operation := f.Operations()[f.At-1]; !errors.Is(err, faultfs.ErrInjected) && !strings.HasPrefix(operation, "link ") {
					t.Errorf("%s failed, and the call returned %v", operation, err)
				}
			})
			if failed < 3 {
				t.Errorf("only %d operations", failed)
			}
		})
	}
}

// lateErrors is a file system that reports failed writes when a file is closed, as NFS does.
type lateErrors struct{ faultfs.FS }

func (l *lateErrors) Create(path string, mode fs.FileMode) (filesystem.File, error) {
	file, err := l.FS.Create(path, mode)
	return lateFile{file}, err
}

type lateFile struct{ filesystem.File }

func (l lateFile) Close() error { return errors.Join(l.File.Close(), syscall.EIO) }

func TestErrorOfCloseIsReported(t *testing.T) {
	for name, call := range map[string]func(path string, o atomicfile.Options) error{
		"Replace":   func(path string, o atomicfile.Options) error { return atomicfile.Replace(path, []byte("new"), o) },
		"Create":    func(path string, o atomicfile.Options) error { return atomicfile.Create(path, []byte("new"), o) },
		"CreateDir": func(path string, o atomicfile.Options) error { return atomicfile.CreateDir(path, members, o) },
	} {
		dir := t.TempDir()
		if err := call(filepath.Join(dir, "new"), atomicfile.Options{FS: &lateErrors{faultfs.FS{FS: filesystem.OS{}}}}); !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: got %v", name, err)
		}
		if left := names(t, dir); len(left) > 0 {
			t.Errorf("%s left %q", name, left)
		}
	}
}

// reservation is a file system without links on which the files that reserve a name cannot be closed.
type reservation struct{ faultfs.FS }

func (r *reservation) Create(path string, mode fs.FileMode) (filesystem.File, error) {
	file, err := r.FS.Create(path, mode)
	if filepath.Base(path) == "new" {
		return lateFile{file}, err
	}
	return file, err
}

func TestErrorOfReservationIsReported(t *testing.T) {
	dir := t.TempDir()
	fsys := &reservation{faultfs.FS{FS: filesystem.OS{}, NoLinks: true}}
	if err := atomicfile.Create(filepath.Join(dir, "new"), []byte("new"), atomicfile.Options{FS: fsys}); !errors.Is(err, syscall.EIO) {
		t.Errorf("got %v", err)
	}
	if left := names(t, dir); len(left) > 0 {
		t.Errorf("left %q", left)
	}
}

func TestIsTemporary(t *testing.T) {
	for name, want := range map[string]bool{".p-1.tmp": true, ".p-.tmp": true, ".p-1.txt": false, "x.p-1.tmp": false, "q-1.tmp": false, "": false} {
		if got := atomicfile.IsTemporary(name, atomicfile.Options{Pattern: ".p-*.tmp"}); got != want {
			t.Errorf("%q: got %t", name, got)
		}
	}
	if atomicfile.IsTemporary("aba", atomicfile.Options{Pattern: "ab*ba"}) {
		t.Error("the prefix and the suffix overlap in a temporary file")
	}
}

func TestSweepOfAnyAgeRemovesFilesOfTheFuture(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, ".atomicfile-1.tmp")
	must(t, os.WriteFile(path, nil, 0o644))
	future := time.Now().Add(time.Hour)
	must(t, os.Chtimes(path, future, future))
	must(t, atomicfile.Sweep(dir, 0, atomicfile.Options{}))
	if left := names(t, dir); len(left) > 0 {
		t.Errorf("left %q", left)
	}
}

// noRoot is a file system without a root directory, as a drive of Windows that does not exist.
type noRoot struct{ filesystem.OS }

func (noRoot) Stat(string) (fs.FileInfo, error) { return nil, syscall.ENOENT }

func TestMkdirAllEndsAtRoot(t *testing.T) {
	if err := atomicfile.MkdirAll(filepath.Join(t.TempDir(), "d"), atomicfile.Options{FS: noRoot{}}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
