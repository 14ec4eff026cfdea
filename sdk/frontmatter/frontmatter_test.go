package frontmatter_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
)

func TestCut(t *testing.T) {
	tests := []struct {
		name, text, head, body string
		err                    error
	}{
		{"front matter and body", "---\na: b\n---\nbody\n", "a: b\n", "body\n", nil},
		{"carriage returns", "---\r\na: b\r\n---\r\nbody", "a: b\r\n", "body", nil},
		{"no body", "---\na: b\n---", "a: b\n", "", nil},
		{"empty front matter", "---\n---\nbody", "", "body", nil},
		{"dashes in a value", "---\na: '---'\n --- x\n----\n---\n", "a: '---'\n --- x\n----\n", "", nil},
		{"only the first end counts", "---\na: b\n---\n---\n", "a: b\n", "---\n", nil},
		{"no front matter", "# a\n---\n---\n", "", "# a\n---\n---\n", frontmatter.ErrAbsent},
		{"an empty file", "", "", "", frontmatter.ErrAbsent},
		{"white space before the dashes", " ---\na: b\n---\n", "", " ---\na: b\n---\n", frontmatter.ErrAbsent},
		{"a byte-order mark", "\ufeff---\na: b\n---\n", "", "\ufeff---\na: b\n---\n", frontmatter.ErrAbsent},
		{"four dashes", "----\na: b\n---\n", "", "----\na: b\n---\n", frontmatter.ErrAbsent},
		{"no end", "---\na: b\n", "", "---\na: b\n", frontmatter.ErrUnterminated},
		{"one line of dashes", "---", "", "---", frontmatter.ErrUnterminated},
		{"four dashes at the end", "---\na: b\n----", "", "---\na: b\n----", frontmatter.ErrUnterminated},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			head, body, err := frontmatter.Cut(test.text)
			if head != test.head || body != test.body || !errors.Is(err, test.err) {
				t.Errorf("got %q, %q, %v", head, body, err)
			}
		})
	}
}

