package approval_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/approval"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

func callWith(arguments string) approval.Call {
	return approval.Call{
		Server: "bulkhead", Plugin: "notes", Version: "1.2.0", Method: "tools/call", Name: "notes_add",
		Params: []byte(`{"name":"notes_add","_meta":{"x":1},"arguments":` + arguments + `}`),
	}
}

// parameters returns the lines of a question that show parameters.
func parameters(t *testing.T, arguments string) string {
	t.Helper()
	text, err := approval.Question(callWith(arguments))
	if err != nil {
		t.Fatalf("%s: %v", arguments, err)
	}
	_, shown, _ := strings.Cut(text, ":\n\n")
	return shown
}

func TestParametersAreShownCompletely(t *testing.T) {
	for arguments, want := range map[string]string{
		`{}`:                                     "    | {}\n",
		`{"b":[],"a":{}}`:                        "    | {\n    |   \"b\": [],\n    |   \"a\": {}\n    | }\n",
		`{"n":1e400,"m":-0.10}`:                  "    | {\n    |   \"n\": 1e400,\n    |   \"m\": -0.10\n    | }\n",
		`["\u0072\u006d", true]`:                 "    | [\n    |   \"rm\",\n    |   true\n    | ]\n",
		`"a\nPlugin: other\n"`:                   "    | \"a\\n\n    + Plugin: other\\n\"\n",
		`"` + "\u202e" + `\u0007\u001b[2J\r\t"`:  `    | "\u202e\u0007\u001b[2J\r\t"` + "\n",
		`"<img src=x> &lt; \\ \" é 日本 😀"`:        `    | "\u003cimg src=x> \u0026lt; \\ \" é 日本 😀"` + "\n",
		`"\u2028\u00a0\ue000\u3164\ud83d\ude00"`: `    | "\u2028\u00a0\ue000\u3164😀"` + "\n",
		`"\u0301 a\u0301\u0301\u0301\u0301"`:     "    | \"\\u0301 a\u0301\u0301\u0301\\u0301\"\n",
		`{"a\nTool: b":1}`:                       "    | {\n    |   \"a\\n\n    + Tool: b\": 1\n    | }\n",
		`"שלום"`:                                 "    | \"\u2068שלום\u2069\"\n",
		`"` + strings.Repeat("x", 80) + `"`:      "    | \"" + strings.Repeat("x", 69) + "\n    + " + strings.Repeat("x", 11) + "\"\n",
	} {
		if got := parameters(t, arguments); got != want {
			t.Errorf("%s is shown as\n%swant\n%s", arguments, got, want)
		}
	}
}

func TestQuestionNamesWhatIsCalled(t *testing.T) {
	for name, c := range map[string]struct {
		call approval.Call
		want string
	}{
		"a tool without arguments": {
			approval.Call{Server: "two words", Project: "site", Plugin: "p", Version: "1", Account: "ann\u202e", Method: "tools/call", Name: "t", Params: []byte(`{"name":"t"}`)},
			"Server: \"two words\"\nProject: site\nPlugin: p 1\nTool: t\nAccount: \"ann\\u202e\"\nArguments: none\n",
		},
		"a tool with a further parameter": {
			approval.Call{Server: "s", Plugin: "p", Version: "1", Method: "tools/call", Name: "t", Params: []byte(`{"name":"t","arguments":{},"more":[1]}`)},
			"Tool: t\nParameters, complete, as the client sent them. Their lines begin with |, and with + where a line continues:\n\n    | {\n    |   \"arguments\": {},\n    |   \"more\": [\n    |     1\n    |   ]\n    | }\n",
		},
		"a member that only clients of the modern era have for another purpose": {
			approval.Call{Server: "s", Plugin: "p", Version: "1", Method: "tools/call", Name: "t", Params: []byte(`{"name":"t","requestState":"x"}`)},
			"    | {\n    |   \"requestState\": \"x\"\n    | }\n",
		},
		"a resource": {
			approval.Call{Server: "s", Plugin: "p", Version: "1", Method: "resources/read", Name: "x:y", Params: []byte(`{"uri":"x:y","_meta":{}}`)},
			"Request: resources/read\nParameters, complete, as the client sent them. Their lines begin with |, and with + where a line continues:\n\n    | {\n    |   \"uri\": \"x:y\"\n    | }\n",
		},
	} {
		text, err := approval.Question(c.call)
		if err != nil || !strings.HasSuffix(text, c.want) {
			t.Errorf("%s: got\n%s\n%v, want\n%s", name, text, err, c.want)
		}
	}
}

