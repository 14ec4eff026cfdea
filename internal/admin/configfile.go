package admin

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/internal/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
)

// configFile is a config to edit.
type configFile struct {
	path   string // as the caller named it
	target string // path with symbolic links resolved
	data   []byte
	exists bool
}

// readConfigFile reads the config at path, which need not exist.
func readConfigFile(path string) (*configFile, error) {
	f := &configFile{path: path, target: path}
	target, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, lerr := os.Lstat(path); lerr == nil {
			return nil, usageErrorf("%s is a dangling symbolic link: remove it", path)
		}
		return f, nil
	case err != nil:
		return nil, usageErrorf("%s: %w", path, err)
	}
	f.target, f.exists = target, true
	if f.data, err = tomlfile.ReadFile(target); err != nil {
		return nil, usageErrorf("%s: %w", path, err)
	}
	return f, nil
}

// replace replaces the file atomically. It refuses if the file has changed since it was read.
func (f *configFile) replace(content []byte) error {
	current, err := readConfigFile(f.path)
	if err != nil {
		return err
	}
	if current.exists != f.exists || current.target != f.target || !bytes.Equal(current.data, f.data) {
		return usageErrorf("%s has changed since it was read: review it, and try again", f.path)
	}
	// Other users must not read a new config: variables in it may have values.
	fresh, err := atomicfile.New(f.target, atomicfile.Options{Mode: 0o600, Pattern: ".bulkhead-*.tmp"})
	if err != nil {
		return usageErrorf("%s cannot be written: %w", f.path, cause(err))
	}
	_, _ = fresh.Write(content) // Replace returns the error
	if err := fresh.Replace(); err != nil {
		return fmt.Errorf("%s cannot be written: %w", f.path, err)
	}
	f.data, f.exists = content, true
	return nil
}

// cause strips the path from an error: the message names the file already, and the path may be that of a temporary file.
func cause(err error) error {
	var perr *fs.PathError
	if errors.As(err, &perr) {
		return perr.Err
	}
	return err
}
