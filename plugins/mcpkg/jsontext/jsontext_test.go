package jsontext_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/jsontext"
)

// read reads a value and returns the same Go value as encoding/json does with UseNumber.
func read(r *jsontext.Reader) any {
	switch r.Kind() {
	case "an object":
		object := map[string]any{}
		r.Object(func(key string) { object[key] = read(r) })
		return object
	case "an array":
		list := []any{}
		r.Array(func(int) { list = append(list, read(r)) })
		return list
	case "a string":
		return r.Text()
	case "":
		return nil
	}
	switch text := r.Literal(); text {
	case "true", "false":
		return text == "true"
	case "null", "":
		return nil
	default:
		return json.Number(text)
	}
}

func TestErrorsNamePosition(t *testing.T) {
	for text, want := range map[string]string{
		``:                                   `line 1, column 1: unexpected end of text: a value is missing`,
		"{\n  \"é\": x}":                     `line 2, column 8: a value is missing`,
		`{"a":1,}`:                           `line 1, column 8: the name of a member in double quotes is missing`,
		`{"a" 1}`:                            `line 1, column 6: a colon is missing after the name of a member`,
		`{"a":1`:                             `line 1, column 7: unexpected end of text: a comma or '}' is missing`,
		`[1 2]`:                              `line 1, column 4: a comma or ']' is missing`,
		`"abc`:                               `line 1, column 5: unexpected end of text: a string is not terminated`,
		"\"a\nb\"":                           `line 2, column 1: a string contains the control character U+000A, which must be escaped as \u000a`,
		`"ab\x"`:                             `line 1, column 4: a string contains an invalid escape sequence`,
		`"\n\u00e9\u12x4"`:                   `line 1, column 10: a string contains an invalid escape sequence`,
		`"ab\u12"`:                           `line 1, column 4: a string contains an invalid escape sequence`,
		`"ab\"`:                              `line 1, column 6: unexpected end of text: a string is not terminated`,
		`[01]`:                               `line 1, column 2: a value is missing`,
		`tru`:                                `line 1, column 1: a value is missing`,
		`1 2`:                                `line 1, column 3: unexpected text after the value`,
		strings.Repeat("[", 2000):            `line 1, column 1002: values are nested more than 1000 levels deep`,
		strings.Repeat(`{"a":`, 2000) + "1}": `line 1, column 5002: values are nested more than 1000 levels deep`,
	} {
		r := jsontext.New(text)
		read(r)
		if err := r.End(); err == nil || err.Error() != want {
			t.Errorf("%.40q: got  %v\nwant %s", text, err, want)
		}
		r = jsontext.New(text)
		r.Skip()
		if err := r.End(); err == nil || err.Error() != want {
			t.Errorf("skip %.40q: got  %v\nwant %s", text, err, want)
		}
	}
}

func FuzzReader(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-0.5e+3,true,false,null,"x\n\u00e9\ud83d\ude00\ud800\\"]}`, ` [ ] `, `"\ud83dx"`, `"\ud83d\u0041"`, `{"a":1,"a":2}`, `-`, `1.`, `1e`, `"\u12"`, "\"\xff\"", `"\ud800\`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := jsontext.New(text)
		got := read(r)
		err := r.End()
		if !utf8.ValidString(text) || strings.Count(text, "[")+strings.Count(text, "{") > 900 {
			return
		}
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		var want any
		wantErr := decoder.Decode(&want)
		if wantErr == nil && !json.Valid([]byte(text)) {
			return // the text has more characters after the value
		}
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("jsontext returned the error %v, encoding/json %v", err, wantErr)
		}
		if diff := cmp.Diff(want, got); err == nil && diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}
