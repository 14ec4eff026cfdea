// Package archive reads and writes .aam files, which carry a package: a tar, compressed by gzip, of the files
// in the package's folder, aam.yaml among them. Check goes through one and writes nothing, Extract writes
// what Check has seen, Pack makes one, Peek only reads a manifest. An archive is hostile until Check has gone through all of it.
package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
)

// Limits bound an archive. All of them hold for packing, too.
type Limits struct {
	Compressed int64 // the file itself, in bytes
	Inflated   int64 // the tar in it, and all files that come of it, in bytes
	Members    int
	Depth      int // names in a path
	Path       int // a path, in bytes
}

// DefaultLimits returns the limits that hold unless others are wanted: 50 MiB for the file, as the system
// has it, and 200 MiB for what is in it.
func DefaultLimits() Limits {
	return Limits{Compressed: 50 << 20, Inflated: 200 << 20, Members: 10_000, Depth: 32, Path: 1024}
}

// Listing is what is in an archive.
type Listing struct {
	Checksum string // of the archive itself: sha256: and 64 hexadecimal digits
	Size     int64  // of the archive itself, in bytes
	Files    []File // in the order of the archive; each path once
	Manifest *manifest.Manifest
}

// File is a file in an archive.
type File struct {
	Path       string // relative, with slashes, clean
	Size       int64
	Executable bool
	member     int    // which member has its content, from 0; -1 for a link
	copyOf     string // the path of the file that a link leads to
}

// CheckArtifacts returns an error, of code ManifestInvalid, if an artifact of the manifest is not in the archive: a
// file, or a folder with files in it.
func (l *Listing) CheckArtifacts() error {
	there := map[string]bool{".": true}
	for _, file := range l.Files {
		for at := file.Path; !there[at]; at = path.Dir(at) {
			there[at] = true
		}
	}
	for _, artifact := range l.Manifest.Artifacts {
		if !there[clean(artifact.Path)] {
			return fault.New(fault.ManifestInvalid, "artifact path '%.200s' is not in the archive", artifact.Path)
		}
	}
	return nil
}

// FileName returns the name that a package's archive has where it stands alone.
func FileName(name, version string) string {
	if scoped, ok := strings.CutPrefix(name, "@"); ok {
		name = strings.Replace(scoped, "/", "-", 1)
	}
	return name + "-" + version + ".aam"
}

// Checksum returns that of a file, whatever is in it.
func Checksum(s files.System, path string) (string, error) {
	file, err := files.OpenRegular(s, path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
}

func invalid(path, format string, args ...any) error {
	return fault.New(fault.ArchiveInvalid, "archive %s: %w", path, fmt.Errorf(format, args...))
}
