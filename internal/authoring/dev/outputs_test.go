package dev

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/watch"
)

// TestOutputsAreRecognized has, for each build, the contents of the files that changed during it. A build with the file "calm" begins when
// nothing has changed for a while.
func TestOutputsAreRecognized(t *testing.T) {
	type contents map[string]string
	calm := func(c contents) contents { c["calm"] = ""; return c }
	times := func(n int, name string) (all []contents) {
		for i := range n {
			all = append(all, contents{name: fmt.Sprint(i)})
		}
		return all
	}
	for name, c := range map[string]struct {
		builds []contents
		next   string // for each build when another one is needed: "-" after a change, "c" after calm, "!" at once
		found  string
	}{
		"nothing changes":                       {[]contents{{}, {}}, "--", ""},
		"the user saves a file":                 {[]contents{{"a": "1"}, {}, {}}, "!--", ""},
		"the user saves it in each of 3 builds": {[]contents{{"a": "1"}, {"a": "2"}, {"a": "3"}, {}}, "!!!-", ""},
		"the user saves the same content":       {[]contents{{"a": "1"}, {"a": "1"}, {}, {"a": "2"}, {}}, "!--!-", ""},
		"the user saves the same, then another": {[]contents{{"a": "1"}, {"a": "1"}, {"a": "2"}, {}}, "!-!-", ""},
		"an agent saves for many builds":        {append(times(9, "plugin.toml"), contents{}, contents{"plugin.toml": "x"}, contents{}), "!!!!ccccc-!-", ""},
		"an agent saves, and a calm build reads it": {append(times(5, "plugin.toml"), calm(contents{}), contents{"plugin.toml": "x"}, contents{}),
			"!!!!c-!-", ""},
		"a build writes the same":             {[]contents{{"o": "1"}, {"o": "1"}, {"o": "2"}, {"o": "2"}}, "!-!-", ""},
		"a build writes a time":               {append(times(5, "o"), calm(contents{"o": "6"}), contents{"o": "7"}, contents{"o": "8"}), "!!!!c---", "o"},
		"an output becomes a source":          {append(times(5, "o"), calm(contents{"o": "6"}), contents{}, contents{"o": "8"}), "!!!!c--!", "o"},
		"a build writes, and the user saves":  {append(times(5, "o"), contents{"o": "6", "a": "1"}, calm(contents{"o": "7"})), "!!!!c!-", "o"},
		"an unreadable file":                  {[]contents{{"u": ""}, {"u": ""}}, "!!", ""},
		"a file that is written now and then": {[]contents{{"o": "1"}, {}, {"o": "1"}, {}}, "!-!-", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var o outputs
			next, found := "", []string(nil)
			for _, changed := range c.builds {
				_, isCalm := changed["calm"]
				delete(changed, "calm")
				paths := slices.Sorted(maps.Keys(changed))
				needed, recognized := o.add(paths, isCalm, func(path string) string { return changed[path] })
				next += map[watch.Next]string{watch.AfterChange: "-", watch.AfterCalm: "c", watch.AtOnce: "!"}[needed]
				found = append(found, recognized...)
			}
			if next != c.next || strings.Join(found, " ") != c.found {
				t.Errorf("another build is needed: %s, want %s; outputs: %q, want %q", next, c.next, found, c.found)
			}
		})
	}
}

func TestDigestOfFile(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"a": "x", "b": "x", "c": "y"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	digest := func(name string) string { return digestFile(filepath.Join(dir, name)) }
	if digest("a") == "" || digest("a") != digest("b") || digest("a") == digest("c") {
		t.Error("the digests do not tell contents apart")
	}
	if digest("none") != "" || digestFile(dir) != "" {
		t.Error("what cannot be read has a digest")
	}
}
