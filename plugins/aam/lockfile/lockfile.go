// Package lockfile reads (Load, Parse) and writes (Encode) the file .aam/aam-lock.yaml, which records the installed
// packages of a project. The package does not compare the lock file with the files of the packages.
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

// MaxSize is the maximum size of a lock file, in bytes.
const MaxSize = 8 << 20

// Values of Entry.Source that the aam program writes for packages that do not come from a registry.
const (
	FromFolder = "local"  // the package comes from a local directory or archive
	FromSource = "source" // the package comes from a git repository
)

// Lock holds the entries of the installed packages. The zero value has no entries.
type Lock struct {
	Packages   []Entry // the entries in the order of the file
	ResolvedAt string  // the time at which the file was written, as the file states it; "" if unknown
}

// Entry records an installed package.
type Entry struct {
	Name          string
	Version       string
	Source        string                // the name of a registry, FromFolder or FromSource
	Checksum      string                // the checksum of the archive; "" if unknown
	Dependencies  []manifest.Dependency // the dependencies, with version constraints instead of resolved versions
	FileChecksums *FileChecksums
	SourceName    *string // nil unless SourceCommit is set
	SourceCommit  *string
}

// FileChecksums holds the checksums of the files of a package. This plugin preserves them, but does not verify them.
type FileChecksums struct {
	Algorithm string
	Files     []FileChecksum
}

// FileChecksum is the checksum of a file.
type FileChecksum struct{ Path, Hex string }

// Path returns the path of the lock file in a project.
func Path(project string) string { return filepath.Join(project, ".aam", "aam-lock.yaml") }

// Load reads the lock file of a project. If the file does not exist or is empty, no packages are installed. If the file
// cannot be parsed, the error has the code Internal, and the caller must not overwrite the file.
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

// Find returns the entry of the package with the given name; false if that package is not installed.
func (l *Lock) Find(name string) (Entry, bool) {
	if at := l.index(name); at >= 0 {
		return l.Packages[at], true
	}
	return Entry{}, false
}

// Set replaces the entry of the package that entry names. If there is no such entry, Set appends entry.
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

// Dependents returns the names of the packages that depend on the package called name, in the order of the file.
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
