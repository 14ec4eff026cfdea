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
		if dir.exists() {
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
	if err := inside(project, "the project", d.path()); err != nil {
		return fmt.Errorf("%s %w", d.path(), err)
	}
	if err := d.inside(d.specs()); err != nil {
		return fmt.Errorf("%s %w", d.specs(), err)
	}
	info, err := os.Stat(d.specs())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ErrNotInitialized
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder: move away what is there, and run `chant init`", d.specs())
	}
	return nil
}

// exists tells whether there is a .chant: a folder, or a link that is to be one. A link to nowhere, or to
// where this program may not go, was put there by somebody: it is at fault and not absent.
func (d Dir) exists() bool {
	info, err := os.Stat(d.path())
	if err == nil {
		return info.IsDir()
	}
	_, err = os.Lstat(d.path())
	return !errors.Is(err, fs.ErrNotExist)
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

// Real returns the path of .chant itself, without links: the same for all who share it.
func (d Dir) Real() (string, error) { return filepath.EvalSymlinks(d.path()) }

// Contains returns an error if path is a link, or lies behind one, that leads out of .chant or nowhere. A
// path that does not exist is contained.
func (d Dir) Contains(path string) error {
	if err := d.inside(path); err != nil {
		return fmt.Errorf("%s %w", d.Relative(path), err)
	}
	return nil
}

// inside is Contains with an error that does not name the path.
func (d Dir) inside(path string) error {
	return inside(d.path(), "the project's "+FolderName+" folder", path)
}
