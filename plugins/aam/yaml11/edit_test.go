package yaml11_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/yaml11"
)

// set returns the document in text with the value at path replaced.
func set(text string, value any, path ...string) (string, error) {
	document, err := yaml11.Parse([]byte(text), 1<<20)
	if err != nil {
		return "", err
	}
	if err := document.Set(value, path...); err != nil {
		return "", err
	}
	return string(document.Bytes()), nil
}

// TestSetPreservesOtherBytes checks texts that contain §old§new§: the bytes that Set must replace, and the bytes that
// must replace them.
func TestSetPreservesOtherBytes(t *testing.T) {
	item := yaml11.Map{{Key: "n", Value: "new"}, {Key: "d", Value: true}}
	tests := []struct {
		name, text string // text contains §old§new§
		value      any
		path       string
	}{
		{"comments at the head of the file", "# My settings\n\na: §old§new§\n", "new", "a"},
		{"comments at the end of the file", "a: §old§new§ # why\n\n# the end\n", "new", "a"},
		{"around the markers of a document", "%YAML 1.1\n# 1\n---\n# 2\na: §old§new§\n# 3\n...\n# 4\n", "new", "a"},
		{"CRLF line ends", "# x\r\na: §'it''s'§new§\r\nb: |\r\n  x\r\n", "new", "a"},
		{"a byte-order mark", "\ufeff# x\na: §1§new§\n", "new", "a"},
		{"no final newline", "b: 1\na: §old§new§", "new", "a"},
		{"quotes, spaces and columns", "\"b\":   'x'\na :   §\"o # ld\"§new§   # c\n", "new", "a"},
		{"multi-byte characters before the value", "é: {ü: ä, a: §old§new§} # ö\n", "new", "é.a"},
		{"a string that needs quotes in flow style only", "x: {a: §old§'n, w'§, b: 1} # c\n", "n, w", "x.a"},
		{"an empty value", "a:§§ new§ # c\n# d\n", "new", "a"},
		{"a new key in a mapping", "s:\n    x: 1 # c\n§§    a: true\n§\n# about t\nt: 1\n", true, "s.a"},
		{"a new key at the top level", "x: 1\n§§a: new\n§\n# the end\n", "new", "a"},
		{"a new key at the top level, with CRLF", "x: 1\r\n§§a: new\r\n§\r\n# the end\r\n", "new", "a"},
		{"without a final newline", "x: 1§§\na: new\n§", "new", "a"},
		{"after a string that looks like a comment", "x: |\n  # 1\n  # 2\n§§a: new\n§", "new", "a"},
		{"a flow mapping", "s: {x: 1§§, a: true§ } # c\n", true, "s.a"},
		{"a flow mapping over several lines", "s: {\n  x: 1§§, a: true§ # }c\n  # d\n}\n", true, "s.a"},
		{"an empty mapping value", "s:  # c\n§§  a: true\n§t: 1\n", true, "s.a"},
		{"only comments", "# nothing yet\n\n# really\n§§a: new\n§", "new", "a"},
		{"only comments and document markers", "# x\n---\n# y\n§§a: new\n§", "new", "a"},
		{"absent mappings", "x: 1\n§§s:\n  a: new\n§# c\n", "new", "s.a"},
		{"appending to a list", "l:\n# first\n- n: x # c\n  # d\n  e: 1\n§§- n: new\n  d: true\n§\n# about t\nt: 1\n", item, "l.1"},
		{"appending to an indented list", "l:\n  -   n: x\n§§  - n: new\n    d: true\n§  # end of l\n", item, "l.1"},
		{"appending to a flow list", "l: [{n: x}§§, {n: new, d: true}§] # c\n", item, "l.1"},
		{"an empty list", "l:§ []§§ # c\n§§- n: new\n  d: true\n§t: 1\n", []any{item}, "l"},
		{"a value in a list", "l:\n- n: x # c\n  d: §yes§false§ # d\n", false, "l.0.d"},
		{"the lines of a list", "# a\nl:\n# b\n- x # c\n§- y\n§- new\n§# e\n# f\nt: 1\n", []string{"x", "new"}, "l"},
		{"a comment after a removed item", "l:\n§- y # d\n§- new\n# d\n§t: 1\n", []string{"new"}, "l"},
		{"a flow list", "l: §[x, 'y]']§[x, new]§ # c\n", []string{"x", "new"}, "l"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var before, want strings.Builder
			for i, part := range strings.Split(test.text, "§") {
				if i%3 != 2 {
					before.WriteString(part)
				}
				if i%3 != 1 {
					want.WriteString(part)
				}
			}
			got, err := set(before.String(), test.value, strings.Split(test.path, ".")...)
			if diff := cmp.Diff(want.String(), got); err != nil || diff != "" {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
		})
	}
}

