package userfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
)

// CheckOutput returns a *usage.Error if a component of path below the directory base is a symbolic link. Base may be a checkout, whose
// author could have made the link so that a command writes elsewhere. Links on the path of base, and on that of a path outside of it,
// are accepted: the user named them. Path need not exist, and both may be relative to the working directory.
func CheckOutput(base, path string) error {
	base, err := filepath.Abs(base)
	if err != nil {
		return err
	}
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	rel, err := filepath.Rel(base, path)
	if err != nil || !filepath.IsLocal(rel) {
		return nil // the path is not below base
	}
	at := base
	for name := range strings.SplitSeq(rel, string(filepath.Separator)) {
		at = filepath.Join(at, name)
		info, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if name != "." && info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 { // a junction of Windows is irregular
			return usage.Errorf("%s would be written through the symbolic link %s, which may be part of a checkout: remove the link, or name its target", path, at)
		}
	}
	return nil
}
