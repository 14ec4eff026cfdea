package registry

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const aRow = "- name: a\n  description: d\n  latest: 1.0.0\n  keywords: []\n  artifact_types: []\n  updated_at: '2026-02-10'\n"

func TestParseItems(t *testing.T) {
	tests := []struct {
		name, text string
		rows       int // the expected number of rows; -1 if parseItems must return false
	}{
		{"as generated", "packages:\n" + aRow + aRow, 2},
		{"a row in flow style", "packages:\n" + aRow + "- {name: b, description: \"d\\te\", latest: '1'}\n" + aRow, 3},
		{"an unknown key", "packages:\n" + aRow + "- name: b\n  more:\n    deep: 1\n  description: d\n  latest: '1'\n", 2},
		{"an unquoted date", "packages:\n- name: a\n  description: d\n  latest: 1.0.0\n  updated_at: 2026-02-10\n", 1},
		{"no date", "packages:\n- name: a\n  description: d\n  latest: 1.0.0\n  updated_at:\n", 1},
		{"duplicate keys", "packages:\n- name: a\n  name: b\n  description: d\n  latest: 1.0.0\n  keywords: [x]\n  keywords: [y]\n", 1},
		{"an alias to another row", "packages:\n- name: &n a\n  description: d\n  latest: 1.0.0\n- name: *n\n  description: d\n  latest: 1.0.0\n", -1},
		{"a name that is a number", "packages:\n" + aRow + "- name: 1\n  description: d\n  latest: 1.0.0\n", -1},
		{"a row without a version", "packages:\n" + aRow + "- name: b\n  description: d\n", -1},
		{"a row that is not a mapping", "packages:\n" + aRow + "- b\n", -1},
		{"an empty index", "packages: []\n", -1},
		{"another key", "packages:\n" + aRow + "more: 1\n", -1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			entries, ok := parseItems([]byte(test.text))
			if ok != (test.rows >= 0) || ok && len(entries) != test.rows {
				t.Errorf("got %t, %+v", ok, entries)
			}
			sameEntries(t, test.text)
		})
	}
}

// sameEntries compares the result of parseItems with the result of parsing the whole document. For the latter, it adds
// a comment at the start of the document, which makes parseItems return false.
func sameEntries(t *testing.T, text string) {
	t.Helper()
	entries, ok := parseItems([]byte(text))
	if !ok {
		return
	}
	want, err := parseIndex([]byte("# whole\n" + text))
	if diff := cmp.Diff(want, entries, cmpopts.EquateEmpty()); err != nil || diff != "" {
		t.Errorf("%q: %v (-document +items)\n%s", text, err, diff)
	}
}

// FuzzParseItems checks that parseItems returns the same entries as parsing the whole document.
func FuzzParseItems(f *testing.F) {
	f.Add("packages:\n" + aRow)
	f.Add("packages:\n- name: a\n  description: 'd'\n  latest: \"1\"\n  keywords: [x]\n- {name: b, description: d, latest: '2'}\n")
	f.Fuzz(sameEntries)
}
