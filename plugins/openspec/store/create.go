package store

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// keepName is the name of an empty file that makes git keep an otherwise empty directory.
const keepName = ".gitkeep"

// Scaffold creates directories and files, and records them, so that Undo can remove them.
type Scaffold struct {
	Created  []string // relative to the project, with slashes, in the order of creation
	Existing []string // paths of files and directories that existed before, relative to the project
	root     *Root
	made     []string // absolute paths that Undo removes, in the order of creation
}

// NewScaffold returns a Scaffold for the root r.
func (r *Root) NewScaffold() *Scaffold { return &Scaffold{root: r} }

// Base creates the openspec directory with its subdirectories. Unless a config file exists, Base also creates one with
// the content config. If keep is set, Base creates a file in each empty directory, so that git keeps the directory.
func (s *Scaffold) Base(config string, keep bool) error {
	r := s.root
	for _, dir := range []string{r.Dir, r.SpecsDir(), r.ChangesDir(), r.ArchiveDir()} {
		if err := s.dir(dir); err != nil {
			return err
		}
	}
	if keep {
		for _, dir := range []string{r.SpecsDir(), r.ArchiveDir()} {
			if err := s.keep(dir); err != nil {
				return err
			}
		}
	}
	if found := r.Config(); found != "" {
		s.Existing = append(s.Existing, s.relative(found))
		return nil
	}
	return s.file(filepath.Join(r.Dir, ConfigNames[0]), config)
}

// Change atomically creates the directory of a change with the given files. The error is fs.ErrExist if the directory
// already exists.
func (s *Scaffold) Change(name string, files []File) error {
	r := s.root
	dir := filepath.Join(r.ChangesDir(), name)
	var members []atomicfile.Member
	for _, file := range files {
		members = append(members, atomicfile.Member{Name: file.Name, Parts: [][]byte{[]byte(file.Content)}})
	}
	if err := atomicfile.CreateDir(dir, members, r.temporary()); err != nil {
		return err
	}
	s.Created = append(s.Created, s.relative(dir))
	for _, file := range files {
		s.Created = append(s.Created, s.relative(filepath.Join(dir, file.Name)))
	}
	return nil
}

// File is the name and content of a new file.
type File struct{ Name, Content string }

// Undo removes all directories and files that the Scaffold has created, in reverse order. It keeps a directory to which
// another program has added an entry.
func (s *Scaffold) Undo() error {
	var failed error
	for i := len(s.made) - 1; i >= 0; i-- {
		if info, err := s.root.files.Lstat(s.made[i]); err == nil && info.IsDir() {
			failed = errors.Join(failed, filesystem.RemoveEmpty(s.root.files, s.made[i]))
		} else {
			failed = errors.Join(failed, filesystem.RemoveIfExists(s.root.files, s.made[i]))
		}
	}
	return failed
}

func (s *Scaffold) dir(path string) error {
	info, err := s.root.files.Stat(path)
	switch {
	case err == nil && !info.IsDir():
		return &fs.PathError{Op: "create", Path: path, Err: errors.New("exists and is not a directory; move it away")}
	case err == nil && !s.root.reachable(path):
		return &fs.PathError{Op: "create", Path: path, Err: errors.New("is a symbolic link to a path outside of the project; replace it by a directory")}
	case err == nil:
		s.Existing = append(s.Existing, s.relative(path))
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := atomicfile.MkdirAll(path, s.root.temporary()); err != nil {
		return err
	}
	s.note(path)
	return nil
}

func (s *Scaffold) keep(dir string) error {
	entries, err := s.root.files.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		return err
	}
	return s.file(filepath.Join(dir, keepName), "")
}

func (s *Scaffold) file(path, content string) error {
	if err := atomicfile.Create(path, []byte(content), s.root.temporary()); err != nil {
		return err
	}
	s.note(path)
	return nil
}

func (s *Scaffold) note(path string) {
	s.made = append(s.made, path)
	s.Created = append(s.Created, s.relative(path))
}

func (s *Scaffold) relative(path string) string {
	below, err := filepath.Rel(s.root.Path, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(below)
}
