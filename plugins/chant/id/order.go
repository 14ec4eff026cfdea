package id

import (
	"cmp"
	"strings"
)

// Compare is the order of ids in lists: by date, then by sequence number, then by suffix. A driver precedes its members,
// which are ordered by number. Hand-made ids compare as strings. The result is 0 for equal ids only.
func Compare(a, b string) int { return KeyOf(a).Compare(KeyOf(b)) }

// Key is an id in a form that is compared quickly, for sorting.
type Key struct {
	text, base  string // the id; the driver of a member, otherwise the id
	number      int    // the member's number; 0 if the id is not a member
	parts       generated
	isGenerated bool // base is a generated id
}

// KeyOf returns the key of an id.
func KeyOf(text string) Key {
	k := Key{text: text, base: text, number: Number(text)}
	if driver, ok := Driver(text); ok {
		k.base = driver
	}
	k.parts, k.isGenerated = splitGenerated(k.base)
	return k
}

// Compare compares two keys as the function Compare compares their ids.
func (k Key) Compare(other Key) int {
	return cmp.Or(k.compareBase(other), cmp.Compare(k.number, other.number), strings.Compare(k.text, other.text))
}

func (k Key) compareBase(other Key) int {
	if !k.isGenerated || !other.isGenerated {
		return strings.Compare(k.base, other.base)
	}
	x, y := k.parts, other.parts
	return cmp.Or(strings.Compare(x.date, y.date), cmp.Compare(x.sequence, y.sequence), strings.Compare(x.suffix, y.suffix))
}

// generated has the parts of an id in the form of New.
type generated struct {
	date     string // the first ten bytes
	sequence uint64
	suffix   string
}

// splitGenerated splits an id of at least five parts whose fourth is a sequence number. The first three parts need not be a
// valid date.
func splitGenerated(text string) (generated, bool) {
	parts := strings.SplitN(text, "-", 6)
	if len(parts) < 5 {
		return generated{}, false
	}
	sequence, ok := Decode(parts[3])
	if !ok {
		return generated{}, false
	}
	return generated{text[:min(10, len(text))], sequence, parts[4]}, true
}
