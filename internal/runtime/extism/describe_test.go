package extism

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadTools(t *testing.T) {
	got, err := ReadTools(json.RawMessage(`[{"name":"a","description":"A","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"audience":["user"]}}]`))
	if err != nil || len(got) != 1 || got[0].Name != "a" || !*got[0].Annotations.ReadOnly || string(got[0].InputSchema) != `{"type":"object"}` {
		t.Errorf("%+v, %v", got, err)
	}
	for list, want := range map[string]string{
		`[{"name":7}]`:                     "tool 1 is invalid",
		`[{"name":"a"},{"title":"none"}]`:  "tool 2 has no name",
		`[{"name":"a","NAME":"b"}]`:        `tool 1 is ambiguous: "NAME"`,
		`[{"name":"a","name":"b"}]`:        `tool 1 is ambiguous: "name"`,
		`[{"name":"a","Description":"b"}]`: `tool 1 is ambiguous: "Description"`,
		`[{"name":"a","annotations":{"readOnlyHint":false,"readonlyhint":true}}]`: `tool 1 is ambiguous: "readonlyhint"`,
		"[" + strings.Repeat(`{"name":"a"},`, maxTools) + `{"name":"a"}]`:         "more than 1000 tools",
		"[" + strings.Repeat("[", 70) + strings.Repeat("]", 70) + "]":             "nest",
	} {
		if _, err := ReadTools(json.RawMessage(list)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %s", list, err, want)
		}
	}
}

func TestReadNames(t *testing.T) {
	got, err := ReadNames(json.RawMessage(`{"resources":[{"uri":"a:b"},{"uri":"a:c","name":"x"}]}`), "resources", "uri")
	if diff := cmp.Diff([]string{"a:b", "a:c"}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for _, result := range []string{`{"resources":[{"name":"x"}]}`, `{"resources":[{"uri":7}]}`, `{`,
		`{"resources":[{"uri":"a:b","uri":"a:c"}]}`, `{"resources":[{"uri":"a:b","URI":"a:c"}]}`, `{"resources":[],"Resources":[]}`} {
		if _, err := ReadNames(json.RawMessage(result), "resources", "uri"); err == nil {
			t.Errorf("%s is accepted", result)
		}
	}
}

func ExampleDetect() {
	exports := map[string]bool{"call_tool": true, "list_tools": true}
	fmt.Println(Detect(func(name string) bool { return exports[name] }))
	// Output: 2 <nil>
}
