// Package faultfs is a file system for tests in which chosen operations fail. Wrap another file system in FS, set Mode and At, and run the
// code under test. The function Each does this once for each operation.
//
// Stability: additions only within a major version.
package faultfs

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"syscall"

	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// ErrInjected is the error of operations that faultfs makes fail.
var ErrInjected = errors.New("injected fault")

// Mode is the kind of failure to inject.
type Mode string

// Values of Mode. The failure begins at the operation with the number FS.At.
const (
	Nothing Mode = ""
	Fail    Mode = "the operation fails"
	FailAll Mode = "the operation and all later ones fail"
	// With Full, all operations that need disk space fail, from the operation At on.
	Full Mode = "the disk is full"
	// With KillBefore, KillDuring and KillAfter, the process ends at the operation At: all later operations fail and have no effect. If
	// that operation is a write, KillDuring leaves half of the data that it writes.
	KillBefore Mode = "the process is killed before the operation"
	KillDuring Mode = "the process is killed during the operation"
	KillAfter  Mode = "the process is killed after the operation"
)

// Modes contains all modes except Nothing.
var Modes = []Mode{Fail, FailAll, Full, KillBefore, KillDuring, KillAfter}

// FS passes operations on to another file system, counts those that change something, and makes some of them fail. Use a new FS for each run
// of the code under test. An FS is not safe for concurrent use.
type FS struct {
	filesystem.FS
	Mode Mode
	At   int // number of the operation at which Mode begins; the first is 1
	// Reads is set to count operations that change nothing too.
	Reads bool
	// NoLinks makes every call of Link fail, as on a file system without hard links.
	NoLinks bool
	// Before is called before each operation, with the name of the operation, such as "rename", and the path that it creates or changes.
	Before func(operation, path string)

	operations []string
}

// Each calls run repeatedly, each time with a new file system, whose At is 1, 2, and so on. It ends when run performs fewer operations than
// At.
func Each(fsys filesystem.FS, mode Mode, run func(f *FS)) {
	for at := 1; ; at++ {
		f := &FS{FS: fsys, Mode: mode, At: at}
		run(f)
		if f.Count() < at {
			return
		}
	}
}

// Count returns the number of operations so far, including those that failed.
func (f *FS) Count() int { return len(f.operations) }

// Operations returns the operations so far, each in the form "rename /path".
func (f *FS) Operations() []string { return f.operations }

// Reached reports whether the operation with the number At has been performed.
func (f *FS) Reached() bool { return f.Count() >= f.At }

// killed reports whether the process has been killed, according to Mode.
func (f *FS) killed() bool {
	return f.Reached() && strings.HasPrefix(string(f.Mode), "the process is killed")
}

// Do calls run and counts that as an operation. It is for a file system that has operations beyond those of filesystem.FS.
func (f *FS) Do(operation, path string, run func() error) error {
	return f.do(operation, path, run, none)
}

// space lists the operations that need disk space.
var space = map[string]bool{"create": true, "write": true, "mkdir": true, "link": true, "symlink": true, "sync": true}

// do performs an operation by calling run. If the process is killed during the operation, half performs the part that takes effect.
func (f *FS) do(operation, path string, run, half func() error) error {
	if f.killed() {
		return injected(operation, path, ErrInjected)
	}
	f.operations = append(f.operations, operation+" "+path)
	if f.Before != nil {
		f.Before(operation, path)
	}
	now, reached := f.Count() == f.At, f.Reached()
	switch {
	case now && f.Mode == KillAfter:
		_ = run()
	case now && f.Mode == KillBefore:
	case now && (f.Mode == Fail || f.Mode == KillDuring), reached && f.Mode == FailAll:
		_ = half()
	case reached && f.Mode == Full && space[operation]:
		return errors.Join(injected(operation, path, syscall.ENOSPC), half())
	default:
		return run()
	}
	return injected(operation, path, ErrInjected)
}

func injected(operation, path string, err error) error {
	return &fs.PathError{Op: operation, Path: path, Err: err}
}

func none() error { return nil }

// read performs an operation that changes nothing. If the path is absent, that is a result and not a failure.
func (f *FS) read(operation, path string, run func() error) error {
	if !f.Reads {
		return run()
	}
	return f.do(operation, path, run, none)
}

