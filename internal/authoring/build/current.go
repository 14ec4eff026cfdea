package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// Current returns the directory of a built plugin that is not older than its sources in dir. It builds the plugin if necessary. If the
// plugin in dir is already built, or has no [build], Current returns dir. A Go plugin is always built, because only the go command knows
// all sources of a package. A plugin with a build command is built if its manifest differs, or if a file or directory in dir is newer
// than the module; hidden files, tests/, and the usual directories of build output do not count.
func Current(ctx context.Context, dir string, o Options) (string, error) {
	s, ps := load(dir)
	if s == nil {
		return "", ps
	}
	if ps.Err() != nil {
		return "", ps.Err()
	}
	if !s.hasBuild() || s.m.Module.SHA256 != "" && s.hasModule() {
		return dir, Check(ctx, dir, o).Err()
	}
	if out := o.out(); len(s.m.Build.Command) > 0 {
		built := filepath.Join(out, s.m.Name)
		if isCurrent, err := s.isCurrent(built, out); err != nil {
			return "", err
		} else if isCurrent && Check(ctx, built, o).Err() == nil {
			return built, nil
		}
	}
	result, err := Build(ctx, dir, o)
	return result.Dir, err
}

// out returns the parent of the output directories.
func (o Options) out() string {
	if o.Out == "" {
		return filepath.Join("dist", "plugins")
	}
	return o.Out
}

func (s *source) hasModule() bool {
	f, err := s.openModule()
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// isCurrent reports whether the output in the directory built has the manifest of the source, and is not older than the sources.
func (s *source) isCurrent(built, out string) (bool, error) {
	module, err := os.Stat(filepath.Join(built, s.m.Module.File))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	has, err := tomlfile.ReadFile(filepath.Join(built, manifest.FileName))
	if err != nil {
		return false, nil // the build reports why it cannot be replaced
	}
	m, _ := manifest.Load(built)
	if m == nil {
		return false, nil
	}
	var digests []string
	for _, skill := range m.Skills {
		digests = append(digests, skill.SHA256)
	}
	want, err := s.doc.SetString("module", "sha256", m.Module.SHA256)
	if err == nil && len(digests) == len(s.m.Skills) {
		want, err = setDigests(want, digests)
	}
	if err != nil || string(want.Bytes()) != string(has) {
		return false, nil
	}
	newer, err := s.isNewer(module.ModTime(), out)
	return !newer, err
}

// IsOutput reports whether a directory has the name of one that builds write.
func IsOutput(name string) bool {
	return slices.Contains([]string{"dist", "node_modules", "target"}, name)
}

// isNewer reports whether a source is newer than a time. A removed file makes its directory newer.
func (s *source) isNewer(than time.Time, out string) (bool, error) {
	out, err := filepath.Abs(out)
	if err != nil {
		return false, err
	}
	errNewer := errors.New("newer")
	err = filepath.WalkDir(s.m.Dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		local, err := filepath.Rel(s.m.Dir, name)
		if err != nil {
			return err
		}
		switch {
		case local == ".":
		case entry.IsDir() && (name == out || IsOutput(entry.Name()) || entry.Name() == "tests" || strings.HasPrefix(entry.Name(), ".")):
			return filepath.SkipDir
		case strings.HasPrefix(entry.Name(), ".") || local == filepath.FromSlash(s.m.Module.File):
			return nil
		}
		info, err := entry.Info()
		if err == nil && info.ModTime().After(than) {
			return errNewer
		}
		return err
	})
	if errors.Is(err, errNewer) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s: cannot look for newer sources: %w", s.dir, err)
	}
	return false, nil
}
