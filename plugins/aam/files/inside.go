package files

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// maxLinks bounds the symbolic links that are followed for one path, as operating systems do.
const maxLinks = 40

// ErrOutside reports a path that leaves its directory, lexically or through a symbolic link.
var ErrOutside = errors.New("leads outside")

// Within reports whether path is folder or lexically below it.
func Within(folder, path string) bool {
	relative, err := filepath.Rel(folder, path)
	return err == nil && relative != ".." && !strings.HasPrefix(relative, ".."+string(filepath.Separator))
}

// Inside resolves all symbolic links in path below folder; if the result is outside of folder, the error is ErrOutside.
// Path has to be lexically below folder, whose own links are not resolved. Absent elements are kept. It accesses nothing
// outside of folder, which a sandbox may not grant.
func Inside(s System, folder, path string) (string, error) {
	below, err := relative(folder, path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	end, links := folder, 0
	rest := split(below)
	for len(rest) > 0 {
		next := filepath.Join(end, rest[0])
		rest = rest[1:]
		if !Within(folder, next) {
			return "", fmt.Errorf("%s: %w of %s", path, ErrOutside, folder)
		}
		info, err := s.Lstat(next)
		if errors.Is(err, fs.ErrNotExist) {
			return filepath.Join(append([]string{next}, rest...)...), nil
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			end = next
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("%s: too many links", path)
		}
		target, err := s.Readlink(next)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(target) {
			if target, err = relative(folder, target); err != nil {
				return "", fmt.Errorf("%s: %w", path, err)
			}
			end = folder
		}
		rest = append(split(target), rest...)
	}
	return end, nil
}

// ReadInside is Read for a file below an untrusted folder. If a symbolic link leads out of folder, the error is
// ErrOutside.
func ReadInside(s System, folder, path string, limit int64) ([]byte, error) {
	real, err := Inside(s, folder, path)
	if err != nil {
		return nil, err
	}
	return Read(s, real, limit)
}

// relative returns path relative to folder, which has to contain it lexically.
func relative(folder, path string) (string, error) {
	if !Within(folder, path) {
		return "", fmt.Errorf("%w of %s", ErrOutside, folder)
	}
	return filepath.Rel(folder, path)
}

// split returns the elements of a relative path. It does not resolve "..", because the element before may be a symbolic
// link.
func split(path string) []string {
	parts := strings.Split(path, string(filepath.Separator))
	kept := parts[:0]
	for _, part := range parts {
		if part != "" && part != "." {
			kept = append(kept, part)
		}
	}
	return kept
}
