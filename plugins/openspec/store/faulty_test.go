package store_test

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
)

// errInjected is what a step fails with.
var errInjected = errors.New("injected")

// faulty is the disk with something wrong in it. Steps that change something are counted, others not.
type faulty struct {
	store.Disk
	steps []string // what was tried, in order
	// failAt is which step fails, counted from 1; 0: none. It fails before anything is done, but for Create,
	// which leaves half of the content.
	failAt int
	// dieAt is the step at which the program is killed: neither it nor any after it is done. With half, a
	// Create leaves half of its content.
	dieAt int
	// room is how many bytes Create can still write; negative: any.
	room    int
	noLinks bool
}

func newFaulty() *faulty { return &faulty{room: -1} }

// step counts one, and tells whether it is to be done.
func (f *faulty) step(what string) error {
	f.steps = append(f.steps, what)
	n := len(f.steps)
	if n == f.failAt || f.dead() {
		return errInjected
	}
	return nil
}

func (f *faulty) dead() bool { return f.dieAt > 0 && len(f.steps) >= f.dieAt }

func (f *faulty) Create(path string, content []byte, mode fs.FileMode) error {
	first := !f.dead()
	err := f.step("create " + path)
	if err != nil {
		if first { // it is the one that fails, or in which the program dies
			_ = write(path, content[:len(content)/2], mode)
		}
		return err
	}
	if f.room >= 0 {
		if len(content) > f.room {
			_ = write(path, content[:f.room], mode)
			f.room = 0
			return &fs.PathError{Op: "write", Path: path, Err: syscall.ENOSPC}
		}
		f.room -= len(content)
	}
	return write(path, content, mode)
}

// write makes a file as store.Disk does, without waiting for the disk: no test loses its power.
func write(path string, content []byte, mode fs.FileMode) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Close())
}

func (f *faulty) Link(from, to string) error {
	if err := f.step("link " + to); err != nil {
		return err
	}
	if f.noLinks {
		return &fs.PathError{Op: "link", Path: to, Err: syscall.ENOTSUP}
	}
	return f.Disk.Link(from, to)
}

func (f *faulty) Rename(from, to string) error {
	if err := f.step("rename " + to); err != nil {
		return err
	}
	return f.Disk.Rename(from, to)
}

func (f *faulty) Mkdir(path string) error {
	if err := f.step("mkdir " + path); err != nil {
		return err
	}
	return f.Disk.Mkdir(path)
}

func (f *faulty) Remove(path string) error {
	if err := f.step("remove " + path); err != nil {
		return err
	}
	return f.Disk.Remove(path)
}

// did tells whether a step was tried.
func (f *faulty) did(what string) bool { return slices.Contains(f.steps, what) }
