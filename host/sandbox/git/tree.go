package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/go-git/go-git/v5/plumbing"
)

// file reads the file at a path of a commit's tree.
func (r *repository) file(ctx context.Context, head plumbing.Hash, name string, limit int64) (abi.GitContent, error) {
	var none abi.GitContent
	s, err := r.openStore(ctx)
	if err != nil {
		return none, err
	}
	defer s.close()
	data, err := s.get(head, plumbing.CommitObject, maxMeta)
	if err != nil {
		return none, err
	}
	c, err := parseCommit(data)
	if err != nil {
		return none, fmt.Errorf("commit %s: %w", head, err)
	}
	e := entry{dirMode, c.tree}
	for part := range strings.SplitSeq(name, "/") {
		if !e.isDir() {
			return none, nil
		}
		var ok bool
		if e, ok, err = s.entry(e.hash, part); err != nil || !ok {
			return none, err
		}
	}
	if !e.isFile() {
		return none, nil
	}
	content, err := s.get(e.hash, plumbing.BlobObject, limit)
	if err != nil {
		return none, fmt.Errorf("%s: %w", name, err)
	}
	return abi.GitContent{Found: true, Content: content}, nil
}

// entry is one name of a tree.
type entry struct {
	mode string // octal digits
	hash plumbing.Hash
}

const dirMode = "40000"

// Git writes 40000, some old tools wrote 040000.
func (e entry) isDir() bool { return strings.TrimPrefix(e.mode, "0") == dirMode }

// isFile is true for files of any permission; links are 120000, submodules 160000.
func (e entry) isFile() bool { return len(e.mode) == 6 && strings.HasPrefix(e.mode, "100") }

// entry finds a name in a tree.
func (s *store) entry(tree plumbing.Hash, name string) (entry, bool, error) {
	data, err := s.get(tree, plumbing.TreeObject, maxMeta)
	if err != nil {
		return entry{}, false, err
	}
	for len(data) > 0 {
		var this []byte
		var e entry
		if this, e, data, err = nextEntry(data); err != nil {
			return entry{}, false, fmt.Errorf("tree %s: %w", tree, err)
		}
		if string(this) == name {
			return e, true, nil
		}
	}
	return entry{}, false, nil
}

// nextEntry takes one entry off a tree's content.
func nextEntry(data []byte) (name []byte, e entry, rest []byte, err error) {
	head, rest, ok := bytes.Cut(data, []byte{0})
	mode, name, spaced := bytes.Cut(head, []byte(" "))
	if !ok || !spaced || len(rest) < hashSize {
		return nil, e, nil, errors.New("damaged: an entry is cut short")
	}
	return name, entry{string(mode), plumbing.Hash(rest[:hashSize])}, rest[hashSize:], nil
}
