package yaml11_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/yaml11"
)

func TestParse(t *testing.T) {
	tests := []struct {
		name, text string
		want       string // the expected values as JSON or, after "!", a substring of the expected error
	}{
		{"an empty file is an empty mapping", "", `null`},
		{"a byte-order mark is ignored", "\ufeffa: x\n", `{"a":"x"}`},
		{"YAML 1.1 booleans", "a: [yes, No, ON, off, True]", `{"a":[true,false,true,false,true]}`},
		{"y and n are strings", "a: [y, n, Y]", `{"a":["y","n","Y"]}`},
		{"numbers in all notations", "a: [010, 0x1F, 0b11, 1_000, 12:30, -0, +1, 08]", `{"a":[8,31,3,1000,750,0,1,"08"]}`},
		{"an exponent needs a sign", "a: [1e3, 1.0e+3, 1:30.5]", `{"a":["1e3",1000,90.5]}`},
		{"a version of three numbers is a string", "a: [1.0, 1.0.0]", `{"a":[1,"1.0.0"]}`},
		{"quoted scalars are strings", `a: ["1", 'yes', "~"]`, `{"a":["1","yes","~"]}`},
		{"a duplicate key has the last value at the first position", "a: 1\nb: 2\na: 3", `{"a":3,"b":2}`},
		{"aliases", "a: &x [1]\nb: *x", `{"a":[1],"b":[1]}`},
		{"own keys have precedence over merged keys", "base: &b {x: 1, y: 2}\na:\n  <<: *b\n  y: 3", `{"base":{"x":1,"y":2},"a":{"x":1,"y":3}}`},
		{"of several merged mappings the first has precedence", "a: {<<: [{x: 1}, {x: 2, y: 3}]}", `{"a":{"x":1,"y":3}}`},
		{"tags of the core", "a: !!str 12\nb: !!int '3'", `{"a":"12","b":3}`},
		{"a tab in a text", "a: \"x\ty\"\nb: 'x\ty'", `{"a":"x\ty","b":"x\ty"}`},
		{"carriage returns", "a: x\r\nb:\r\n- y\r\n", `{"a":"x","b":["y"]}`},
		{"a list is a document", "- a", `["a"]`},
		{"a second document", "a: 1\n---\nb: 2", "!line 2: a second document"},
		{"a foreign tag", "a: !!python/object/apply:os.system ['true']", "!line 1: an unknown tag"},
		{"a local tag", "a: !x y", "!line 1: an unknown tag"},
		{"a tab as indentation", "a:\n\tb: 1", "!line 2:"},
		{"a tab after a string", "a: 1\nb: x\t\n", "!line 2: a tab"},
		{"a tab after a string, before a comment", "b: x  \t# c\n", "!line 1: a tab"},
		{"a tab after quotes", "b: 'ö'\t\n", "!line 1: a tab"},
		{"a tab after an item", "- x\n- \"y\"\t\n", "!line 2: a tab"},
		{"a tab between brackets", "a: [x\t, y]\n", "!line 1: a tab"},
		{"a tab within an unquoted string", "a: x\ty\n", "!line 1: a tab"},
		{"a tab before a colon", "a\t: y\n", "!line 1: a tab"},
		{"a tab in a comment", "a: x #\ty\t\n", `{"a":"x"}`},
		{"a tab in a block", "a: |\n  x\ty\t\n", `{"a":"x\ty\t\n"}`},
		{"a tab after a key", "a:\tb", "!line 1: a tab"},
		{"an unterminated list", "a: [1\n", "!line"},
		{"an invalid date", "a: 2026-02-30", "!line 1: this date does not exist"},
		{"a mapping as a key", "{a: 1}: 2", "!line 1: a key is"},
		{"merging a string", "a: {<<: x}", "!line 1: << merges"},
		{"an equals sign", "a: =", `!line 1: "=" is not a value`},
		{"an unknown alias", "a: *x", "!line 1"},
		{"invalid UTF-8", "a: 1\nb: \xff", "!line 2: not UTF-8"},
		{"too deep", strings.Repeat("[", 100), "!depth"},
		{"an alias of itself", "a: &x [*x]", "!too many values"},
		{"exponential aliases", "a: &a [1,1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]", "!too many values"},
		{"exponential merge keys", "a0: &a0 {k: 1}\n" + bomb(40) + "z: {<<: [*a39, *a39], k: 2}", "!more than 10000 keys"},
		{"a mapping that merges itself", "a: &a {<<: *a}", "!a mapping into itself"},
		{"too long", strings.Repeat("#", 2000), "!larger than 1500 bytes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var plain any
			document, err := yaml11.Parse([]byte(test.text), 1500)
			if err == nil {
				plain, err = document.Root().Plain()
			} else if syntax := new(yaml11.SyntaxError); !errors.As(err, &syntax) {
				t.Errorf("the error has the type %T", err)
			}
			if want, ok := strings.CutPrefix(test.want, "!"); ok {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, %v, want an error with %q", plain, err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(plain)
			if err != nil || string(got) != test.want {
				t.Errorf("got %s, %v, want %s", got, err, test.want)
			}
		})
	}
}

