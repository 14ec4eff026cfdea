package files

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// maxLinks bounds how many links are followed on the way of one path, as operating systems do.
const maxLinks = 40

// ErrOutside says that a path, or a link on its way, leads out of the folder that it has to stay in.
var ErrOutside = errors.New("leads outside")

// Within tells whether path is folder or lies below it, by their names alone.
func Within(folder, path string) bool {
	relative, err := filepath.Rel(folder, path)
	return err == nil && relative != ".." && !strings.HasPrefix(relative, ".."+string(filepath.Separator))
}

// Inside returns path with all links on its way followed, if that stays inside of folder; else the error is
// ErrOutside. The path lies below folder by its name, and folder itself may be reached through links. What is
// not there is returned as it would be. Nothing outside is looked at: in a sandbox it may not be seen.
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

// ReadInside is Read of a file below folder from which no link leads out: what came with a folder from elsewhere
// must not have other files read for it. The error is then ErrOutside.
func ReadInside(s System, folder, path string, limit int64) ([]byte, error) {
	real, err := Inside(s, folder, path)
	if err != nil {
		return nil, err
	}
	return Read(s, real, limit)
}

// relative returns what leads from folder to path, which lies below it by its name.
func relative(folder, path string) (string, error) {
	if !Within(folder, path) {
		return "", fmt.Errorf("%w of %s", ErrOutside, folder)
	}
	return filepath.Rel(folder, path)
}

// split takes a relative path apart, without making it shorter: what stands before a .. may be a link.
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
