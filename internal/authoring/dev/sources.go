package dev

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Bounds of a walk. Package watch watches fewer files, and warns of the others; it polls if there are too many directories.
const (
	maxFiles = 5000
	maxDirs  = 2000
)

// outputDirs are the names of directories that hold build output, dependencies or caches, and never sources.
var outputDirs = []string{"node_modules", "target", "dist", "build", "__pycache__"}

// isOutput reports whether a directory is not searched for sources. Directories whose names begin with a dot belong to version control
// systems, editors and caches; .cargo contains the settings of a build.
func isOutput(name string) bool {
	return slices.Contains(outputDirs, name) || strings.HasPrefix(name, ".") && name != ".cargo"
}

// isScratch reports whether a file is temporary, such as those that editors write beside an edited file.
func isScratch(name string) bool {
	for _, suffix := range []string{"~", ".swp", ".swo", ".swx", ".tmp", ".bak", ".new", ".orig"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return strings.HasPrefix(name, ".#") || strings.HasPrefix(name, "#") || name == ".DS_Store" || name == "4913" // Vim tests with it whether it can write
}

// walk returns the sources in the directories roots and below, and the directories that contain them. It skips the file ignored, follows
// no symbolic links to directories, and takes bounded time.
func walk(roots []string, ignored string) (files, dirs []string) {
	todo := slices.Clone(roots)
	for len(todo) > 0 && len(dirs) < maxDirs && len(files) < maxFiles {
		dir := todo[0]
		todo = todo[1:]
		dirs = append(dirs, dir)
		for _, e := range list(dir) {
			path := filepath.Join(dir, e.Name())
			switch {
			case e.IsDir() && !isOutput(e.Name()):
				todo = append(todo, path)
			case e.IsDir(), isScratch(e.Name()), path == ignored:
			case e.Type().IsRegular(), e.Type()&os.ModeSymlink != 0:
				files = append(files, path)
			}
		}
	}
	return files, dirs
}

// list returns at most maxFiles entries of a directory, sorted; none if it cannot be read.
func list(dir string) []os.DirEntry {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(maxFiles)
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries
}
