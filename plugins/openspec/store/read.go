package store

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// Names of a change's files.
const (
	MetadataFile = ".openspec.yaml"
	ProposalFile = "proposal.md"
	TasksFile    = "tasks.md"
	DesignFile   = "design.md"
	ReadmeFile   = "README.md"
)

// maxNested is the depth to which Nested searches a directory for changes.
const maxNested = 3

// read returns the content of a file in a directory below base; found is false if the file does not exist. It does not enter
// directories that are symbolic links. The target of a file that is a symbolic link must be below the file's directory.
func (r *Root) read(base string, folders []string, name string) (content string, found bool, err error) {
	if !r.reachable(base) {
		return "", false, nil
	}
	dir := base
	for _, folder := range folders {
		dir = filepath.Join(dir, folder)
		info, err := r.files.Lstat(dir)
		if err != nil || !info.IsDir() {
			return "", false, filesystem.IgnoreAbsent(err)
		}
	}
	path := filepath.Join(dir, name)
	info, err := r.files.Lstat(path)
	if err != nil {
		return "", false, filesystem.IgnoreAbsent(err)
	}
	linked := info.Mode()&fs.ModeSymlink != 0
	if linked && !r.linkedInside(dir, path) || !linked && !info.Mode().IsRegular() {
		return "", false, nil
	}
	raw, err := filesystem.ReadFile(r.files, path, MaxFile)
	if err != nil {
		return "", false, filesystem.IgnoreAbsent(err)
	}
	return string(raw), true, nil
}

// ReadSpec returns the content of a capability's main spec. The id must have passed CheckSpec.
func (r *Root) ReadSpec(id string) (content string, found bool, err error) {
	return r.read(r.SpecsDir(), strings.Split(id, "/"), specFile)
}

// HasSpec reports whether a capability has a main spec, without reading it. The id must have passed CheckSpec.
func (r *Root) HasSpec(id string) bool { return r.hasFile(filepath.Dir(r.SpecPath(id)), specFile) }

// ReadFile returns the content of a file in the openspec directory itself.
func (r *Root) ReadFile(name string) (content string, found bool, err error) {
	return r.read(r.Dir, nil, name)
}

// Read returns the content of one of a change's own files.
func (c Change) Read(name string) (content string, found bool, err error) {
	return c.root.read(c.Dir, nil, name)
}

// Has reports whether a change has a file of this name in its own directory.
func (c Change) Has(name string) bool { return c.root.hasFile(c.Dir, name) }

// HasFile reports whether there is a file of this name in the openspec directory itself.
func (r *Root) HasFile(name string) bool { return r.hasFile(r.Dir, name) }

func (r *Root) hasFile(dir, name string) bool {
	info, err := r.files.Lstat(below(dir, name))
	return err == nil && r.isFile(fs.FileInfoToDirEntry(info), dir, name)
}

// ReadDelta returns the content of a change's delta file. The id must have passed CheckSpec.
func (c Change) ReadDelta(id string) (content string, found bool, err error) {
	return c.root.read(c.Dir, append([]string{specsName}, strings.Split(id, "/")...), specFile)
}

// Deltas returns the capabilities that a change has delta files for, and the other files below its specs
// directory as paths with slashes; both sorted.
func (c Change) Deltas() (ids, loose []string, err error) { return c.root.capabilities(c.specsDir()) }

// ReadLoose returns the content of a file by a path that Deltas returned as loose.
func (c Change) ReadLoose(path string) (content string, found bool, err error) {
	return c.ReadPath(specsName + "/" + path)
}

// ReadPath returns the content of a file by a path that Outputs returned.
func (c Change) ReadPath(path string) (content string, found bool, err error) {
	parts := strings.Split(path, "/")
	last := len(parts) - 1
	return c.root.read(c.Dir, parts[:last], parts[last])
}

func (c Change) specsDir() string { return filepath.Join(c.Dir, specsName) }

// walkVisible calls visit with the path, relative to dir, of every regular file that is neither hidden nor in a hidden
// directory.
func (r *Root) walkVisible(dir, prefix string, depth int, visit func(path string) error) error {
	if depth < 0 {
		return nil
	}
	entries, err := r.readDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := entry.Name()
		switch {
		case strings.HasPrefix(name, "."):
			continue
		case entry.IsDir():
			err = r.walkVisible(filepath.Join(dir, name), prefix+name+"/", depth-1, visit)
		case entry.Type().IsRegular():
			err = visit(prefix + name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Entries returns the entries of the change's directory; none if the directory does not exist. The entries do not count
// toward maxEntries: the caller has already counted them, or reads no other directory.
func (c Change) Entries() ([]fs.DirEntry, error) {
	entries, err := c.root.files.ReadDir(c.Dir)
	return entries, filesystem.IgnoreAbsent(err)
}

// Nested returns the changes below a directory that is not a change itself, as "parent/child", sorted; none if the directory
// is a change. Entries are the directory's entries. Generated has the paths and patterns of files: a directory with such a
// file is a change, even without metadata.
func (c Change) Nested(entries []fs.DirEntry, generated []string) ([]string, error) {
	for _, entry := range entries {
		if !entry.IsDir() && (isMarker(entry.Name()) || !strings.HasPrefix(entry.Name(), ".")) {
			return nil, nil
		}
	}
	if is, err := c.root.hasContent(c.Dir, generated); is || err != nil {
		return nil, err
	}
	var nested []string
	err := c.root.nested(entries, c, maxNested, generated, &nested)
	slices.Sort(nested)
	return nested, err
}

func (r *Root) nested(entries []fs.DirEntry, in Change, depth int, generated []string, found *[]string) error {
	for _, entry := range entries {
		if !entry.IsDir() || strings.HasPrefix(entry.Name(), ".") || depth == 0 {
			continue
		}
		below := Change{Name: in.Name + "/" + entry.Name(), Dir: filepath.Join(in.Dir, entry.Name()), root: r}
		inside, err := r.readDir(below.Dir)
		if err != nil {
			return err
		}
		is, err := r.hasContent(below.Dir, generated)
		if err != nil {
			return err
		}
		if is || slices.ContainsFunc(inside, func(e fs.DirEntry) bool { return e.Type().IsRegular() && isMarker(e.Name()) }) {
			*found = append(*found, below.Name)
			continue
		}
		if err := r.nested(inside, below, depth-1, generated, found); err != nil {
			return err
		}
	}
	return nil
}

// hasContent reports whether a directory has a file in its directory specs, or one of the generated files.
func (r *Root) hasContent(dir string, generated []string) (bool, error) {
	is, err := r.hasSpecs(dir)
	for _, generates := range generated {
		if is || err != nil {
			break
		}
		var files []string
		files, err = Change{Dir: dir, root: r}.Outputs(generates)
		is = len(files) > 0
	}
	return is, err
}

// isMarker reports whether a file of this name makes its directory a change.
func isMarker(name string) bool {
	return name == MetadataFile || name == ProposalFile || name == TasksFile || name == DesignFile
}

// hasSpecs reports whether a directory has a file in its specs directory, as changes have.
func (r *Root) hasSpecs(dir string) (bool, error) {
	err := r.walkVisible(filepath.Join(dir, specsName), "", maxDepth, func(string) error { return fs.SkipAll })
	if errors.Is(err, fs.SkipAll) {
		return true, nil
	}
	return false, err
}
