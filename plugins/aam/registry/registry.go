// Package registry has local registries: folders in which packages are published. Index and Metadata read
// one, Archive says where a package's archive is, Publish adds a version. Whoever reads takes no lock, and
// finds whole files at any moment; Publish is for one caller at a time.
package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/archive"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/pkgname"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/version"
)

// Registry is one local registry.
type Registry struct {
	Files files.System
	Name  string // as the configuration has it
	Root  string // the folder's absolute path
}

// Timestamp writes a time as all files of the system have it.
func Timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000+00:00") }

// LockName returns the name of the lock that Publish wants to be held.
func (r Registry) LockName() string {
	sum := sha256.Sum256([]byte(filepath.Clean(r.Root)))
	return "registry-" + hex.EncodeToString(sum[:16])
}

// Check returns an error, of code RegistryUnreachable, unless the registry's folder is there.
func (r Registry) Check() error {
	info, err := r.Files.Stat(r.Root)
	if err == nil && info.IsDir() {
		return nil
	}
	if err == nil {
		return r.unreachable("%s is not a folder", r.Root)
	}
	return r.unreachable("%w", err)
}

func (r Registry) unreachable(format string, args ...any) error {
	failure := fault.New(fault.RegistryUnreachable, format, args...)
	failure.Message = "registry '" + r.Name + "': " + failure.Message
	return failure
}

// Archive returns the path of a version's archive, whether or not it is there. A name or version that could
// lead elsewhere is an error, of code InvalidArgument, and a link that leads out of the registry one of code
// RegistryUnreachable.
func (r Registry) Archive(name, version string) (string, error) {
	if err := pkgname.Check(name); err != nil {
		return "", err
	}
	if err := checkFileVersion(version); err != nil {
		return "", err
	}
	path, err := files.Inside(r.Files, r.Root, filepath.Join(r.folder(name), "versions", version+".aam"))
	if err != nil {
		return "", r.unreachable("%w", err)
	}
	return path, nil
}

// checkFileVersion keeps out what is no version, or one that a file cannot be named for.
func checkFileVersion(text string) error {
	if _, err := version.Parse(text); err != nil {
		return fault.New(fault.InvalidArgument, "%w", err)
	}
	if strings.TrimSpace(text) != text {
		return fault.New(fault.InvalidArgument, "version %q has blanks around it", text)
	}
	return nil
}

// Manifest returns the manifest in a version's archive, all of which is checked.
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

// Types returns the types of artifacts that the latest version of a package in the index has. Where the index
// has none, as is so in registries that the system's own programs write, they are those of its manifest.
func (r Registry) Types(e Entry, limits archive.Limits) ([]string, error) {
	if len(e.ArtifactTypes) > 0 {
		return e.ArtifactTypes, nil
	}
	path, err := r.Archive(e.Name, e.Latest)
	if err != nil {
		return nil, err
	}
	m, err := archive.Peek(r.Files, path, limits)
	if err != nil {
		return nil, err
	}
	types := []string{}
	for _, t := range m.Types() {
		types = append(types, string(t))
	}
	return types, nil
}

// folder returns a package's folder.
func (r Registry) folder(name string) string {
	return filepath.Join(r.Root, "packages", pkgname.Folder(name))
}
