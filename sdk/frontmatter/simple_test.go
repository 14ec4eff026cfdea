package frontmatter_test

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
)

// Fragments of lines: parts of usual front matter, and strings that are similar to these.
var (
	keys   = []string{"a", "b_c", "depends-on", "x.y", "a/b", "1", "null", "<<", "?", "é", "a b", "'q'", "\"q\"", "'q''é'", "'q", "-", "- a", "-  a", "- - a", "- a: b\n  c"}
	values = []string{
		"", "", " ", " x", " x", " 1", " 1.0", " true", " ~", " null", " -5", " - 5", " -", " --", " ?", " ? x", " :", " a:b", " a: b", " a:", " a #b", " a#b", " #",
		" 'it''s'", " 'a", " 'a' b", " 'a' ", " ''", " \"a\"", " \"a\\tb\"", " \"a", " \"a\"b", " [a, b]", " [a,b ]", " [ 'a',\"b\" , c]", " [a, ]", " []", " [ ]", " {}", " { }", " {a: b}", " [a: b]", " {a: b, 'c': [d, {e: f}], \"é\": g}", " {a}", " {a: }", " {a: b c, d: 'e # f' } # g", " {a:b}", " [[a], []]", " [[a]b]", " [a # b]", " [a] # b", " 'a' # b", " 'a'# b", " # a", " \"a # b\"", " 'a # b'", " a # b", " a #", " | # a", " [a:b]", " [a", " [a] b", " [é, ü]", " [-1, -a, - a, -]", " [a b, c  d]",
		" |", " |-", " |+", " |2", " >", " > x", " | x", " &x y", " *x", " !!str x", " ! x", " !x", " @x", " `x", " %x", " é", " ü: x", " x  ", " x y  z", "  x", " .5", " ./x", " ~x", " (x)", " $x", " +1", " =", " ,x", " ]", " }", " \u00a0x", " x\u00a0", " 2026-01-31", " 2026-01-31T10:00:00Z", " 12:30:45", " \tx", " x\ty", " http://x/y?z=#1", " ...", " ---", "x",
	}
	lines = []string{"", "", " ", "  ", "# c", "  # c", "---", "...", "--- a", "%YAML 1.2", "text", "  text", "    more text", "\t", "- x", "  - x", "-", "    code: x", "    'more' # text", "  text'", "  text' # c", "    a ''b'' c", "  '", "  more: text", "  more:", "    # c", "      # c", "  - x # c"}
)

// randomYAML returns a random string that is similar to a YAML document.
func randomYAML(random *rand.Rand) string {
	pick := func(from []string) string { return from[random.IntN(len(from))] }
	var out strings.Builder
	indent := 0
	for range 1 + random.IntN(8) {
		switch random.IntN(10) {
		case 0:
			out.WriteString(pick(lines))
		case 1, 2:
			out.WriteString(strings.Repeat(" ", indent) + "-" + pick(values))
		default:
			out.WriteString(strings.Repeat(" ", indent) + pick(keys[:1+random.IntN(len(keys))]) + ":" + pick(values[:1+random.IntN(len(values))]))
		}
		if random.IntN(30) > 0 {
			out.WriteString("\n")
		}
		switch random.IntN(6) {
		case 0:
			indent += 2
		case 1:
			indent = max(0, indent-2)
		case 2:
			indent = random.IntN(5)
		case 3:
			indent = 0
		}
	}
	return out.String()
}

// randomWords returns a random string of parts that have a meaning in YAML.
func randomWords(random *rand.Rand) string {
	parts := strings.Split("\nb: x|\nd:|\n  c: y|\n  e:|\n- f: z|\n  - g: w|\n  h|\n    i|\n- 'j|k'|a|bc|: |:|\n|\n|\n  |\n  |\n    |\n - |\n- |\n  - |- |'|''|'x'|[]|{}|é|🚀|𐍈|~|1.0|x y|-|<<|=|?|,|]|#|*|&c|!|\"|\"x\"|[x, y]|[|# c|\n# c|\n\n|\\|\u00a0|\ufeff|.|...|---|{}|{a: b, c: 1}| {x: 'y'} |{|}|, | # c|  #|: # c|:  x|^|/|(|$|@|`|%||>|yes", "|")
	var out strings.Builder
	out.WriteString("a:")
	for range 2 + random.IntN(14) {
		out.WriteString(parts[random.IntN(len(parts))])
	}
	if random.IntN(4) > 0 {
		out.WriteByte('\n')
	}
	return out.String()
}

