package frontmatter_test

import (
	"errors"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"

	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
)

var seeds = []string{
	"title: a\ntags: [b, 'c', \"d\\n\"]\n",
	"a: |\n  x\n\n  y\nb: >-\n  z\n  z\n",
	"- 1\n- 0x1f\n- 1.5\n- 2026-01-31T10:00:00Z\n- ~\n- yes\n",
	"a: &x {b: c}\nd: *x\n<<: *x\n",
	"# head\na: !!str 3 # line\nb: ! 4\nc: !d [e]\n# foot\n",
	"? [a]\n: b\n? c\n",
	"a: b\n---\nc: d\n",
	"%YAML 1.1\n---\na: b\n...\n",
	"a:\n\tb",
	"\ufeffa: b\r\nc: d\r",
	"a: x\nb:\n- 'c'\n- d: e\n  f: []\ng: {}\n", "a: b\n  c\n  d\n", "'k': 'v\n  w'\n", "a:\n  b:\n    c: 1\n  d:\n", "a:\n- x\n  y\n- z\n",
	"a: a:b\n", "a: é\n", "a: <<\n", "a:\n  - 'x': y\n    z: -1\n", "a: b'c\n", "a: 'b'\n  c\n", "a: b\n c: d\n", "a: x,y]\n", "a: b\n  c", "a: 'b\n  c", "a: # b", "a: b\n  ? c\n", "a: b\n  'c'\n",
	"a: b # c\nd: 'e' # f\ng: # h\n- i # j\n", "a: {b: c, d: 1} # e\nf: [g, 'h'] # i\n", "a:   {'b': c d}\ne:\n- {f: g}\n- [h]\n",
	"a: b\nc-d:\n- x\n- y: [1, 'z']\n  e:\n    f: \"g\"\nh: |\n  i\n\n  j\nk: {}\n",
}

// FuzzParse checks that Parse and the library accept the same texts and return the same trees.
func FuzzParse(f *testing.F) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want, wantErr := reference(text)
		got, err := frontmatter.Parse(text, frontmatter.Options{Aliases: true})
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("got %v, the library %v", err, wantErr)
		}
		var typed *frontmatter.Error
		if err != nil && (!errors.As(err, &typed) || got != nil) {
			t.Fatalf("got %v with the error %v", got, err)
		}
		if err != nil || got == nil && want == nil {
			return
		}
		compare(t, got, want)
		defer func() {
			removeComments(want)
			got, err := frontmatter.Parse(text, frontmatter.Options{Aliases: true, WithoutComments: true})
			if err != nil {
				t.Fatal(err)
			}
			compare(t, got, want)
		}()
		encoded, err := frontmatter.Encode(got)
		if err != nil {
			return
		}
		again, err := frontmatter.Parse(encoded, frontmatter.Options{Aliases: true})
		if err != nil || !frontmatter.Equal(got, again) {
			t.Fatalf("encoded as %q, which gives %v, %v", encoded, again, err)
		}
	})
}

// reference returns the tree that the library parses; nil if text contains no document.
func reference(text string) (*yaml.Node, error) {
	var documents []yaml.Node
	err := yaml.Load([]byte(text), &documents, yaml.WithAllDocuments(),
		yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(frontmatter.DefaultDepth))))
	switch {
	case err != nil:
		return nil, err
	case len(documents) > 1:
		return nil, errors.New("several documents")
	case len(documents) == 0:
		return nil, nil
	}
	return documents[0].Content[0], nil
}

func compare(t *testing.T, got *frontmatter.Node, want *yaml.Node) {
	t.Helper()
	kinds := map[yaml.Kind]frontmatter.Kind{
		yaml.ScalarNode: frontmatter.Scalar, yaml.SequenceNode: frontmatter.Sequence,
		yaml.MappingNode: frontmatter.Mapping, yaml.AliasNode: frontmatter.Alias,
	}
	styles := map[yaml.Style]frontmatter.Style{
		0: frontmatter.Plain, yaml.SingleQuotedStyle: frontmatter.SingleQuoted, yaml.DoubleQuotedStyle: frontmatter.DoubleQuoted,
		yaml.LiteralStyle: frontmatter.Literal, yaml.FoldedStyle: frontmatter.Folded, yaml.FlowStyle: frontmatter.Flow,
	}
	style, known := styles[want.Style&^yaml.TaggedStyle]
	if got.Kind != kinds[want.Kind] || got.Style != style || !known || got.Text != want.Value || got.Anchor != want.Anchor ||
		got.Line != want.Line || got.Column != want.Column || got.Tag12() != want.ShortTag() || len(got.Children) != len(want.Content) {
		t.Fatalf("got %+v (%s), the library has %+v", got, got.Tag12(), want)
	}
	comments := frontmatter.Comments{}
	if got.Comments != nil {
		comments = *got.Comments
	}
	if comments != (frontmatter.Comments{Head: want.HeadComment, Line: want.LineComment, Foot: want.FootComment}) {
		t.Fatalf("got %+v, the library has the comments of %+v", comments, want)
	}
	for i, child := range got.Children {
		compare(t, child, want.Content[i])
	}
}

// FuzzTag12 checks that plain scalars have the types that the library gives them.
func FuzzTag12(f *testing.F) {
	for _, seed := range []string{
		"", "~", "Null", "nULL", "TRUE", "yes", "<<", "0", "-0", "-0.0", "+1", "08", "017", "0o17", "0b101", "1_000", "_1", "1e3", "1e999",
		"1.", ".5", ".5_0", "5_0.5", ".inf", "+.INF", ".", "+", "-", "inf", "nan", "0x1p3", "0x1F", "18446744073709551615",
		"18446744073709551616", "+18446744073709551615", "-9223372036854775809", "12:30:45", "2026-1-2", "2026-13-01",
		"2026-01-31T10:00:00Z", "2026-01-31t10:00:00.5+02:00", "2026-01-31 10:00:00", "2026-01-31 10:00:00 -5", "20260131",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want, err := reference(text)
		if err != nil || want == nil || want.Kind != yaml.ScalarNode || want.Value != text || want.Style != 0 || want.Tag == "!" {
			t.Skip("not a plain scalar")
		}
		if got := (&frontmatter.Node{Text: text}).Tag12(); got != want.ShortTag() {
			t.Errorf("%q: got %s, the library has %s", text, got, want.ShortTag())
		}
	})
}

// FuzzCut checks that the two parts, joined by lines of dashes, are equal to the original text.
func FuzzCut(f *testing.F) {
	f.Add("---\na: b\n---\nbody\n")
	f.Add("---\r\n---")
	f.Add("---\n")
	f.Fuzz(func(t *testing.T, text string) {
		head, body, err := frontmatter.Cut(text)
		if err != nil {
			if head != "" || body != text {
				t.Errorf("got %q, %q, %v", head, body, err)
			}
			return
		}
		dashes := strings.TrimSuffix(text, body)
		first, rest, _ := strings.Cut(dashes, "\n")
		last := strings.TrimPrefix(rest, head)
		if strings.TrimSuffix(first, "\r") != "---" || strings.TrimRight(last, "\r\n") != "---" || len(first)+1+len(head)+len(last)+len(body) != len(text) {
			t.Errorf("got %q, %q", head, body)
		}
	})
}
