package yaml11

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/internal/realdata"
)

// written returns a node as text, for comparisons.
func written(n *node) string {
	var items []string
	for _, item := range n.items {
		items = append(items, written(item))
	}
	return fmt.Sprintf("%d %q %d [%s]", n.kind, n.text, n.line, strings.Join(items, " "))
}

func TestLoadBlock(t *testing.T) {
	tests := []struct {
		name, text string
		ok         bool
	}{
		{"a mapping", "a: x\nb: 1.0\nc:\n  d: 'it''s'\ne:\n", true},
		{"lists, level with their key and below it", "a:\n- x\n- y: 1\n  z:\n  - 2\nb:\n  - 'q'\n", true},
		{"empty ones", "a: []\nb: {}\n", true},
		{"texts over several lines", "a: one\n  two (three)\n  - four\nb: 'one\n  ''two'' three'\nc:\n- one\n  two\n", true},
		{"quoted keys", "'@a/b':\n  c: d\n'e': f\n", true},
		{"paths as keys", "a/b.md: c\nd:\n  e/f/: g\ni:\n- j/k: l\nm: {n/o: p}\nq//r: s\n", true},
		{"an address as a key", "a://b: c\n", false},
		{"other letters", "a: Příliš\n", true},
		{"words with punctuation", "a: ^1.0.0\nb: ~1\nc: a:b\nd: file:///x\ne: C#\nf: <x\n", true},
		{"comments behind values", "a: x # y\nb:   'it''s # x'   # \"z\nc: # y\n- d # y\n- e: f # y\n- \"g # h\" #\ni: # y\n  j: k\nl: # y\n", true},
		{"comments behind brackets", "a: [x, 'y'] # z\nb: [x] # y\nc: {} # y\nd: [] # y\ne: {f: g}  # h\n", true},
		{"a bracket in a comment", "a: ['x # y'] # ]\n", false},
		{"a number sign in brackets", "a: [x # y]\n", false},
		{"a number sign in quotes in brackets", "a: ['x # y']\n", true},
		{"a comment, and more of the text", "a: x # y\n  z\n", false},
		{"a comment, and more of the quotes", "a: 'x # y\n  z'\n", true},
		{"a comment behind a text over several lines", "a: x\n  y # z\n", false},
		{"a comment without a space", "a: 'x'# y\n", false},
		{"an item that is a comment", "a:\n- # x\n", false},
		{"spaces behind a key", "a:   x\nbcd: y\n", true},
		{"mappings in braces", "a: {b: c, d: 1.0.0, e: 'f, g'}\n", false},
		{"mappings of words in braces", "a: {b: c d, 'e': 1, f: yes, g: \"h\", i: a/b}\nj:\n- {k: l}\n- [m, 2026-01-31]\n- {}\n", true},
		{"a mapping in braces without a value", "a: {b: }\n", false},
		{"a mapping in braces in another one", "a: {b: {c: d}}\n", false},
		{"a key twice in braces", "a: {b: c, b: d}\n", true},
		{"a word that is no entry in braces", "a: {b}\n", false},
		{"a date that does not exist in brackets", "a: [2026-02-31]\n", false},
		{"comments between lines", "# y\na:\n  # y\n- b\n  #\nc: d\n# e\n", true},
		{"a comment in a text", "a: x\n  # y\n  z\n", false},
		{"a comment in quotes", "a: 'x\n  # y\n  z'\n", false},
		{"blank lines", "\n\na:\n\n  b: y\n  \nc: z\n\n", true},
		{"a blank line in a scalar", "a: x\n\n  y\n", false},
		{"no final newline", "a: x", true},
		{"a tab", "a:\tx\n", false},
		{"words in brackets", "a: [x]\nb: [x, 'y', \"z\", 1.0.0]\n", true},
		{"other things in brackets", "a: [x, 1, yes, 1.5, null, ~]\n", false},
		{"numbers in brackets", "a: [x, 1, yes, 1.5, null, 010]\n", true},
		{"brackets over several lines", "a: [x,\n  y]\n", false},
		{"brackets with a trailing comma", "a: [x,]\n", false},
		{"a line below brackets", "a: [x]\n  y\n", false},
		{"an empty item between brackets", "a: [x, , y]\n", false},
		{"double quotes", "a: \"x: y, [z]\"\n\"@b/c\": \"\"\n", true},
		{"a backslash in double quotes", "a: \"x\\ty\"\n", false},
		{"double quotes over several lines", "a: \"x\n  y\"\n", false},
		{"a line below double quotes", "a: \"x\"\n  y\n", false},
		{"a block of text", "a: |\n  x\n", false},
		{"a key in a text", "a: x: y\n", false},
		{"a key below a text", "a: x\n  y: z\n", false},
		{"text behind quotes", "a: 'x' y\n", false},
		{"an anchor", "a: &x y\n", false},
		{"a tag", "a: !x y\n", false},
		{"a list of lists", "a:\n- - x\n", false},
		{"a list as the document", "- x\n", false},
		{"a key without a space", "a:x\n", false},
		{"a document end within the document", "a: x\n...\n", false},
		{"a deeper line below a list", "a:\n- x: y\n   z: 1\n", false},
		{"a line indented less than the list", "a:\n  - x\n - y\n", false},
		{"pictures", "a: 🚀 off\nb: '🚀'\nc:\n- x 👩‍🚀\n", true},
		{"unterminated quotes", "a: 'x\n", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, ok := loadBlock([]byte(test.text))
			if ok != test.ok {
				t.Fatalf("read: %t, want %t", ok, test.ok)
			}
			if ok {
				same(t, test.text, got)
			}
		})
	}
}

