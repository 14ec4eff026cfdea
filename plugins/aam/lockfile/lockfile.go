// Package lockfile reads (Load, Parse) and writes (Encode) .aam/aam-lock.yaml, which records the installed packages of
// a project. It does not compare the lock file with the installed files.
package lockfile

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// MaxSize bounds a lock file, in bytes.
const MaxSize = 8 << 20

// Values of Entry.Source that are not names of registries. The aam program writes them.
const (
	FromFolder = "local"  // a local directory or archive
	FromSource = "source" // a git repository
)

// Lock holds the installed packages. The zero value is empty.
type Lock struct {
	Packages   []Entry // in file order
	ResolvedAt string  // the time of writing, as in the file; "" if unknown
}

// Entry is an installed package.
type Entry struct {
	Name          string
	Version       string
	Source        string                // name of the registry, FromFolder or FromSource
	Checksum      string                // "" if unknown
	Dependencies  []manifest.Dependency // constraints, not resolved versions
	FileChecksums *FileChecksums
	SourceName    *string // nil unless SourceCommit is set
	SourceCommit  *string
}

// FileChecksums holds the checksums of a package's files. They are preserved, but not verified.
type FileChecksums struct {
	Algorithm string
	Files     []FileChecksum
}

// FileChecksum is the checksum of a file.
type FileChecksum struct{ Path, Hex string }

// Path returns the path of a project's lock file.
func Path(project string) string { return filepath.Join(project, ".aam", "aam-lock.yaml") }

// Load reads a project's lock file. If the file is absent or empty, no packages are installed. If the file cannot be
// parsed, the error has the code Internal, and the caller must not overwrite the file.
func Load(s files.System, project string) (*Lock, error) {
	path := Path(project)
	data, err := files.ReadInside(s, project, path, MaxSize)
	switch {
	case filesystem.IsAbsent(err):
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

// Find returns the entry of a package; false if it is not installed.
func (l *Lock) Find(name string) (Entry, bool) {
	if at := l.index(name); at >= 0 {
		return l.Packages[at], true
	}
	return Entry{}, false
}

// Set replaces the entry of a package, or appends it.
func (l *Lock) Set(entry Entry) {
	if at := l.index(entry.Name); at >= 0 {
		l.Packages[at] = entry
		return
	}
	l.Packages = append(l.Packages, entry)
}

// Remove removes the entry of a package, if it exists.
func (l *Lock) Remove(name string) {
	l.Packages = slices.DeleteFunc(l.Packages, func(e Entry) bool { return e.Name == name })
}

// Dependents returns the names of the packages that depend on name, in file order.
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
