package frontmatter_test

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
)

// Fragments of lines: parts of usual front matter, and strings that are similar to these.
var (
	keys   = []string{"a", "b_c", "depends-on", "x.y", "a/b", "1", "null", "<<", "?", "é", "a b", "'q'", "-", "- a", "-  a", "- - a", "- a: b\n  c"}
	values = []string{
		"", "", " ", " x", " x", " 1", " 1.0", " true", " ~", " null", " -5", " - 5", " -", " --", " ?", " ? x", " :", " a:b", " a: b", " a:", " a #b", " a#b", " #",
		" 'it''s'", " 'a", " 'a' b", " 'a' ", " ''", " \"a\"", " \"a\\tb\"", " \"a", " \"a\"b", " [a, b]", " [a,b ]", " [ 'a',\"b\" , c]", " [a, ]", " []", " [ ]", " {}", " { }", " {a: b}", " [a: b]", " [a:b]", " [a", " [a] b", " [é, ü]", " [-1, -a, - a, -]", " [a b, c  d]",
		" |", " |-", " |+", " |2", " >", " > x", " | x", " &x y", " *x", " !!str x", " ! x", " !x", " @x", " `x", " %x", " é", " ü: x", " x  ", " x y  z", "  x", " .5", " ./x", " ~x", " (x)", " $x", " +1", " =", " ,x", " ]", " }", " \u00a0x", " x\u00a0", " 2026-01-31", " 2026-01-31T10:00:00Z", " 12:30:45", " \tx", " x\ty", " http://x/y?z=#1", " ...", " ---", "x",
	}
	lines = []string{"", "", " ", "  ", "# c", "  # c", "---", "...", "--- a", "%YAML 1.2", "text", "  text", "    more text", "\t", "- x", "  - x", "-", "    code: x"}
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

// If parseSimple accepts a text, its tree must be that of the library. It must accept a minimum share of the random texts.
func TestSimpleTextsHaveTreesOfLibrary(t *testing.T) {
	rounds := 30_000
	if os.Getenv("BULKHEAD_FUZZ_ROUNDS") != "" {
		rounds *= 100
	}
	random := rand.New(rand.NewPCG(3, 4))
	simple := 0
	for range rounds {
		text := randomYAML(random)
		if !frontmatter.IsSimple(text) {
			continue
		}
		simple++
		want, err := reference(text)
		if err != nil || want == nil {
			t.Fatalf("%q is accepted, and the library has %v", text, err)
		}
		got, err := frontmatter.Parse(text, frontmatter.Options{})
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if compare(t, got, want); t.Failed() {
			t.Fatalf("the difference is in %q", text)
		}
	}
	t.Logf("%d of %d texts are simple", simple, rounds)
	if simple < rounds/50 {
		t.Errorf("only %d of %d random texts are simple", simple, rounds)
	}
}

func TestUsualFrontMatterIsSimple(t *testing.T) {
	for _, text := range []string{
		"type: code\nstatus: completed\ndepends_on:\n- 2026-01-02-003-abc\n- x\ntarget_files:\n  - a/b.go\ncommits:\n  - 0012345\ncompleted_at: 2026-01-31T10:00:00Z\nmodel: claude-opus\n",
		"name: skill-name\ndescription: Use this when the user asks, e.g. about (a) and b; it's quick.\nallowed-tools: [Read, Grep, 'Bash']\nversion: 1.10\n",
		"schema: spec-driven\ncontext: |\n  Tech stack: Go\n\n  - one\n    two\nrules:\n  proposal:\n    - Keep it short\n    - \"Say: why\"\n",
		"modules:\n  - id: a\n    type: prompt\n    tags: []\n    source:\n      local_path:\n        path: x\n  - id: b\n    enabled: false\nmeta: {}\nempty:\n",
	} {
		if !frontmatter.IsSimple(text) {
			t.Errorf("parseSimple does not accept:\n%s", text)
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
