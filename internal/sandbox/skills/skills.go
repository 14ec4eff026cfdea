// Package skills reads skills: directories that contain instructions for a model in a file SKILL.md, as the Agent Skills specification
// defines them (https://agentskills.io/specification). Start with Load, or with Open to read the files too.
//
// A skill is read below an open directory, without following symbolic links, and each of its parts is bounded. Names that begin with a
// dot are no part of a skill. The content is untrusted: it is validated, and never executed. The package does not know who offers a skill.
package skills

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/archive"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
)

// FileName is the name of the file with the instructions.
const FileName = "SKILL.md"

// Bounds of one skill. MaxFiles and MaxSize are those of the MCP extension for skills.
const (
	MaxFiles = 512
	MaxSize  = 16 << 20 // bytes of all files
	MaxFile  = 4 << 20  // bytes of one file
	maxDepth = 8        // directories in each other
)

// Skill describes a skill and its files.
type Skill struct {
	Name, Description string
	Frontmatter       json.RawMessage // front matter of SKILL.md as a JSON object
	Files             []File          // sorted by Path
}

// File describes a file of a skill.
type File struct {
	Path   string // relative to the skill, separated by slashes
	SHA256 string // in lower-case hex
	Size   int64
}

// Digest returns the SHA-256 of the list of files, by which a manifest pins the skill.
func (s *Skill) Digest() string {
	return userfile.DigestOfFiles(func(yield func(path, sum string) bool) {
		for _, f := range s.Files {
			if !yield(f.Path, f.SHA256) {
				return
			}
		}
	})
}

// File returns the file with a path; nil if there is none.
func (s *Skill) File(path string) *File {
	i := slices.IndexFunc(s.Files, func(f File) bool { return f.Path == path })
	if i < 0 {
		return nil
	}
	return &s.Files[i]
}

// Children returns the names in a directory of the skill, sorted; "" is the skill itself. Names of directories end in a slash. The result
// is nil if there is no such directory.
func (s *Skill) Children(dir string) []string {
	if dir != "" {
		dir += "/"
	}
	var names []string
	for _, f := range s.Files {
		rest, below := strings.CutPrefix(f.Path, dir)
		if !below {
			continue
		}
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			rest = rest[:i+1]
		}
		if !slices.Contains(names, rest) {
			names = append(names, rest)
		}
	}
	return names
}

// Dir is the open directory of a skill.
type Dir struct {
	name string
	dir  *beneath.Dir
	// Hidden reports whether a path in the skill is left out. Nil: none is, except for names that begin with a dot.
	Hidden func(path string) bool

	entries int   // entries of directories that Walk has seen
	size    int64 // bytes of files that Load has seen
}

// Collection is an open directory that contains skills.
type Collection struct{ dir *beneath.Dir }

// In returns the Collection in an open directory, which must stay open while the Collection is used.
func In(dir *os.File) (Collection, error) {
	below, err := beneath.New(dir)
	return Collection{below}, err
}

// Names returns the names of the directories in the collection, and those of symbolic links, which are not followed. Both are sorted, and
// lack names that begin with a dot.
func (c Collection) Names() (dirs, links []string, err error) {
	seen := 0
	names, err := list(c.dir, ".", &seen)
	for _, name := range names {
		switch st, err := c.dir.Lstat(name); {
		case err != nil: // it was removed since
		case st.IsDir():
			dirs = append(dirs, name)
		case st.IsLink():
			links = append(links, name)
		}
	}
	return dirs, links, err
}

// Has reports whether the collection has a directory called name.
func (c Collection) Has(name string) bool {
	st, err := c.dir.Lstat(name)
	return err == nil && st.IsDir()
}

// Open opens the skill at a path below the collection. The caller must close it. Errors do not contain the path of the collection.
func (c Collection) Open(name string) (*Dir, error) {
	dir, err := c.dir.OpenDir(name)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be opened: %w", name, usage.Cause(err))
	}
	return &Dir{name: path.Base(name), dir: dir}, nil
}

