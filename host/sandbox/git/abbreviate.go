package git

import (
	"math/bits"
	"path"

	"github.com/go-git/go-git/v5/plumbing"
)

// minAbbrev is the fewest characters of an abbreviated hash.
const minAbbrev = 7

// abbreviate shortens a hash as git does by default: to as many characters as make a chance match
// among so many packed objects unlikely, then to more until no object but this begins with them.
func (s *store) abbreviate(h plumbing.Hash) (string, error) {
	hex := h.String()
	var packed uint64
	for _, p := range s.packs {
		packed += uint64(p.index.count())
	}
	length := max(minAbbrev, (bits.Len64(packed)+1)/2)
	for _, p := range s.packs {
		neighbours, err := p.index.neighbours(h)
		if err != nil {
			return "", err
		}
		for _, n := range neighbours {
			length = max(length, distinct(hex, n.String()))
		}
	}
	for _, dir := range s.repo.stores {
		names, err := s.repo.root.list(path.Join(dir, hex[:2]), maxNames)
		if err != nil {
			return "", err
		}
		for _, name := range names {
			length = max(length, distinct(hex, hex[:2]+name))
		}
	}
	return hex[:min(length, len(hex))], nil
}

// neighbours gives the names that stand just before and just after a hash: no others in the index
// share more of its beginning.
func (x *index) neighbours(h plumbing.Hash) ([]plumbing.Hash, error) {
	at, found, err := x.position(h)
	if err != nil {
		return nil, err
	}
	after := uint64(at)
	if found {
		after++
	}
	var names []plumbing.Hash
	if at > 0 {
		before, err := x.name(at - 1)
		if err != nil {
			return nil, err
		}
		names = append(names, before)
	}
	if after < uint64(x.count()) {
		next, err := x.name(uint32(after))
		if err != nil {
			return nil, err
		}
		names = append(names, next)
	}
	return names, nil
}

// distinct gives how many characters of a hash it takes to tell it from another; 0 for itself.
func distinct(hex, other string) int {
	if hex == other {
		return 0
	}
	n := 0
	for n < len(hex) && n < len(other) && hex[n] == other[n] {
		n++
	}
	return n + 1
}
