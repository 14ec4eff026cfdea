package dev

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestOutputsAreRecognized has, for each build, the contents of the files that changed during it.
func TestOutputsAreRecognized(t *testing.T) {
	type contents map[string]string
	for name, c := range map[string]struct {
		builds []contents
		again  string // for each build: 1 if another one is needed
		found  string
	}{
		"nothing changes":                       {[]contents{{}, {}}, "00", ""},
		"the user saves a file":                 {[]contents{{"a": "1"}, {}, {}}, "100", ""},
		"the user saves it in each of 3 builds": {[]contents{{"a": "1"}, {"a": "2"}, {"a": "3"}, {}}, "1110", ""},
		"a build writes the same":               {[]contents{{"o": "1"}, {"o": "1"}, {"o": "2"}}, "100", "o"},
		"a build writes a time":                 {[]contents{{"o": "1"}, {"o": "2"}, {"o": "3"}, {"o": "4"}, {"o": "5"}, {"o": "6"}}, "111100", "o"},
		"a build writes, and the user saves":    {[]contents{{"o": "1"}, {"o": "1", "a": "1"}, {"o": "2"}}, "110", "o"},
		"an unreadable file":                    {[]contents{{"u": ""}, {"u": ""}}, "11", ""},
		"a file that is written now and then":   {[]contents{{"o": "1"}, {}, {"o": "1"}, {}}, "1010", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var o outputs
			again, found := "", []string(nil)
			for _, changed := range c.builds {
				var paths []string
				for path := range changed {
					paths = append(paths, path)
				}
				slices.Sort(paths)
				needed, recognized := o.add(paths, func(path string) string { return changed[path] })
				again += map[bool]string{false: "0", true: "1"}[needed]
				found = append(found, recognized...)
			}
			if again != c.again || strings.Join(found, " ") != c.found {
				t.Errorf("another build is needed: %s, want %s; outputs: %q, want %q", again, c.again, found, c.found)
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
