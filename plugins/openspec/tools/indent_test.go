package tools

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzIndentAgreesWithEncodingJSON compares the result of indent with that of json.Indent.
func FuzzIndentAgreesWithEncodingJSON(f *testing.F) {
	for _, text := range []string{
		`{}`, `[]`, `"a"`, `1.5e3`, `{"a":[],"b":{},"c":[{"d":null},[1,2]],"":"\\\"{[,:"}`, `[true,false,"\\","","é\u00e9"]`, ` [ 1 , { "a" : 2 } ] `,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var compact, want bytes.Buffer
		if json.Compact(&compact, text) != nil {
			t.Skip()
		}
		if err := json.Indent(&want, compact.Bytes(), "", "  "); err != nil {
			t.Fatal(err)
		}
		if got := indent(compact.Bytes()); got != want.String() {
			t.Errorf("%s: got\n%s\nwant\n%s", &compact, got, &want)
		}
	})
}
