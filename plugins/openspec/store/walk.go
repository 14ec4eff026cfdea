package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// maxDepth bounds how deep folders are entered.
const maxDepth = 32

// ErrTooMany says that a project has more in its folders than one call looks at.
var ErrTooMany = fmt.Errorf("the openspec folder has more than %d entries; archive or remove what is not needed", maxEntries)

// Change is a folder of a change, active or archived.
type Change struct {
	Name string
	Dir  string
	root *Root
}

// readDir returns a folder's entries in the order of their names; none if the folder is not there.
func (r *Root) readDir(dir string) ([]fs.DirEntry, error) {
	entries, err := r.files.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if r.entries += len(entries); r.entries > maxEntries {
		return nil, ErrTooMany
	}
	return entries, nil
}

// Specs returns the ids of all main specs, in order.
func (r *Root) Specs() ([]string, error) {
	if !r.reachable(r.SpecsDir()) {
		return nil, nil
	}
	ids, _, err := r.capabilities(r.SpecsDir())
	return ids, err
}

// capabilities returns the folders below dir that hold a spec.md, and the paths of all other files there; both
// below dir, with slashes, in order. Folders that are links are not entered, and what is hidden is left out.
func (r *Root) capabilities(dir string) (ids, loose []string, err error) {
	var walk func(dir, id string, depth int) error
	walk = func(dir, id string, depth int) error {
		if depth < 0 {
			return fmt.Errorf("%s: folders are nested more than %d deep", dir, maxDepth)
		}
		entries, err := r.readDir(dir)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			name := entry.Name()
			below := filepath.Join(dir, name)
			isSpec := name == specFile && id != ""
			switch {
			case strings.HasPrefix(name, "."):
			case entry.IsDir():
				if err := walk(below, path.Join(id, name), depth-1); err != nil {
					return err
				}
			case isSpec && r.isFile(entry, dir, below):
				ids = append(ids, id)
			case !isSpec && entry.Type().IsRegular():
				loose = append(loose, path.Join(id, name))
			}
		}
		return nil
	}
	if err := walk(dir, "", maxDepth); err != nil {
		return nil, nil, err
	}
	slices.Sort(ids)
	slices.Sort(loose)
	return ids, loose, nil
}

// isFile tells whether an entry is a file, or a link to one in its own folder.
func (r *Root) isFile(entry fs.DirEntry, dir, path string) bool {
	if entry.Type()&fs.ModeSymlink == 0 {
		return entry.Type().IsRegular()
	}
	return r.linkedInside(dir, path)
}

// linkedInside tells whether a link leads to a regular file below dir.
func (r *Root) linkedInside(dir, path string) bool {
	target, err := r.resolver().Inside(dir, path)
	if err != nil {
		return false
	}
	info, err := r.files.Lstat(target.Path)
	return err == nil && info.Mode().IsRegular()
}

// Changes returns the active changes, in order of their names: folders directly below changes that are
// neither links nor hidden.
func (r *Root) Changes() ([]Change, error) {
	all, err := r.folders(r.ChangesDir())
	return slices.DeleteFunc(all, func(c Change) bool { return c.Name == ArchiveName }), err
}

// Archived returns the archived changes, in order of their names.
func (r *Root) Archived() ([]Change, error) {
	if !r.reachable(r.ArchiveDir()) {
		return nil, nil
	}
	return r.folders(r.ArchiveDir())
}

func (r *Root) folders(dir string) ([]Change, error) {
	if !r.reachable(dir) {
		return nil, nil
	}
	entries, err := r.readDir(dir)
	if err != nil {
		return nil, err
	}
	var all []Change
	for _, entry := range entries {
		if entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") {
			all = append(all, Change{Name: entry.Name(), Dir: filepath.Join(dir, entry.Name()), root: r})
		}
	}
	slices.SortFunc(all, func(a, b Change) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// Change returns an active change by its name, which must have passed CheckChange. Linked says that there
// is a link in its place.
func (r *Root) Change(name string) (change Change, exists, linked bool) {
	return r.folder(r.ChangesDir(), name)
}

// ArchivedChange returns an archived change by the name of its folder, which must have passed
// CheckArchived.
func (r *Root) ArchivedChange(name string) (change Change, exists bool) {
	change, exists, _ = r.folder(r.ArchiveDir(), name)
	return change, exists
}

func (r *Root) folder(dir, name string) (change Change, exists, linked bool) {
	change = Change{Name: name, Dir: filepath.Join(dir, name), root: r}
	if !r.reachable(r.ChangesDir()) || !r.reachable(dir) {
		return change, false, false
	}
	info, err := r.files.Lstat(change.Dir)
	if err != nil {
		return change, false, false
	}
	return change, info.IsDir(), info.Mode()&fs.ModeSymlink != 0
}

// walkFiles calls visit with every file and folder below dir, at most depth folders down, until it returns an
// error. Hidden folders are entered, links are not.
func (r *Root) walkFiles(dir string, depth int, visit func(path string, entry fs.DirEntry) error) error {
	if depth < 0 {
		return fmt.Errorf("%s: folders are nested more than %d deep", dir, maxDepth)
	}
	entries, err := r.readDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if err := visit(path, entry); err != nil {
			return err
		}
		if !entry.IsDir() {
			continue
		}
		if err := r.walkFiles(path, depth-1, visit); err != nil {
			return err
		}
	}
	return nil
}

// Modified returns when a change was last modified: the newest time of any file in it, else its folder's.
func (c Change) Modified() (time.Time, error) {
	var newest time.Time
	err := c.root.walkFiles(c.Dir, maxDepth, func(_ string, entry fs.DirEntry) error {
		if !entry.Type().IsRegular() {
			return nil
		}
		info, err := entry.Info()
		if err == nil && info.ModTime().After(newest) {
			newest = info.ModTime()
		}
		return err
	})
	if err != nil || !newest.IsZero() {
		return newest, err
	}
	info, err := c.root.files.Lstat(c.Dir)
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}