// bomb returns a document with n mappings. Each mapping merges the previous mapping twice.
func bomb(n int) string {
	var text strings.Builder
	for i := 1; i < n; i++ {
		fmt.Fprintf(&text, "a%d: &a%d {<<: [*a%d, *a%d]}\n", i, i, i-1, i-1)
	}
	return text.String()
}

func TestReader(t *testing.T) {
	document, err := yaml11.Parse([]byte(`
text: x
number: 1.0
none:
list: [a, 2]
map: {k: v, 3: w}
truth: 'Yes'
one: 1
two: 2
digits: '12'
`), 1000)
	if err != nil {
		t.Fatal(err)
	}
	root := document.Root()
	var r yaml11.Reader
	if got := r.Text(root.Field("text")); got != "x" {
		t.Errorf("Reader.Text of a string: got %q", got)
	}
	if got := r.TextOr(root.Field("absent"), "y"); got != "y" {
		t.Errorf("Reader.TextOr of an absent value: got %q", got)
	}
	if got := r.NullText(root.Field("none")); got != nil {
		t.Errorf("Reader.NullText of null: got %q", *got)
	}
	if !r.Bool(root.Field("truth"), false) || !r.Bool(root.Field("one"), false) || !r.Bool(root.Field("absent"), true) {
		t.Error("Reader.Bool returned false for a value that means true")
	}
	if got := r.Int(root.Field("digits"), 0); got != 12 {
		t.Errorf("Reader.Int of quoted digits: got %d", got)
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	r.Text(root.Field("absent"))
	r.Text(root.Field("number"))
	r.NullText(root.Field("list"))
	r.TextOr(root.Field("none"), "y")
	r.List(root.Field("none"))
	r.Texts(root.Field("list"))
	r.Entries(root.Field("map"))
	r.Entries(root.Field("text"))
	r.Bool(root.Field("two"), false)
	r.Bool(root.Field("none"), false)
	r.Int(root.Field("text"), 0)
	want := `absent: field required
number: must be a string, not a number: quote it
list: must be a string, not a list
none: must be a string, not null: quote it
none: must be a list, not null
list.1: must be a string, not an integer: quote it
map: key "3" must be a string, not an integer
text: must be a mapping, not a string
two: must be a boolean, not an integer
none: must be a boolean, not null
text: must be an integer, not a string`
	if diff := cmp.Diff(want, strings.ReplaceAll(r.Err().Error(), "; ", "\n")); diff != "" {
		t.Errorf("problems (-want +got)\n%s", diff)
	}
}

func TestSet(t *testing.T) {
	tests := []struct {
		name, before string
		value        any
		path         []string
		want         string // the expected document or, after "!", a substring of the expected error
	}{
		{"an existing value, comments kept", "# mine\na: 1 # why\nb: 2\n", "x", []string{"a"}, "# mine\na: x # why\nb: 2\n"},
		{"a new key is appended", "a: {x: 1}\n", true, []string{"b"}, "a: {x: 1}\nb: true\n"},
		{"absent mappings on the path are created", "", "me@example.com", []string{"author", "email"}, "author:\n  email: me@example.com\n"},
		{"null on the path becomes a mapping", "author:\n", "me", []string{"author", "name"}, "author:\n  name: me\n"},
		{"a string that resolves to another type is quoted", "a: x\n", "yes", []string{"a"}, "a: 'yes'\n"},
		{"an alias on the path is replaced by a copy", "a: &x {k: 1}\nb: *x\n", 2, []string{"b", "k"}, "a: &x {k: 1}\nb: {k: 2}\n"},
		{"an alias on a deeper path is replaced by a copy", "a: &x {k: {l: [1]}}\nb: *x\n", 2, []string{"b", "k", "l", "0"}, "a: &x {k: {l: [1]}}\nb: {k: {l: [2]}}\n"},
		{"a merged value is copied", "x: &x\n  a: {k: 1, l: 2}\n<<: *x\n", 3, []string{"a", "k"}, "x: &x\n  a: {k: 1, l: 2}\n<<: *x\na: {k: 3, l: 2}\n"},
		{"a list", "a: []\n", []any{yaml11.Map{{"name", "n"}, {"default", false}}}, []string{"a"}, "a:\n- name: n\n  default: false\n"},
		{"a string on the path", "a: x\n", "y", []string{"a", "b"}, "!a is not a mapping"},
		{"a document that is a list", "- x\n", "y", []string{"a"}, "!not a mapping"},
		{"a value with aliases", "a: &x 1\nb: *x\n", 2, []string{"a"}, "!anchor"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			document, err := yaml11.Parse([]byte(test.before), 1000)
			if err != nil {
				t.Fatal(err)
			}
			var got []byte
			if err = document.Set(test.value, test.path...); err == nil {
				got = document.Bytes()
			}
			if want, ok := strings.CutPrefix(test.want, "!"); ok {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %s, %v, want an error with %q", got, err, want)
				}
				return
			}
			if diff := cmp.Diff(test.want, string(got)); err != nil || diff != "" {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
		})
	}
}

