package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxLinks bounds how many symbolic links are resolved in one path, as Linux does.
const maxLinks = 40

// inside returns an error if the resolved path is outside dir, or if a symbolic link in it is broken. A path that does
// not exist is inside. Messages call dir by name; the caller prepends path.
//
// The system's error for a link to outside is not passed on: in the sandbox it says that the target does not exist,
// which is misleading.
func inside(dir, name, path string) error {
	realDir, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot be accessed: %w", err)
	}
	from := dir
	if !within(dir, path) {
		from = realDir
	}
	below, err := filepath.Rel(from, path)
	if err != nil {
		return err
	}
	end, broken, err := resolve(realDir, below)
	switch {
	case !within(realDir, end):
		return fmt.Errorf("is a symbolic link that points outside %s", name)
	case broken:
		return fmt.Errorf("is a symbolic link that cannot be resolved: %w", err)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("cannot be accessed: %w", err)
	}
	return nil
}

// resolve resolves the path below dir, which must have no symbolic links itself, up to the first component that cannot
// be accessed. An error is about end; broken reports whether end is in the target of a symbolic link.
func resolve(dir, below string) (end string, broken bool, err error) {
	const separator = string(filepath.Separator)
	end = dir
	rest := strings.Split(below, separator)
	unresolved := len(rest) // how many components of below follow the targets of the links so far
	for links := 0; len(rest) > 0; {
		next := filepath.Join(end, rest[0])
		rest = rest[1:]
		info, err := os.Lstat(next)
		if err != nil {
			return next, len(rest) >= unresolved, err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			end = next
			continue
		}
		if links++; links > maxLinks {
			return next, true, errors.New("too many levels of symbolic links")
		}
		target, err := os.Readlink(next)
		if err != nil {
			return next, true, err
		}
		unresolved = min(unresolved, len(rest))
		if filepath.IsAbs(target) {
			end = separator
		}
		rest = append(strings.Split(target, separator), rest...)
	}
	return end, false, nil
}

// within reports whether path is dir or below it, lexically.
func within(dir, path string) bool {
	relative, err := filepath.Rel(dir, path)
	return err == nil && relative != ".." && !strings.HasPrefix(relative, ".."+string(filepath.Separator))
}
