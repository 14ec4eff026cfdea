// Package store accesses the .chant directory of a project. Find finds the directory; Specs, Read and Tail read its
// files, and bound how much they read; Replace, Create and Move change the files atomically. The package does not parse
// specs.
package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// DirName is the name of the directory in the root of a project that holds the specs.
const DirName = ".chant"

// ErrNotInitialized is the error of Find if the directory .chant/specs does not exist.
//
//lint:ignore ST1005 the wording of the chant CLI
var ErrNotInitialized = errors.New("Chant not initialized. Run `chant init` first.")

// errNoProject is the error of Find if the directory .chant does not exist. errNoProject wraps ErrNotInitialized.
//
//lint:ignore ST1005 the wording follows the chant CLI
var errNoProject = fmt.Errorf("%w Not in a chant project directory: run it in the project's root, or navigate to a directory containing `%s/`.", ErrNotInitialized, DirName)

// Dir is the .chant directory of a project.
type Dir struct {
	Root string // the absolute path of the directory that contains .chant
}

// Find returns the .chant directory in cwd or in its nearest parent, up to project. If cwd is not in project, Find
// looks only in project itself. The error wraps ErrNotInitialized if Find finds no .chant directory, or if the nearest
// .chant directory has no specs directory.
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

// check returns an error unless .chant contains a specs directory, and both directories resolve to paths inside
// project.
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

// exists reports whether .chant is a directory or a symbolic link. A symbolic link that cannot be resolved counts, too,
// so that check reports the cause instead of ErrNotInitialized.
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

// Spec returns the path for the file of a new spec.
func (d Dir) Spec(id string) string { return filepath.Join(d.specs(), id+".md") }

// Log returns the path of the execution log of a spec.
func (d Dir) Log(id string) string { return filepath.Join(d.path(), "logs", id+".log") }

// Lock returns the path of the lock file that exists while work on a spec is in progress.
func (d Dir) Lock(id string) string { return filepath.Join(d.path(), ".locks", id+".lock") }

// Archive returns the directory of archived specs.
func (d Dir) Archive() string { return filepath.Join(d.path(), "archive") }

// Relative returns path relative to the root of the project, with slashes. Messages contain such paths.
func (d Dir) Relative(path string) string {
	relative, err := filepath.Rel(d.Root, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(relative)
}

// Real returns the resolved path of .chant, which is the same for all projects that share one .chant directory.
func (d Dir) Real() (string, error) { return filepath.EvalSymlinks(d.path()) }

// Contains returns an error if path resolves to a path outside .chant, or contains a broken symbolic link. A path that
// does not exist causes no error.
func (d Dir) Contains(path string) error {
	if err := d.inside(path); err != nil {
		return fmt.Errorf("%s %w", d.Relative(path), err)
	}
	return nil
}

// inside checks path as Contains does, but returns an error that does not name path.
func (d Dir) inside(path string) error {
	return inside(d.path(), "the project's "+DirName+" directory", path)
}

// inside returns an error if path resolves to a path outside dir, or contains a broken symbolic link. A path that does
// not exist causes no error. The error calls dir by the argument name; the caller has to prepend path to the error.
//
// For a symbolic link to a path outside dir, inside omits the system's error: in the sandbox, that error misleadingly
// says that the target does not exist.
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
