// Package store is a project's .chant folder on disk: finding it (Find), reading what it holds within
// bounds (Specs, Read, Tail) and changing it so that a file is always whole (Replace, Create, Move). It
// knows nothing of what is in a spec.
package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// FolderName is the name of the folder in a project's root.
const FolderName = ".chant"

// ErrNotInitialized says that there is no .chant/specs folder.
//
//lint:ignore ST1005 these are the words that clients know
var ErrNotInitialized = errors.New("Chant not initialized. Run `chant init` first.")

// Dir is a project's .chant folder.
type Dir struct {
	Root string // the absolute path of the folder that holds .chant
}

// Find looks for the .chant folder of cwd: there, then in each parent up to project, to which cwd
// belongs; where it does not, in project alone. The first one counts, even without specs in it, for
// which the error is ErrNotInitialized.
func Find(cwd, project string) (Dir, error) {
	at := cwd
	if !within(project, cwd) {
		at = project
	}
	for {
		dir := Dir{Root: filepath.Clean(at)}
		found, err := isDir(dir.path())
		if err != nil {
			return Dir{}, err
		}
		if found {
			return dir, dir.check(project)
		}
		if parent := filepath.Dir(at); at != project && within(project, parent) && parent != at {
			at = parent
			continue
		}
		return Dir{}, ErrNotInitialized
	}
}

// check tells whether the folder may be used: it holds specs, and links do not lead out of project.
func (d Dir) check(project string) error {
	if err := inside(project, d.path()); err != nil {
		return err
	}
	found, err := isDir(d.specs())
	if err != nil {
		return err
	}
	if !found {
		return ErrNotInitialized
	}
	return d.Contains(d.specs())
}

func (d Dir) path() string  { return filepath.Join(d.Root, FolderName) }
func (d Dir) specs() string { return filepath.Join(d.path(), "specs") }

// Spec returns the path that a new spec's file gets.
func (d Dir) Spec(id string) string { return filepath.Join(d.specs(), id+".md") }

// Log returns the path of a spec's execution log.
func (d Dir) Log(id string) string { return filepath.Join(d.path(), "logs", id+".log") }

// Lock returns the path of the file that is there while a spec is worked on.
func (d Dir) Lock(id string) string { return filepath.Join(d.path(), ".locks", id+".lock") }

// Archive returns the folder of archived specs.
func (d Dir) Archive() string { return filepath.Join(d.path(), "archive") }

// Relative returns a path as people write it: from the root, with slashes.
func (d Dir) Relative(path string) string {
	relative, err := filepath.Rel(d.Root, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(relative)
}

// Contains returns an error if path is a link, or lies behind one, that leads out of .chant. A path that
// does not exist is contained.
func (d Dir) Contains(path string) error { return inside(d.path(), path) }

func inside(folder, path string) error {
	realPath, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	realFolder, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return err
	}
	if !within(realFolder, realPath) {
		return fmt.Errorf("%s is a link that leads out of %s", path, folder)
	}
	return nil
}

// within tells whether path is folder or lies below it, by their names alone.
func within(folder, path string) bool {
	relative, err := filepath.Rel(folder, path)
	return err == nil && relative != ".." && !strings.HasPrefix(relative, ".."+string(filepath.Separator))
}

// isDir tells whether path is a folder. A link to nowhere, or to where this program may not go, is an
// error and not an absent folder: somebody put it there.
func isDir(path string) (bool, error) {
	info, err := os.Stat(path)
	if err == nil {
		return info.IsDir(), nil
	}
	if link, lerr := os.Lstat(path); lerr == nil && link.Mode()&fs.ModeSymlink != 0 {
		return false, fmt.Errorf("%s is a link that cannot be followed: %w", path, err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return false, err
}
