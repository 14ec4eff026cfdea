package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"
)

func TestIntegersWithFractionOrExponentAreDecoded(t *testing.T) {
	type inner struct {
		Small int8 `json:"small"`
	}
	type arguments struct {
		N     int             `json:"n"`
		U     uint64          `json:"u"`
		F     float64         `json:"f"`
		Text  string          `json:"text"`
		Raw   json.RawMessage `json:"raw"`
		Inner []inner         `json:"inner"`
	}
	p := New()
	var got arguments
	HandleTool(p, "t", func(_ context.Context, in arguments) (*ToolResult, error) {
		got = in
		return Text(""), nil
	})
	call := func(text string) error {
		got = arguments{}
		_, err := p.tools["t"].handle(t.Context(), json.RawMessage(text))
		return err
	}
	for text, want := range map[string]string{
		`{"n":1.0}`:                              `1 0 0   []`,
		`{"n":1e2,"u":1.8446744073709551615E19}`: `100 18446744073709551615 0   []`,
		`{"n":-120e-1,"f":1.5}`:                  `-12 0 1.5   []`,
		`{"n":-0.0,"f":2.0}`:                     `0 0 2   []`,
		`{"inner":[{"small":1.0},{"small":-128.00}],"text":"1.0 \"2.0","raw":{"a":0.5}}`: `0 0 0 1.0 "2.0 {"a":0.5} [{1} {-128}]`,
	} {
		err := call(text)
		if shown := fmt.Sprintf("%d %d %v %s %s %v", got.N, got.U, got.F, got.Text, got.Raw, got.Inner); err != nil || shown != want {
			t.Errorf("%s: got %+v, %v; want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		`{"n":1.5}`:                   "number 1.5",
		`{"n":1e-1}`:                  "number 1e-1",
		`{"n":1e999999999}`:           "number 1e999999999",
		`{"n":9223372036854775808.0}`: "number 9223372036854775808.0",
		`{"n":"1.0"}`:                 "string",
		`{"inner":[{"small":128.0}]}`: "number 128.0",
	} {
		if err := call(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// FuzzWholeNumbers checks that the value is preserved, and that what is written as an integer is one.
func FuzzWholeNumbers(f *testing.F) {
	for _, text := range []string{`1.0`, `{"a":[1e2,-0.0,"1.0\\\"2.0",1e-3]}`, `1e20`, `100e-2`, `0e-5`, `0.00e20`, ` [ 1.50 , true , null ] `} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return
		}
		written := wholeNumbers(raw)
		if !json.Valid(written) || len(written) > maxDigits*len(raw) {
			t.Fatalf("%s becomes %s", raw, written)
		}
		before, after := tokens(t, raw), tokens(t, written)
		if len(before) != len(after) {
			t.Fatalf("%s becomes %s", raw, written)
		}
		for i, v := range before {
			number, ok := v.(json.Number)
			if !ok || v == after[i] {
				if v != after[i] {
					t.Errorf("%v becomes %v", v, after[i])
				}
				continue
			}
			changed, _ := after[i].(json.Number)
			x, okX := new(big.Rat).SetString(number.String())
			y, okY := new(big.Int).SetString(changed.String(), 10)
			if !okX || !okY || x.Cmp(new(big.Rat).SetInt(y)) != 0 {
				t.Errorf("%s becomes %s", number, changed)
			}
		}
	})
}

func tokens(t *testing.T, raw []byte) []any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	var all []any
	for {
		token, err := d.Token()
		if err != nil {
			return all
		}
		all = append(all, token)
	}
}
