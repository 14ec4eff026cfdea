package tools

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"name":"p","content":"x","overwrite":true}`))
	f.Add([]byte(`{"name":null,"name":"last"}`))
	f.Add([]byte(`{"name":"\ud800","content":" "}`))
	f.Add([]byte(`[`))
	f.Add([]byte(nil))
	takes := []argument{{name: "name", required: true}, {name: "content"}, {name: "overwrite", flag: true}}
	f.Fuzz(func(t *testing.T, raw []byte) {
		given, err := parse(raw, takes)
		if err != nil {
			if text := err.Error(); !strings.HasPrefix(text, "Missing required argument '") && !strings.HasPrefix(text, "Argument '") {
				t.Errorf("%q: %v", raw, err)
			}
			return
		}
		// The function parse accepts the same arguments as encoding/json, except that parse compares keys
		// case-sensitively.
		var want map[string]any
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatalf("parse accepted %q, which is not a JSON object, as %v", raw, given)
		}
		for name, value := range given {
			if value != want[name] {
				t.Errorf("%q: %s is %v, want %v", raw, name, value, want[name])
			}
			if text, ok := value.(string); ok && !utf8.ValidString(text) {
				t.Errorf("%q: the value of %s is not valid UTF-8", raw, name)
			}
		}
		if given.optional("name") == nil || given.text("name") != *given.optional("name") {
			t.Errorf("%q: the required argument is %v", raw, given["name"])
		}
	})
}
