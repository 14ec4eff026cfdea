// Package archive reads and writes .aam files, which are gzip-compressed tar archives of the directory of a package,
// including aam.yaml. Check validates an archive, Extract writes the files of a validated archive, Pack creates an
// archive, and a Peeker reads only the manifest. An archive is untrusted until Check has read all of it.
package archive

import (
	"encoding/hex"
	"fmt"
	"io"
	"path"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
)

// Limits are the maximum sizes of an archive that is read or created.
type Limits struct {
	Compressed int64 // maximum size of the archive's file, in bytes
	Inflated   int64 // maximum size of the tar, and of all extracted files together, in bytes
	Members    int   // maximum number of members of the tar
	Depth      int   // maximum number of elements of a path
	Path       int   // maximum length of a path, in bytes
}

// DefaultLimits returns the default limits: 50 MiB for the compressed archive, which is also the limit of the aam
// program, and 200 MiB for the inflated tar.
func DefaultLimits() Limits {
	return Limits{Compressed: 50 << 20, Inflated: 200 << 20, Members: 10_000, Depth: 32, Path: 1024}
}

// Listing describes the content of an archive.
type Listing struct {
	Checksum string // the SHA-256 of the archive's file: "sha256:" and 64 hexadecimal digits
	Size     int64  // the size of the archive's file, in bytes
	Files    []File // the files in the order of the archive, without duplicate paths
	Manifest *manifest.Manifest
	tar      *kept // the decompressed tar; nil if CheckAndKeep has not kept it
}

// File describes a file in an archive.
type File struct {
	Path       string // relative to the package's directory, with slashes, and clean
	Size       int64
	Executable bool
	member     int    // the index of the member with the content of the file; -1 for a link
	copyOf     string // the path of the link's target, if the file is a link
}

// CheckArtifacts returns an error with the code ManifestInvalid unless the archive contains each artifact of the
// manifest, either as a file, or as a directory that contains files.
func (l *Listing) CheckArtifacts() error {
	there := map[string]bool{".": true}
	for _, file := range l.Files {
		for at := file.Path; !there[at]; at = path.Dir(at) {
			there[at] = true
		}
	}
	for _, artifact := range l.Manifest.Artifacts {
		if !there[path.Clean(artifact.Path)] {
			return fault.New(fault.ManifestInvalid, "artifact path '%.200s' is not in the archive", artifact.Path)
		}
	}
	return nil
}

// Checksum returns the checksum of the file at path, which may have any format.
func Checksum(s files.System, path string) (string, error) {
	file, err := files.OpenRegular(s, path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := digest.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
}

func invalid(path, format string, args ...any) error {
	return fault.New(fault.ArchiveInvalid, "archive %s: %w", path, fmt.Errorf(format, args...))
}
