package store

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/item"
)

func TestWrittenHeadersTakeFastPath(t *testing.T) {
	for _, d := range []item.Draft{prompt(t, "p", "x"), resource(t, "r", "x"), {Item: item.Item{Kind: item.Resource, Name: "r", URI: "a:é", Description: "für 🙂"}}} {
		want := newHeader(d, now(), now())
		line, err := want.line(nil)
		must(t, err)
		got, ok := quickHeader(line)
		if diff := cmp.Diff(want, got); diff != "" || !ok {
			t.Errorf("%t (-want +got)\n%s", ok, diff)
		}
	}
}

// FuzzQuickHeader checks that quickHeader and encoding/json parse a header to the same values.
func FuzzQuickHeader(f *testing.F) {
	for _, line := range []string{
		`{"format":1,"name":"n","uri":"a:n","mime_type":"x/y","description":"d é","content":"text","size":12,"created_at":"t","updated_at":"u"}`,
		`{"name":"a","name":"b"}`, `{"size":01}`, `{"size":1.5}`, `{"size":9999999999999999999}`, `{"size":-1}`, `{"size":"1"}`,
		`{"name":"a\u0062"}`, `{"name":null}`, `{"NAME":"a"}`, `{"more":"a"}`, `{"name":"a",}`, `{}`, `{"name" :"a"}`, `{"name":"` + "\xff" + `"}`, `{"size":1`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		line = append(line, '\n')
		got, ok := quickHeader(line)
		if !ok {
			return
		}
		var want header
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatalf("quickHeader read %q as %+v, encoding/json failed: %v", line, got, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got)\n%s", line, diff)
		}
	})
}
