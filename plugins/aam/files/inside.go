package files

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// Inside resolves all symbolic links in path below folder; if the result is outside of folder, the error is
// contain.ErrOutside. Path has to be lexically below folder, whose own links are not resolved. Absent elements are kept.
// It accesses nothing outside of folder, which a sandbox may not grant.
func Inside(s System, folder, path string) (string, error) {
	target, err := (&contain.Resolver{FS: s}).InsideOnly(folder, path)
	switch {
	case errors.Is(err, contain.ErrOutside):
		return "", fmt.Errorf("%s: %w of %s", path, contain.ErrOutside, folder)
	case errors.Is(err, syscall.ELOOP):
		return "", fmt.Errorf("%s: too many links", path)
	}
	return target.Path, err
}

// ReadInside is Read for a file below an untrusted folder. If a symbolic link leads out of folder, the error is
// contain.ErrOutside.
func ReadInside(s System, folder, path string, limit int64) ([]byte, error) {
	real, err := Inside(s, folder, path)
	if err != nil {
		return nil, err
	}
	return Read(s, real, limit)
}
