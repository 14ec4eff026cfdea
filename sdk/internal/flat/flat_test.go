package flat_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/sdk/internal/flat"
)

type arguments struct {
	Text  string `json:"text"`
	Times int    `json:"times,omitempty"`
	Big   int64  `json:"big"`
	Share float64
	Dry   bool `json:"dry"`
}

func FuzzDecodeAgreesWithEncodingJSON(f *testing.F) {
	for _, object := range []string{
		`{}`, `{"text":"a","times":3,"big":-9007199254740993,"Share":1.5e3,"dry":true}`, ` { "text" : "\u00fc\n" } `,
		`{"TEXT":"other case"}`, `{"share":1}`, `{"unknown":[1]}`, `{"text":null,"times":null,"dry":null}`, `{"text":1}`,
		`{"times":1.0}`, `{"times":1e2}`, `{"times":9223372036854775808}`, `{"dry":"true"}`, `{"dry":0}`, `{"text":"a","text":"b"}`,
		`{"\u0074ext":"escaped key"}`, `{"Share":-0}`, `{"Share":1e999}`, `[]`, `null`, `"x"`, `{"times":{}}`, `{"big":"1"}`,
	} {
		f.Add([]byte(object))
	}
	decoder := flat.For(reflect.TypeFor[arguments]())
	if decoder == nil {
		f.Fatal("plain fields are not supported")
	}
	f.Fuzz(func(t *testing.T, object []byte) {
		if !json.Valid(object) {
			return
		}
		var got, want arguments
		if !decoder.Decode(object, reflect.ValueOf(&got)) {
			return
		}
		if err := json.Unmarshal(object, &want); err != nil {
			t.Fatalf("%s: decoded, and encoding/json says %v", object, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", object, diff)
		}
	})
}

func TestForSupportsOnlyPlainStructs(t *testing.T) {
	type name string
	for what, typ := range map[string]reflect.Type{
		"a slice":      reflect.TypeFor[struct{ A []string }](),
		"a pointer":    reflect.TypeFor[struct{ A *int }](),
		"a named type": reflect.TypeFor[struct{ A name }](),
		"a time":       reflect.TypeFor[struct{ A time.Time }](),
		"a quoted number": reflect.TypeFor[struct {
			A int `json:",string"`
		}](),
		"a left-out field": reflect.TypeFor[struct {
			A int `json:"-"`
		}](),
		"an embedded struct": reflect.TypeFor[struct{ arguments }](),
		"a hidden field":     reflect.TypeFor[struct{ a int }](),
		"no struct":          reflect.TypeFor[map[string]any](),
		"its own decoding":   reflect.TypeFor[own](),
	} {
		t.Run(what, func(t *testing.T) {
			if flat.For(typ) != nil {
				t.Error("is supported")
			}
		})
	}
}

type own struct{ A string }

func (*own) UnmarshalJSON([]byte) error { return nil }