func TestListEncoderWritesWhatEncodeWrites(t *testing.T) {
	var items []yaml11.Map
	var same []any
	for i := range 250 {
		item := yaml11.Map{{"name", fmt.Sprint(i)}, {"text", strings.Repeat("a word of many ", i%20) + "end"}, {"list", []string{"yes", "x"}}, {"empty", []string{}}}
		items, same = append(items, item), append(same, item)
	}
	for _, n := range []int{0, 1, 250} {
		want, err := yaml11.Encode(yaml11.Map{{"packages", append([]any{}, same[:n]...)}})
		if err != nil {
			t.Fatal(err)
		}
		list := yaml11.NewListEncoder("packages", 100, len(want))
		for _, item := range items[:n] {
			if err := list.Add(item); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(string(want), string(list.Bytes())); diff != "" {
			t.Errorf("%d items (-want +got)\n%s", n, diff)
		}
	}
}

func TestListEncoderStopsAtItsLimit(t *testing.T) {
	text := strings.Repeat("x", 1000)
	for _, item := range []yaml11.Map{{{"a", text}}, {{"a", slices.Repeat([]string{text}, 1000)}}, {{"a", "b"}, {"c", slices.Repeat([]any{text}, 1000)}}} {
		list := yaml11.NewListEncoder("packages", 0, 500)
		if err := list.Add(item); !errors.Is(err, yaml11.ErrTooLarge) || len(list.Bytes()) > 2000 {
			t.Errorf("got %v after %d bytes", err, len(list.Bytes()))
		}
	}
}

// FuzzParse checks that encoding and parsing a value returns an equal value.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "a: 1", "- yes\n- 'no'", "a: &x {b: [*y]}", "a: |\n  x\n\n  y\n", "? a\n: b", "a: !!int '3'", "{<<: {a: 1}}", "a: \"\\t\\x07\"", "2026-02-10: 12:30", "a: 'x\n\n  y'"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		document, err := yaml11.Parse(data, 4096)
		if err != nil {
			return
		}
		plain, err := document.Root().Plain()
		if err != nil {
			return
		}
		before := texts(plain)
		written, err := yaml11.Encode(yaml11.Map{{Key: "k", Value: before}})
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		again, err := yaml11.Parse(written, 1<<20)
		if err != nil {
			t.Fatalf("%q: written as %q: %v", data, written, err)
		}
		after, err := again.Root().Field("k").Plain()
		if diff := cmp.Diff(before, after); err != nil || diff != "" {
			t.Fatalf("%q: written as %q: %v %s", data, written, err, diff)
		}
	})
}

