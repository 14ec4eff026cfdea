package rawjson

import (
	"bytes"
	"encoding/json"
	"testing"
)

// encodeString returns the encoding of s by encoding/json.
func encodeString(t *testing.T, s string) string {
	t.Helper()
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSuffix(out.Bytes(), []byte("\n")))
}

func FuzzAppendQuoteAgreesWithEncodingJSON(f *testing.F) {
	for _, s := range []string{"", "plain", `a "quote" and a \`, "<b>&", "tab\tline\r\n\b\f\x00\x1f\x7f", "ü 漢 😀", "\u2028\u2029\ufffd", "bad \xff\xc3", "\xed\xa0\x80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := string(AppendQuote([]byte("x"), s))[1:]
		if want := encodeString(t, s); got != want {
			t.Errorf("%q: got %s, want %s", s, got, want)
		}
		var want string
		if err := json.Unmarshal([]byte(got), &want); err != nil {
			t.Fatal(err)
		}
		if back, ok := Unquote([]byte(got)); !ok || back != want {
			t.Errorf("%s: read as %q", got, back)
		}
	})
}

func FuzzUnquoteAgreesWithEncodingJSON(f *testing.F) {
	for _, raw := range []string{`"a"`, `"`, `""`, `"\u00fc"`, `"a" `, `"a"b"`, `1`, `"\q"`, "\"\xff\"", "\"\n\"", `"\"\\\/\b\f\n\r\t"`, `"\ud83d\uDE00\ud83dx\ud83d\u0041\ud83d"`, `"\ud800\"`, `"\u12"`, "\"\xff\xfe\\n\"", `"\ud83d\ud83d\ude00"`} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var want string
		err := json.Unmarshal(raw, &want)
		got, ok := Unquote(raw)
		if ok && (err != nil || got != want) {
			t.Errorf("%q: got %q, want %q, %v", raw, got, want, err)
		}
		trimmed := bytes.TrimSpace(raw)
		if !ok && err == nil && len(trimmed) == len(raw) && raw[0] == '"' {
			t.Errorf("%q: refused, want %q", raw, want)
		}
	})
}
