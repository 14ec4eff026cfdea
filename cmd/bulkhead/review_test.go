package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

func TestExcerptCountsWhatItOmits(t *testing.T) {
	if got := excerpt(strings.Repeat("ä", maxExcerpt)); got != strings.Repeat("ä", maxExcerpt) {
		t.Errorf("got %q", got)
	}
	want := strings.Repeat("ä", maxExcerpt) + "… (and 2 more characters: see them with --json)"
	if got := excerpt(strings.Repeat("ä", maxExcerpt+2)); got != want {
		t.Errorf("got %q", got)
	}
}

func TestPrintJSONEscapesInvisibleCharactersAndKeepsTheValue(t *testing.T) {
	text := "a\x1b\x7f\u009b\u202e\u2028\U000e0041\ufe0f\u3164\u2800<ä\u00a0日"
	var out bytes.Buffer
	if err := printJSON(&out, map[string]any{"text": text, "raw": json.RawMessage("\"\u202e\"")}); err != nil {
		t.Fatal(err)
	}
	if text := visible.Text(out.String()); text != out.String() {
		t.Errorf("the JSON contains invisible characters: %q", out.String())
	}
	var back map[string]string
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back["text"] != text || back["raw"] != "\u202e" {
		t.Errorf("the JSON does not decode to the original values: got %q, %v", back, err)
	}
}

func TestListItemIsOneSanitizedLine(t *testing.T) {
	var out bytes.Buffer
	items := []json.RawMessage{json.RawMessage(`{"name":"a\nb\u001b[2J\u202ec","description":"d\te\u202ef\ng"}`)}
	if err := printItems(&out, items); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "a b·[2J·c  d e·f\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestListOfToolsIsSanitized(t *testing.T) {
	const bad = "a\x1b[2J\u009b\u202eb"
	plugins := []host.PluginInfo{
		{Name: "p", Dir: bad, Tools: []host.ToolInfo{{Name: "t", Description: bad}, {Name: "u", Why: bad}}, Prompts: []string{bad}, Resources: []string{bad}},
		{Name: "q", Problem: bad},
	}
	var out bytes.Buffer
	if err := printPage(&out, func(w page) { printTools(w, plugins) }); err != nil {
		t.Fatal(err)
	}
	if visible.Text(out.String()) != out.String() || !strings.Contains(out.String(), "a·[2J··b") {
		t.Errorf("the output contains invisible characters, or lacks the visible replacements: %q", out.String())
	}
}

func TestFormatFilter(t *testing.T) {
	for want, f := range map[string]review.FilterRules{
		`all are allowed, denied: ["x" "y"]`:   {Deny: []string{"x", "y"}},
		`none are allowed`:                     {Allow: []string{}, Deny: []string{"x"}},
		`allowed: ["x*"]`:                      {Allow: []string{"x*"}},
		`allowed: ["x*"], denied: ["x\u202e"]`: {Allow: []string{"x*"}, Deny: []string{"x\u202e"}},
	} {
		if got := formatFilter(f); got != want {
			t.Errorf("%+v: got %q, want %q", f, got, want)
		}
	}
	for want, f := range map[string]review.FilterRules{`{"of":"","allow":[]}`: {Allow: []string{}}, `{"of":""}`: {}} {
		if got, err := json.Marshal(f); err != nil || string(got) != want {
			t.Errorf("got %s (%v), want %s", got, err, want)
		}
	}
}
