package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// maxDepth is the maximum nesting depth of directories.
const maxDepth = 32

// ErrTooMany means that a project has more directory entries than one call reads.
var ErrTooMany = fmt.Errorf("the openspec directory has more than %d entries; remove some", maxEntries)

// Change is the directory of an active or archived change.
type Change struct {
	Name string
	Dir  string
	root *Root
}

// Exists reports whether the directory of the change still exists. If all data about the change comes from a scan,
// Exists returns true, because the directory existed at the time of the scan.
func (c Change) Exists() bool {
	if c.isScanned() && !c.root.scanned.missed {
		return true
	}
	if s := c.root.scanned; s != nil {
		s.forget()
	}
	return c.root.isDir(c.Dir)
}

// readDir returns the entries of a directory, sorted by name; none if the directory does not exist.
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

// Specs returns the ids of all main specs, sorted.
func (r *Root) Specs() ([]string, error) {
	if !r.reachable(r.SpecsDir()) {
		return nil, nil
	}
	if r.scanned != nil {
		r.scanSpecs()
		defer r.scanned.forget()
	}
	ids, _, err := r.capabilities(r.SpecsDir())
	return ids, err
}

// capabilities returns the directories below dir that contain a spec.md, and the paths of all other files. Both lists
// are sorted and relative to dir, with slashes. capabilities does not enter symbolic links to directories, and omits
// hidden entries.
func (r *Root) capabilities(dir string) (ids, loose []string, err error) {
	err = r.walk(dir, "", maxDepth, func(file string, entry fs.DirEntry) error {
		name := entry.Name()
		id, isSpec := strings.CutSuffix(file, "/"+specFile)
		switch {
		case strings.HasPrefix(name, "."):
			return fs.SkipDir
		case entry.IsDir():
		case isSpec && r.isFile(entry, below(dir, id), name):
			ids = append(ids, id)
		case !isSpec && entry.Type().IsRegular():
			loose = append(loose, file)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	slices.Sort(ids)
	slices.Sort(loose)
	return ids, loose, nil
}

// isFile reports whether an entry is a regular file, or a symbolic link to a regular file below dir.
func (r *Root) isFile(entry fs.DirEntry, dir, name string) bool {
	if entry.Type()&fs.ModeSymlink == 0 {
		return entry.Type().IsRegular()
	}
	return r.linkedInside(dir, filepath.Join(dir, name))
}

// below joins a clean path and a name. It returns the same result as filepath.Join, but faster, because it is called
// thousands of times.
func below(dir, name string) string { return dir + string(filepath.Separator) + name }

// linkedInside reports whether a symbolic link points to a regular file below dir.
func (r *Root) linkedInside(dir, path string) bool {
	target, err := r.resolver().Inside(dir, path)
	if err != nil {
		return false
	}
	info, err := r.files.Lstat(target.Path)
	return err == nil && info.Mode().IsRegular()
}

// Changes returns the active changes, sorted by name. These are the directories in ChangesDir that are neither symbolic
// links nor hidden.
func (r *Root) Changes() ([]Change, error) {
	all, err := r.changesIn(r.ChangesDir())
	return slices.DeleteFunc(all, func(c Change) bool { return c.Name == ArchiveName }), err
}

// Names returns the names of changes.
func Names(changes []Change) []string {
	names := make([]string, len(changes))
	for i, one := range changes {
		names[i] = one.Name
	}
	return names
}

// Archived returns the archived changes, sorted by name.
func (r *Root) Archived() ([]Change, error) {
	if !r.reachable(r.ArchiveDir()) {
		return nil, nil
	}
	return r.changesIn(r.ArchiveDir())
}

func (r *Root) changesIn(dir string) ([]Change, error) {
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

// Change returns the active change called name. CheckChange must have accepted the name. The result linked reports
// whether the directory of the change is a symbolic link.
func (r *Root) Change(name string) (change Change, exists, linked bool) {
	return r.changeIn(r.ChangesDir(), name)
}

// ArchivedChange returns the archived change whose directory is called name. CheckArchived must have accepted the name.
func (r *Root) ArchivedChange(name string) (change Change, exists bool) {
	change, exists, _ = r.changeIn(r.ArchiveDir(), name)
	return change, exists
}

func (r *Root) changeIn(dir, name string) (change Change, exists, linked bool) {
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

// walk calls visit for every file and directory below dir, down to the given depth. The path in a call of visit is
// relative to the directory at which the walk began, with slashes; prefix is the path of dir in that form. If visit
// returns fs.SkipDir, walk does not enter the directory; for any other error, walk stops and returns the error. It does
// not enter symbolic links.
func (r *Root) walk(dir, prefix string, depth int, visit func(path string, entry fs.DirEntry) error) error {
	if depth < 0 {
		return fmt.Errorf("%s: directories are nested more than %d deep", dir, maxDepth)
	}
	entries, err := r.readDir(dir)
	if err != nil {
		return err
	}
	return r.walkEntries(dir, prefix, entries, depth, visit)
}

func (r *Root) walkEntries(dir, prefix string, entries []fs.DirEntry, depth int, visit func(path string, entry fs.DirEntry) error) error {
	for _, entry := range entries {
		path := prefix + entry.Name()
		err := visit(path, entry)
		if err == nil && entry.IsDir() {
			err = r.walk(below(dir, entry.Name()), path+"/", depth-1, visit)
		}
		if err != nil && err != fs.SkipDir {
			return err
		}
	}
	return nil
}

// Modified returns the modification time of the newest file of a change. If the change has no files, it returns the
// time of the change's directory. The result entries contains the entries of that directory.
func (c Change) Modified() (newest time.Time, entries []fs.DirEntry, err error) {
	if s := c.root.scanned; c.isScanned() && !s.unsure && !s.newest.IsZero() && c.root.entries+s.count <= maxEntries {
		c.root.entries += s.count
		return s.newest, s.top.entries, nil
	}
	if entries, err = c.root.readDir(c.Dir); err != nil {
		return newest, nil, err
	}
	err = c.root.walkEntries(c.Dir, "", entries, maxDepth, func(_ string, entry fs.DirEntry) error {
		if !entry.Type().IsRegular() {
			return nil
		}
		info, err := entry.Info()
		if err == nil && info.ModTime().After(newest) {
			newest = info.ModTime()
		}
		return filesystem.IgnoreAbsent(err)
	})
	if err != nil || !newest.IsZero() {
		return newest, entries, err
	}
	info, err := c.root.files.Lstat(c.Dir)
	if err != nil {
		return time.Time{}, nil, err
	}
	return info.ModTime(), entries, nil
}
