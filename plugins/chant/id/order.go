package id

import (
	"cmp"
	"strings"
)

// Compare defines the order of ids in lists: by date, then by sequence number, then by suffix. A driver precedes its
// members, and the members are ordered by number. Compare orders hand-made ids as strings. It returns 0 only for equal
// ids.
func Compare(a, b string) int { return KeyOf(a).Compare(KeyOf(b)) }

// Key is a parsed form of an id that Key.Compare compares quickly, for sorting.
type Key struct {
	text, base  string // text is the id; base is the driver of a member, and otherwise the id
	number      int    // the number of the member; 0 if the id is not a member
	parts       generated
	isGenerated bool // base has the form of a generated id
}

// KeyOf returns the Key of an id.
func KeyOf(text string) Key {
	k := Key{text: text, base: text, number: Number(text)}
	if driver, ok := Driver(text); ok {
		k.base = driver
	}
	k.parts, k.isGenerated = splitGenerated(k.base)
	return k
}

// Compare compares two keys in the same order in which the function Compare compares ids.
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

// generated holds the parts of an id that has the form of a generated id.
type generated struct {
	date     string // the first ten bytes of the id
	sequence uint64
	suffix   string
}

// splitGenerated splits an id that has at least five parts and whose fourth part is a sequence number. The first three
// parts need not be a valid date.
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
