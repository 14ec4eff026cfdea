package yaml11

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
)

// collect returns all items that EachItem finds, without line numbers.
func collect(text string) (all []string, ok bool) {
	ok = EachItem([]byte(text), "list", func(item Value) bool {
		all = append(all, unnumbered(item.node))
		return true
	})
	return all, ok
}

func TestEachItem(t *testing.T) {
	tests := []struct {
		name, text string
		want       int // the expected number of items; -1 if EachItem must return false
	}{
		{"scalars of all kinds", "list:\n- a: x\n  b: 'it''s'\n  c: 1\n  d:\n  e: 1.0.0\n", 1},
		{"lists", "list:\n- a:\n  - x\n  - 'y'\n  b: []\n  c: [x, y]\n  d:\n    - z\n", 1},
		{"folded scalars", "list:\n- a: x\n- a: one\n    two\n  b: y\n", 2},
		{"duplicate keys", "list:\n- a: x\n  a: y\n", 1},
		{"another key", "tsil:\n- a: x\n", -1},
		{"a second key", "list:\n- a: x\nmore: y\n", -1},
		{"no list", "list:\n  a: x\n", -1},
		{"no value", "list:\n", -1},
		{"an empty list", "list: []\n", -1},
		{"indented dashes", "list:\n  - a: x\n", -1},
		{"an indented key", "  list:\n- a: x\n", -1},
		{"a scalar item", "list:\n- x\n", 1},
		{"a nested mapping", "list:\n- a:\n    b: x\n", 1},
		{"a nested list of mappings", "list:\n- a:\n  - b: x\n", 1},
		{"a list in a list", "list:\n- - a: x\n", 1},
		{"an item in flow style", "list:\n- a: x\n- &b {a: y}\n- a: z\n", 3},
		{"an escape sequence", "list:\n- a: x\n- a: \"\\ty\"\n", 2},
		{"an alias to another item", "list:\n- &b {a: y}\n- *b\n", -1},
		{"quotes that continue at the margin", "list:\n- a: 'x\n- b: y'\n", -1},
		{"invalid UTF-8", "list:\n- a: \xff\n", -1},
		{"a byte-order mark", "\ufefflist:\n- a: x\n", -1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, ok := collect(test.text)
			if ok != (test.want >= 0) || ok && len(got) != test.want {
				t.Fatalf("got %t, %v", ok, got)
			}
			if ok {
				sameItems(t, test.text, got)
			}
		})
	}
}

// sameItems compares items with the items that Parse returns for the whole document.
func sameItems(t *testing.T, text string, got []string) {
	t.Helper()
	document, err := Parse([]byte(text), len(text))
	if err != nil {
		t.Fatalf("%q: got %v, Parse says %v", text, got, err)
	}
	var want []string
	for _, item := range document.Root().Field("list").Items() {
		want = append(want, unnumbered(item.node))
	}
	if diff := cmp.Diff(want, got); diff != "" || len(document.Root().Entries()) != 1 {
		t.Fatalf("%q (-Parse +EachItem)\n%s", text, diff)
	}
}

// unnumbered returns a node as text, without line numbers.
func unnumbered(n *frontmatter.Node) string {
	n = n.Resolve()
	text := fmt.Sprintf("%d %q", kindOf(n), n.Text)
	for _, item := range n.Children {
		text += " [" + unnumbered(item) + "]"
	}
	return text
}

func TestEachItemAgreesWithParseOnRandomDocuments(t *testing.T) {
	parts := strings.Split("\n- a: x|\n  b: y|\n  c:|\n  - z|\n    - w|\n  d: []|\n  e: [x, 'y']|\n  f: 'q|'|\n    more|\n- g: {}|\n  h: 2026-02-10|\n  'i': 1|\n|\n# c|\n  # c|\nlist:|\n- |\n  |\"|\n- p: &a z|\n- p: *a|\n- q: >|\n- r: {s: t}|x|: |'|[|]|~|é|\n  - j: k|\n- - l|\n  m:\n    n: o", "|")
	random := rand.New(rand.NewPCG(3, 4))
	read := 0
	for range rounds {
		text := "list:"
		for range 1 + random.IntN(10) {
			text += parts[random.IntN(len(parts))]
		}
		text += "\n"
		if got, ok := collect(text); ok {
			read++
			sameItems(t, text, got)
		}
	}
	if read < rounds/200 {
		t.Errorf("only %d of %d documents were parsed", read, rounds)
	}
}

const rounds = 50_000

// FuzzEachItem checks that EachItem finds the same items as Parse.
func FuzzEachItem(f *testing.F) {
	for _, seed := range []string{"list:\n- a: x\n  b:\n  - y\n  c: []\n- a: 'z'\n", "list:\n- a: b\n  c: d\n    e\n\n# f\n- 'g': \"h\"\n  i: [j, k]\n", "list:\n- {a: b}\n- x\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, ok := collect(text); ok {
			sameItems(t, text, got)
		}
	})
}

// TestListsOfStringsShareAllocations checks that several lists of strings share one allocation. An index has two lists
// for each of thousands of packages.
func TestListsOfStringsShareAllocations(t *testing.T) {
	const items = 1000
	text := []byte("list:\n" + strings.Repeat("- name: x\n  keywords:\n  - review\n  - audit\n", items))
	allocations := testing.AllocsPerRun(3, func() {
		var reader Reader
		lists := make([][]string, 0, items)
		if !EachItem(text, "list", func(item Value) bool {
			lists = append(lists, reader.Texts(item.Field("keywords")))
			return true
		}) {
			t.Fatal("EachItem returned false")
		}
		for _, list := range lists {
			if len(list) != 2 || cap(list) != 2 || list[0] != "review" || list[1] != "audit" {
				t.Fatal(list)
			}
		}
	})
	if allocations > items/10 {
		t.Errorf("%v allocations for %d lists", allocations, items)
	}
}