func TestSetReplacesValuesOverSeveralLines(t *testing.T) {
	tests := []struct{ name, before, want string }{
		{"comments around", "# head\n\na: |\n  old\nb: 1\n\n# foot\n", "# head\n\na: new\nb: 1\n\n# foot\n"},
		{"CRLF line ends", "# head\r\n\r\na: |\r\n  old\r\n", "# head\r\n\r\na: new\r\n"},
		{"a byte-order mark", "\ufeffa: >\n  old\n", "\ufeffa: new\n"},
		{"a plain scalar over several lines", "a: one\n  two # c\nb:   1\n", "a: new # c\nb:   1\n"},
		{"quotes over several lines", "a: 'one\n\n  two' # c\n", "a: new # c\n"},
		{"an anchor and a tag", "a: &x !!str one # c\n", "a: new # c\n"},
		{"a block list", "a:\n  - 1\n  - 2\n\n# c\nb: 1\n", "a: new\n\n# c\nb: 1\n"},
		{"an explicit key", "? b\n: {c: d}\n", "? b\n: {c: d}\na: new\n"},
		{"null as the document", "~\n", "a: new\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got, err := set(test.before, "new", "a"); err != nil || got != test.want {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
		})
	}
	if got, err := set("a:\n  - [1] # c\n  # lost\n  - 2\n", "new", "a"); err == nil || !strings.Contains(err.Error(), "comment") {
		t.Errorf("a change that would lose a comment: got %q, %v", got, err)
	}
}

// TestSetOfListWithItemOverSeveralLines checks that Set does not panic if the items of the list do not end on the lines
// on which they begin.
func TestSetOfListWithItemOverSeveralLines(t *testing.T) {
	for _, before := range []string{"a:\n- >\n  x\n", "a:\n- x\n  y\n", "b: 1\na:\n- 'x\n  y' # c\n- z\n"} {
		for _, items := range [][]string{{"new"}, {"x y", "new"}, {"z", "new"}} {
			got, err := yaml11.Parse([]byte(before), 1000)
			if err != nil {
				t.Fatal(err)
			}
			if err := got.Set(items, "a"); err != nil {
				continue // the layout does not allow the change
			}
			var r yaml11.Reader
			if diff := cmp.Diff(items, r.Texts(got.Root().Field("a"))); diff != "" {
				t.Errorf("%q: %q (-want +got)\n%s", before, got.Bytes(), diff)
			}
		}
	}
}

// FuzzSet checks that Set does not change other values or comment lines.
func FuzzSet(f *testing.F) {
	for _, seed := range []string{
		"", "# c\n", "# My settings\n\na: x\n", "a: x # c\n\n# foot\n", "---\n# c\na: 1\n...\n# d\n", "a: 1\r\n# c\r\n", "\ufeff# c\nb: 1\n", "{a: 1, # c\n b: 2}\n# d",
		"b:\n  - 1\n  # c\n  - 2\na: # x\n  # y\n  - z\n", "a: |\n  x\n  # y\n# z\n", "a: &x 1\nb: *x\n", "a:\n# c\nb:\n", "? a\n# c\n: b\n", "a: 'x\n\n  # y'\n", "a: x\n  # c\nb: y\n# d",
	} {
		f.Add([]byte(seed), "x y")
		f.Add([]byte(seed), "yes")
		f.Add([]byte(seed), "# no\ncomment")
	}
	f.Fuzz(func(t *testing.T, data []byte, value string) {
		document, err := yaml11.Parse(data, 4096)
		if err != nil || strings.ContainsRune(value, 0) {
			return
		}
		before, err := document.Root().Plain()
		if err != nil {
			return
		}
		for _, path := range [][]string{{"a"}, {"new"}, {"b", "new"}} {
			got, err := set(string(data), value, path...)
			if err != nil {
				continue
			}
			document, err := yaml11.Parse([]byte(got), 1<<20)
			if err != nil {
				t.Fatalf("%q at %v: written as %q: %v", data, path, got, err)
			}
			now := document.Root()
			for _, key := range path {
				now = now.Field(key)
			}
			if want := strings.ToValidUTF8(value, "\ufffd"); now.Text() != want && now.Text() != value {
				t.Fatalf("%q at %v: written as %q, which says %q", data, path, got, now.Text())
			}
			after, err := document.Root().Plain()
			if diff := cmp.Diff(without(before, path[0]), without(after, path[0])); err != nil || diff != "" {
				t.Fatalf("%q at %v: written as %q: %v %s", data, path, got, err, diff)
			}
			for line := range strings.Lines(string(data)) {
				if comment := strings.TrimSpace(line); strings.HasPrefix(comment, "#") && !inText(before, comment) && !strings.Contains(got, comment) {
					t.Fatalf("%q at %v: written as %q: %s is lost", data, path, got, comment)
				}
			}
		}
	})
}

// without returns the entries of a mapping, except for the entry with the given key.
func without(plain any, key string) any {
	mapped, _ := texts(plain).(yaml11.Map)
	left := yaml11.Map{}
	for _, pair := range mapped {
		if pair.Key != key {
			left = append(left, pair)
		}
	}
	return left
}

// inText reports whether a line that looks like a comment is part of a scalar in plain.
func inText(plain any, line string) bool {
	switch plain := plain.(type) {
	case string:
		return strings.Contains(plain, line)
	case []any:
		for _, item := range plain {
			if inText(item, line) {
				return true
			}
		}
	case yaml11.Map:
		for _, pair := range plain {
			if inText(pair.Key, line) || inText(pair.Value, line) {
				return true
			}
		}
	}
	return false
}
