package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
)

// save replaces the content of a configuration file atomically. Its directory is created if absent; a symbolic link that
// stays inside of it is followed.
func save(s files.System, path string, data []byte) error {
	folder := filepath.Dir(path)
	if err := files.MkdirAll(s, folder); err != nil {
		return denied(path, err)
	}
	real, err := files.Inside(s, folder, path)
	if err != nil {
		return denied(path, err)
	}
	files.SweepTemp(s, real)
	if err := replace(s, real, data); err != nil {
		return denied(path, err)
	}
	return nil
}

// replace is files.Replace, but keeps the permission bits. They are set before data is written, which may contain a
// password.
func replace(s files.System, path string, data []byte) error {
	temp := files.TempName(path)
	file, err := s.Create(temp)
	if err != nil {
		return err
	}
	err = fill(s, file, temp, path, data)
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = s.Rename(temp, path)
	}
	if err != nil {
		_ = s.Remove(temp)
	}
	return err
}

func fill(s files.System, file io.Writer, temp, path string, data []byte) error {
	if err := files.CopyMode(s, path, temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, err := file.Write(data)
	return err
}

// denied adds a hint to a permission error: the directory has to be granted.
func denied(path string, err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, files.ErrOutside) {
		return fault.New(fault.PermissionDenied, "configuration %s cannot be written: %w", path, err).
			WithHint("The folder " + filepath.Dir(path) + " has to be granted with access rw")
	}
	return fmt.Errorf("configuration %s: %w", path, err)
}
