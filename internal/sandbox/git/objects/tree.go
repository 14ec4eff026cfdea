package objects

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
)

// Modes of the entries of a tree.
const (
	ModeFile       = 0o100644
	ModeExecutable = 0o100755
	ModeLink       = 0o120000
	ModeSubmodule  = 0o160000
	ModeDir        = 0o040000
)

// TreeEntry is an entry of a tree. Its mode is normalized.
type TreeEntry struct {
	Name string
	Mode uint32
	Hash plumbing.Hash
}

// sortKey returns the string by which git sorts the entries of a tree. A directory sorts as if its name ended in a slash.
func (e TreeEntry) sortKey() string {
	if e.Mode == ModeDir {
		return e.Name + "/"
	}
	return e.Name
}

// rawEntry is an entry in the form in which a tree stores it.
type rawEntry struct {
	name []byte
	mode string // octal digits of the mode
	hash plumbing.Hash
}

// isDir reports whether the entry is a directory. It also accepts the mode 040000, which some old programs wrote instead of 40000.
func (e rawEntry) isDir() bool { return strings.TrimPrefix(e.mode, "0") == "40000" }

// isFile reports whether the entry is a regular file. The permissions do not matter.
func (e rawEntry) isFile() bool { return len(e.mode) == 6 && strings.HasPrefix(e.mode, "100") }

// normalizeMode returns one of the Mode constants. As in git, the owner's execute bit is the only permission bit of a file that matters.
func (e rawEntry) normalizeMode() (uint32, error) {
	bits, err := strconv.ParseUint(e.mode, 8, 32)
	if err != nil || len(e.mode) > 7 {
		return 0, fmt.Errorf("damaged: the mode %q is invalid", hosterror.Truncate(e.mode))
	}
	switch mode := uint32(bits); mode &^ 0o7777 {
	case ModeFile &^ 0o7777:
		if mode&0o100 != 0 {
			return ModeExecutable, nil
		}
		return ModeFile, nil
	case ModeLink, ModeSubmodule, ModeDir:
		return mode &^ 0o7777, nil
	}
	return 0, fmt.Errorf("damaged: the mode %q is invalid", hosterror.Truncate(e.mode))
}

// nextEntry parses the first entry in the content of a tree. rest is the content after that entry.
func nextEntry(data []byte) (e rawEntry, rest []byte, err error) {
	head, rest, ok := bytes.Cut(data, []byte{0})
	mode, name, spaced := bytes.Cut(head, []byte(" "))
	if !ok || !spaced || len(rest) < HashSize {
		return e, nil, errors.New("damaged: an entry is truncated")
	}
	return rawEntry{name, string(mode), plumbing.Hash(rest[:HashSize])}, rest[HashSize:], nil
}

// ReadFile returns the content of a regular file of a commit. The file may have at most limit bytes. ReadFile returns false if the path is
// absent or is not a regular file.
func (s *Store) ReadFile(commit plumbing.Hash, path string, limit int64) ([]byte, bool, error) {
	c, err := s.Commit(commit)
	if err != nil {
		return nil, false, err
	}
	e := rawEntry{mode: "40000", hash: c.Tree}
	for part := range strings.SplitSeq(path, "/") {
		if !e.isDir() {
			return nil, false, nil
		}
		var ok bool
		if e, ok, err = s.lookUp(e.hash, part); err != nil || !ok {
			return nil, false, err
		}
	}
	if !e.isFile() {
		return nil, false, nil
	}
	content, err := s.Get(e.hash, plumbing.BlobObject, limit)
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", path, err)
	}
	return content, true, nil
}

// lookUp finds the entry called name in a tree. It parses only the entries up to that one.
func (s *Store) lookUp(tree plumbing.Hash, name string) (rawEntry, bool, error) {
	data, err := s.Get(tree, plumbing.TreeObject, maxMeta)
	if err != nil {
		return rawEntry{}, false, err
	}
	for len(data) > 0 {
		var e rawEntry
		if e, data, err = nextEntry(data); err != nil {
			return rawEntry{}, false, fmt.Errorf("tree %s: %w", tree, err)
		}
		if string(e.name) == name {
			return e, true, nil
		}
	}
	return rawEntry{}, false, nil
}

// tree reads all entries of a tree. It checks that their names are valid, unique and in git's order, so callers may join names to paths and
// merge trees in one pass.
func (s *Store) tree(hash plumbing.Hash) ([]TreeEntry, error) {
	data, err := s.Get(hash, plumbing.TreeObject, maxMeta)
	if err != nil {
		return nil, err
	}
	var all []TreeEntry
	for len(data) > 0 {
		var raw rawEntry
		var mode uint32
		if raw, data, err = nextEntry(data); err == nil {
			mode, err = raw.normalizeMode()
		}
		e := TreeEntry{string(raw.name), mode, raw.hash}
		switch {
		case err != nil:
		case CheckPath(e.Name) != nil || slices.Contains(raw.name, '/'):
			err = fmt.Errorf("damaged: the name %q is invalid", hosterror.Truncate(e.Name))
		case len(all) > 0 && all[len(all)-1].sortKey() >= e.sortKey():
			err = errors.New("damaged: the entries are not in order")
		}
		if err != nil {
			return nil, fmt.Errorf("tree %s: %w", hash, err)
		}
		all = append(all, e)
	}
	return all, nil
}
