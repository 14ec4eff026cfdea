package objects

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

const (
	maxParents  = 256 // most parents of one commit
	maxTagChain = 8   // most annotated tags in a chain of tags that refer to tags
)

// Commit has the parts of a commit object that this package uses.
type Commit struct {
	Tree    plumbing.Hash
	parents []plumbing.Hash
	date    uint64 // date of the committer in seconds since 1970; 0 if it is malformed, as in git
	message []byte
}

// Commit reads a commit.
func (s *Store) Commit(hash plumbing.Hash) (Commit, error) {
	data, err := s.Get(hash, plumbing.CommitObject, maxMeta)
	if err != nil {
		return Commit{}, err
	}
	c, err := parseCommit(data)
	if err != nil {
		return Commit{}, fmt.Errorf("commit %s: %w", hash, err)
	}
	return c, nil
}

// commitOf reads a commit of a history, without parents if it is one of those whose parents a shallow clone lacks. It ends with the call.
func (s *Store) commitOf(hash plumbing.Hash, shallow map[plumbing.Hash]struct{}) (Commit, error) {
	if err := s.spend(0); err != nil {
		return Commit{}, err
	}
	c, err := s.Commit(hash)
	if _, ok := shallow[hash]; ok {
		c.parents = nil
	}
	return c, err
}

// parseCommit parses the content of a commit: header lines, an empty line and the message.
func parseCommit(data []byte) (Commit, error) {
	var c Commit
	head, message, _ := bytes.Cut(data, []byte("\n\n"))
	c.message = message
	lines := bytes.Split(head, []byte("\n"))
	hex, ok := bytes.CutPrefix(lines[0], []byte("tree "))
	if !ok {
		return c, errors.New("damaged: the commit has no tree")
	}
	var err error
	if c.Tree, err = ParseHash(string(hex)); err != nil {
		return c, err
	}
	for _, line := range lines[1:] {
		if hex, ok := bytes.CutPrefix(line, []byte("parent ")); ok {
			parent, err := ParseHash(string(hex))
			if err != nil {
				return c, err
			}
			if slices.Contains(c.parents, parent) {
				continue
			}
			if len(c.parents) == maxParents {
				return c, fmt.Errorf("the commit has more than %d parents", maxParents)
			}
			c.parents = append(c.parents, parent)
		}
		if bytes.HasPrefix(line, []byte("committer ")) {
			c.date = parseDate(line)
			break
		}
	}
	return c, nil
}

// parseDate returns the seconds in a header line `committer NAME <MAIL> SECONDS ZONE`.
func parseDate(line []byte) uint64 {
	rest := bytes.TrimLeft(line[bytes.LastIndexByte(line, '>')+1:], " ")
	digits, _, _ := bytes.Cut(rest, []byte(" "))
	seconds, err := strconv.ParseUint(string(digits), 10, 63)
	if err != nil {
		return 0
	}
	return seconds
}

// Peel returns the commit to which the object hash leads: the object itself if it is a commit, or the commit to which an annotated tag
// refers. It returns false for objects of other types.
func (s *Store) Peel(hash plumbing.Hash) (plumbing.Hash, bool, error) {
	for range maxTagChain {
		o, ok, err := s.find(hash, maxObject)
		switch {
		case err != nil:
			return hash, false, fmt.Errorf("%s: %w", hash, err)
		case !ok:
			return hash, false, fmt.Errorf("%s: missing from the repository", hash)
		case o.kind != plumbing.TagObject:
			return hash, o.kind == plumbing.CommitObject, nil
		case HashOf(o.kind, o.data) != hash:
			return hash, false, fmt.Errorf("tag %s: damaged: its content does not match its hash", hash)
		}
		line, _, _ := strings.Cut(string(o.data[:min(len(o.data), 64)]), "\n")
		hex, ok := strings.CutPrefix(line, "object ")
		if !ok {
			return hash, false, fmt.Errorf("tag %s: damaged: it names no object", hash)
		}
		next, err := ParseHash(hex)
		if err != nil {
			return hash, false, fmt.Errorf("tag %s: %w", hash, err)
		}
		hash = next
	}
	return hash, false, errors.New("the tag is the start of a chain of more than 8 tags")
}
