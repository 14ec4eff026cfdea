package admin

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/host/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
)

// configFile is a config that is edited.
type configFile struct {
	path   string // as it was named
	target string // where its links lead
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
			return nil, usage("%s is a link to nothing: remove it", path)
		}
		return f, nil
	case err != nil:
		return nil, usage("%s: %w", path, err)
	}
	f.target, f.exists = target, true
	if f.data, err = tomlfile.ReadFile(target); err != nil {
		return nil, usage("%s: %w", path, err)
	}
	return f, nil
}

// replace puts content in the file's place, whole or not at all. It refuses if the file is not as it was
// read.
func (f *configFile) replace(content []byte) error {
	now, err := readConfigFile(f.path)
	if err != nil {
		return err
	}
	if now.exists != f.exists || now.target != f.target || !bytes.Equal(now.data, f.data) {
		return usage("%s was changed in the meantime: look at it, and try again", f.path)
	}
	// Other users must not read a new config: variables in it may have values.
	fresh, err := atomicfile.New(f.target, atomicfile.Options{Mode: 0o600, Pattern: ".bulkhead-*.tmp"})
	if err != nil {
		return usage("%s cannot be written: %w", f.path, cause(err))
	}
	_, _ = fresh.Write(content) // Replace returns the error
	if err := fresh.Replace(); err != nil {
		return fmt.Errorf("%s cannot be written: %w", f.path, err)
	}
	f.data, f.exists = content, true
	return nil
}

// cause leaves out the path of an error, which names a temporary file.
func cause(err error) error {
	var perr *fs.PathError
	if errors.As(err, &perr) {
		return perr.Err
	}
	return err
}
