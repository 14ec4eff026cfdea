// Package store accesses a project's .chant directory. It finds the directory (Find), reads its files within bounds (Specs,
// Read, Tail) and changes them atomically (Replace, Create, Move). It does not parse specs.
package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// DirName is the name of the directory in a project's root.
const DirName = ".chant"

// ErrNotInitialized reports that the directory .chant/specs is missing.
//
//lint:ignore ST1005 the wording of the chant CLI
var ErrNotInitialized = errors.New("Chant not initialized. Run `chant init` first.")

// errNoProject reports that the directory .chant is missing. It wraps ErrNotInitialized.
//
//lint:ignore ST1005 the wording follows the chant CLI
var errNoProject = fmt.Errorf("%w Not in a chant project directory: run it in the project's root, or navigate to a directory containing `%s/`.", ErrNotInitialized, DirName)

// Dir is a project's .chant directory.
type Dir struct {
	Root string // the absolute path of the directory that contains .chant
}

// Find returns the .chant directory in cwd or its nearest parent, up to project. If cwd is not in project, Find only checks
// project itself. The error wraps ErrNotInitialized if there is no .chant directory, or if the nearest one has no specs
// directory.
func Find(cwd, project string) (Dir, error) {
	at := cwd
	if !contain.Within(project, cwd) {
		at = project
	}
	for {
		dir := Dir{Root: filepath.Clean(at)}
		if dir.exists() {
			return dir, dir.check(project)
		}
		if parent := filepath.Dir(at); at != project && contain.Within(project, parent) && parent != at {
			at = parent
			continue
		}
		return Dir{}, errNoProject
	}
}

// check returns an error unless .chant has a specs directory and both directories resolve to paths inside project.
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
		return fmt.Errorf("%s is not a directory: move it away and run `chant init`", d.specs())
	}
	return nil
}

// exists reports whether .chant is a directory or a symbolic link. A link that cannot be resolved counts, too, so that check
// reports the cause instead of ErrNotInitialized.
func (d Dir) exists() bool {
	info, err := os.Stat(d.path())
	if err == nil {
		return info.IsDir()
	}
	_, err = os.Lstat(d.path())
	return !errors.Is(err, fs.ErrNotExist)
}

func (d Dir) path() string  { return filepath.Join(d.Root, DirName) }
func (d Dir) specs() string { return filepath.Join(d.path(), "specs") }

// Spec returns the path of a new spec's file.
func (d Dir) Spec(id string) string { return filepath.Join(d.specs(), id+".md") }

// Log returns the path of a spec's execution log.
func (d Dir) Log(id string) string { return filepath.Join(d.path(), "logs", id+".log") }

// Lock returns the path of the lock file that exists while work on a spec is in progress.
func (d Dir) Lock(id string) string { return filepath.Join(d.path(), ".locks", id+".lock") }

// Archive returns the directory of archived specs.
func (d Dir) Archive() string { return filepath.Join(d.path(), "archive") }

// Relative returns a path relative to the root, with slashes, for messages.
func (d Dir) Relative(path string) string {
	relative, err := filepath.Rel(d.Root, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(relative)
}

// Real returns the resolved path of .chant, which is the same for all projects that share the directory.
func (d Dir) Real() (string, error) { return filepath.EvalSymlinks(d.path()) }

// Contains returns an error if path resolves to a path outside .chant, or contains a broken symbolic link. A path that does
// not exist is contained.
func (d Dir) Contains(path string) error {
	if err := d.inside(path); err != nil {
		return fmt.Errorf("%s %w", d.Relative(path), err)
	}
	return nil
}

// inside is Contains with an error that does not name the path.
func (d Dir) inside(path string) error {
	return inside(d.path(), "the project's "+DirName+" directory", path)
}

// inside returns an error if path resolves to a path outside dir, or contains a broken symbolic link. A path that does not
// exist is inside. Errors use name for dir; the caller prepends path.
//
// For a symbolic link to a path outside dir, inside drops the system's error: in the sandbox that error misleadingly says
// that the target does not exist.
func inside(dir, name, path string) error {
	var links contain.Resolver
	base, err := links.Resolve(dir)
	if err != nil {
		return fmt.Errorf("cannot be accessed: %w", err)
	}
	target, err := links.Resolve(path)
	if err == nil && target.Dangling {
		err = &fs.PathError{Op: "lstat", Path: target.Path, Err: fs.ErrNotExist}
	}
	switch {
	case !contain.Within(base.Path, target.Path):
		return fmt.Errorf("is a symbolic link that points outside %s", name)
	case target.Dangling:
		return fmt.Errorf("is a symbolic link that cannot be resolved: %w", err)
	case err != nil:
		return fmt.Errorf("cannot be accessed: %w", err)
	}
	return nil
}