// Lstat implements filesystem.FS, as the following methods do.
func (f *FS) Lstat(path string) (info fs.FileInfo, err error) {
	err = f.read("lstat", path, func() error { info, err = f.FS.Lstat(path); return err })
	return info, err
}

// Stat implements filesystem.FS.
func (f *FS) Stat(path string) (info fs.FileInfo, err error) {
	err = f.read("stat", path, func() error { info, err = f.FS.Stat(path); return err })
	return info, err
}

// Readlink implements filesystem.FS.
func (f *FS) Readlink(path string) (target string, err error) {
	err = f.read("readlink", path, func() error { target, err = f.FS.Readlink(path); return err })
	return target, err
}

// CheckWritable implements filesystem.FS.
func (f *FS) CheckWritable(dir string) error {
	return f.read("check", dir, func() error { return f.FS.CheckWritable(dir) })
}

// Open implements filesystem.FS.
func (f *FS) Open(path string) (file io.ReadCloser, err error) {
	err = f.read("open", path, func() error { file, err = f.FS.Open(path); return err })
	if err != nil {
		if file != nil {
			_ = file.Close() // the system closes the files of a process that is killed
		}
		return nil, err
	}
	return &faultyReader{file, f, path}, nil
}

// ReadDir implements filesystem.FS.
func (f *FS) ReadDir(path string) (entries []fs.DirEntry, err error) {
	err = f.read("readdir", path, func() error { entries, err = f.FS.ReadDir(path); return err })
	return entries, err
}

// Create implements filesystem.FS.
func (f *FS) Create(path string, mode fs.FileMode) (file filesystem.File, err error) {
	err = f.do("create", path, func() error { file, err = f.FS.Create(path, mode); return err }, none)
	if err != nil {
		if file != nil {
			_ = file.Close() // the system closes the files of a process that is killed
		}
		return nil, err
	}
	return &faultyFile{file, f, path}, nil
}

// Mkdir implements filesystem.FS.
func (f *FS) Mkdir(path string, mode fs.FileMode) error {
	return f.do("mkdir", path, func() error { return f.FS.Mkdir(path, mode) }, none)
}

// Link implements filesystem.FS.
func (f *FS) Link(from, to string) error {
	return f.do("link", to, func() error {
		if f.NoLinks {
			return injected("link", to, syscall.ENOTSUP)
		}
		return f.FS.Link(from, to)
	}, none)
}

// Symlink implements filesystem.FS.
func (f *FS) Symlink(target, path string) error {
	return f.do("symlink", path, func() error { return f.FS.Symlink(target, path) }, none)
}

// Rename implements filesystem.FS.
func (f *FS) Rename(from, to string) error {
	return f.do("rename", to, func() error { return f.FS.Rename(from, to) }, none)
}

// Remove implements filesystem.FS. Removing an absent path counts as an operation that changes nothing.
func (f *FS) Remove(path string) error {
	if _, err := f.FS.Lstat(path); err != nil && !f.Reads {
		return f.FS.Remove(path)
	}
	return f.do("remove", path, func() error { return f.FS.Remove(path) }, none)
}

// CopyMode implements filesystem.FS. Copying the mode of an absent path counts as an operation that changes nothing.
func (f *FS) CopyMode(from, to string) error {
	if _, err := f.FS.Lstat(from); err != nil {
		return f.FS.CopyMode(from, to)
	}
	return f.do("chmod", to, func() error { return f.FS.CopyMode(from, to) }, none)
}

// SyncDir implements filesystem.FS.
func (f *FS) SyncDir(path string) error {
	return f.do("sync directory", path, func() error { return f.FS.SyncDir(path) }, none)
}

type faultyReader struct {
	io.ReadCloser
	fs   *FS
	path string
}

func (r *faultyReader) Read(buffer []byte) (n int, err error) {
	err = r.fs.read("read", r.path, func() error { n, err = r.ReadCloser.Read(buffer); return err })
	return n, err
}

type faultyFile struct {
	filesystem.File
	fs   *FS
	path string
}

func (w *faultyFile) Write(data []byte) (n int, err error) {
	err = w.fs.do("write", w.path, func() error { n, err = w.File.Write(data); return err },
		func() error { n, err = w.File.Write(data[:len(data)/2]); return err })
	return n, err
}

func (w *faultyFile) Sync() error { return w.fs.do("sync", w.path, w.File.Sync, none) }
