package objects

import (
	"fmt"
	"math/bits"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

const (
	minAbbrev = 7 // fewest digits of an abbreviated hash that is returned
	minPrefix = 4 // fewest digits of an abbreviated hash that is looked up, as in git
)

// Abbreviate shortens a hash as git does by default: to a length at which a collision among the packed objects is unlikely. If that prefix
// is not unique, it is extended until it is.
func (s *Store) Abbreviate(h plumbing.Hash) (string, error) {
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
			length = max(length, uniqueLength(hex, n.String()))
		}
	}
	for _, dir := range s.repo.ObjectDirs {
		names, err := dir.Root.List(path.Join(dir.Name, hex[:2]))
		if err != nil {
			return "", err
		}
		for _, name := range names {
			length = max(length, uniqueLength(hex, hex[:2]+name))
		}
	}
	return hex[:min(length, len(hex))], nil
}

// neighbours returns the hashes directly before and after h in the index. No other hash in the index has a longer common prefix with h.
func (x *packIndex) neighbours(h plumbing.Hash) ([]plumbing.Hash, error) {
	at, found, err := x.position(h)
	if err != nil {
		return nil, err
	}
	after := uint64(at)
	if found {
		after++
	}
	var hashes []plumbing.Hash
	if at > 0 {
		before, err := x.hash(at - 1)
		if err != nil {
			return nil, err
		}
		hashes = append(hashes, before)
	}
	if after < uint64(x.count()) {
		next, err := x.hash(uint32(after))
		if err != nil {
			return nil, err
		}
		hashes = append(hashes, next)
	}
	return hashes, nil
}

// uniqueLength returns the number of leading digits that distinguish hex from other; 0 if the two are equal.
func uniqueLength(hex, other string) int {
	if hex == other {
		return 0
	}
	n := 0
	for n < len(hex) && n < len(other) && hex[n] == other[n] {
		n++
	}
	return n + 1
}

// Expand returns the object whose hash begins with the given hexadecimal digits. ok is false if there is no such object, if there are too
// few digits, or if they are not hexadecimal. If several objects match, Expand fails.
func (s *Store) Expand(digits string) (found plumbing.Hash, ok bool, err error) {
	if len(digits) < minPrefix || len(digits) > 2*HashSize || !isHex(digits) {
		return found, false, nil
	}
	digits = strings.ToLower(digits)
	first := plumbing.NewHash(digits + strings.Repeat("0", 2*HashSize-len(digits)))
	add := func(h plumbing.Hash) error {
		if ok && h != found {
			return fmt.Errorf("%s: the abbreviated hash is ambiguous: give more digits", digits)
		}
		found, ok = h, true
		return nil
	}
	for _, p := range s.packs {
		at, _, err := p.index.position(first)
		if err != nil {
			return found, false, err
		}
		// Two matches prove that the prefix is ambiguous.
		for i := uint64(at); i < uint64(p.index.count()) && i < uint64(at)+2; i++ {
			h, err := p.index.hash(uint32(i))
			if err != nil {
				return found, false, err
			}
			if !strings.HasPrefix(h.String(), digits) {
				break
			}
			if err := add(h); err != nil {
				return found, false, err
			}
		}
	}
	for _, dir := range s.repo.ObjectDirs {
		names, err := dir.Root.List(path.Join(dir.Name, digits[:2]))
		if err != nil {
			return found, false, err
		}
		for _, name := range names {
			hex := digits[:2] + name
			if !strings.HasPrefix(hex, digits) || !plumbing.IsHash(hex) {
				continue
			}
			if err := add(plumbing.NewHash(hex)); err != nil {
				return found, false, err
			}
		}
	}
	return found, ok, nil
}
