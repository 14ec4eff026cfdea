package project_test

import (
	"errors"
	"io/fs"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
)

// failing is the disk, on which one step that would make something fails.
type failing struct {
	store.Disk
	steps, failAt int
}

var errFails = errors.New("fails")

func (f *failing) step() error {
	if f.steps++; f.steps == f.failAt {
		return errFails
	}
	return nil
}

func (f *failing) Create(path string, content []byte, mode fs.FileMode) error {
	return errors.Join(f.step(), f.Disk.Create(path, content, mode))
}

func (f *failing) Rename(from, to string) error {
	if err := f.step(); err != nil {
		return err
	}
	return f.Disk.Rename(from, to)
}

func (f *failing) Mkdir(path string) error {
	if err := f.step(); err != nil {
		return err
	}
	return f.Disk.Mkdir(path)
}
