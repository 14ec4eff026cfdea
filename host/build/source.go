package build

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"

	"github.com/bulkhead-mcp/bulkhead/host/manifest"
	"github.com/bulkhead-mcp/bulkhead/host/tomlfile"
)

// source is a plugin's folder: what an author writes, or what a build made.
type source struct {
	dir  string // as it was named
	file string // its manifest, likewise
	m    *manifest.Manifest
	data []byte        // of the manifest
	doc  *tomlfile.Doc // the same again, for the lines of keys
}

// load reads the manifest in dir. The source is nil where it is not TOML, and is to be built only where
// the problems' Err is nil.
func load(dir string) (*source, tomlfile.Problems) {
	s := &source{dir: dir, file: filepath.Join(dir, manifest.FileName)}
	var ps tomlfile.Problems
	if s.m, ps = manifest.Load(dir); s.m == nil {
		return nil, ps
	}
	var err error
	if s.data, err = tomlfile.ReadFile(s.m.File); err == nil && digest(s.data) != s.m.Digest {
		err = errors.New("changed while it was read")
	}
	if err != nil {
		return nil, tomlfile.Problems{{File: s.file, What: err.Error(), Remedy: "try again"}}
	}
	s.doc, _ = tomlfile.Parse(s.file, s.data)
	return s, ps
}

// check is what only a build or a check can wait for, or cares about.
func (s *source) check() tomlfile.Problems {
	ps := s.m.Check()
	for i := range ps {
		ps[i].File = s.file
	}
	if strings.EqualFold(s.m.Module.File, manifest.FileName) {
		ps = append(ps, s.problem("module", "file", "is the manifest's own name", `write another, such as "plugin.wasm"`))
	}
	return ps
}

// makes reports whether the manifest says how to make the module.
func (s *source) makes() bool { return s.doc.Root().Has("build") }

// problem is one with a key of one of the manifest's tables.
func (s *source) problem(table, key, what, remedy string) tomlfile.Problem {
	t := s.doc.Root().Table(table)
	return tomlfile.Problem{File: s.file, Line: t.LineOf(key), Key: t.Path(key), What: what, Remedy: remedy}
}

var errNotRegular = errors.New("it is not a regular file")

// openModule opens the module where the manifest says that it is. No link leads it out of the folder, and
// it waits for nothing, as a FIFO's reader would.
func (s *source) openModule() (*os.File, error) {
	root, err := os.OpenRoot(s.m.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(s.m.Module.File, os.O_RDONLY|syscall.O_NONBLOCK, 0)
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

// unopened is the problem of a module that openModule could not open.
func (s *source) unopened(err error) tomlfile.Problem {
	at := filepath.Join(s.dir, s.m.Module.File)
	switch {
	case errors.Is(err, fs.ErrNotExist) && len(s.m.Build.Command) > 0:
		return s.problem("module", "file", fmt.Sprintf("there is no module at %s", at),
			fmt.Sprintf("build it with `bulkhead plugin build %s`; if that is what was run, see where build.command writes", s.dir))
	case errors.Is(err, fs.ErrNotExist) && s.makes():
		return s.problem("module", "file", fmt.Sprintf("there is no module at %s", at), fmt.Sprintf("build it with `bulkhead plugin build %s`", s.dir))
	case errors.Is(err, fs.ErrNotExist):
		return s.problem("module", "file", fmt.Sprintf("there is no module at %s", at), "put it there, or say in [build] how it is made")
	}
	var perr *fs.PathError
	if errors.As(err, &perr) {
		err = perr.Err
	}
	return s.problem("module", "file", fmt.Sprintf("the module at %s cannot be read: %v", at, err), "")
}

// byLine sorts ps by file and line.
func byLine(ps tomlfile.Problems) tomlfile.Problems {
	sort.SliceStable(ps, func(i, j int) bool {
		if ps[i].File != ps[j].File {
			return ps[i].File < ps[j].File
		}
		return ps[i].Line < ps[j].Line
	})
	return ps
}
