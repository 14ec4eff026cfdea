package rawjson

import (
	"encoding/json"
	"maps"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func scanned(text string) (map[string]string, error) {
	got := map[string]string{}
	err := ScanObject([]byte(text), func(key, value []byte) { got[string(key)] = string(value) })
	return got, err
}

func TestScanObject(t *testing.T) {
	tests := []struct {
		name, text string
		want       map[string]string
	}{
		{"an empty object has no members", ` { } `, map[string]string{}},
		{"values keep their bytes", `{"a":1e3,"b": "x, }" ,"c":[1,{"d":"]"}],"e":null}`,
			map[string]string{"a": "1e3", "b": `"x, }"`, "c": `[1,{"d":"]"}]`, "e": "null"}},
		{"an escaped quote does not end a string", `{"a":"\"\\","b\"":true}`, map[string]string{"a": `"\"\\"`, `b"`: "true"}},
		{"keys are decoded, and the last duplicate counts", `{"a":1,"\u0061":2}`, map[string]string{"a": "2"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := scanned(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestScanObjectRefuses(t *testing.T) {
	for _, text := range []string{"", "[]", "1", `"{"`, "{", `{"a"`, `{"a"}`, `{"a":`, `{"a":1`, `{"a":"`, `{"a":1,`, `{"a":}`, `{a:1}`, `{"a":1 "b":2}`} {
		if got, err := scanned(text); err == nil {
			t.Errorf("%s: got %v, want an error", text, got)
		}
	}
}

// FuzzScanObject compares the members of valid JSON objects with those of encoding/json, and checks that no input panics.
func FuzzScanObject(f *testing.F) {
	for _, seed := range []string{`{"a":1}`, `{"method":"tools/call","params":{"name":"x","arguments":{"a":[1,"}"]}}}`, `{"a":"\u0022"}`, `{`, `{"a":{}}`, `{"a":-1.5e+3 , "b":[]}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := scanned(text)
		var want map[string]json.RawMessage
		if !utf8.ValidString(text) || json.Unmarshal([]byte(text), &want) != nil || want == nil {
			return // the host passes only valid JSON to plugins
		}
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		wantText := map[string]string{}
		for key, value := range want {
			wantText[key] = string(value)
		}
		if !maps.Equal(got, wantText) {
			t.Fatalf("%s: got %v, want %v", text, got, wantText)
		}
	})
}
