package yamldoc_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/yamldoc"
)

// at returns the value of a key in the map at the top of a document.
func at(t *testing.T, text, key string) yamldoc.Value {
	t.Helper()
	document, err := yamldoc.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	fields, err := document.Fields()
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range fields {
		if field.Key == key {
			return field.Value
		}
	}
	t.Fatalf("there is no %s", key)
	return yamldoc.Value{}
}

func TestTypes(t *testing.T) {
	const text = "b: true\ny: yes\nn: 12\nx: 0x10\nneg: -1\nf: 1.5\ns: text\nq: '1'\nl: [a, {b: 1}]\nm: {k: v}\nalias: [&a one, *a]\n"
	for key, want := range map[string]string{
		"b": "bool", "y": "text", "n": "number", "x": "number", "s": "text", "q": "text", "neg": "", "f": "", "l": "", "m": "", "alias": "texts",
	} {
		value, got := at(t, text, key), ""
		if _, err := value.AsBool(); err == nil {
			got += "bool"
		}
		if _, err := value.AsString(); err == nil {
			got += "text"
		}
		if _, err := value.AsUnsigned(); err == nil {
			got += "number"
		}
		if texts, err := value.AsTexts(); err == nil && len(texts) > 0 {
			got += "texts"
		}
		if got != want {
			t.Errorf("%s is read as %q, want %q", key, got, want)
		}
	}
	if on, err := at(t, "a: TRUE", "a").AsBool(); err != nil || !on {
		t.Errorf("AsBool of TRUE: got %t, %v", on, err)
	}
}

func TestErrorsHaveLocations(t *testing.T) {
	_, err := at(t, "a:\n  - x\n  - y: 1\n", "a").AsTexts()
	if err == nil || err.Error() != "line 3: a[1]: expected a string, got a map" {
		t.Errorf("got %v", err)
	}
	_, err = at(t, "a: {b: 1, b: 2}", "a").Fields()
	if err == nil || !strings.Contains(err.Error(), `duplicate key "b"`) {
		t.Errorf("got %v", err)
	}
	_, err = at(t, "a: {[1]: x}", "a").Fields()
	if err == nil || !strings.Contains(err.Error(), "a key") {
		t.Errorf("got %v", err)
	}
}

// TestAsTextReturnsCharactersOfAnyScalar checks that the result of AsText does not depend on the type of the scalar.
func TestAsTextReturnsCharactersOfAnyScalar(t *testing.T) {
	for _, text := range []string{"1.0", "2026", "2026-01-01", "true", "~", "null", "0x10", "1e3", ".inf", "01", "1_000", "yes"} {
		document := at(t, "a: {"+text+": ["+text+"]}", "a")
		fields, err := document.Fields()
		if err != nil || len(fields) != 1 || fields[0].Key != text {
			t.Errorf("the key %s: got %+v, %v", text, fields, err)
			continue
		}
		if got, err := fields[0].Value.AsTexts(); err != nil || len(got) != 1 || got[0] != text {
			t.Errorf("%s: got %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"2026-01-01", "01", "1_000", "yes"} {
		if got, err := at(t, "a: "+text, "a").AsString(); err != nil || got != text {
			t.Errorf("%s is a string: got %q, %v", text, got, err)
		}
	}
}

// TestExplicitNullIsNotEmptyList checks that a key without a value counts as an empty list or map, and that ~ counts as
// neither.
func TestExplicitNullIsNotEmptyList(t *testing.T) {
	for text, want := range map[string]bool{"a:": true, "a: ~": false, "a: null": false} {
		_, err1 := at(t, text, "a").AsTexts()
		_, err2 := at(t, text, "a").Fields()
		if (err1 == nil) != want || (err2 == nil) != want {
			t.Errorf("%s: got %v, %v", text, err1, err2)
		}
	}
}

func TestDirectives(t *testing.T) {
	for text, want := range map[string]bool{
		"%YAML 1.2\n---\na: b\n": true, "%YAML 1.1\n---\na: b\n": true, "# c\n\n%TAG ! tag:x,2000:\n%YAML   1.2 # c\r\n---\na: b\n": true,
		"%YAML 1.3\n---\na: b\n": false, "%YAML 1.2\na: b\n": false, "a: |\n  %YAML 1.2\n": true,
	} {
		document, err := yamldoc.Parse([]byte(text))
		if (err == nil) != want {
			t.Errorf("%q: got %v", text, err)
		}
		if strings.Contains(text, "|") {
			if fields, _ := document.Fields(); len(fields) != 1 {
				t.Error(fields)
			} else if got, _ := fields[0].Value.AsString(); got != "%YAML 1.2\n" {
				t.Errorf("got %q", got)
			}
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{"half of one": "a: [", "two": "a: 1\n---\nb: 1\n", "a tab": "a:\n\tb: 1", "too deep": strings.Repeat("[", 100) + strings.Repeat("]", 100)} {
		if _, err := yamldoc.Parse([]byte(text)); err == nil {
			t.Errorf("%s was read", name)
		}
	}
	document, err := yamldoc.Parse(nil)
	if err != nil || !document.IsAbsent() {
		t.Errorf("Parse of an empty document: got %v, %v", document, err)
	}
}

// TestAliasesCountAgainstBudget checks that the keys and items in the target of an alias count each time that they are
// read.
func TestAliasesCountAgainstBudget(t *testing.T) {
	var text strings.Builder
	text.WriteString("big: &big {")
	for i := range 2000 {
		fmt.Fprintf(&text, "k%d: 1, ", i)
	}
	text.WriteString("}\nall:\n")
	for range 2000 {
		text.WriteString("  - *big\n")
	}
	items, err := at(t, text.String(), "all").Items()
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, item := range items {
		if _, err = item.Fields(); err != nil {
			break
		}
		read++
	}
	if err == nil || !strings.Contains(err.Error(), "expansion of aliases") || read < 100 {
		t.Errorf("%d items were read: %v", read, err)
	}
}
