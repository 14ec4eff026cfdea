package store

import (
	"io"
	"io/fs"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/facts"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/validation"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/scan"
)

// maxFacts is the maximum memory for the facts of a scan, in bytes. A file whose facts do not fit is parsed when it is
// needed.
const maxFacts = 16 << 20

// scanned is a file system that scans directories, and answers ReadDir and Lstat below the scanned directory from
// memory. A scan is one operation of the host. All other operations go to the file system FS, so that results and
// errors are the same as without a scan.
type scanned struct {
	filesystem.FS
	top    found
	depth  int  // number of levels of directories that the scan lists
	count  int  // number of entries
	room   int  // number of bytes that are left for facts
	missed bool // the file system FS was accessed since the scan
	// newest is the modification time of the newest file; not valid if unsure is set.
	newest time.Time
	unsure bool

	open []*found // the directories on the path to the last entry, from the top down
	slab []found  // a block of memory from which entries are taken, because many small allocations cost more
}

// found is an entry of a directory together with its stat data. A directory counts as listed only if all of its entries
// are known and accessible. For any other directory, ReadDir asks the file system, which returns the error.
type found struct {
	path     string // absolute for the scanned directory itself; otherwise relative to the scanned directory
	name     string
	kind     fs.FileMode
	size     int64
	modified time.Time
	listed   bool
	entries  []fs.DirEntry // each of type *found; sorted by name
	file     *facts.File   // the facts of the file; nil if unknown
}

func (f *found) Name() string               { return f.name }
func (f *found) IsDir() bool                { return f.kind.IsDir() }
func (f *found) Type() fs.FileMode          { return f.kind }
func (f *found) Mode() fs.FileMode          { return f.kind }
func (f *found) Size() int64                { return f.size }
func (f *found) ModTime() time.Time         { return f.modified }
func (f *found) Sys() any                   { return nil }
func (f *found) Info() (fs.FileInfo, error) { return f, nil }

// find returns the entry called name of a directory; nil if the directory has no such entry.
func (f *found) find(name string) *found {
	i, ok := slices.BinarySearchFunc(f.entries, name, func(e fs.DirEntry, name string) int { return strings.Compare(e.(*found).name, name) })
	if !ok {
		return nil
	}
	return f.entries[i].(*found)
}

func (s *scanned) ReadDir(path string) ([]fs.DirEntry, error) {
	one, known := s.lookup(path)
	switch {
	case known && one == nil:
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	case known && one.listed:
		return one.entries, nil
	}
	s.missed = true
	return s.FS.ReadDir(path)
}

func (s *scanned) Lstat(path string) (fs.FileInfo, error) {
	one, known := s.lookup(path)
	switch {
	case !known:
		s.missed = true
		return s.FS.Lstat(path)
	case one == nil:
		return nil, &fs.PathError{Op: "lstat", Path: path, Err: fs.ErrNotExist}
	}
	return one, nil
}

func (s *scanned) Open(path string) (io.ReadCloser, error) {
	s.missed = true
	return s.FS.Open(path)
}

// lookup returns the entry that the scan has for path; nil if nothing exists there. The result known is false if the
// scan does not cover path.
func (s *scanned) lookup(path string) (one *found, known bool) {
	if !s.top.listed {
		return nil, false
	}
	rest, below := strings.CutPrefix(path, s.top.path)
	if rest == "" {
		return &s.top, below
	}
	if !below || rest[0] != '/' {
		return nil, false
	}
	return s.top.lookup(rest[1:])
}

// lookup returns the same results as the method lookup of scanned. The path is relative to the directory f, which is
// listed.
func (f *found) lookup(path string) (one *found, known bool) {
	for {
		if !f.listed {
			return nil, false
		}
		name, rest, deeper := strings.Cut(path, "/")
		if f = f.find(name); f == nil {
			return nil, utf8.ValidString(name) // scans omit names that are not valid UTF-8
		}
		if !deeper {
			return f, true
		}
		path = rest
	}
}

// begin discards the last scan and starts the scan of the directory top. The argument depth is the number of levels
// below top that the scan lists.
func (s *scanned) begin(top found, depth int) {
	top.listed = true
	*s = scanned{FS: s.FS, top: top, depth: depth, room: maxFacts, slab: s.slab[:0], open: append(s.open[:0], &s.top)}
}

func (s *scanned) forget() { *s = scanned{FS: s.FS} }

// add adds an entry to the scan and returns the added entry. It returns nil if the scan has too many entries; the
// caller must then not use the scan. The argument level is the depth of the entry below the scanned directory: an entry
// directly in that directory has level 1.
func (s *scanned) add(e scan.Entry, level int) *found {
	if s.count++; s.count > maxEntries {
		return nil
	}
	if len(s.slab) == cap(s.slab) {
		s.slab = make([]found, 0, 64)
	}
	s.slab = append(s.slab, foundOf(e))
	one := &s.slab[len(s.slab)-1]
	in := s.open[level-1]
	in.entries = append(in.entries, one)
	s.open = s.open[:level]
	if e.State == scan.Unreadable {
		in.listed, s.unsure = false, true
	}
	switch {
	case one.kind.IsDir():
		one.listed = e.State != scan.Unreadable && level < s.depth
		s.unsure = s.unsure || !one.listed
		s.open = append(s.open, one)
	case one.kind.IsRegular() && one.modified.After(s.newest):
		s.newest = one.modified
	}
	return one
}

