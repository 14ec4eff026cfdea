package id

import (
	"cmp"
	"strings"
)

// Compare is the order of ids in lists: by date, then by sequence number, then by suffix. A driver precedes its members,
// which are ordered by number. Hand-made ids compare as strings. The result is 0 for equal ids only.
func Compare(a, b string) int {
	return cmp.Or(
		compareBase(base(a), base(b)),
		cmp.Compare(Number(a), Number(b)),
		strings.Compare(a, b),
	)
}

func base(text string) string {
	if driver, ok := Driver(text); ok {
		return driver
	}
	return text
}

func compareBase(a, b string) int {
	x, okA := splitGenerated(a)
	y, okB := splitGenerated(b)
	if !okA || !okB {
		return strings.Compare(a, b)
	}
	return cmp.Or(
		strings.Compare(x.date, y.date),
		cmp.Compare(x.sequence, y.sequence),
		strings.Compare(x.suffix, y.suffix),
	)
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
	parts := strings.Split(text, "-")
	if len(parts) < 5 {
		return generated{}, false
	}
	sequence, ok := Decode(parts[3])
	if !ok {
		return generated{}, false
	}
	return generated{text[:min(10, len(text))], sequence, parts[4]}, true
}
