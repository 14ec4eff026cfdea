package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// absentDirectories warns of directories in the config that do not exist and that the plugin is not expected to create: those
// that it may only read, and those whose parent does not exist either. Paths with variables are meant for several machines and
// projects, so they may be absent.
func absentDirectories(entry config.Plugin) tomlfile.Problems {
	if entry.Line == 0 {
		return nil
	}
	var ps tomlfile.Problems
	for i, grant := range entry.FS {
		if strings.HasPrefix(grant.Path, "${") || !isAbsent(grant.Path) {
			continue
		}
		if grant.Access == manifest.ReadWrite && !isAbsent(filepath.Dir(grant.Path)) {
			continue
		}
		ps = append(ps, tomlfile.Problem{File: entry.File, Line: grant.Line, Key: fmt.Sprintf("%s.fs[%d].path", entry.Key, i),
			What: "there is no directory " + grant.Path, Remedy: "correct the path, or create the directory", Warning: true})
	}
	return ps
}

func isAbsent(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}
