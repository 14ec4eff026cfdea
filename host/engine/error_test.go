package engine

import "testing"

func TestBoundedShowsEveryCodePoint(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		limit int
		want  string
	}{
		"lines stay":                  {"a\tb\nc", 20, "a\tb\nc"},
		"what cannot be seen":         {"a\x1b[2J\u009b\u202e\ufe0f\u3164", 40, "a·[2J····"},
		"bytes that are not UTF-8":    {"a\xff", 20, "a\ufffd"},
		"a cut inside a code point":   {"grö", 3, "gr\ufffd…"},
		"a text as long as it may be": {"abc", 3, "abc"},
	} {
		if got := bounded(c.text, c.limit); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
