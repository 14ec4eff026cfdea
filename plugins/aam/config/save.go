package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// save atomically replaces the content of the configuration file at path, and creates the directory of the file if the
// directory does not exist. It follows a symbolic link to a file in the same directory. The file keeps its permission
// bits, because it may contain a password.
func save(s files.System, path string, data []byte) error {
	folder := filepath.Dir(path)
	if err := atomicfile.MkdirAll(folder, atomicfile.Options{FS: s}); err != nil {
		return denied(path, err)
	}
	real, err := files.Inside(s, folder, path)
	if err != nil {
		return denied(path, err)
	}
	files.SweepTemp(s, real)
	if err := files.Replace(s, real, data); err != nil {
		return denied(path, err)
	}
	return nil
}

// denied adds a hint to a permission error, which says how to grant the directory of path.
func denied(path string, err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, contain.ErrOutside) {
		return fault.New(fault.PermissionDenied, "configuration %s cannot be written: %w", path, err).
			WithHint("Grant the directory " + filepath.Dir(path) + " to the plugin with access rw")
	}
	return fmt.Errorf("configuration %s: %w", path, err)
}
