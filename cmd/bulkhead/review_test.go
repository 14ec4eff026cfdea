package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/host/review"
	"github.com/bulkhead-mcp/bulkhead/host/visible"
)

func TestALineOfSomebodyElsesTextIsOneAndSteersNothing(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"what is plain stays":         {"Größe: 3 – 日本", "Größe: 3 – 日本"},
		"lines are joined":            {"a\n\tb\r\n c\u2028d\u0085e", "a b c d e"},
		"escapes are taken out":       {"a\x1b[2Jb\u009bc\x7f", "a·[2Jb·c·"},
		"the direction is kept":       {"a\u202eb\u2066c\u200f", "a·b·c·"},
		"what cannot be seen shows":   {"a\u200bb\U000e0041", "a·b·"},
		"fillers and selectors show":  {"a\ufe0fb\U000e0100c\u3164d\u115fe\uffa0f\u2800g\u034fh\u17b4", "a·b·c·d·e·f·g·h·"},
		"other spaces are not joined": {"/home/u\u00a0/x\u3000", "/home/u·/x·"},
	} {
		if got := line(c.text); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestALongTextSaysWhatIsMissing(t *testing.T) {
	if got := shown(strings.Repeat("ä", maxShown)); got != strings.Repeat("ä", maxShown) {
		t.Errorf("got %q", got)
	}
	want := strings.Repeat("ä", maxShown) + "… (and 2 more characters: see them with --json)"
	if got := shown(strings.Repeat("ä", maxShown+2)); got != want {
		t.Errorf("got %q", got)
	}
}

func TestJSONSteersNoTerminalAndMeansTheSame(t *testing.T) {
	text := "a\x1b\x7f\u009b\u202e\u2028\U000e0041\ufe0f\u3164\u2800<ä\u00a0日"
	var out bytes.Buffer
	if err := printJSON(&out, map[string]any{"text": text, "raw": json.RawMessage("\"\u202e\"")}); err != nil {
		t.Fatal(err)
	}
	if text := visible.Text(out.String()); text != out.String() {
		t.Errorf("%q", out.String())
	}
	var back map[string]string
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back["text"] != text || back["raw"] != "\u202e" {
		t.Errorf("%q, %v", back, err)
	}
}

func TestAnItemOfAListIsOneLineAndSteersNothing(t *testing.T) {
	var out bytes.Buffer
	items := []json.RawMessage{json.RawMessage(`{"name":"a\nb\u001b[2J\u202ec","description":"d\te\u202ef\ng"}`)}
	if err := printItems(&out, items); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "a b·[2J·c  d e·f\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheListOfToolsSteersNoTerminal(t *testing.T) {
	const bad = "a\x1b[2J\u009b\u202eb"
	plugins := []host.PluginInfo{
		{Name: "p", Dir: bad, Tools: []host.ToolInfo{{Name: "t", Description: bad}, {Name: "u", Why: bad}}, Prompts: []string{bad}, Resources: []string{bad}},
		{Name: "q", Problem: bad},
	}
	var out bytes.Buffer
	if err := printTools(&out, plugins); err != nil {
		t.Fatal(err)
	}
	if visible.Text(out.String()) != out.String() || !strings.Contains(out.String(), "a·[2J··b") {
		t.Errorf("%q", out.String())
	}
}

func TestARuleForNamesSaysWhatIsAllowed(t *testing.T) {
	for want, f := range map[string]review.FilterRules{
		`all are allowed, denied: ["x" "y"]`:   {Deny: []string{"x", "y"}},
		`none are allowed`:                     {Allow: []string{}, Deny: []string{"x"}},
		`allowed: ["x*"]`:                      {Allow: []string{"x*"}},
		`allowed: ["x*"], denied: ["x\u202e"]`: {Allow: []string{"x*"}, Deny: []string{"x\u202e"}},
	} {
		if got := filterWords(f); got != want {
			t.Errorf("%+v: got %q, want %q", f, got, want)
		}
	}
	for want, f := range map[string]review.FilterRules{`{"of":"","allow":[]}`: {Allow: []string{}}, `{"of":""}`: {}} {
		if got, err := json.Marshal(f); err != nil || string(got) != want {
			t.Errorf("got %s (%v), want %s", got, err, want)
		}
	}
}
