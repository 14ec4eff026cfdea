package id

import (
	"cmp"
	"strings"
)

// Compare orders ids as lists show them: by date, then by sequence as a number, then by suffix; a driver
// before its members, and those by number. Hand-made ids compare as text. It is 0 for equal ids only.
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
	x, okA := splitNormal(a)
	y, okB := splitNormal(b)
	if !okA || !okB {
		return strings.Compare(a, b)
	}
	return cmp.Or(
		strings.Compare(x.date, y.date),
		cmp.Compare(x.sequence, y.sequence),
		strings.Compare(x.suffix, y.suffix),
	)
}

type normal struct {
	date     string // the first ten bytes
	sequence uint64
	suffix   string
}

// splitNormal reads an id of at least five parts whose fourth is a sequence. The first three need not
// be a date, and may be shorter than one.
func splitNormal(text string) (normal, bool) {
	parts := strings.Split(text, "-")
	if len(parts) < 5 {
		return normal{}, false
	}
	sequence, ok := Decode(parts[3])
	if !ok {
		return normal{}, false
	}
	return normal{text[:min(10, len(text))], sequence, parts[4]}, true
}
