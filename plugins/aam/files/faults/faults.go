// Package faults provides a file system for fault injection: tests repeat an operation with a failure, or the end of the
// process, at each write in turn.
package faults

import (
	"errors"
	"io"
	"io/fs"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
)

// Err is the injected error.
var Err = errors.New("no space left on device")

// System wraps another System and counts writes: created files, each write to them, and every other change.
type System struct {
	files.System
	FailAt int  // number of the write that fails, from 1; 0 for none
	Kill   bool // all later writes fail too, as if the process had ended

	mu     sync.Mutex
	writes int
}

// Writes returns the number of writes, failed ones included.
func (s *System) Writes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

func (s *System) fails() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	if s.FailAt > 0 && (s.writes == s.FailAt || s.Kill && s.writes > s.FailAt) {
		return Err
	}
	return nil
}

// Create creates a file whose writes count.
func (s *System) Create(path string) (io.WriteCloser, error) {
	if err := s.fails(); err != nil {
		return nil, &fs.PathError{Op: "create", Path: path, Err: err}
	}
	file, err := s.System.Create(path)
	if err != nil {
		return nil, err
	}
	return &writer{file, s, path}, nil
}

// Mkdir counts.
func (s *System) Mkdir(path string) error {
	return s.change("mkdir", path, func() error { return s.System.Mkdir(path) })
}

// Rename counts.
func (s *System) Rename(from, to string) error {
	return s.change("rename", to, func() error { return s.System.Rename(from, to) })
}

// Link counts.
func (s *System) Link(from, to string) error {
	return s.change("link", to, func() error { return s.System.Link(from, to) })
}

// Remove counts.
func (s *System) Remove(path string) error {
	return s.change("remove", path, func() error { return s.System.Remove(path) })
}

// SetMode counts.
func (s *System) SetMode(path string, mode fs.FileMode) error {
	return s.change("chmod", path, func() error { return s.System.SetMode(path, mode) })
}

func (s *System) change(op, path string, do func() error) error {
	if err := s.fails(); err != nil {
		return &fs.PathError{Op: op, Path: path, Err: err}
	}
	return do()
}

type writer struct {
	io.WriteCloser
	system *System
	path   string
}

// Write writes half of the bytes when it fails, like a full disk.
func (w *writer) Write(p []byte) (int, error) {
	if err := w.system.fails(); err != nil {
		n, _ := w.WriteCloser.Write(p[:len(p)/2])
		return n, &fs.PathError{Op: "write", Path: w.path, Err: err}
	}
	return w.WriteCloser.Write(p)
}