// texts converts numbers to strings, because encoding does not preserve the notation of numbers.
func texts(plain any) any {
	switch plain := plain.(type) {
	case float64:
		encoded, _ := json.Marshal(plain)
		return string(encoded)
	case []any:
		list := []any{}
		for _, item := range plain {
			list = append(list, texts(item))
		}
		return list
	case yaml11.Map:
		mapped, seen := yaml11.Map{}, map[string]bool{}
		for _, pair := range plain {
			if !seen[pair.Key] { // the keys 1 and "1" differ in the parsed value, and become equal when they are encoded
				mapped = append(mapped, yaml11.Pair{Key: pair.Key, Value: texts(pair.Value)})
			}
			seen[pair.Key] = true
		}
		return mapped
	}
	return plain
}

// TestEncodeWritesAstralCodePointsUnescaped checks that Encode does not escape code points outside the BMP.
func TestEncodeWritesAstralCodePointsUnescaped(t *testing.T) {
	for name, text := range map[string]string{
		"a picture": "🚀 off", "several": "🚀🌳🚀", "with unassigned code points": "\ue000🚀\ue001", "with a joiner": "👩\u200d🚀",
		"in quotes": "'🚀: x", "folded": strings.Repeat("word 🌳 ", 40), "with lines": "one 🚀\ntwo\n",
	} {
		t.Run(name, func(t *testing.T) {
			data, err := yaml11.Encode(yaml11.Map{{Key: "a", Value: text}, {Key: text, Value: []string{text}}})
			if err != nil || strings.Contains(string(data), `\U`) {
				t.Fatalf("%s, %v", data, err)
			}
			document, err := yaml11.Parse(data, len(data))
			if err != nil {
				t.Fatalf("%s: %v", data, err)
			}
			root := document.Root()
			if got := root.Field("a").Text(); got != text {
				t.Errorf("got %q, want %q", got, text)
			}
			if err := document.Set("new 🌲", "b"); err != nil {
				t.Fatal(err)
			}
			if data := string(document.Bytes()); strings.Contains(data, `\U`) || !strings.Contains(data, "b: new 🌲\n") {
				t.Errorf("the encoded document changed: %s", data)
			}
		})
	}
	if data, err := yaml11.Encode(yaml11.Map{{Key: "a", Value: `C:\Users`}}); err != nil || string(data) != "a: C:\\Users\n" {
		t.Errorf("got %s, %v", data, err)
	}
}

// TestParseTakesLinearTimeForOneLine parses a document on one long line. If Parse took quadratic time, this test would
// take seconds, and a document of the maximum size would take hours.
func TestParseTakesLinearTimeForOneLine(t *testing.T) {
	for name, part := range map[string]string{"values": "a é, ", "nothing": "a: , ", "in quotes": "'a', "} {
		text := "[" + strings.Repeat("{"+strings.TrimSuffix(part, ", ")+"}, ", 50_000) + "]" + strings.Repeat(" ", 100_000) + "\n"
		if _, err := yaml11.Parse([]byte(text), len(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