func TestParseKeepsTextStyleAndPosition(t *testing.T) {
	const text = `# head
plain: 0012345 # line
single: 'it''s'
double: "a\tb"
literal: |
  x
folded: >-
  y
  z
empty:
tagged: !!str 3
local: !t {a: !u [b]}
`
	root, err := frontmatter.Parse(text, frontmatter.Options{Line: 11})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	describe := func(n *frontmatter.Node) {
		got = append(got, fmt.Sprintf("%d:%d %d %d %q %q", n.Line, n.Column, n.Kind, n.Style, n.Tag, n.Text))
	}
	for key, value := range root.Pairs() {
		if key.Style != frontmatter.Plain || key.Column != 1 {
			t.Errorf("key %q: style %d, column %d", key.Text, key.Style, key.Column)
		}
		describe(value)
	}
	describe(root.Get("local").Get("a").Children[0])
	want := []string{
		`12:8 0 0 "" "0012345"`,
		`13:9 0 1 "" "it's"`,
		`14:9 0 2 "" "a\tb"`,
		`15:10 0 3 "" "x\n"`,
		`17:9 0 4 "" "y z"`,
		`20:7 0 0 "" ""`,
		`21:9 0 0 "!!str" "3"`,
		`22:8 2 5 "!t" ""`,
		`22:19 0 0 "" "b"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if first := root.Children[0]; first.Comments == nil || first.Comments.Head != "# head" {
		t.Errorf("comments of the first key: %+v", first.Comments)
	}
	if value := root.Get("plain"); value.Comments == nil || value.Comments.Line != "# line" {
		t.Errorf("comments of the first value: %+v", value.Comments)
	}
}

func TestParseWithoutDocumentReturnsNil(t *testing.T) {
	for _, text := range []string{"", "\n", "# a comment\n"} {
		if root, err := frontmatter.Parse(text, frontmatter.Options{}); root != nil || err != nil {
			t.Errorf("%q: got %+v, %v", text, root, err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct {
		name    string
		text    string
		options frontmatter.Options
		want    string
	}{
		{"a syntax error", "a: b\nc: d: e\n", frontmatter.Options{}, "line 2: invalid YAML: mapping values are not allowed in this context"},
		{"a syntax error further down in a file", "a: b\nc: d: e\n", frontmatter.Options{Line: 10}, "line 11: invalid YAML: mapping values are not allowed in this context"},
		{"a tab as indentation", "a:\n\tb: c\n", frontmatter.Options{}, "line 2: invalid YAML: found character that cannot start any token"},
		{"a control character", "a: \x01", frontmatter.Options{}, "line 1: invalid YAML: control characters are not allowed"},
		{"bytes that are not UTF-8", "a: \xff", frontmatter.Options{}, "line 1: invalid YAML: invalid leading UTF-8 octet"},
		{"a second document", "a: b\n---\nc: d\n", frontmatter.Options{}, "line 2: a second document begins here; only one is allowed"},
		{"a syntax error in a second document", "a: b\n---\n[", frontmatter.Options{}, "line 4: invalid YAML: did not find expected node content"},
		{"an anchor", "a:\n- &x b\n", frontmatter.Options{}, "line 2: YAML anchors and aliases are not supported"},
		{"an alias", "a: &x b\nc: *x\n", frontmatter.Options{}, "line 1: YAML anchors and aliases are not supported"},
		{"an unknown alias", "a: *x\n", frontmatter.Options{Aliases: true}, "line 1: invalid YAML: unknown anchor"},
		{"the default depth", strings.Repeat("[", 65) + strings.Repeat("]", 65), frontmatter.Options{}, "line 1: invalid YAML: exceeded max depth of 64"},
		{"another depth", "a:\n  b:\n    c: d\n", frontmatter.Options{Depth: 2}, "line 3: invalid YAML: exceeded max depth of 2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root, err := frontmatter.Parse(test.text, test.options)
			var typed *frontmatter.Error
			if root != nil || !errors.As(err, &typed) || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got %+v, %v\nwant %s", root, err, test.want)
			}
		})
	}
}

func TestAliasesReferToTheirTargets(t *testing.T) {
	root, err := frontmatter.Parse("a: &x [1, *x]\nb: *x\n", frontmatter.Options{Aliases: true})
	if err != nil {
		t.Fatal(err)
	}
	a, b := root.Get("a"), root.Get("b")
	if a.Anchor != "x" || b.Kind != frontmatter.Alias || b.Text != "x" || b.Target != a || a.Children[1].Target != a {
		t.Errorf("got %+v and %+v", a, b)
	}
	if b.Tag12() != "!!seq" {
		t.Errorf("tag of the alias: %s", b.Tag12())
	}
	text, err := frontmatter.Encode(root)
	if err != nil || text != "a: &x [1, *x]\nb: *x\n" {
		t.Errorf("encoded as %q, %v", text, err)
	}
}

func TestCheckKeys(t *testing.T) {
	many := strings.Builder{}
	for i := range 40 {
		fmt.Fprintf(&many, "k%d: v\n", i)
	}
	for text, want := range map[string]string{
		"a: b\nc: d\n":                  "",
		"{}":                            "",
		"1: x\n'1': y\n":                `line 2: duplicate key "1"`,
		"a: {x: 1, x: 2}\n":             "",
		"? [a]\n: b\n":                  "line 1: a key of a mapping is not a scalar",
		"- a":                           "line 1: expected a mapping",
		"a":                             "line 1: expected a mapping",
		"":                              "expected a mapping",
		many.String():                   "",
		many.String() + "k3: w\n":       `line 41: duplicate key "k3"`,
		many.String() + "? {a: b}\n: c": "line 41: a key of a mapping is not a scalar",
	} {
		root, err := frontmatter.Parse(text, frontmatter.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := root.CheckKeys(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestGet(t *testing.T) {
	root, err := frontmatter.Parse("a: 1\na: 2\n? [b]\n: 3\nn: ~\n", frontmatter.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if a := root.Get("a"); a == nil || a.Text != "1" {
		t.Errorf("of two values, got %+v", a)
	}
	if n := root.Get("n"); n == nil || !n.IsNull() {
		t.Errorf("of a null, got %+v", n)
	}
	for _, absent := range []*frontmatter.Node{root.Get("b"), root.Get(""), root.Get("a").Get("x"), (*frontmatter.Node)(nil).Get("a")} {
		if absent != nil || !absent.IsNull() {
			t.Errorf("of an absent key, got %+v", absent)
		}
	}
}

func TestStringReadsBackAsString(t *testing.T) {
	for text, want := range map[string]string{
		"a": "a\n", "yes": "yes\n", "": "''\n", "~": "'~'\n", "true": "'true'\n", "12": "'12'\n", "2026-1-2": "'2026-1-2'\n",
		"a: b": "'a: b'\n", "- a": "'- a'\n", "a\nb\n": "|\n  a\n  b\n", "\x01": "\"\\x01\"\n", "it's": "it's\n",
	} {
		got, err := frontmatter.Encode(frontmatter.String(text))
		if err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
			continue
		}
		root, err := frontmatter.Parse(got, frontmatter.Options{})
		if err != nil || root.Text != text || root.Tag12() != "!!str" {
			t.Errorf("%q: reads back as %+v, %v", text, root, err)
		}
	}
}

func TestEncodeRefusesTreesThatYAMLCannotCarry(t *testing.T) {
	for name, root := range map[string]*frontmatter.Node{
		"bytes that are not UTF-8":   {Text: "\xff"},
		"a mapping without a value":  {Kind: frontmatter.Mapping, Children: []*frontmatter.Node{{Text: "a"}}},
		"an alias without an anchor": {Kind: frontmatter.Alias, Text: "x"},
	} {
		if text, err := frontmatter.Encode(root); err == nil {
			t.Errorf("%s: written as %q", name, text)
		}
	}
	if text, err := frontmatter.Encode(nil); text != "" || err != nil {
		t.Errorf("of nil: got %q, %v", text, err)
	}
}
