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

// resolver turns changes into steps, whose paths have no links in them. Folders that several changes have
// in common are looked at once.
type resolver struct {
	fs      FS
	real    map[string]string
	checked map[string]bool // folders that need has looked at
	missing []string        // folders that are to be made, each behind its parent
}

// step finds out where a change really takes place, and proves that this is inside its root.
func (r *resolver) step(change Change) (step, error) {
	if !filepath.IsAbs(change.Path) || !filepath.IsAbs(change.Root) {
		return step{}, fmt.Errorf("%s in %s: not an absolute path", change.Path, change.Root)
	}
	path, err := r.target(change)
	if err != nil {
		return step{}, err
	}
	if !utf8.ValidString(path) { // the journal could not say which file it is
		return step{}, fmt.Errorf("%q: the path is not UTF-8: rename what is named so", path)
	}
	root, err := r.resolve(change.Root)
	if err != nil {
		return step{}, err
	}
	if !disk.IsBelow(root, path) {
		if err := disk.RequireInside(change.Root, change.Path); err != nil {
			return step{}, err
		}
		return step{}, fmt.Errorf("%s %w", change.Path, ErrChanged) // it did lead out a moment ago
	}
	s := step{Root: root, Path: path, Before: change.Before}
	if !change.Delete {
		s.After = disk.SumBytes(change.After)
		err = r.requireDir(filepath.Dir(path))
	}
	return s, err
}

// target is the path that a change works on: in the real folder, and behind a link if it writes.
func (r *resolver) target(change Change) (string, error) {
	folder, err := r.resolve(filepath.Dir(change.Path))
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, filepath.Base(change.Path))
	info, err := r.fs.Lstat(path)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 && !change.Delete && change.Before != "" {
		return r.resolve(path)
	}
	if err != nil && !disk.IsMissing(err) {
		return "", fault.IO(path, err)
	}
	return path, nil
}

// follow is disk.Real, once for each path.
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

// need notes a folder, and those above it, if they are to be made.
func (r *resolver) requireDir(folder string) error {
	if r.checked[folder] {
		return nil
	}
	if r.checked == nil {
		r.checked = map[string]bool{}
	}
	r.checked[folder] = true
	info, err := r.fs.Lstat(folder)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return fault.IO(folder, fmt.Errorf("%s is not a folder, but has to be one: remove what is there, then plan again", folder))
	case !disk.IsMissing(err):
		return fault.IO(folder, err)
	}
	parent := filepath.Dir(folder)
	if parent == folder {
		return errors.New("there is no root folder")
	}
	if err := r.requireDir(parent); err != nil {
		return err
	}
	r.missing = append(r.missing, folder)
	return nil
}
