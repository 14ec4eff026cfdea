package rawjson

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestAmbiguous(t *testing.T) {
	for _, c := range []struct{ rule, object, key, name string }{
		{"each once", `{"uri":1,"level":2,"other":3,"other":4}`, "", ""},
		{"a key given twice", `{"uri":1,"x":2,"uri":1}`, "uri", "uri"},
		{"a key that differs in case", `{"URI":1}`, "URI", "uri"},
		{"both cases", `{"uri":1,"Uri":1}`, "Uri", "uri"},
		{"a key written with escapes", `{"uri":1,"\u0075ri":1}`, "uri", "uri"},
		{"a code point that folds to ASCII", `{"to` + "\u212A" + `en":1}`, "to\u212Aen", "token"},
		{"no object", `["uri","uri"]`, "", ""},
		{"a nested member", `{"x":{"uri":1,"uri":2}}`, "", ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if key, name := Ambiguous([]byte(c.object), "uri", "level", "token"); key != c.key || name != c.name {
				t.Errorf("got %q, %q, want %q, %q", key, name, c.key, c.name)
			}
		})
	}
}

// FuzzAmbiguous checks that encoding/json, which ignores case, reads the same member as Member if an object is unambiguous.
func FuzzAmbiguous(f *testing.F) {
	for _, seed := range []string{`{"token":1}`, `{"Token":1,"token":2}`, `{"to` + "\u212A" + `en":1}`, `{"token":1,"\u0074oken":2}`, `{"x":{"token":1}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var read struct {
			Token json.RawMessage `json:"token"`
		}
		if json.Unmarshal(data, &read) != nil || !strings.HasPrefix(strings.TrimSpace(string(data)), "{") {
			return
		}
		if key, _ := Ambiguous(data, "token"); key == "" && string(Member(data, "token")) != string(read.Token) {
			t.Errorf("%s: Member reads %s, encoding/json %s", data, Member(data, "token"), read.Token)
		}
	})
}
