package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxLinks bounds how many links are followed on the way of one path, as the system does.
const maxLinks = 40

// inside returns an error, to be put behind the name of path, if path is a link, or lies behind one, that
// leads out of folder, which people know as name, or nowhere. A path that does not exist is inside.
//
// For a program that sees nothing but the project, what lies out of it does not exist or may not be asked
// about. What the system says of such a link would send people looking for a file, so it is not passed on.
func inside(folder, name, path string) error {
	realFolder, err := filepath.EvalSymlinks(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nor is there anything in it
	}
	if err != nil {
		return fmt.Errorf("cannot be looked at: %w", err)
	}
	from := folder
	if !within(folder, path) {
		from = realFolder
	}
	below, err := filepath.Rel(from, path)
	if err != nil {
		return err
	}
	end, dangling, err := follow(realFolder, below)
	switch {
	case !within(realFolder, end):
		return fmt.Errorf("is a link that leads out of %s", name)
	case dangling:
		return fmt.Errorf("is a link that cannot be followed: %w", err)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("cannot be looked at: %w", err)
	}
	return nil
}

// follow goes from folder, in whose own path there are no links, along the path below it for as long as
// there is something. It returns where that ends; with an error, which is about that place, whether a link
// is what leads there.
func follow(folder, below string) (end string, dangling bool, err error) {
	const separator = string(filepath.Separator)
	end = folder
	rest := strings.Split(below, separator)
	behind := len(rest) // so many names are left of rest behind what the links lead to
	for links := 0; len(rest) > 0; {
		next := filepath.Join(end, rest[0])
		rest = rest[1:]
		info, err := os.Lstat(next)
		if err != nil {
			return next, len(rest) >= behind, err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			end = next
			continue
		}
		if links++; links > maxLinks {
			return next, true, errors.New("too many links")
		}
		target, err := os.Readlink(next)
		if err != nil {
			return next, true, err
		}
		behind = min(behind, len(rest))
		if filepath.IsAbs(target) {
			end = separator
		}
		rest = append(strings.Split(target, separator), rest...)
	}
	return end, false, nil
}

// within tells whether path is folder or lies below it, by their names alone.
func within(folder, path string) bool {
	relative, err := filepath.Rel(folder, path)
	return err == nil && relative != ".." && !strings.HasPrefix(relative, ".."+string(filepath.Separator))
}
