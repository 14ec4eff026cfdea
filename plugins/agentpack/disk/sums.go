package disk

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
	"github.com/bulkhead-mcp/bulkhead/sdk/scan"
)

// Sums holds the SHA-256 of the files in several directory trees, each of which was scanned once. Where a scan gives no
// certain answer, for example for a file behind a symbolic link, the methods of Sums access the file system. A nil
// *Sums has no trees.
type Sums struct{ trees []*tree }

// tree is a directory tree that was scanned.
type tree struct {
	dir     string // the path of the directory, with a separator at the end
	entries map[string]found
	// A file system may ignore case and normalize Unicode. So a file can exist although its name is not in entries.
	folded  map[string]bool // the keys are the paths of entries in lower case
	foreign bool            // at least one path in entries is not ASCII
	partial bool            // the scan ended early, so entries may lack files
}

// found is an entry of a tree. All components before the last one in its path are directories.
type found struct {
	kind     fs.FileMode // 0 for a regular file
	sum      string      // the SHA-256 in hexadecimal; "" if the scan did not compute it
	unlisted bool        // the entry is a directory whose entries are unknown
}

// reservedPatterns match the names for which IsReservedName returns true, except for names outside ASCII.
var reservedPatterns = []string{".[gG][iI][tT]", ".[aA][gG][eE][nN][tT][pP][aA][cC][kK]"}

// Scan scans the directory dir, in which the caller expects the given number of files of up to size bytes each. Scan
// does not read larger files, and stops if the directory has far more entries.
func (s *Sums) Scan(dir string, files int, size int64) {
	t := &tree{dir: strings.TrimSuffix(dir, string(filepath.Separator)) + string(filepath.Separator), entries: map[string]found{}, folded: map[string]bool{}}
	limit := 1000 + 8*files
	var failure error
	for e, err := range scan.Dir(dir, scan.Options{
		Depth: scan.MaxDepth, Match: []string{"*"}, Skip: reservedPatterns, Strict: true,
		Data: scan.SHA256, MaxFile: min(max(size, 64<<10), MaxFile),
	}) {
		if failure = err; err != nil {
			break
		}
		if t.partial = len(t.entries) == limit; t.partial {
			break
		}
		t.add(e)
	}
	t.partial = t.partial || failure != nil && !(errors.Is(failure, fs.ErrNotExist) && isAbsent(dir))
	s.trees = append(s.trees, t)
}

// isAbsent reports whether no file exists at path. It returns false if a component of path is a dangling symbolic link.
func isAbsent(path string) bool {
	target, err := new(contain.Resolver).Resolve(path)
	return err == nil && !target.Exists && !target.Dangling
}

func (t *tree) add(e scan.Entry) {
	entry := found{kind: e.Type}
	if e.Data != nil {
		entry.sum = hex.EncodeToString(e.Data)
	}
	entry.unlisted = e.State != scan.OK || IsReservedName(e.Name()) || strings.Count(e.Path, "/") >= scan.MaxDepth-1
	t.entries[e.Path] = entry
	t.folded[strings.ToLower(e.Path)] = true
	t.foreign = t.foreign || !isASCII(e.Path)
}

// look returns the entry at a path, and whether the scans show that the path exists or that it does not exist.
func (s *Sums) look(at string) (entry found, exists, absent bool) {
	if s == nil {
		return found{}, false, false
	}
	for _, t := range s.trees {
		if rel, ok := strings.CutPrefix(at, t.dir); ok {
			rel = filepath.ToSlash(rel)
			entry, exists = t.entries[rel]
			return entry, exists, !exists && t.isAbsent(rel)
		}
	}
	return found{}, false, false
}

// isAbsent reports whether the scan shows that no file exists at the path rel, which is not in entries.
func (t *tree) isAbsent(rel string) bool {
	if t.partial || t.foreign || !isASCII(rel) || path.Clean(rel) != rel {
		return false
	}
	for at := rel; at != "."; at = path.Dir(at) {
		if ancestor, ok := t.entries[at]; ok {
			return ancestor.kind.IsDir() && !ancestor.unlisted
		}
		if t.folded[strings.ToLower(at)] {
			return false
		}
	}
	return true
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}

// File returns the same result as SumFile. It uses the scanned trees of s as a cache.
func (s *Sums) File(at string) (string, error) {
	if entry, _, _ := s.look(at); entry.sum != "" {
		return entry.sum, nil
	}
	return SumFile(at)
}

// Place returns the same result as SumPlace. It uses the scanned trees of s as a cache.
func (s *Sums) Place(at string) (*string, error) {
	switch entry, _, absent := s.look(at); {
	case entry.sum != "":
		return &entry.sum, nil
	case absent:
		return nil, nil
	}
	return SumPlace(at)
}

// IsPlain reports whether the scan of a directory shows that no component of a path below that directory is a symbolic
// link.
func (s *Sums) IsPlain(at string) bool {
	entry, exists, absent := s.look(at)
	return absent || exists && entry.kind&fs.ModeSymlink == 0
}

// List returns the same result as ListFiles. It uses the scanned trees of s as a cache.
func (s *Sums) List(root string) ([]Entry, error) {
	if s != nil {
		for _, t := range s.trees {
			if t.dir == root+string(filepath.Separator) {
				if entries, ok := t.list(); ok {
					return entries, nil
				}
			}
		}
	}
	return ListFiles(root)
}

// list returns the same entries as ListFiles. It returns false if the scan lacks some of them.
func (t *tree) list() (entries []Entry, ok bool) {
	if t.partial || len(t.entries) > maxItems {
		return nil, false
	}
	for rel, entry := range t.entries {
		switch {
		case isReserved(rel):
		case entry.kind.IsDir() && entry.unlisted:
			return nil, false
		case entry.kind.IsRegular(), entry.kind&fs.ModeSymlink != 0:
			entries = append(entries, Entry{Path: rel, Link: !entry.kind.IsRegular()})
		}
	}
	slices.SortFunc(entries, compareEntries)
	return entries, true
}

// isReserved reports whether a component of the path rel is a reserved name.
func isReserved(rel string) bool {
	return strings.Contains(rel, ".") && slices.ContainsFunc(strings.Split(rel, "/"), IsReservedName)
}
