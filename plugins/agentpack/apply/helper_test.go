package apply_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/apply"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
)

// tree creates files by path in a new directory. A path that ends in a slash is a directory; a content that
// begins with "-> " is a symbolic link.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(dir(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		put(t, filepath.Join(root, name), name, content)
	}
	return root
}

// dir returns an empty directory, in memory if possible: these tests create thousands.
func dir(t testing.TB) string {
	t.Helper()
	path, err := os.MkdirTemp("/dev/shm", "agentpack-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(path); err != nil {
			t.Error(err)
		}
	})
	return path
}

func put(t testing.TB, path, name, content string) {
	t.Helper()
	parent := filepath.Dir(path)
	if strings.HasSuffix(name, "/") {
		parent = path
	}
	err := os.MkdirAll(parent, 0o755)
	if target, ok := strings.CutPrefix(content, "-> "); ok && err == nil {
		err = os.Symlink(target, path)
	} else if parent != path && err == nil {
		err = os.WriteFile(path, []byte(content), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// look returns what is below a directory, with modes.
func look(t testing.TB, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, root+"/")
		switch {
		case entry.IsDir():
			found[name+"/"] = ""
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			found[name] = "-> " + target
			return err
		default:
			content, err := os.ReadFile(path)
			found[name] = fmt.Sprintf("%o %s", info.Mode().Perm(), content)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func sum(content string) string { return disk.SumBytes([]byte(content)) }

// same fails the test unless the files below root are as wanted.
func same(t testing.TB, root string, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, look(t, root)); diff != "" {
		t.Errorf("below the root: %s", diff)
	}
}

// noJournal fails the test if a journal is left.
func noJournal(t testing.TB, a apply.Applier) {
	t.Helper()
	if entries, err := os.ReadDir(a.Dir); err == nil && len(entries) > 0 {
		t.Errorf("left in the journal's directory: %v", entries)
	}
}

var (
	errInjected = errors.New("injected")
	errKilled   = errors.New("killed")
)

// faulty is a file system in which one operation fails or kills the process.
type faulty struct {
	apply.FS
	at    int // number of that operation, from 1
	count int
	what  mishap
	// changesOnly counts only operations that write: a kill before a read is the same as a kill after the
	// previous write.
	changesOnly bool
	hook        func(name, path string)
}

type mishap string

const (
	failsOnce   mishap = "fails"
	failsFromOn mishap = "and all later ones fail"
	diskIsFull  mishap = "finds the disk full from then on"
	killedFirst mishap = "is killed before it"
	killedMid   mishap = "is killed in the middle of it"
	killedAfter mishap = "is killed after it"
	hooked      mishap = "follows another program's change"
)

// do runs one operation. half is the partial effect of an interrupted write.
func (f *faulty) do(name, path string, takesSpace bool, run, half func() error) error {
	if reads := name == "lstat" || name == "readdir" || name == "read"; !reads || !f.changesOnly {
		f.count++
	} else {
		return run()
	}
	now, later := f.count == f.at, f.count > f.at
	switch {
	case now && f.what == failsOnce, (now || later) && f.what == failsFromOn:
		return errors.Join(errInjected, half())
	case (now || later) && f.what == diskIsFull && takesSpace:
		return errors.Join(syscall.ENOSPC, half())
	case now && f.what == killedFirst:
		panic(errKilled)
	case now && f.what == killedMid:
		if err := half(); err != nil {
			panic(err)
		}
		panic(errKilled)
	case now && f.what == killedAfter:
		if err := run(); err != nil {
			panic(err)
		}
		panic(errKilled)
	case now && f.what == hooked:
		f.hook(name, path)
	}
	return run()
}

func nothing() error { return nil }

func (f *faulty) Lstat(path string) (info fs.FileInfo, err error) {
	err = f.do("lstat", path, false, func() error { info, err = f.FS.Lstat(path); return ignoreMissing(err) }, nothing)
	if err == nil && info == nil {
		return nil, fs.ErrNotExist
	}
	return info, err
}

// ignoreMissing drops the error of an operation on a file that does not exist, which is an answer and not a
// failure.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (f *faulty) ReadDir(path string) (entries []fs.DirEntry, err error) {
	err = f.do("readdir", path, false, func() error { entries, err = f.FS.ReadDir(path); return err }, nothing)
	return entries, err
}

func (f *faulty) ReadFile(path string) (content []byte, err error) {
	err = f.do("read", path, false, func() error { content, err = f.FS.ReadFile(path); return err }, nothing)
	return content, err
}

func (f *faulty) WriteNew(path string, content []byte, like string) error {
	return f.do("write", path, true, func() error { return f.FS.WriteNew(path, content, like) },
		func() error { return f.FS.WriteNew(path, content[:len(content)/2], like) })
}

func (f *faulty) Mkdir(path string) error {
	return f.do("mkdir", path, true, func() error { return f.FS.Mkdir(path) }, nothing)
}

func (f *faulty) Link(from, to string) error {
	return f.do("link", to, true, func() error { return f.FS.Link(from, to) }, nothing)
}

func (f *faulty) Rename(from, to string) error {
	return f.do("rename", to, false, func() error { return f.FS.Rename(from, to) }, nothing)
}

func (f *faulty) Remove(path string) error {
	missing := false
	err := f.do("remove", path, false, func() error {
		err := f.FS.Remove(path)
		missing = errors.Is(err, fs.ErrNotExist)
		return ignoreMissing(err)
	}, nothing)
	if missing {
		return fs.ErrNotExist
	}
	return err
}

// survive runs a function that may be killed, and reports whether it was.
func survive(run func()) (killed bool) {
	defer func() {
		if err := recover(); err != nil {
			if err != error(errKilled) {
				panic(err)
			}
			killed = true
		}
	}()
	run()
	return false
}