// If the parser of this package accepts a text, its tree must be that of the library. It must accept a minimum share of the random texts.
func TestSimpleTextsHaveTreesOfLibrary(t *testing.T) {
	rounds := 30_000
	if os.Getenv("BULKHEAD_FUZZ_ROUNDS") != "" {
		rounds *= 100
	}
	random := rand.New(rand.NewPCG(3, 4))
	for _, options := range []frontmatter.Options{{}, {WithoutComments: true}} {
		simple := 0
		for i := range rounds {
			text := randomYAML(random)
			if i%2 > 0 {
				text = randomWords(random)
			}
			if frontmatter.IsSimple(text, options) {
				simple++
				if compareWithLibrary(t, text, options); t.Failed() {
					t.Fatalf("the difference is in %q", text)
				}
			}
		}
		t.Logf("%+v: %d of %d texts are simple", options, simple, rounds)
		if simple < rounds/50 {
			t.Errorf("%+v: only %d of %d random texts are simple", options, simple, rounds)
		}
	}
}

// compareWithLibrary compares the tree of a text with that of the library, which must accept the text.
func compareWithLibrary(t *testing.T, text string, options frontmatter.Options) {
	t.Helper()
	want, err := reference(text)
	if err != nil || want == nil {
		t.Fatalf("%q is accepted, and the library has %v", text, err)
	}
	got, err := frontmatter.Parse(text, options)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if options.WithoutComments {
		removeComments(want)
	}
	compare(t, got, want)
}

func removeComments(n *yaml.Node) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	for _, child := range n.Content {
		removeComments(child)
	}
}

func TestSimpleTexts(t *testing.T) {
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
		{"a bracket in a comment", "a: ['x # y'] # ]\n", true},
		{"a number sign in brackets", "a: [x # y]\n", false},
		{"a number sign in quotes in brackets", "a: ['x # y']\n", true},
		{"a comment, and more of the text", "a: x # y\n  z\n", false},
		{"a comment, and more of the quotes", "a: 'x # y\n  z'\n", true},
		{"a comment behind a text over several lines", "a: x\n  y # z\n", false},
		{"a comment without a space", "a: 'x'# y\n", false},
		{"an item that is a comment", "a:\n- # x\n", false},
		{"spaces behind a key", "a:   x\nbcd: y\n", true},
		{"mappings in braces", "a: {b: c, d: 1.0.0, e: 'f, g'}\n", true},
		{"mappings of words in braces", "a: {b: c d, 'e': 1, f: yes, g: \"h\", i: a/b}\nj:\n- {k: l}\n- [m, 2026-01-31]\n- {}\n", true},
		{"a mapping in braces without a value", "a: {b: }\n", false},
		{"a mapping in braces in another one", "a: {b: {c: d}}\n", true},
		{"a key twice in braces", "a: {b: c, b: d}\n", true},
		{"a word that is no entry in braces", "a: {b}\n", false},
		{"a date that does not exist in brackets", "a: [2026-02-31]\n", true},
		{"comments between lines", "# y\na:\n  # y\n- b\n  #\nc: d\n# e\n", true},
		{"a comment in a text", "a: x\n  # y\n  z\n", false},
		{"a comment in quotes", "a: 'x\n  # y\n  z'\n", false},
		{"blank lines", "\n\na:\n\n  b: y\n  \nc: z\n\n", true},
		{"a blank line in a scalar", "a: x\n\n  y\n", false},
		{"no final newline", "a: x", true},
		{"a tab", "a:\tx\n", false},
		{"words in brackets", "a: [x]\nb: [x, 'y', \"z\", 1.0.0]\n", true},
		{"other things in brackets", "a: [x, 1, yes, 1.5, null, ~]\n", true},
		{"numbers in brackets", "a: [x, 1, yes, 1.5, null, 010]\n", true},
		{"brackets over several lines", "a: [x,\n  y]\n", false},
		{"brackets with a trailing comma", "a: [x,]\n", false},
		{"a line below brackets", "a: [x]\n  y\n", false},
		{"an empty item between brackets", "a: [x, , y]\n", false},
		{"double quotes", "a: \"x: y, [z]\"\n\"@b/c\": \"\"\n", true},
		{"a backslash in double quotes", "a: \"x\\ty\"\n", false},
		{"double quotes over several lines", "a: \"x\n  y\"\n", false},
		{"a line below double quotes", "a: \"x\"\n  y\n", false},
		{"a block of text", "a: |\n  x\n", true},
		{"a key in a text", "a: x: y\n", false},
		{"a key below a text", "a: x\n  y: z\n", false},
		{"text behind quotes", "a: 'x' y\n", false},
		{"an anchor", "a: &x y\n", false},
		{"a tag", "a: !x y\n", false},
		{"a list of lists", "a:\n- - x\n", false},
		{"a list as the document", "- x\n", true},
		{"a key without a space", "a:x\n", false},
		{"a document end within the document", "a: x\n...\n", false},
		{"a deeper line below a list", "a:\n- x: y\n   z: 1\n", false},
		{"a line indented less than the list", "a:\n  - x\n - y\n", false},
		{"pictures", "a: 🚀 off\nb: '🚀'\nc:\n- x 👩‍🚀\n", true},
		{"unterminated quotes", "a: 'x\n", false},
	}
	options := frontmatter.Options{WithoutComments: true}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := frontmatter.IsSimple(test.text, options); got != test.ok {
				t.Fatalf("got %t, want %t", got, test.ok)
			}
			if test.ok {
				compareWithLibrary(t, test.text, options)
			}
		})
	}
}

