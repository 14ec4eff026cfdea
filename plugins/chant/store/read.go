package store

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// File is a spec's file.
type File struct {
	ID   string // the file's name without .md
	Path string // absolute; for a link, that of what it leads to
	Link bool
	Err  error // why it cannot be read, if that is already known
}

// Specs lists the files below specs whose names end in .md, in the order of their paths. Folders that
// are links are not followed. A folder that cannot be read is in the list, with its error.
func (d Dir) Specs() ([]File, error) {
	root, err := filepath.EvalSymlinks(d.specs())
	if err != nil {
		return nil, err
	}
	var files []File
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && path == root:
			return err
		case err != nil:
			files = append(files, File{Path: path, Err: err})
			return nil
		case entry.IsDir():
			return nil
		}
		id, ok := strings.CutSuffix(entry.Name(), ".md")
		if ok && id != "" { // a bare .md has no name before its ending
			files = append(files, d.file(id, path, entry.Type()))
		}
		return nil
	})
	return files, err
}

func (d Dir) file(id, path string, kind fs.FileMode) File {
	file := File{ID: id, Path: path}
	switch {
	case id == "." || id == "..":
		file.Err = errors.New("the name holds no id")
	case kind.IsRegular():
	case kind&fs.ModeSymlink != 0:
		file.Link = true
		if file.Err = d.inside(path); file.Err != nil {
			return file
		}
		if file.Path, file.Err = filepath.EvalSymlinks(path); file.Err != nil {
			file.Path = path
		}
	default:
		file.Err = errors.New("not a regular file")
	}
	return file
}

// SpecNames lists the names in the folder of specs itself.
func (d Dir) SpecNames() ([]string, error) { return names(d.specs()) }

// Archived is what an archive holds: the paths of the files by their ids.
type Archived map[string][]string

// Has tells whether a spec is archived. An empty file is no spec: it is what is left of a move that was
// stopped.
func (a Archived) Has(id string) bool {
	return slices.ContainsFunc(a[id], func(path string) bool { return !empty(path) })
}

// Archived returns all archived specs, whether they lie in the archive itself or in a folder of it. With
// an error, which is about a part of the archive, come those of the others.
func (d Dir) Archived() (Archived, error) {
	if err := d.inside(d.Archive()); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(d.Archive())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	archived := Archived{}
	add := func(folder, name string) {
		if id, ok := strings.CutSuffix(name, ".md"); ok {
			archived[id] = append(archived[id], filepath.Join(folder, name))
		}
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			add(d.Archive(), entry.Name())
			continue
		}
		folder := filepath.Join(d.Archive(), entry.Name())
		inside, unread := names(folder)
		err = errors.Join(err, unread)
		for _, name := range inside {
			add(folder, name)
		}
	}
	return archived, err
}

// empty tells whether path is a regular file without content.
func empty(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular() && info.Size() == 0
}

func names(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names, err
}

// TooLargeError says that a file is larger than what is read of it.
type TooLargeError struct{ Max int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("larger than %d KiB", e.Max>>10)
}

// Sum tells contents apart.
type Sum [sha256.Size]byte

// Read returns a regular file of at most max bytes, and its sum. Of a larger one (*TooLargeError) next
// to nothing is read.
func Read(path string, max int64) (string, Sum, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", Sum{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", Sum{}, err
	}
	if !info.Mode().IsRegular() {
		return "", Sum{}, fmt.Errorf("%s: not a regular file", path)
	}
	if info.Size() > max {
		return "", Sum{}, &TooLargeError{max}
	}
	// Room for what the file holds and a byte more: specs are small and many, and whatever reads without
	// knowing their size takes tens of KiB for each.
	content := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead))
	if _, err := content.ReadFrom(io.LimitReader(file, max+1)); err != nil {
		return "", Sum{}, err
	}
	if int64(content.Len()) > max {
		return "", Sum{}, &TooLargeError{max} // it has grown meanwhile
	}
	return content.String(), sha256.Sum256(content.Bytes()), nil
}
