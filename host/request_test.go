package host

import (
	"encoding/json"
	"testing"
)

func TestATemplateThatIsJSONStaysJSON(t *testing.T) {
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
		t.Errorf("a template that is a text: %q", got)
	}
}

func TestAFailureThatIsJSONIsStructuredContentToo(t *testing.T) {
	h := newWorldHost(t, handmade("it", crashing(), "[server]\nfailure = '{\"ok\":false,\"why\":\"{code}: {message}\"}'\n"+reads("it_reads")))
	answer := asked(t, h, "it_reads", "")
	var got struct {
		Content           []struct{ Text string }
		StructuredContent struct {
			OK  *bool
			Why string
		}
	}
	if err := json.Unmarshal(answer.Result, &got); err != nil {
		t.Fatal(err)
	}
	if s := got.StructuredContent; s.OK == nil || *s.OK || s.Why != "trap: crashed: wasm error: unreachable" || got.Content[0].Text == "" {
		t.Errorf("%s", answer.Result)
	}
}