func TestParametersThatCannotBeShownAreRefused(t *testing.T) {
	for arguments, want := range map[string]string{
		`"` + strings.Repeat("x", 100_000) + `"`:          "they have 100002 bytes, and at most 16384 can be shown",
		`"` + strings.Repeat("\u202e", 5000) + `"`:        "they take more than 16384 bytes",
		`[` + strings.Repeat("1,", 2000) + `1]`:           "they take more than 16384 bytes",
		strings.Repeat("[", 17) + strings.Repeat("]", 17): "nested",
		`{"a":1,"a":2}`:                       `the members "a" and "a" of one object are the same for some decoders`,
		`{"path":1,"x":[{"K":2,"\u212a":3}]}`: "the members \"K\" and \"\u212a\" of one object",
		`"\ud800"`:                            "half of a surrogate pair",
		"\"\xff\"":                            "not UTF-8",
	} {
		if text, err := approval.Question(callWith(arguments)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: got %.200s, %v; want %s", arguments, text, err, want)
		}
	}
}

func TestDigestTellsCallsApart(t *testing.T) {
	t.Parallel()
	of := func(change func(*approval.Call)) string {
		c := callWith(`{"a":1,"b":["x"]}`)
		change(&c)
		return string(approval.Digest(c))
	}
	params := func(text string) func(*approval.Call) {
		return func(c *approval.Call) { c.Params = []byte(text) }
	}
	same := of(func(*approval.Call) {})
	if of(params(`{"arguments":{"b":[ "\u0078" ],"a":1},"_meta":{"x":2},"name":"notes_add"}`)) != same {
		t.Error("another order or encoding of the same parameters has another digest")
	}
	for name, change := range map[string]func(*approval.Call){
		"server":  func(c *approval.Call) { c.Server = "other" },
		"project": func(c *approval.Call) { c.Project = "other" },
		"plugin":  func(c *approval.Call) { c.Plugin = "other" },
		"version": func(c *approval.Call) { c.Version = "1.2.1" },
		"account": func(c *approval.Call) { c.Account = "other" },
		"tool":    func(c *approval.Call) { c.Name = "notes_add2" },
		"number":  params(`{"name":"notes_add","arguments":{"a":1.0,"b":["x"]}}`),
		"list":    params(`{"name":"notes_add","arguments":{"a":1,"b":["x","x"]}}`),
		"member":  params(`{"name":"notes_add","arguments":{"a":1,"b":["x"]},"c":1}`),
	} {
		if of(change) == same {
			t.Errorf("another %s has the same digest", name)
		}
	}
}

// FuzzQuestion checks that no arguments begin a line as the host does, hide anything, or are shown as other arguments: without the marks of
// its lines, what is shown is JSON with the same value.
func FuzzQuestion(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":"x\nPlugin: safe"}`, `["\u202e",1e400,null,"\\"]`, `{"a":{"b":[{},[]]}}`, `"א<&日"`, `"` + strings.Repeat(`a\n`, 100) + `"`,
		`{"\u0301":"\u200d"}`, `12345678901234567890123456789012345678901234567890123456789012345678901234567890123456789`} {
		f.Add(seed)
	}
	host, err := approval.Question(callWith(`{}`))
	if err != nil {
		f.Fatal(err)
	}
	head, _, _ := strings.Cut(host, ":\n\n")
	f.Fuzz(func(t *testing.T, arguments string) {
		if !rawjson.Valid([]byte(arguments)) {
			return
		}
		text, err := approval.Question(callWith(arguments))
		if err != nil {
			return
		}
		before, shown, _ := strings.Cut(text, ":\n\n")
		if before != head || !strings.HasSuffix(shown, "\n") || len(shown) > approval.MaxShown {
			t.Fatalf("got %s", text)
		}
		var joined strings.Builder
		for i, line := range strings.Split(strings.TrimSuffix(shown, "\n"), "\n") {
			rest, begins := strings.CutPrefix(line, "    | ")
			if !begins {
				rest, begins = strings.CutPrefix(line, "    + ")
				begins = begins && i > 0
			}
			if !begins {
				t.Fatalf("the line %q has no mark", line)
			}
			rest = strings.NewReplacer("\u2068", "", "\u2069", "").Replace(rest)
			if !visible.Only(rest) {
				t.Fatalf("the line %q has invisible characters", line)
			}
			if strings.Count(line, "\u2068") != strings.Count(line, "\u2069") {
				t.Fatalf("the line %q does not end its isolates", line)
			}
			if n := len([]rune(rest)); n > 70 && !strings.ContainsFunc(rest, func(r rune) bool { return unicode.In(r, unicode.Mn, unicode.Me) }) {
				t.Fatalf("the line %q has %d characters", line, n)
			}
			if strings.HasPrefix(line, "    | ") && i > 0 {
				joined.WriteByte('\n')
			}
			joined.WriteString(rest)
		}
		if got, want := decode(t, joined.String()), decode(t, arguments); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s is shown as %s", arguments, shown)
		}
	})
}

func decode(t *testing.T, text string) (value any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&value); err != nil || d.More() {
		t.Fatalf("%s is not JSON: %v", text, err)
	}
	return value
}
