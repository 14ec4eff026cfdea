// Package lockfile reads and writes .aam/aam-lock.yaml, which says what is installed in a project: Load,
// Parse, Encode. It does not look at whether it is true.
package lockfile

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
)

// MaxSize bounds a lock file, in bytes.
const MaxSize = 8 << 20

// Lock is what is installed. The zero value is nothing.
type Lock struct {
	Packages []Entry // in the file's order
}

// Entry is one package.
type Entry struct {
	Name          string
	Version       string
	Source        string                // the registry's name; "local" or "source" for what others have installed
	Checksum      string                // "" if it is not known
	Dependencies  []manifest.Dependency // with constraints, not with what they led to
	FileChecksums *FileChecksums
	SourceName    *string // nil, or set together with the next
	SourceCommit  *string
}

// FileChecksums are those of a package's files. They are kept and not looked at.
type FileChecksums struct {
	Algorithm string
	Files     []FileChecksum
}

// FileChecksum is that of one file.
type FileChecksum struct{ Path, Hex string }

// Path returns where a project's lock file is.
func Path(project string) string { return filepath.Join(project, ".aam", "aam-lock.yaml") }

// Load reads a project's lock file. One that is not there, or empty, says that nothing is installed. One
// that cannot be understood is an error of code Internal, and must not be written over.
func Load(s files.System, project string) (*Lock, error) {
	path := Path(project)
	data, err := files.ReadInside(s, project, path, MaxSize)
	switch {
	case files.Absent(err):
		return &Lock{}, nil
	case errors.Is(err, fs.ErrPermission):
		return nil, err
	case err != nil:
		return nil, unreadable(path, err)
	}
	lock, err := Parse(data)
	if err != nil {
		return nil, unreadable(path, err)
	}
	return lock, nil
}

func unreadable(path string, err error) error {
	return fault.New(fault.Internal, "lock file %s cannot be read: %w", path, err).
		WithHint("Repair it, or restore it from version control; it has not been changed")
}

// Find returns a package's entry; false if it is not installed.
func (l *Lock) Find(name string) (Entry, bool) {
	if at := l.index(name); at >= 0 {
		return l.Packages[at], true
	}
	return Entry{}, false
}

// Set puts a package in, in the place that it has or behind the others.
func (l *Lock) Set(entry Entry) {
	if at := l.index(entry.Name); at >= 0 {
		l.Packages[at] = entry
		return
	}
	l.Packages = append(l.Packages, entry)
}

// Remove takes a package out, if it is there.
func (l *Lock) Remove(name string) {
	l.Packages = slices.DeleteFunc(l.Packages, func(e Entry) bool { return e.Name == name })
}

// Dependents returns the names of the packages that depend on one, in the file's order.
func (l *Lock) Dependents(name string) []string {
	dependents := []string{}
	for _, entry := range l.Packages {
		if slices.ContainsFunc(entry.Dependencies, func(d manifest.Dependency) bool { return d.Name == name }) {
			dependents = append(dependents, entry.Name)
		}
	}
	return dependents
}

func (l *Lock) index(name string) int {
	return slices.IndexFunc(l.Packages, func(e Entry) bool { return e.Name == name })
}
