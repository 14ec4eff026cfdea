package watch

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const maxLinks = 40 // maximum number of symbolic links that are followed for one path

// directories returns the existing directories whose entries decide what an absolute path refers to: its parent, the
// parents of the symbolic links that it contains, and the path itself if it is a directory. The nearest existing ancestor
// stands for a parent that does not exist.
func directories(path string) []string {
	root := filepath.VolumeName(path) + string(filepath.Separator)
	at, rest := root, split(path)
	var dirs []string
	add := func(dir string) {
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	for links := 0; len(rest) > 0; {
		next := filepath.Join(at, rest[0])
		info, err := os.Lstat(next)
		if err != nil {
			add(at)
			return dirs
		}
		isLink := info.Mode()&fs.ModeSymlink != 0
		if isLink || len(rest) == 1 {
			add(at)
		}
		switch {
		case isLink:
			target, err := os.Readlink(next)
			if links++; err != nil || links > maxLinks {
				return dirs
			}
			if filepath.IsAbs(target) {
				at = filepath.VolumeName(target) + string(filepath.Separator)
			}
			rest = append(split(target), rest[1:]...)
		case info.IsDir():
			at, rest = next, rest[1:]
		default:
			add(at)
			return dirs
		}
	}
	add(at)
	return dirs
}

// split returns the components of a path, without its volume. Components ".." of a symbolic link's target are not resolved
// lexically: they refer to the parent of the resolved directory.
func split(path string) []string {
	path = path[len(filepath.VolumeName(path)):]
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == filepath.Separator })
}