// TestParsersAgreeOnDepth checks that Parse accepts the same depth for simple texts as for others.
func TestParsersAgreeOnDepth(t *testing.T) {
	for _, limit := range []int{3, 31, 32, 33, frontmatter.DefaultDepth} {
		for depth := max(1, limit-3); depth <= limit+3; depth++ {
			for name, level := range map[string]string{"mappings": "a:\n", "lists": "- a:\n"} {
				var text strings.Builder
				for i := range depth {
					text.WriteString(strings.Repeat("  ", i) + level)
				}
				_, err := frontmatter.Parse(text.String(), frontmatter.Options{Depth: limit})
				_, err2 := frontmatter.Parse("--- # no simple text\n"+text.String(), frontmatter.Options{Depth: limit})
				if (err == nil) != (err2 == nil) {
					t.Errorf("%s, %d deep: %v, and by the library %v", name, depth, err, err2)
				}
			}
		}
	}
}

func TestUsualFrontMatterIsSimple(t *testing.T) {
	for _, text := range []string{
		"type: code\nstatus: completed\ndepends_on:\n- 2026-01-02-003-abc\n- x\ntarget_files:\n  - a/b.go\ncommits:\n  - 0012345\ncompleted_at: 2026-01-31T10:00:00Z\nmodel: claude-opus\n",
		"name: skill-name\ndescription: Use this when the user asks, e.g. about (a) and b; it's quick.\nallowed-tools: [Read, Grep, 'Bash']\nversion: 1.10\n",
		"schema: spec-driven\ncontext: |\n  Tech stack: Go\n\n  - one\n    two\nrules:\n  proposal:\n    - Keep it short\n    - \"Say: why\"\n",
		"modules:\n  - id: a\n    type: prompt\n    tags: []\n    source:\n      local_path:\n        path: x\n  - id: b\n    enabled: false\nmeta: {}\nempty:\n",
	} {
		if !frontmatter.IsSimple(text, frontmatter.Options{}) {
			t.Errorf("the parser of this package does not accept:\n%s", text)
		}
	}
}

// BenchmarkParse compares the time for usual front matter with the library and without it.
func BenchmarkParse(b *testing.B) {
	const usual = "type: code\nstatus: completed\ndepends_on:\n- 2026-01-02-003-abc\ntarget_files:\n  - a/b.go\n  - c/d.go\ncompleted_at: 2026-01-31T10:00:00Z\n"
	for name, text := range map[string]string{"simple": usual, "library": usual + "x: !!str 1\n"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := frontmatter.Parse(text, frontmatter.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
