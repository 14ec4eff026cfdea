package id

import (
	"slices"
	"strings"
)

// NotFoundError is the error of Resolve if Text abbreviates no id.
type NotFoundError struct{ Text string }

func (e *NotFoundError) Error() string { return "Spec not found: " + e.Text }

// AmbiguousError is the error of Resolve if Text abbreviates several ids.
type AmbiguousError struct {
	Text    string
	Matches []string // the ids that Text abbreviates, in the order of Compare
}

func (e *AmbiguousError) Error() string {
	return "Ambiguous spec ID '" + e.Text + "'. Matches: " + strings.Join(e.Matches, ", ")
}

// Resolve returns the id that text abbreviates. Resolve tries in this order: the id that equals text; the only id that
// ends with text; if text has three bytes, the only id with the date today (YYYY-MM-DD) and text as its sequence
// number; the only id that contains text. The comparison is case-sensitive. The error is a *NotFoundError or an
// *AmbiguousError.
func Resolve(ids []string, text, today string) (string, error) {
	if slices.Contains(ids, text) {
		return text, nil
	}
	if found := filter(ids, func(id string) bool { return strings.HasSuffix(id, text) }); len(found) == 1 {
		return found[0], nil
	}
	if len(text) == 3 {
		prefix := today + "-" + text + "-"
		found := filter(ids, func(id string) bool { return strings.HasPrefix(id, prefix) })
		if len(found) == 1 {
			return found[0], nil
		}
	}
	found := filter(ids, func(id string) bool { return strings.Contains(id, text) })
	switch len(found) {
	case 0:
		return "", &NotFoundError{text}
	case 1:
		return found[0], nil
	}
	slices.SortFunc(found, Compare)
	return "", &AmbiguousError{text, found}
}

func filter(ids []string, keep func(string) bool) []string {
	var kept []string
	for _, id := range ids {
		if keep(id) {
			kept = append(kept, id)
		}
	}
	return kept
}
