// Package faultfs is a file system for tests in which chosen operations fail. Wrap another file system in FS, set Mode
// and At, and run the code under test once for each operation: Each does this.
//
// Stability: additions only within a major version.
package faultfs

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"

	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// ErrInjected is the error with which operations fail.
var ErrInjected = errors.New("injected fault")

// Mode is the kind of failure that is injected.
type Mode string

// The modes. Each begins at operation FS.At.
const (
	Nothing Mode = ""
	Fail    Mode = "the operation fails"
	FailAll Mode = "the operation and all later ones fail"
	// Full makes this and all later operations fail that need disk space.
	Full Mode = "the disk is full"
	// KillBefore, KillDuring and KillAfter end the process at the operation: all later ones fail and have no effect.
	// KillDuring leaves half of what a write writes.
	KillBefore Mode = "the process is killed before the operation"
	KillDuring Mode = "the process is killed during the operation"
	KillAfter  Mode = "the process is killed after the operation"
)

// Modes contains all modes except Nothing.
var Modes = []Mode{Fail, FailAll, Full, KillBefore, KillDuring, KillAfter}

// FS passes operations on to another file system, counts those that change something, and lets some fail. Use a new FS
// for each run; it is not safe for concurrent use.
type FS struct {
	filesystem.FS
	Mode Mode
	At   int // the operation at which Mode begins, from 1
	// Reads counts operations that change nothing, too.
	Reads bool
	// NoLinks makes every Link fail, as on a file system without hard links.
	NoLinks bool
	// Before is called before each operation, with its name, such as "rename", and the path that it creates or changes.
	Before func(operation, path string)

	operations []string
}

// Each calls the function run repeatedly, with a file system whose At is 1, 2, and so on, until run performs fewer
// operations than At.
func Each(fsys filesystem.FS, mode Mode, run func(f *FS)) {
	for at := 1; ; at++ {
		f := &FS{FS: fsys, Mode: mode, At: at}
		run(f)
		if f.Count() < at {
			return
		}
	}
}

// Count returns how many operations there were, failed ones included.
func (f *FS) Count() int { return len(f.operations) }

// Operations returns the operations so far, as "rename /path".
func (f *FS) Operations() []string { return f.operations }

// Reached reports whether operation At has been performed.
func (f *FS) Reached() bool { return f.Count() >= f.At }

// killed reports whether the process counts as dead.
func (f *FS) killed() bool {
	return f.Reached() && strings.HasPrefix(string(f.Mode), "the process is killed")
}

// Do calls the function run and counts it as an operation. It is for a file system with more operations than
// filesystem.FS has.
func (f *FS) Do(operation, path string, run func() error) error {
	return f.do(operation, path, run, none)
}

// space has the operations that need disk space.
var space = map[string]bool{"create": true, "write": true, "mkdir": true, "link": true, "sync": true}

// do runs an operation. If the process is killed during it, half performs the part that takes effect.
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

// read runs an operation that changes nothing. An absent path is a result and not a failure.
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
			_ = file.Close() // the system closes the files of a killed process
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