// Load reads all files of the skill at a path below the directory top, and validates it.
func Load(top, name string) (*Skill, error) {
	dir, err := Open(top, name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Load(context.Background())
}

// Open opens the skill at a path below the directory top. The caller must close it. Errors do not contain top.
func Open(top, name string) (*Dir, error) {
	file, err := os.Open(top)
	if err != nil {
		return nil, fmt.Errorf("the directory that contains it cannot be opened: %w", usage.Cause(err))
	}
	defer file.Close()
	below, err := In(file)
	if err != nil {
		return nil, fmt.Errorf("the directory that contains it cannot be opened: %w", usage.Cause(err))
	}
	return below.Open(name)
}

// Close closes the directory.
func (d *Dir) Close() { d.dir.Close() }

// Size returns how many bytes of files Load has read, even if it has failed.
func (d *Dir) Size() int64 { return min(d.size, MaxSize) }

// ErrNoInstructions reports that a directory has no SKILL.md, so that it is no skill.
var ErrNoInstructions = fmt.Errorf("there is no %s", FileName)

// HasInstructions reports whether the directory has a SKILL.md, valid or not, so that it is a skill.
func (d *Dir) HasInstructions() bool {
	if d.Hidden != nil && d.Hidden(FileName) {
		return false
	}
	st, err := d.dir.Lstat(FileName)
	return !errors.Is(err, fs.ErrNotExist) && (err != nil || !st.IsDir())
}

// Load reads all files, and validates the skill. It stops when ctx ends.
func (d *Dir) Load(ctx context.Context) (*Skill, error) {
	if !d.HasInstructions() { // without reading what may be large
		return nil, ErrNoInstructions
	}
	s := &Skill{}
	d.size = 0
	var content []byte // of one file after the other
	err := d.Walk(func(name string, st beneath.Stat) error {
		if err := ctx.Err(); err != nil || st.IsDir() {
			return err
		}
		switch d.size += st.Size; {
		case len(s.Files) == MaxFiles:
			return fmt.Errorf("it has more than %d files", MaxFiles)
		case d.size > MaxSize:
			return fmt.Errorf("its files have more than %d MiB", MaxSize>>20)
		}
		var err error
		if content, err = d.read(content[:0], name, st); err != nil {
			return err
		}
		s.Files = append(s.Files, File{name, userfile.Digest(content), st.Size})
		if name == FileName {
			err = s.readInstructions(content)
		} else if isProse(name) {
			err = checkText(content)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case s.Name == "":
		return nil, ErrNoInstructions
	case s.Name != d.name:
		return nil, fmt.Errorf("%s: name is %q, and the directory is %q: they must be the same", FileName, s.Name, d.name)
	}
	slices.SortFunc(s.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return s, nil
}

// isProse reports whether a file has text that people review and models read, by its name.
func isProse(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown", ".mdx", ".txt":
		return true
	}
	return false
}

// Read returns the content of a file that Load has found. It fails if the content has changed since.
func (d *Dir) Read(f File) ([]byte, error) {
	st, err := d.dir.Lstat(f.Path)
	if err != nil {
		return nil, err
	}
	content, err := d.read(nil, f.Path, st)
	if err == nil && (int64(len(content)) != f.Size || userfile.Digest(content) != f.SHA256) {
		err = fmt.Errorf("%s: %w", f.Path, beneath.ErrChanged)
	}
	if err != nil {
		return nil, err
	}
	return content, nil
}

// read appends the content of a file to buf.
func (d *Dir) read(buf []byte, name string, st beneath.Stat) ([]byte, error) {
	switch {
	case !st.Mode.IsRegular():
		return nil, fmt.Errorf("%s is not a regular file: a skill has only files and directories, and no symbolic links", name)
	case st.Size > MaxFile:
		return nil, fmt.Errorf("%s has more than %d MiB", name, MaxFile>>20)
	}
	return d.dir.Append(buf, name, st)
}

// Walk calls visit for the files and directories of the skill, and for what it must not have, until visit returns an error.
func (d *Dir) Walk(visit func(name string, st beneath.Stat) error) error {
	d.entries = 0
	return d.walk(".", 0, visit)
}

func (d *Dir) walk(dir string, depth int, visit func(name string, st beneath.Stat) error) error {
	if depth > maxDepth {
		return fmt.Errorf("%s is more than %d directories deep", dir, maxDepth)
	}
	names, err := list(d.dir, dir, &d.entries)
	if err != nil {
		return err
	}
	for _, name := range names {
		if dir != "." {
			name = dir + "/" + name
		}
		if d.Hidden != nil && d.Hidden(name) {
			continue
		}
		// Paths become parts of URIs, and the files of a plugin those of an archive.
		if err := archive.CheckName(name); err != nil {
			return err
		}
		st, err := d.dir.Lstat(name)
		if err == nil {
			err = visit(name, st)
		}
		if err == nil && st.IsDir() {
			err = d.walk(name, depth+1, visit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// maxEntries bounds the entries of the directories of a skill, and those of a collection: directories and what is left out are no files.
const maxEntries = 4 * MaxFiles

// list returns the names in a directory that do not begin with a dot, sorted. It adds the number of all entries to seen.
func list(below *beneath.Dir, dir string, seen *int) ([]string, error) {
	file, _, err := below.Open(dir, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	listing := beneath.List(file)
	var names []string
	for {
		entries, err := listing.Read(maxEntries)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if *seen += len(entries); *seen > maxEntries {
			return nil, fmt.Errorf("its directories have more than %d entries", maxEntries)
		}
		for _, e := range entries {
			if !strings.HasPrefix(e.Name, ".") {
				names = append(names, e.Name)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}
