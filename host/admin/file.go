package admin

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/host/tomlfile"
)

// configFile is a config that is edited.
type configFile struct {
	path   string // as it was named
	target string // where its links lead
	data   []byte
	mode   fs.FileMode
	exists bool
}

// newConfigMode keeps others from reading a config, in which variables may have values.
const newConfigMode = 0o600

// readConfigFile reads the config at path, which need not exist.
func readConfigFile(path string) (*configFile, error) {
	f := &configFile{path: path, target: path, mode: newConfigMode}
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
	info, err := os.Stat(target)
	if err != nil {
		return nil, usage("%s: %w", path, err)
	}
	f.target, f.mode, f.exists = target, info.Mode().Perm(), true
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
	dir := filepath.Dir(f.target)
	fresh, err := os.CreateTemp(dir, "."+filepath.Base(f.target)+".*")
	if err != nil {
		return usage("%s cannot be written: %w", f.path, cause(err))
	}
	defer os.Remove(fresh.Name())
	_, err = fresh.Write(content)
	if err == nil {
		err = fresh.Chmod(f.mode)
	}
	if err == nil {
		err = fresh.Sync()
	}
	if err = errors.Join(err, fresh.Close()); err == nil {
		err = os.Rename(fresh.Name(), f.target)
	}
	if err != nil {
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
