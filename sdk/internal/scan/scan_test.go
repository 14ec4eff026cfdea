package scan

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func members(text string) (map[string]string, error) {
	got := map[string]string{}
	err := Object([]byte(text), func(key, value []byte) { got[string(key)] = string(value) })
	return got, err
}

func TestObject(t *testing.T) {
	tests := []struct {
		name, text string
		want       map[string]string
	}{
		{"an empty object has no members", ` { } `, map[string]string{}},
		{"values keep their bytes", `{"a":1e3,"b": "x, }" ,"c":[1,{"d":"]"}],"e":null}`,
			map[string]string{"a": "1e3", "b": `"x, }"`, "c": `[1,{"d":"]"}]`, "e": "null"}},
		{"an escaped quote does not end a string", `{"a":"\"\\","b\"":true}`, map[string]string{"a": `"\"\\"`, `b\"`: "true"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := members(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestObjectRefuses(t *testing.T) {
	for _, text := range []string{"", "[]", "1", `"{"`, "{", `{"a"`, `{"a"}`, `{"a":`, `{"a":1`, `{"a":"`, `{"a":1,`, `{"a":}`, `{a:1}`, `{"a":1 "b":2}`} {
		if got, err := members(text); err == nil {
			t.Errorf("%s: got %v, want an error", text, got)
		}
	}
}

// FuzzObject: for valid JSON objects the members are those that encoding/json finds; nothing panics.
func FuzzObject(f *testing.F) {
	for _, seed := range []string{`{"a":1}`, `{"method":"tools/call","params":{"name":"x","arguments":{"a":[1,"}"]}}}`, `{"a":"\u0022"}`, `{`, `{"a":{}}`, `{"a":-1.5e+3 , "b":[]}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := members(text)
		var want map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &want) != nil || want == nil {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		decoded := map[string]string{}
		for key, value := range got {
			var name string
			if err := json.Unmarshal([]byte(`"`+key+`"`), &name); err != nil {
				t.Fatalf("%s: key %q: %v", text, key, err)
			}
			if _, twice := decoded[name]; twice {
				return // the same key spelled in two ways: which came last is lost here
			}
			decoded[name] = value
		}
		wantText := map[string]string{}
		for key, value := range want {
			wantText[key] = string(value)
		}
		if !maps.Equal(decoded, wantText) {
			t.Fatalf("%s: got %v, want %v", text, decoded, wantText)
		}
	})
}
