package yaml11

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func collect(text string) (all []Row, ok bool) {
	ok = Rows([]byte(text), "list", func(row Row) bool {
		row.Fields = append([]Field(nil), row.Fields...)
		all = append(all, row)
		return true
	})
	return all, ok
}

func TestRows(t *testing.T) {
	tests := []struct {
		name, text string
		want       []Row
	}{
		{"scalars of all kinds", "list:\n- a: x\n  b: 'it''s'\n  c: 1\n  d:\n  e: 1.0.0\n",
			[]Row{{"- a: x\n  b: 'it''s'\n  c: 1\n  d:\n  e: 1.0.0\n", []Field{{"a", Text, "x", nil}, {"b", Text, "it's", nil}, {"c", Int, "1", nil}, {"d", Null, "", nil}, {"e", Text, "1.0.0", nil}}}}},
		{"lists of texts", "list:\n- a:\n  - x\n  - 'y'\n  b: []\n  c: [x, y]\n  d:\n    - z\n",
			[]Row{{"- a:\n  - x\n  - 'y'\n  b: []\n  c: [x, y]\n  d:\n    - z\n", []Field{{"a", List, "", []string{"x", "y"}}, {"b", List, "", nil}, {"c", List, "", []string{"x", "y"}}, {"d", List, "", []string{"z"}}}}}},
		{"each with its own text", "list:\n- a: x\n- a: one\n    two\n  b: y\n",
			[]Row{{"- a: x\n", []Field{{"a", Text, "x", nil}}}, {"- a: one\n    two\n  b: y\n", []Field{{"a", Text, "one two", nil}, {"b", Text, "y", nil}}}}},
		{"a key that is there twice", "list:\n- a: x\n  a: y\n", []Row{{"- a: x\n  a: y\n", []Field{{"a", Text, "x", nil}, {"a", Text, "y", nil}}}}},
		{"another key", "tsil:\n- a: x\n", nil},
		{"a key more", "list:\n- a: x\nmore: y\n", nil},
		{"no list", "list:\n  a: x\n", nil},
		{"nothing in it", "list:\n", nil},
		{"an empty list", "list: []\n", nil},
		{"a deeper list", "list:\n  - a: x\n", nil},
		{"the key is not at the margin", "  list:\n- a: x\n", nil},
		{"an item that is no mapping", "list:\n- x\n", []Row{{"- x\n", nil}}},
		{"a mapping in a row", "list:\n- a:\n    b: x\n", []Row{{"- a:\n    b: x\n", nil}}},
		{"a list of mappings in a row", "list:\n- a:\n  - b: x\n", []Row{{"- a:\n  - b: x\n", nil}}},
		{"a list of numbers in a row", "list:\n- a:\n  - 1\n", []Row{{"- a:\n  - 1\n", nil}}},
		{"a list in a list", "list:\n- - a: x\n", []Row{{"- - a: x\n", nil}}},
		{"what only the library reads", "list:\n- a: x\n- &b {a: y}\n- a: z\n", []Row{{"- a: x\n", []Field{{"a", Text, "x", nil}}}, {"- &b {a: y}\n", nil}, {"- a: z\n", []Field{{"a", Text, "z", nil}}}}},
		{"a control character in a row", "list:\n- a: x\n- a: \"\ty\"\n", []Row{{"- a: x\n", []Field{{"a", Text, "x", nil}}}, {"- a: \"\ty\"\n", nil}}},
		{"quotes that go on at the margin", "list:\n- a: 'x\n- b: y'\n", []Row{{"- a: 'x\n", nil}, {"- b: y'\n", []Field{{"b", Text, "y'", nil}}}}},
		{"bytes that are no text", "list:\n- a: \xff\n", nil},
		{"a mark of order", "\ufefflist:\n- a: x\n", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, ok := collect(test.text)
			if ok != (test.want != nil) {
				t.Fatalf("read: %t, with %v", ok, got)
			}
			if ok {
				if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// sameRows compares with what Parse finds in the whole document, unless it says of a row that something is wrong.
func sameRows(t *testing.T, text string, got []Row) {
	t.Helper()
	var rows []string
	whole := "list:\n"
	for _, row := range got {
		whole += row.Text
		document, err := Parse([]byte("list:\n"+row.Text), len(text))
		if err != nil && row.Fields == nil {
			return
		}
		if err != nil {
			t.Fatalf("%q: read as %v, Parse says %v", text, row, err)
		}
		item := document.Root().Field("list").Items()[0].node
		if row.Fields != nil {
			sameFields(t, item, row.Fields)
		}
		rows = append(rows, unnumbered(item))
	}
	document, err := Parse([]byte(text), len(text))
	if err != nil {
		t.Fatalf("%q: read as %v, Parse says %v", text, got, err)
	}
	var want []string
	for _, item := range document.Root().Field("list").Items() {
		want = append(want, unnumbered(item.node))
	}
	if diff := cmp.Diff(want, rows); diff != "" || whole != text {
		t.Fatalf("%q (-Parse +rows)\n%s", text, diff)
	}
}

// unnumbered writes a value without the numbers of lines.
func unnumbered(n *node) string {
	text := fmt.Sprintf("%d %q", n.kind, n.text)
	for _, item := range n.items {
		text += " [" + unnumbered(item) + "]"
	}
	return text
}

func sameFields(t *testing.T, row *node, got []Field) {
	t.Helper()
	var want []Field
	for i := 0; i < len(row.items); i += 2 {
		value := row.items[i+1]
		field := Field{Key: row.items[i].text, Kind: value.kind, Text: value.text}
		for _, word := range value.items {
			if word.kind != Text {
				t.Fatalf("%q is no text", word.text)
			}
			field.Items = append(field.Items, word.text)
		}
		want = append(want, field)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("(-Parse +got)\n%s", diff)
	}
}

// TestRowsAtRandom puts documents together of what such documents are made of.
func TestRowsAtRandom(t *testing.T) {
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
			sameRows(t, text, got)
		}
	}
	if read < rounds/200 {
		t.Errorf("only %d of %d documents were read", read, rounds)
	}
}

// FuzzRows: whatever is read is what Parse finds.
func FuzzRows(f *testing.F) {
	for _, seed := range []string{"list:\n- a: x\n  b:\n  - y\n  c: []\n- a: 'z'\n", "list:\n- a: b\n  c: d\n    e\n\n# f\n- 'g': \"h\"\n  i: [j, k]\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, ok := collect(text); ok {
			sameRows(t, text, got)
		}
	})
}
