package build

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/platform"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// source is a plugin's directory, either a source tree or the output of a build.
type source struct {
	dir  string // path of the directory, as the caller wrote it
	file string // path of the manifest below dir
	m    *manifest.Manifest
	data []byte        // content of the manifest
	doc  *tomlfile.Doc // parsed data, for the lines of keys
}

// load reads the manifest in dir. The source is nil if the manifest is not TOML. The source may be built only if Err of
// the problems returns nil.
func load(dir string) (*source, tomlfile.Problems) {
	s := &source{dir: dir, file: filepath.Join(dir, manifest.FileName)}
	var ps tomlfile.Problems
	if s.m, ps = manifest.Load(dir); s.m == nil {
		return nil, ps
	}
	var err error
	if s.data, err = tomlfile.ReadFile(s.m.File); err == nil && userfile.Digest(s.data) != s.m.Digest {
		err = errors.New("changed while it was being read")
	}
	if err != nil {
		return nil, tomlfile.Problems{{File: s.file, What: err.Error(), Remedy: "try again"}}
	}
	s.doc, _ = tomlfile.Parse(s.file, s.data)
	return s, ps
}

// check returns problems that a host does not check because they are slow to find or concern only builds.
func (s *source) check() tomlfile.Problems {
	ps := s.m.Check()
	for i := range ps {
		ps[i].File = s.file
	}
	if err := s.m.Icon.Check(); err != nil {
		ps = append(ps, s.problem("plugin", "icon", "is not a complete PNG: "+err.Error(), "encode the whole file, or leave it out"))
	}
	if strings.EqualFold(s.m.Module.File, manifest.FileName) {
		ps = append(ps, s.problem("module", "file", "is the name of the manifest", `use a different one, such as "plugin.wasm"`))
	}
	return append(ps, s.checkSkills()...)
}

// hasBuild reports whether the manifest has [build].
func (s *source) hasBuild() bool { return s.doc.Root().Has("build") }

// problem returns a Problem whose position is a key in one of the manifest's tables.
func (s *source) problem(table, key, what, remedy string) tomlfile.Problem {
	t := s.doc.Root().Table(table)
	return tomlfile.Problem{File: s.file, Line: t.LineOf(key), Key: t.Path(key), What: what, Remedy: remedy}
}

var errNotRegular = errors.New("it is not a regular file")

// openModule opens the module at the path in the manifest. It does not follow symbolic links out of the
// directory, and does not block on a FIFO.
func (s *source) openModule() (*os.File, error) {
	root, err := os.OpenRoot(s.m.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(s.m.Module.File, os.O_RDONLY|platform.NonBlock, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// openProblem converts an error of openModule into a problem.
func (s *source) openProblem(err error) tomlfile.Problem {
	at := filepath.Join(s.dir, s.m.Module.File)
	if !errors.Is(err, fs.ErrNotExist) {
		return s.problem("module", "file", fmt.Sprintf("the module at %s cannot be read: %v", at, usage.Cause(err)), "")
	}
	remedy := fmt.Sprintf("build it with `bulkhead plugin build %s`", s.dir)
	switch {
	case len(s.m.Build.Command) > 0:
		remedy += "; if you did, check where build.command writes it"
	case !s.hasBuild():
		remedy = "put the module there, or write how to build it in [build]"
	case s.m.Module.SHA256 != "":
		remedy = s.m.MissingModule().Remedy
	}
	return s.problem("module", "file", fmt.Sprintf("there is no module at %s", at), remedy)
}

// sortByLine sorts ps by file and line.
func sortByLine(ps tomlfile.Problems) tomlfile.Problems {
	slices.SortStableFunc(ps, func(a, b tomlfile.Problem) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return ps
}
