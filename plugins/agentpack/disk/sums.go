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

// Sums has the SHA-256 of the files in directory trees, each of which is scanned once. Where a scan does not give a
// certain answer, for example for a file behind a symbolic link, the methods access the file system. A nil *Sums has no
// trees.
type Sums struct{ trees []*tree }

// tree is a scanned directory tree.
type tree struct {
	dir     string // with a separator at the end
	entries map[string]found
	// The file system may ignore case and normalize Unicode, so a name that is not in entries may exist nevertheless.
	folded  map[string]bool // the paths of entries in lower case
	foreign bool            // the path of an entry is not ASCII
	partial bool            // the scan ended early
}

// found is an entry of a tree. Path components before it are directories.
type found struct {
	kind     fs.FileMode // 0 for a regular file
	sum      string      // "" if the scan has none
	unlisted bool        // a directory whose entries are unknown
}

// reservedPatterns match the names of IsReservedName, up to characters outside ASCII.
var reservedPatterns = []string{".[gG][iI][tT]", ".[aA][gG][eE][nN][tT][pP][aA][cC][kK]"}

// Scan scans a directory. The caller expects the given number of files, of up to size bytes each. Scan reads no larger
// files, and stops if the directory has far more entries.
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

// isAbsent reports whether a path does not exist. It returns false if a component of the path is a dangling symbolic
// link.
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

// look returns the entry at a path, and whether the path is known to exist or known to be absent.
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

// isAbsent reports whether the scan shows that a path, which is not in entries, does not exist.
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

// File returns what SumFile returns. It uses the scanned trees as a cache.
func (s *Sums) File(at string) (string, error) {
	if entry, _, _ := s.look(at); entry.sum != "" {
		return entry.sum, nil
	}
	return SumFile(at)
}

// Place returns what SumPlace returns. It uses the scanned trees as a cache.
func (s *Sums) Place(at string) (*string, error) {
	switch entry, _, absent := s.look(at); {
	case entry.sum != "":
		return &entry.sum, nil
	case absent:
		return nil, nil
	}
	return SumPlace(at)
}

// IsPlain reports whether a path is known to have no symbolic link below the directory that was scanned.
func (s *Sums) IsPlain(at string) bool {
	entry, exists, absent := s.look(at)
	return absent || exists && entry.kind&fs.ModeSymlink == 0
}

// List returns what ListFiles returns. It uses the scanned trees as a cache.
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

// list returns what ListFiles returns; false if the scan lacks a part of that.
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

// isReserved reports whether a component of a path is a reserved name.
func isReserved(rel string) bool {
	return strings.Contains(rel, ".") && slices.ContainsFunc(strings.Split(rel, "/"), IsReservedName)
}