func foundOf(e scan.Entry) found {
	return found{path: e.Path, name: e.Path[strings.LastIndexByte(e.Path, '/')+1:], kind: e.Type, size: e.Size, modified: e.ModTime}
}

// levelOf returns the number of names in the path of an entry.
func levelOf(path string) int { return strings.Count(path, "/") + 1 }

// scanSpecs scans the directory of main specs, so that the method Specs needs no further access.
func (r *Root) scanSpecs() {
	if r.scanned == nil {
		return
	}
	r.scanned.begin(found{path: r.SpecsDir()}, maxDepth)
	for e, err := range scan.Dir(r.SpecsDir(), scan.Options{Depth: maxDepth, Strict: true}) {
		if err != nil || r.scanned.add(e, levelOf(e.Path)) == nil {
			r.scanned.forget()
			return
		}
	}
}

// SpecFacts returns the known facts of main specs; the key is the id. A caller must read a spec whose facts are
// unknown.
func (r *Root) SpecFacts() map[string]*validation.SpecFacts {
	known := map[string]*validation.SpecFacts{}
	if r.scanned == nil || !r.reachable(r.SpecsDir()) {
		return known
	}
	options := scan.Options{Depth: maxDepth, Match: []string{specFile}, MaxFile: MaxFile, Strict: true}
	room, count := maxFacts, 0
	for e, err := range facts.Specs.Scan(r.SpecsDir(), options) {
		if count++; err != nil || count > maxEntries {
			break
		}
		if !e.Derived {
			continue
		}
		if room -= e.Value.Memory(); room < 0 {
			break
		}
		known[path.Dir(e.Path)] = &e.Value
	}
	return known
}

// Each calls visit for each change in all, a list that Changes or Archived has returned. If visit returns an error,
// Each stops and returns the error. Each scans the directory of the changes, so that the methods of a change access few
// files, and Facts has data.
func (r *Root) Each(all []Change, visit func(Change) error) error {
	if r.scanned != nil && len(all) > 0 {
		defer r.scanned.forget()
		for name, err := range r.scanChanges(filepath.Dir(all[0].Dir)) {
			if err != nil {
				break
			}
			// The scan has not found the changes before the change called name, perhaps because another program has removed
			// them.
			for ; len(all) > 0 && all[0].Name <= name; all = all[1:] {
				if err := visit(all[0]); err != nil {
					return err
				}
			}
		}
		r.scanned.forget()
	}
	for _, c := range all {
		if err := visit(c); err != nil {
			return err
		}
	}
	return nil
}

// scanChanges scans the subdirectories of dir, and yields the name of each subdirectory as soon as all of its entries
// are known.
func (r *Root) scanChanges(dir string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		s := r.scanned
		options := scan.Options{Depth: maxDepth, Match: []string{specFile, TasksFile, MetadataFile}, MaxFile: MaxFile, Skip: []string{ArchiveName}, Strict: true}
		name := "" // the name of the subdirectory whose entries are being read
		for e, err := range facts.Files.Scan(dir, options) {
			if err != nil {
				yield("", err)
				return
			}
			level := levelOf(e.Path)
			if level == 1 {
				if name != "" && !yield(name, nil) {
					return
				}
				if name = ""; e.Type.IsDir() && e.State == scan.OK && e.Path != ArchiveName {
					name = e.Path
					top := foundOf(e.Entry)
					top.path = filepath.Join(dir, name)
					s.begin(top, maxDepth-1)
				}
				continue
			}
			if name == "" {
				continue
			}
			one := s.add(e.Entry, level-1)
			if one == nil {
				return // there are too many entries, so this directory and all later ones are visited without a scan
			}
			if one.name == ArchiveName {
				one.listed, s.unsure = false, true // options.Skip omits the entries of this directory
			}
			if e.Derived {
				if s.room -= e.Value.Memory(); s.room >= 0 {
					one.file = new(e.Value)
				}
			}
		}
		if name != "" {
			yield(name, nil)
		}
	}
}

// Facts returns the facts of the file at path, which is relative to the directory of the change. It returns nil if the
// facts are unknown; the caller must then read the file.
func (c Change) Facts(path string) *facts.File {
	if !c.isScanned() {
		return nil
	}
	one, _ := c.root.scanned.top.lookup(path)
	if one == nil {
		return nil
	}
	return one.file
}

// isScanned reports whether the last scan is the scan of this change's directory.
func (c Change) isScanned() bool { return c.root.scanned != nil && c.root.scanned.top.path == c.Dir }
