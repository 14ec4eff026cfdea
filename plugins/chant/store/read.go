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
	ID   string // the name of the file without .md
	Path string // the absolute path of the file; for a symbolic link, the path of its target
	Link bool   // the directory entry is a symbolic link
	Err  error  // the reason why the file cannot be read, if that is known without opening the file
}

// The limits of Specs. It lists directories down to the level maxDepth, and returns no Value for a file of more than
// maxDerived bytes.
const (
	maxDepth   = 32
	maxDerived = 4 << 20
)

var errTooDeep = fmt.Errorf("is %d levels below the specs directory: files in it are not listed, so move them up", maxDepth)

// Derived is the file of a spec together with a value that depends only on the content of the file.
type Derived[T any] struct {
	File
	Value *T // nil for a symbolic link, for a file that cannot be read, and for a file that is too large; the caller then has to read the file
}

// Specs returns the files below the specs directory whose names end in .md, ordered by path, with the values that f
// computes. Specs does not follow symbolic links to directories. For a directory that cannot be read, it returns a File
// with the error.
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

// derived converts an entry of a scan of the directory root. The result ok is false if the entry is not the file of a
// spec.
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

// SpecNames returns the names in the specs directory, without those of subdirectories.
func (d Dir) SpecNames() ([]string, error) { return names(d.specs()) }

// Archived maps the id of a spec to the paths of its archived files.
type Archived map[string][]string

// Has reports whether the spec with the given id is archived. An empty file does not count, because an interrupted Move
// leaves an empty file behind.
func (a Archived) Has(id string) bool {
	return slices.ContainsFunc(a[id], func(path string) bool { return !isEmpty(path) })
}

// Archived returns the specs in the archive and in the direct subdirectories of the archive. If it cannot read some of
// these directories, it returns the other specs together with an error.
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

// TooLargeError is the error of Read for a file with more than Max bytes.
type TooLargeError struct{ Max int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("larger than %d KiB", e.Max>>10)
}

// Sum is a checksum of the content of a file, which is valid only within one process. Comparing two sums shows whether
// another program has changed the file. Sum is a hash with a random seed instead of a cryptographic digest, because the
// plugin computes a Sum for every spec that it reads, and a module takes 35 times as long for a digest as a native
// program.
type Sum uint64

var sumSeed = maphash.MakeSeed()

func sumOf(content []byte) Sum { return Sum(maphash.Bytes(sumSeed, content)) }

// Read returns the content of a regular file and the Sum of the content. The error is a *TooLargeError if the file has
// more than max bytes. Read reads at most max + 1 bytes.
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
