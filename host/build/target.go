package build

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/host/manifest"
	"github.com/bulkhead-mcp/bulkhead/host/tomlfile"
)

// mayReplace says why target must not be replaced by the plugin that s makes. Only what a build has made
// is ever deleted.
func (s *source) mayReplace(target string) tomlfile.Problems {
	refuse := func(what string) tomlfile.Problems {
		return tomlfile.Problems{{File: target, What: what, Remedy: "build into another folder, or move what is there"}}
	}
	info, err := os.Lstat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return refuse(fmt.Sprintf("cannot be replaced: %v", err))
	case !info.IsDir():
		return refuse("would be replaced, and is not a folder")
	case s.liesIn(info):
		return refuse("would be replaced, and holds the plugin's source")
	}
	if foreign, err := notBuilt(target); err != nil {
		return refuse(fmt.Sprintf("cannot be replaced: %v", err))
	} else if foreign != "" {
		return refuse("would be replaced, and is not a plugin that was built: " + foreign)
	}
	return nil
}

// liesIn reports whether the source is in folder or is folder, whatever the paths say.
func (s *source) liesIn(folder os.FileInfo) bool {
	dir, err := filepath.EvalSymlinks(s.m.Dir)
	for err == nil {
		var info os.FileInfo
		if info, err = os.Stat(dir); err == nil && os.SameFile(info, folder) {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
		dir = filepath.Dir(dir)
	}
	return true // what cannot be looked at is not deleted
}

// notBuilt says what shows that dir is not a built plugin; empty if nothing does. A folder with nothing in
// it is as good as one.
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
		} else if name == manifest.FileName || name == m.Module.File || isText(name) && !strings.Contains(name, string(filepath.Separator)) {
			return nil
		}
		foreign = fmt.Sprintf("it holds %s", tomlfile.Quote(name))
		return fs.SkipAll
	})
	return foreign, err
}
