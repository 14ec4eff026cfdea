// Package registry implements local registries, which are directories with published packages. Index and Metadata read
// a registry, Archive returns the path of an archive, and Publish adds a version. Readers take no lock, because writers
// replace files atomically. Writers must hold a lock.
package registry

import (
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/archive"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/pkgname"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/version"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
)

// Registry is a local registry.
type Registry struct {
	Files files.System
	Name  string // the name of the registry in the configuration
	Root  string // the absolute path of the registry's directory

	reading *reading // nil unless Reading was called
}

// reading is a cache that the reads of one call share.
type reading struct {
	paths  *files.Paths
	peeker archive.Peeker
}

// Reading returns a Registry for reading many packages in one call. It assumes that the directories of the registry do
// not change during the call.
func (r Registry) Reading() Registry {
	r.reading = &reading{paths: files.NewPaths(r.Files, r.Root)}
	return r
}

// paths returns the Paths with which files below the root are read.
func (r Registry) paths() *files.Paths {
	if r.reading != nil {
		return r.reading.paths
	}
	return files.NewPaths(r.Files, r.Root)
}

// Timestamp formats a time as the aam program does in its files.
func Timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000+00:00") }

// LockName returns the name of the lock that callers of Publish must hold.
func (r Registry) LockName() string {
	return "registry-" + digest.Hex([]byte(filepath.Clean(r.Root)))[:32]
}

// Check returns an error with the code RegistryUnreachable unless the registry's directory exists.
func (r Registry) Check() error {
	info, err := r.Files.Stat(r.Root)
	if err == nil && info.IsDir() {
		return nil
	}
	if err == nil {
		return r.unreachable("%s is not a directory", r.Root)
	}
	return r.unreachable("%w", err)
}

func (r Registry) unreachable(format string, args ...any) error {
	failure := fault.New(fault.RegistryUnreachable, format, args...)
	failure.Message = "registry '" + r.Name + "': " + failure.Message
	return failure
}

// Archive returns the path of the archive of a version. The archive need not exist. Errors have the code
// InvalidArgument for an invalid name or version, and RegistryUnreachable for a symbolic link out of the registry.
func (r Registry) Archive(name, version string) (string, error) {
	path, err := r.archive(name, version)
	if err != nil {
		return "", err
	}
	if path, err = r.paths().Inside(path); err != nil {
		return "", r.unreachable("%w", err)
	}
	return path, nil
}

// archive returns the path of the archive of a version, without resolving symbolic links.
func (r Registry) archive(name, version string) (string, error) {
	if err := pkgname.Check(name); err != nil {
		return "", err
	}
	if err := checkFileVersion(version); err != nil {
		return "", err
	}
	return filepath.Join(r.folder(name), "versions", version+".aam"), nil
}

// checkFileVersion returns an error unless the version in text can be part of a path.
func checkFileVersion(text string) error {
	if _, err := version.Parse(text); err != nil {
		return fault.New(fault.InvalidArgument, "%w", err)
	}
	if strings.TrimSpace(text) != text {
		return fault.New(fault.InvalidArgument, "version %q has surrounding white space", text)
	}
	return nil
}

// Manifest validates the archive of a version, and returns the manifest in the archive.
func (r Registry) Manifest(name, version string, limits archive.Limits) (*manifest.Manifest, error) {
	path, err := r.Archive(name, version)
	if err != nil {
		return nil, err
	}
	listing, err := archive.Check(r.Files, path, "", limits)
	if err != nil {
		return nil, err
	}
	return listing.Manifest, nil
}

// Types returns the types of the artifacts in the latest version of a package. If the index entry has no types, as in
// registries that the aam program writes, Types reads them from the manifest in the archive.
func (r Registry) Types(e Entry, limits archive.Limits) ([]string, error) {
	if len(e.ArtifactTypes) > 0 {
		return e.ArtifactTypes, nil
	}
	path, err := r.archive(e.Name, e.Latest)
	if err != nil {
		return nil, err
	}
	peeker := new(archive.Peeker)
	if r.reading != nil {
		peeker = &r.reading.peeker
	}
	found, err := peeker.Types(r.paths(), path, limits)
	if errors.Is(err, contain.ErrOutside) {
		return nil, r.unreachable("%w", err)
	}
	if err != nil {
		return nil, err
	}
	types := []string{}
	for _, t := range found {
		types = append(types, string(t))
	}
	return types, nil
}

// folder returns the path of the directory of a package.
func (r Registry) folder(name string) string {
	return filepath.Join(r.Root, "packages", pkgname.Folder(name))
}
