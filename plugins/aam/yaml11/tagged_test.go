package yaml11_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/yaml11"
)

// TestTaggedValues compares values with the results of PyYAML and of the models of the aam program for the same
// documents.
func TestTaggedValues(t *testing.T) {
	tests := []struct{ text, want string }{
		{"k: !!set {a, b}", "a b"},
		{"k: !!set {b: 1, a: x}", "b a"},
		{"k: !!set {a, a}", "a"},
		{"k: !!set {}", ""},
		{"k: !!set {a: 1, 2: x}", "! k.1: must be a string, not an integer"},
		{"k: !!set {<<: {a: b}, c}", "a c"},
		{"k: !!set {!!binary YQ==, b}", "a b"},
		{"k: !!set {!!binary YQ==, a}", "a a"},
		{"k: !!set {!!binary //8=}", "! k.0: must be a string, not binary data"},
		{"k: !!set\n  ? a\n  ? b\n", "a b"},
		{"k: [!!binary aGk=]", "hi"},
		{"k: [!!binary 'aGV sbG8=']", "hello"},
		{"k:\n- !!binary |\n  aGVs\n  bG8=\n", "hello"},
		{"k: [!!binary aGVsbG8===]", "hello"},
		{"k: [!!binary '']", ""},
		{"k: [!!binary '///=']", "! k.0: must be a string, not binary data"},
		{"k: !!omap [a: 1]", "! k.0: must be a string, not a list"},
		{"k: !!pairs [a: 1, a: 2]", "! k.0: must be a string, not a list"},
		{"<<: !!omap [k: [a]]", "a"},
		{"k: !!seq [a]", "a"},
		{"k: [a]\nother: !!omap [a: 1]\nmore: !!pairs [a: 1, a: 2]\nset: !!set {a}", "a"},
		{"!!binary azo=: [x]\nk: [a]", "a"},
		{"x: &x !!set {a}\nk: *x", "a"},
	}
	for _, test := range tests {
		doc, err := yaml11.Parse([]byte(test.text), 1000)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		var r yaml11.Reader
		got := strings.Join(r.Texts(doc.Root().Field("k")), " ")
		if err := r.Err(); err != nil {
			got = "! " + strings.Split(err.Error(), ":")[0] + ":" + strings.Split(strings.Split(err.Error(), ":")[1], ";")[0]
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", test.text, diff)
		}
	}
}

func TestTaggedValuesOfWrongKind(t *testing.T) {
	for _, text := range []string{
		"k: !!set [a]", "k: !!set x", "k: !!set", "k: !!set {[a]}", "k: !!binary x", "k: !!binary é", "k: !!binary [a]", "k: !!binary {a: b}", "k: !!binary aGVsbG8",
		"k: !!binary 'a-V_bG8='", "k: !!omap [a]", "k: !!omap {a: 1}", "k: !!omap x", "k: !!omap [{a: 1, b: 2}]", "k: !!pairs [a]", "k: !!pairs [{}]",
		"k: !!seq {a: b}", "k: !!map [a]", "k: !!python/none x", "? !!set {a}\n: b",
	} {
		_, err := yaml11.Parse([]byte(text), 1000)
		if syntax := new(yaml11.SyntaxError); !errors.As(err, &syntax) || strings.Contains(err.Error(), "hbG8") {
			t.Errorf("%s: got %v", text, err)
		}
	}
}
