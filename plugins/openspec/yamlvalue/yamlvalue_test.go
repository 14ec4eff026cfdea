package yamlvalue_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/yamlvalue"
)

func TestKinds(t *testing.T) {
	for text, want := range map[string]string{
		"": "null", "~": "null", "NULL": "null", "nUll": "string", "true": "boolean", "False": "boolean", "yes": "string", "on": "string",
		"1": "number", "-1.5": "number", "1e3": "number", ".5": "number", "1.": "number", "0x1F": "number", "0o7": "number", "0b1": "string",
		"1_000": "string", "017": "number", ".inf": "number", "-.INF": "number", ".NaN": "number", "+.nan": "string", "2026-01-01": "string",
		"'1'": "string", "!!str 1": "string", "[1]": "array", "{a: 1}": "object", "a b": "string",
	} {
		root, err := yamlvalue.Parse("k: " + text + "\n")
		if got := root.Get("k").Kind(); err != nil || got != want {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
	root, err := yamlvalue.Parse("")
	if err != nil || root.Kind() != yamlvalue.Null || root.Get("k").Kind() != yamlvalue.Absent {
		t.Errorf("Parse of an empty file: kind %s, %v", root.Kind(), err)
	}
}

func TestAliases(t *testing.T) {
	root, err := yamlvalue.Parse("a: &x [b, c]\nd: *x\ne: &y *x\nf: &z [*z]\n")
	if err != nil {
		t.Skipf("the library refuses it: %v", err)
	}
	list, ok := root.Get("d").Strings()
	if diff := cmp.Diff([]string{"b", "c"}, list); diff != "" || !ok {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestParseRefuses(t *testing.T) {
	for source, want := range map[string]string{
		"[": "not valid YAML", "a: 1\na: 2\n": "duplicate key", "- {a: 1, a: 2}\n": "duplicate key", "a: 1\n---\nb: 2\n": "not valid YAML",
		strings.Repeat("[", 40) + strings.Repeat("]", 40): "not valid YAML", strings.Repeat("#", 300<<10): "larger than 256 KiB",
	} {
		if _, err := yamlvalue.Parse(source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v", source, err)
		}
	}
	if _, err := yamlvalue.Parse("["); !errors.Is(err, yamlvalue.ErrSyntax) {
		t.Errorf("got %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a: &a [*a, {b: *a}]\n? c\n: d\n")
	f.Fuzz(func(t *testing.T, source string) {
		root, err := yamlvalue.Parse(source)
		if err != nil {
			return
		}
		for key, value := range root.Pairs() {
			_, _ = value.Strings()
			if root.Get(key).Kind() != value.Kind() {
				t.Errorf("%q: the key %q has two values", source, key)
			}
		}
	})
}

func TestKindOfPlain(t *testing.T) {
	for text, want := range map[string]string{
		"": yamlvalue.Null, "~": yamlvalue.Null, "Null": yamlvalue.Null, "nil": yamlvalue.String, "True": yamlvalue.Bool, "tRUE": yamlvalue.String,
		"2026-01-15": yamlvalue.String, "2026": yamlvalue.Number, "1.e-5": yamlvalue.Number, "100e-5": yamlvalue.Number, "1230-": yamlvalue.String,
		"-1.5": yamlvalue.Number, "+.5": yamlvalue.Number, "0xab": yamlvalue.Number, "0o17": yamlvalue.Number, ".inf": yamlvalue.Number,
		"-.INF": yamlvalue.Number, ".nan": yamlvalue.Number, "spec-driven": yamlvalue.String, "é": yamlvalue.String,
	} {
		if got := yamlvalue.KindOfPlain(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
