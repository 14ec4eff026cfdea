package build

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// checkTarget returns a problem if target must not be replaced by the output of s. Only an empty directory or the
// output of an earlier build may be replaced.
func (s *source) checkTarget(target string) tomlfile.Problems {
	refuse := func(what string) tomlfile.Problems {
		return tomlfile.Problems{{File: target, What: what, Remedy: "build into a different directory, or move this one"}}
	}
	info, err := os.Lstat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return refuse(fmt.Sprintf("cannot be replaced: %v", err))
	case !info.IsDir():
		return refuse("would be replaced, but is not a directory")
	case s.isInside(info):
		return refuse("would be replaced, but contains the plugin's source")
	}
	if why, err := notBuilt(target); err != nil {
		return refuse(fmt.Sprintf("cannot be replaced: %v", err))
	} else if why != "" {
		return refuse("would be replaced, but is not a built plugin: " + why)
	}
	return nil
}

// isInside reports whether the source is parent or lies below it. It compares file identities, not paths.
func (s *source) isInside(parent os.FileInfo) bool {
	dir, err := filepath.EvalSymlinks(s.m.Dir)
	for err == nil {
		var info os.FileInfo
		if info, err = os.Stat(dir); err == nil && os.SameFile(info, parent) {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
		dir = filepath.Dir(dir)
	}
	return true // after an error, do not replace the target
}

// notBuilt returns the reason why dir must not be treated as a built plugin. The reason is empty for a built plugin, and for an
// empty directory.
func notBuilt(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		return "", err
	}
	m, ps := manifest.Load(dir)
	if m == nil {
		return ps[0].String(), nil
	}
	if m.Module.SHA256 == "" {
		return "its " + manifest.FileName + " has no module.sha256", nil
	}
	foreign := ""
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		name, relErr := filepath.Rel(dir, path)
		if err := errors.Join(err, relErr); err != nil {
			return err
		}
		if e.IsDir() {
			if name == "." || strings.HasPrefix(m.Module.File, name+string(filepath.Separator)) {
				return nil
			}
		} else if name == manifest.FileName || name == m.Module.File || IsText(name) && !strings.Contains(name, string(filepath.Separator)) {
			return nil
		}
		foreign = fmt.Sprintf("it contains %s", tomlfile.Quote(name))
		return fs.SkipAll
	})
	return foreign, err
}
