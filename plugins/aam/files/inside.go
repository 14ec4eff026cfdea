package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// Paths resolves paths below a directory. It caches which path elements are directories, so it must not be used for
// longer than one call, nor for writes.
type Paths struct {
	files  System
	folder string
	links  contain.Resolver
}

// NewPaths returns the Paths for a directory.
func NewPaths(s System, folder string) *Paths {
	return &Paths{files: s, folder: folder, links: contain.Resolver{FS: s}}
}

// Inside resolves a path below the directory, like the function Inside.
func (p *Paths) Inside(path string) (string, error) {
	real, _, err := p.resolve(path)
	return real, err
}

// Open opens a regular file, as OpenRegular does.
func (p *Paths) Open(path string) (io.ReadCloser, error) {
	file, _, err := p.open(path)
	return file, err
}

// open is Open that also returns the size of the file.
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

// resolve is Inside that also returns the FileInfo, if known.
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

// Read reads a file below the directory, like the function ReadInside.
func (p *Paths) Read(path string, limit int64) ([]byte, error) {
	file, size, err := p.open(path)
	if err != nil {
		return nil, err
	}
	return readAll(file, path, size, limit)
}

// Inside resolves all symbolic links in path below the directory folder. If the result is outside of folder, the error
// is contain.ErrOutside. Path must be lexically below folder. Inside does not resolve symbolic links in folder itself,
// and keeps path elements that do not exist. It accesses nothing outside of folder, because a sandbox may not grant
// that.
func Inside(s System, folder, path string) (string, error) {
	return NewPaths(s, folder).Inside(path)
}

// ReadInside is Read for a file below folder, an untrusted directory. If a symbolic link resolves to a path outside of
// folder, the error is contain.ErrOutside.
func ReadInside(s System, folder, path string, limit int64) ([]byte, error) {
	return NewPaths(s, folder).Read(path, limit)
}
