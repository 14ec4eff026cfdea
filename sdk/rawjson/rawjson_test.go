package rawjson

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestMembers(t *testing.T) {
	type pair struct{ Key, Value string }
	cases := map[string]struct {
		object string
		want   []pair
	}{
		"an empty object has none":          {` { } `, nil},
		"values keep their bytes":           {`{"a":1.50,"b":[ {"x":"]"} ],"c":"\u0041\\","d":null}`, []pair{{"a", "1.50"}, {"b", `[ {"x":"]"} ]`}, {"c", `"\u0041\\"`}, {"d", "null"}}},
		"white space is left out":           {"{\n\t\"a\" :\r true , \"b\": -1 }", []pair{{"a", "true"}, {"b", "-1"}}},
		"keys lose their escapes":           {`{"\u0061\"":1}`, []pair{{`a"`, "1"}}},
		"a key given twice comes twice":     {`{"a":1,"a":2}`, []pair{{"a", "1"}, {"a", "2"}}},
		"escaped backslashes before quotes": {`{"a":"\\\\","b":"\\\"}"}`, []pair{{"a", `"\\\\"`}, {"b", `"\\\"}"`}}},
		"an array has none":                 {`["a"]`, nil},
		"a string has none":                 {`"{\"a\":1}"`, nil},
		"nothing has none":                  {"", nil},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			var got []pair
			for key, value := range Members([]byte(test.object)) {
				got = append(got, pair{key, string(value)})
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("members of %s (-want +got):\n%s", test.object, diff)
			}
		})
	}
}

// FuzzMembers checks that Members and Elements agree with encoding/json on valid JSON, and that they terminate on any other input.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{`{}`, `[]`, `{"a":{"b":[1,"}"]},"c":"\\\""}`, `[ 1 , [ ] , "," , {"x":null} ]`, `{"a"`, `{"a":`, `["`, `"\`, `{"a":1,}`, " \n", `[-1.5e+9,true]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := map[string]string{}
		for key, value := range Members(data) {
			got[key] = string(value)
		}
		var list []string
		for _, value := range Elements(data) {
			list = append(list, string(value))
		}
		if !json.Valid(data) || !utf8.Valid(data) {
			return
		}
		var object map[string]json.RawMessage
		if json.Unmarshal(data, &object) == nil {
			want := map[string]string{}
			for key, value := range object {
				want[key] = string(value)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("members of %s (-encoding/json +got):\n%s", data, diff)
			}
		}
		var array []json.RawMessage
		if json.Unmarshal(data, &array) == nil {
			if len(array) != len(list) {
				t.Fatalf("%d elements in %s, want %d", len(list), data, len(array))
			}
			for i := range array {
				if string(array[i]) != list[i] {
					t.Errorf("element %d of %s is %s, want %s", i, data, list[i], array[i])
				}
			}
		}
	})
}

func TestReplace(t *testing.T) {
	for _, c := range []struct{ rule, object, value, want string }{
		{"the new value comes first", `{"a":1,"name":"x","b":2}`, `"y"`, `{"name":"y","a":1,"b":2}`},
		{"nil removes the key", `{"a":1,"name":"x"}`, ``, `{"a":1}`},
		{"nil removes the only key", `{"name":"x"}`, ``, `{}`},
		{"a missing key is added", `{"a":1}`, `"y"`, `{"name":"y","a":1}`},
		{"an empty object", `{}`, `"y"`, `{"name":"y"}`},
		{"repeated keys are all replaced", `{"name":1,"name":2}`, `3`, `{"name":3}`},
		{"a key written with escapes is the same key", `{"n\u0061me":1,"a":2}`, `3`, `{"name":3,"a":2}`},
		{"values keep their bytes", `{"a": [1.50, {"name":"x"}]}`, `3`, `{"name":3,"a":[1.50, {"name":"x"}]}`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			var value []byte
			if c.value != "" {
				value = []byte(c.value)
			}
			if got := string(Replace([]byte(c.object), "name", value)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestMarshalDoesNotEscapeHTML(t *testing.T) {
	got, err := Marshal(map[string]string{"a": "<b> & \u2028"})
	if want := `{"a":"<b> & \u2028"}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	if got, err := Marshal(func() {}); err == nil {
		t.Errorf("a function is encoded as %s", got)
	}
}
