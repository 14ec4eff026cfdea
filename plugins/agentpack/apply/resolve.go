package apply

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
)

// resolver turns changes into steps with resolved paths. It checks each directory once.
type resolver struct {
	fs      FS
	real    map[string]string
	checked map[string]bool // directories that requireDir has checked
	missing []string        // directories to create, parents first
}

// step resolves the path of a change and requires that it is inside the change's root.
func (r *resolver) step(change Change) (step, error) {
	if !filepath.IsAbs(change.Path) || !filepath.IsAbs(change.Root) {
		return step{}, fmt.Errorf("%s in %s: not an absolute path", change.Path, change.Root)
	}
	path, err := r.target(change)
	if err != nil {
		return step{}, err
	}
	if !utf8.ValidString(path) { // JSON cannot represent the path
		return step{}, fmt.Errorf("%q: the path is not UTF-8: rename the file", path)
	}
	root, err := r.resolve(change.Root)
	if err != nil {
		return step{}, err
	}
	if !disk.IsBelow(root, path) {
		if err := disk.RequireInside(change.Root, change.Path); err != nil {
			return step{}, err
		}
		return step{}, fmt.Errorf("%s %w", change.Path, ErrChanged) // the path was outside its root when resolved, and is inside now
	}
	s := step{Root: root, Path: path, Before: change.Before}
	if !change.Delete {
		s.After = disk.SumBytes(change.After)
		err = r.requireDir(filepath.Dir(path))
	}
	return s, err
}

// target returns the path that a change applies to: with its directory resolved, and for a write to a
// symbolic link the link's target.
func (r *resolver) target(change Change) (string, error) {
	dir, err := r.resolve(filepath.Dir(change.Path))
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, filepath.Base(change.Path))
	info, err := r.fs.Lstat(path)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 && !change.Delete && change.Before != "" {
		return r.resolve(path)
	}
	if err != nil && !disk.IsMissing(err) {
		return "", fault.IO(path, err)
	}
	return path, nil
}

// resolve is a cached disk.Resolve.
func (r *resolver) resolve(path string) (string, error) {
	if real, ok := r.real[path]; ok {
		return real, nil
	}
	real, err := disk.Resolve(path)
	if err != nil {
		return "", fault.IO(path, err)
	}
	if r.real == nil {
		r.real = map[string]string{}
	}
	r.real[path] = real
	return real, nil
}

// requireDir records a directory, and those of its parents, that have to be created.
func (r *resolver) requireDir(dir string) error {
	if r.checked[dir] {
		return nil
	}
	if r.checked == nil {
		r.checked = map[string]bool{}
	}
	r.checked[dir] = true
	info, err := r.fs.Lstat(dir)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return fault.IO(dir, fmt.Errorf("%s is not a directory, but a directory is needed: remove it, then plan again", dir))
	case !disk.IsMissing(err):
		return fault.IO(dir, err)
	}
	parent := filepath.Dir(dir)
	if parent == dir {
		return errors.New("there is no root directory")
	}
	if err := r.requireDir(parent); err != nil {
		return err
	}
	r.missing = append(r.missing, dir)
	return nil
}
