package store

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/derive"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/scan"
)

// File is the file of a spec.
type File struct {
	ID   string // the file's name without .md
	Path string // absolute path; for a symbolic link, the path of its target
	Link bool   // the entry is a symbolic link
	Err  error  // reason why the file cannot be read, if known without opening it
}

// Limits of Specs: it lists directories down to level maxDepth, and returns no Value for files of more than maxDerived
// bytes.
const (
	maxDepth   = 32
	maxDerived = 4 << 20
)

var errTooDeep = fmt.Errorf("is %d levels below the specs directory: files in it are not listed, so move them up", maxDepth)

// Derived is a spec's file with a value that depends on its content only.
type Derived[T any] struct {
	File
	Value *T // nil for a symbolic link, and for a file that cannot be read or is too large: read the file
}

// Specs returns the files below specs whose names end in .md, ordered by path, with the values of f. Symbolic links to
// directories are not followed. A directory that cannot be read is in the list, with its error.
func Specs[T any](d Dir, f *derive.Func[T]) iter.Seq2[Derived[T], error] {
	return func(yield func(Derived[T], error) bool) {
		root, err := filepath.EvalSymlinks(d.specs())
		if err != nil {
			yield(Derived[T]{}, err)
			return
		}
		for entry, err := range f.Scan(root, scan.Options{Depth: maxDepth, Match: []string{"*.md"}, MaxFile: maxDerived}) {
			if err != nil {
				yield(Derived[T]{}, err)
				return
			}
			file, ok := derived(d, root, entry)
			if ok && !yield(file, nil) {
				return
			}
		}
	}
}

// derived converts an entry of a scan of root; ok is false if it is not the file of a spec.
func derived[T any](d Dir, root string, entry derive.Entry[T]) (_ Derived[T], ok bool) {
	at := filepath.Join(root, filepath.FromSlash(entry.Path))
	if entry.Type.IsDir() {
		err := errTooDeep
		switch {
		case entry.State != scan.OK:
			_, err = os.ReadDir(at)
		case strings.Count(entry.Path, "/") < maxDepth-1:
			err = nil
		}
		return Derived[T]{File: File{Path: at, Err: err}}, err != nil
	}
	id, ok := strings.CutSuffix(entry.Name(), ".md")
	if !ok || id == "" {
		return Derived[T]{}, false
	}
	file := Derived[T]{File: d.file(id, at, entry.Type)}
	if entry.Derived {
		file.Value = &entry.Value
	}
	return file, true
}

func (d Dir) file(id, path string, kind fs.FileMode) File {
	file := File{ID: id, Path: path}
	switch {
	case id == "." || id == "..":
		file.Err = errors.New("the file name has no id")
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

// SpecNames lists the names in the specs directory, without subdirectories.
func (d Dir) SpecNames() ([]string, error) { return names(d.specs()) }

// Archived holds the paths of archived files by id.
type Archived map[string][]string

// Has reports whether a spec is archived. An empty file does not count: an interrupted Move left it.
func (a Archived) Has(id string) bool {
	return slices.ContainsFunc(a[id], func(path string) bool { return !isEmpty(path) })
}

// Archived returns the specs in the archive and in its direct subdirectories. If some of them cannot be read, it
// returns the others with an error.
func (d Dir) Archived() (Archived, error) {
	if err := d.inside(d.Archive()); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(d.Archive())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	archived := Archived{}
	add := func(dir, name string) {
		if id, ok := strings.CutSuffix(name, ".md"); ok {
			archived[id] = append(archived[id], filepath.Join(dir, name))
		}
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			add(d.Archive(), entry.Name())
			continue
		}
		dir := filepath.Join(d.Archive(), entry.Name())
		files, failed := names(dir)
		err = errors.Join(err, failed)
		for _, name := range files {
			add(dir, name)
		}
	}
	return archived, err
}

func isEmpty(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular() && info.Size() == 0
}

func names(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names, err
}

// TooLargeError reports that a file has more than Max bytes.
type TooLargeError struct{ Max int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("larger than %d KiB", e.Max>>10)
}

// Sum is a checksum of a file's content, valid within the process. It detects that another program changed the file. Every
// spec that is read gets one, and a cryptographic digest takes a module 35 times as long as a native program, so Sum is a
// hash with a random seed.
type Sum uint64

var sumSeed = maphash.MakeSeed()

func sumOf(content []byte) Sum { return Sum(maphash.Bytes(sumSeed, content)) }

// Read returns the content of a regular file and its sum. The error is a *TooLargeError if the file has more than max bytes;
// Read reads at most max + 1 bytes.
func Read(path string, max int64) (string, Sum, error) {
	content, err := filesystem.ReadFile(filesystem.OS{}, path, max)
	if errors.Is(err, filesystem.ErrTooLarge) {
		return "", 0, &TooLargeError{max}
	}
	if err != nil {
		return "", 0, err
	}
	return string(content), sumOf(content), nil
}
