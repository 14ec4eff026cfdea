package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// Paths resolves paths below a directory. It caches which path elements are directories. So callers must not use a
// Paths for more than one call of a tool, nor for writes.
type Paths struct {
	files  System
	folder string
	links  contain.Resolver
}

// NewPaths returns the Paths for the directory folder.
func NewPaths(s System, folder string) *Paths {
	return &Paths{files: s, folder: folder, links: contain.Resolver{FS: s}}
}

// Inside resolves a path below the directory as the function Inside does.
func (p *Paths) Inside(path string) (string, error) {
	real, _, err := p.resolve(path)
	return real, err
}

// Open opens a regular file below the directory as OpenRegular does.
func (p *Paths) Open(path string) (io.ReadCloser, error) {
	file, _, err := p.open(path)
	return file, err
}

// open opens a regular file as Open does, and also returns the size of the file.
func (p *Paths) open(path string) (io.ReadCloser, int64, error) {
	real, info, err := p.resolve(path)
	if err != nil {
		return nil, 0, err
	}
	if info == nil || !info.Mode().IsRegular() {
		return openRegular(p.files, real)
	}
	file, err := p.files.Open(real)
	return file, info.Size(), err
}

// resolve resolves a path as Inside does, and also returns the FileInfo of the resolved path if it is known.
func (p *Paths) resolve(path string) (string, fs.FileInfo, error) {
	target, err := p.links.InsideOnly(p.folder, path)
	switch {
	case errors.Is(err, contain.ErrOutside):
		return "", nil, fmt.Errorf("%s: %w of %s", path, contain.ErrOutside, p.folder)
	case errors.Is(err, syscall.ELOOP):
		return "", nil, fmt.Errorf("%s: too many links", path)
	}
	return target.Path, target.Info, err
}

// Read reads a file below the directory as the function ReadInside does.
func (p *Paths) Read(path string, limit int64) ([]byte, error) {
	file, size, err := p.open(path)
	if err != nil {
		return nil, err
	}
	return readAll(file, path, size, limit)
}

// Inside returns path with all symbolic links below the directory folder resolved. If the resolved path is outside of
// folder, the error is contain.ErrOutside. The path must be lexically below folder. Inside does not resolve symbolic
// links in folder itself, and keeps path elements that do not exist. It accesses no file outside of folder, because a
// sandbox may not grant such an access.
func Inside(s System, folder, path string) (string, error) {
	return NewPaths(s, folder).Inside(path)
}

// ReadInside reads a file below folder, an untrusted directory, as Read does. If a symbolic link resolves to a path
// outside of folder, the error is contain.ErrOutside.
func ReadInside(s System, folder, path string, limit int64) ([]byte, error) {
	return NewPaths(s, folder).Read(path, limit)
}
