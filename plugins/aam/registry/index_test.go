package registry

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const aRow = "- name: a\n  description: d\n  latest: 1.0.0\n  keywords: []\n  artifact_types: []\n  updated_at: '2026-02-10'\n"

func TestReadRows(t *testing.T) {
	tests := []struct {
		name, text string
		rows       int // -1: the document has to be read as a whole
	}{
		{"as they are written", "packages:\n" + aRow + aRow, 2},
		{"one that only the library reads", "packages:\n" + aRow + "- {name: b, description: \"d\\te\", latest: '1'}\n" + aRow, 3},
		{"one with a key more", "packages:\n" + aRow + "- name: b\n  more:\n    deep: 1\n  description: d\n  latest: '1'\n", 2},
		{"a date without quotes", "packages:\n- name: a\n  description: d\n  latest: 1.0.0\n  updated_at: 2026-02-10\n", 1},
		{"no date", "packages:\n- name: a\n  description: d\n  latest: 1.0.0\n  updated_at:\n", 1},
		{"a key twice", "packages:\n- name: a\n  name: b\n  description: d\n  latest: 1.0.0\n  keywords: [x]\n  keywords: [y]\n", 1},
		{"one that needs another", "packages:\n- name: &n a\n  description: d\n  latest: 1.0.0\n- name: *n\n  description: d\n  latest: 1.0.0\n", -1},
		{"one with something wrong", "packages:\n" + aRow + "- name: 1\n  description: d\n  latest: 1.0.0\n", -1},
		{"one without a version", "packages:\n" + aRow + "- name: b\n  description: d\n", -1},
		{"an empty index", "packages: []\n", -1},
		{"another key", "packages:\n" + aRow + "more: 1\n", -1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			entries, texts, ok := readRows([]byte(test.text))
			if ok != (test.rows >= 0) || ok && (len(entries) != test.rows || "packages:\n"+strings.Join(texts, "") != test.text) {
				t.Errorf("got %t, %+v, %q", ok, entries, texts)
			}
			sameEntries(t, test.text)
		})
	}
}

// sameEntries compares with what the whole document says.
func sameEntries(t *testing.T, text string) {
	t.Helper()
	entries, _, ok := readRows([]byte(text))
	if !ok {
		return
	}
	want, err := parseIndex([]byte(text))
	if diff := cmp.Diff(want, entries, cmpopts.EquateEmpty()); err != nil || diff != "" {
		t.Errorf("%q: %v (-document +rows)\n%s", text, err, diff)
	}
}

// FuzzReadRows: rows say what the whole document says.
func FuzzReadRows(f *testing.F) {
	f.Add("packages:\n" + aRow)
	f.Add("packages:\n- name: a\n  description: 'd'\n  latest: \"1\"\n  keywords: [x]\n- {name: b, description: d, latest: '2'}\n")
	f.Fuzz(sameEntries)
}

// TestIndexWriter: what was kept is as it was, and what was added is written as ever.
func TestIndexWriter(t *testing.T) {
	odd := "- {name: b,  description: \"d\", latest: '1', theirs: [1]} # mine\n"
	tests := []struct {
		name string
		make func(w *indexWriter) error
		want string
	}{
		{"nothing", func(*indexWriter) error { return nil }, "packages: []\n"},
		{"kept and added", func(w *indexWriter) error {
			w.add(Entry{Name: "a", Description: "d", Latest: "1.0.0", UpdatedAt: "2026-02-10"})
			err := w.keep(odd)
			w.add(Entry{Name: "c", Description: "d", Latest: "1.0.0", UpdatedAt: "2026-02-10"})
			return err
		}, "packages:\n" + aRow + odd + strings.Replace(aRow, "name: a", "name: c", 1)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var w indexWriter
			if err := test.make(&w); err != nil {
				t.Fatal(err)
			}
			got, err := w.finish()
			if diff := cmp.Diff(test.want, string(got)); err != nil || diff != "" {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
		})
	}
	for name, fill := range map[string]func(w *indexWriter) error{
		"kept":  func(w *indexWriter) error { return w.keep(string(bytes.Repeat([]byte("x"), maxIndex+1))) },
		"added": func(w *indexWriter) error { w.add(Entry{Description: strings.Repeat("x", maxIndex)}); return nil },
	} {
		var w indexWriter
		if err := fill(&w); err != nil || !w.full() {
			t.Errorf("%s: full: %t, %v", name, w.full(), err)
		}
	}
}
