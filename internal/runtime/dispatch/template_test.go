package dispatch

import (
	"encoding/json"
	"testing"
)

func TestJSONTemplateYieldsJSON(t *testing.T) {
	values := map[string]string{"{message}": "said \"no\"\n\\o/", "{code}": "trap"}
	for template, want := range map[string]string{
		`{"a":"{code}: {message}"}`:  "trap: said \"no\"\n\\o/",
		`{"a":"{message}{message}"}`: "said \"no\"\n\\o/said \"no\"\n\\o/",
	} {
		var got struct{ A string }
		text := fill(template, values)
		if err := json.Unmarshal([]byte(text), &got); err != nil || got.A != want {
			t.Errorf("%s: %v %q in %s", template, err, got.A, text)
		}
	}
	if got := fill("{code}: {message}", values); got != "trap: said \"no\"\n\\o/" {
		t.Errorf("a template that is not a JSON object: %q", got)
	}
}
