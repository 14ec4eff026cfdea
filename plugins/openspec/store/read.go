package store

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// Names of the files of a change.
const (
	MetadataFile = ".openspec.yaml"
	ProposalFile = "proposal.md"
	TasksFile    = "tasks.md"
	DesignFile   = "design.md"
	ReadmeFile   = "README.md"
)

// maxNested is the maximum depth to which Nested searches a directory for changes.
const maxNested = 3

// read returns the content of the file called name in a directory below base; found is false if the file does not
// exist. The argument folders is the path of that directory. read does not enter directories that are symbolic links.
// If the file is a symbolic link, the target of the link must be below the file's directory.
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

// ReadSpec returns the content of the main spec of a capability. CheckSpec must have accepted the id.
func (r *Root) ReadSpec(id string) (content string, found bool, err error) {
	return r.read(r.SpecsDir(), strings.Split(id, "/"), specFile)
}

// HasSpec reports whether a capability has a main spec, without reading the spec. CheckSpec must have accepted the id.
func (r *Root) HasSpec(id string) bool { return r.hasFile(filepath.Dir(r.SpecPath(id)), specFile) }

// ReadFile returns the content of a file that is directly in the openspec directory.
func (r *Root) ReadFile(name string) (content string, found bool, err error) {
	return r.read(r.Dir, nil, name)
}

// Read returns the content of a file that is directly in the directory of the change.
func (c Change) Read(name string) (content string, found bool, err error) {
	return c.root.read(c.Dir, nil, name)
}

// Has reports whether a file called name is directly in the directory of the change.
func (c Change) Has(name string) bool { return c.root.hasFile(c.Dir, name) }

// HasFile reports whether a file called name is directly in the openspec directory.
func (r *Root) HasFile(name string) bool { return r.hasFile(r.Dir, name) }

func (r *Root) hasFile(dir, name string) bool {
	info, err := r.files.Lstat(below(dir, name))
	return err == nil && r.isFile(fs.FileInfoToDirEntry(info), dir, name)
}

// ReadDelta returns the content of the delta file of the change for a capability. CheckSpec must have accepted the id.
func (c Change) ReadDelta(id string) (content string, found bool, err error) {
	return c.root.read(c.Dir, append([]string{specsName}, strings.Split(id, "/")...), specFile)
}

// Deltas returns the ids of the capabilities for which the change has delta files, and the paths of the other files
// below its directory specs, with slashes. Both lists are sorted.
func (c Change) Deltas() (ids, loose []string, err error) { return c.root.capabilities(c.specsDir()) }

// ReadLoose returns the content of the file at a path that Deltas has returned as loose.
func (c Change) ReadLoose(path string) (content string, found bool, err error) {
	return c.ReadPath(specsName + "/" + path)
}

// ReadPath returns the content of the file at a path that Outputs has returned.
func (c Change) ReadPath(path string) (content string, found bool, err error) {
	parts := strings.Split(path, "/")
	last := len(parts) - 1
	return c.root.read(c.Dir, parts[:last], parts[last])
}

func (c Change) specsDir() string { return filepath.Join(c.Dir, specsName) }

// Entries returns the entries of the directory of the change; none if the directory does not exist. These entries do
// not count toward maxEntries, because the caller has already counted them, or reads no other directory.
func (c Change) Entries() ([]fs.DirEntry, error) {
	entries, err := c.root.files.ReadDir(c.Dir)
	return entries, filesystem.IgnoreAbsent(err)
}

// Nested returns the changes below a directory that is not a change itself, as "parent/child", sorted. It returns none
// if the directory is a change. The argument entries contains the entries of the directory. The argument generated
// contains paths and patterns of files: a directory with such a file is a change, even without metadata.
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

// hasContent reports whether a directory contains a file in its subdirectory specs, or one of the generated files.
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

// isMarker reports whether a file called name makes the directory that contains it a change.
func isMarker(name string) bool {
	return name == MetadataFile || name == ProposalFile || name == TasksFile || name == DesignFile
}

// hasSpecs reports whether a directory contains a file in its subdirectory specs, as a change does. Hidden files and
// directories do not count.
func (r *Root) hasSpecs(dir string) (bool, error) {
	err := r.walk(filepath.Join(dir, specsName), "", maxDepth, func(path string, entry fs.DirEntry) error {
		switch {
		case strings.HasPrefix(entry.Name(), "."), entry.IsDir() && levelOf(path) > maxDepth:
			return fs.SkipDir
		case entry.Type().IsRegular():
			return fs.SkipAll
		}
		return nil
	})
	if errors.Is(err, fs.SkipAll) {
		return true, nil
	}
	return false, err
}