// TestParsersAgreeOnDepth checks that the fast parser does not accept documents that are too deep for the library.
func TestParsersAgreeOnDepth(t *testing.T) {
	for depth := maxDepth - 3; depth <= maxDepth+3; depth++ {
		for name, level := range map[string]string{"mappings": "a:\n", "lists": "- a:\n"} {
			var text strings.Builder
			text.WriteString("a:\n")
			for i := 1; i < depth; i++ {
				text.WriteString(strings.Repeat("  ", i) + level)
			}
			_, err := load([]byte(text.String()))
			_, parsed := Parse([]byte(text.String()), text.Len())
			if (err == nil) != (parsed == nil) {
				t.Errorf("%s, %d deep: the library says %v, Parse %v", name, depth, err, parsed)
			}
			if got, ok := loadBlock([]byte(text.String())); ok {
				same(t, text.String(), got)
			}
		}
	}
}

// same compares the node got with the result of the library for text.
func same(t *testing.T, text string, got *node) {
	t.Helper()
	tree, err := load([]byte(text))
	if err == nil {
		err = (&checker{lines: bytes.Split([]byte(text), []byte("\n")), merged: map[*yaml.Node]int{}}).check(tree, false)
	}
	if err != nil {
		t.Fatalf("%q: read as %s, the library says %v", text, written(got), err)
	}
	want := compose(tree, map[*yaml.Node]*node{})
	if diff := cmp.Diff(written(want), written(got)); diff != "" {
		t.Fatalf("%q (-library +got)\n%s", text, diff)
	}
}

// TestRealBlocks parses all YAML files of the sample data. The fast parser must accept all files that the aam program
// wrote.
func TestRealBlocks(t *testing.T) {
	count := 0
	err := filepath.WalkDir(realdata.Path(t), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		got, ok := loadBlock(data)
		if ok {
			count++
			same(t, string(data), got)
		}
		if !ok && (strings.HasSuffix(path, "-registry/index.yaml") || strings.HasSuffix(path, "metadata.yaml") && strings.Contains(path, "-registry/")) {
			t.Errorf("%s was parsed by the library", path)
		}
		return nil
	})
	if err != nil || count < 40 {
		t.Errorf("%d files, %v", count, err)
	}
}

// FuzzLoadBlock checks that the fast parser returns either false or the same value as the library.
func FuzzLoadBlock(f *testing.F) {
	for _, seed := range []string{
		"a: x\nb:\n- 'c'\n- d: e\n  f: []\ng: {}\n", "a: b\n  c\n  d\n", "'k': 'v\n  w'\n", "a:\n  b:\n    c: 1\n  d:\n", "a:\n- x\n  y\n- z\n",
		"a: a:b\n", "a: é\n", "a: <<\n", "a:\n  - 'x': y\n    z: -1\n", "a: b'c\n", "a: 'b'\n  c\n", "a: b\n c: d\n", "a: x,y]\n", "a: b\n  c", "a: 'b\n  c", "a: # b", "a: b\n  ? c\n", "a: b\n  'c'\n",
		"a: b # c\nd: 'e' # f\ng: # h\n- i # j\n", "a: {b: c, d: 1} # e\nf: [g, 'h'] # i\n", "a:   {'b': c d}\ne:\n- {f: g}\n- [h]\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return // Parse refuses such documents before it calls one of the parsers
		}
		if got, ok := loadBlock([]byte(text)); ok {
			same(t, text, got)
		}
	})
}

func TestLoadBlockAgreesWithLibraryOnRandomDocuments(t *testing.T) {
	parts := strings.Split("\nb: x|\nd:|\n  c: y|\n  e:|\n- f: z|\n  - g: w|\n  h|\n    i|\n- 'j|k'|a|bc|: |:|\n|\n|\n  |\n  |\n    |\n - |\n- |\n  - |- |'|''|'x'|[]|{}|é|🚀|𐍈|~|1.0|x y|-|<<|=|?|,|]|#|*|&c|!|\"|\"x\"|[x, y]|[|# c|\n# c|\n\n|\\|\u00a0|\ufeff|.|...|---|{}|{a: b, c: 1}| {x: 'y'} |{|}|, | # c|  #|: # c|:  x|^|/|(|$|@|`|%||>|yes", "|")
	random := rand.New(rand.NewPCG(1, 2))
	read := 0
	for range rounds {
		var text strings.Builder
		text.WriteString("a:")
		for range 2 + random.IntN(14) {
			text.WriteString(parts[random.IntN(len(parts))])
		}
		if random.IntN(4) > 0 {
			text.WriteByte('\n')
		}
		if got, ok := loadBlock([]byte(text.String())); ok {
			read++
			same(t, text.String(), got)
		}
	}
	if read < rounds/200 {
		t.Errorf("only %d of %d documents were parsed", read, rounds)
	}
}

const rounds = 50_000
