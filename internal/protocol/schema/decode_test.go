package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
)

// decodeByTokens is the reference for decode: it decodes with the tokens of encoding/json.
func decodeByTokens(raw json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	v, err := readValue(d, 0)
	if err != nil {
		var syntax *json.SyntaxError
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil, errors.New("is not complete JSON")
		case errors.As(err, &syntax):
			return nil, fmt.Errorf("is not JSON: %w", err)
		}
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("is more than one JSON value")
	}
	return v, nil
}

func readValue(d *json.Decoder, depth int) (any, error) {
	if depth == maxDepth {
		return nil, fmt.Errorf("is nested more than %d deep", maxDepth)
	}
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	if number, ok := token.(json.Number); ok {
		return number, checkNumber(number)
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return token, nil
	}
	list, object := []any{}, map[string]any{}
	for d.More() {
		var key json.Token
		if delim == '{' {
			if key, err = d.Token(); err != nil {
				return nil, err
			}
			if _, twice := object[key.(string)]; twice {
				return nil, fmt.Errorf("has the duplicate member %q", key)
			}
		}
		value, err := readValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		if delim == '{' {
			object[key.(string)] = value
		} else {
			list = append(list, value)
		}
	}
	_, err = d.Token() // consumes the closing bracket or brace
	if delim == '{' {
		return object, err
	}
	return list, err
}

// FuzzDecode checks that decode has the results and errors of decodeByTokens. It permits two differences: encoding/json does not say what an
// object should begin with, and a text that is neither valid nor accepted has two errors, of which either may be reported.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"", " ", "null", " true ", "false", `"\u00e9\ud83d\ude00\ud800"`, "\"\xff\xfe\"", "-0.5e3", "1e401", "1e-401", "1e99999999999999999999", strings.Repeat("1", maxNumber+1),
		"[]", " [ ] ", `[1,"a",[null,{}],{"b":[true]}]`, "{}", `{"a":{"b":1},"c":[]}`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, "{\"\xff\":1,\"\xfe\":2}", `[{"a":1,"a":2},1e999]`,
		"[1,]", "[,1]", "[1 2]", `{"a":1,}`, `{"a" 1}`, "{a:1}", `{"a":}`, `{"a":1`, `{"a"`, "[1", "[", "{", "]", "1]", "[}", "{]", "01", "-", "1.", "1e", "tru", "trux", `"a`, `"\x"`, "\"a\tb\"",
		"1 2", "{} x", "[] [", "1e999x", `[1e999,}`, "\x00", "\ufeff{}",
		strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth), strings.Repeat("[", maxDepth) + "1" + strings.Repeat("]", maxDepth),
		strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1), strings.Repeat(`{"a":`, maxDepth) + "{}" + strings.Repeat("}", maxDepth), strings.Repeat("[", maxDepth),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		want, wantErr := decodeByTokens(raw)
		got, err := decode(raw)
		if err == nil && wantErr == nil {
			if !reflect.DeepEqual(want, got) { // cmp.Diff takes exponential time in the depth
				t.Errorf("decode(%q) = %v, want %v", raw, got, want)
			}
			return
		}
		twoErrors := !json.Valid(raw) && !isSyntax(wantErr)
		if text := fmt.Sprint(err); err == nil || text != fmt.Sprint(wantErr) && text != fmt.Sprint(wantErr, " looking for beginning of object key string") && !twoErrors {
			t.Errorf("decode(%q): %v, want %v", raw, err, wantErr)
		}
	})
}

// isSyntax reports whether an error says that a text is not valid JSON.
func isSyntax(err error) bool { return strings.HasPrefix(fmt.Sprint(err), "is not") }
