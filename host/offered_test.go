package host

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// offering is a plugin whose module answers every request with body, and which offers something beside
// tools.
func offering(name, offers, body string) files {
	return handmade(name, answering(`{"result":`+body+`}`), "[offers]\n"+offers+"\n")
}

// itemsOf are lists of every kind, with items of these names.
func itemsOf(names ...string) string {
	var prompts, resources, templates []string
	for _, name := range names {
		prompts = append(prompts, fmt.Sprintf(`{"name":%q}`, name))
		resources = append(resources, fmt.Sprintf(`{"uri":"%s","name":"n"}`, name))
		templates = append(templates, fmt.Sprintf(`{"uriTemplate":"%s","name":"n"}`, name))
	}
	return fmt.Sprintf(`{"prompts":[%s],"resources":[%s],"resourceTemplates":[%s]}`,
		strings.Join(prompts, ","), strings.Join(resources, ","), strings.Join(templates, ","))
}

// request asks a host in a session of its own, and gives its answer without the envelope.
func requested(t testing.TB, h *Host, method, params string) string {
	t.Helper()
	var answer struct {
		Result json.RawMessage
		Error  json.RawMessage
	}
	answered(t, h, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params), &answer)
	if answer.Error != nil {
		return "error " + string(answer.Error)
	}
	return string(answer.Result)
}

func TestListsOfSeveralPlugins(t *testing.T) {
	for name, c := range map[string]struct {
		plugins []files
		config  string
		method  string
		want    string
	}{
		"come in the order of the plugins, and each in its own": {plugins: []files{offering("a", "prompts = true", itemsOf("z", "b")), offering("b", "prompts = true", itemsOf("c", "a"))},
			method: "prompts/list", want: `{"prompts":[{"name":"z"},{"name":"b"},{"name":"c"},{"name":"a"}]}`},
		"have a name once, the first plugin's": {plugins: []files{offering("a", "prompts = true", itemsOf("x", "x")), offering("b", "prompts = true", itemsOf("x", "y"))},
			method: "prompts/list", want: `{"prompts":[{"name":"x"},{"name":"y"}]}`},
		"have no more of a plugin than it claims": {plugins: []files{offering("a", "prompts = ['x']", itemsOf("x", "y"))},
			method: "prompts/list", want: `{"prompts":[{"name":"x"}]}`},
		"have a claimed name of who claims it": {plugins: []files{offering("a", "prompts = true", itemsOf("x", "y")), offering("b", "prompts = ['x']", itemsOf("x"))},
			method: "prompts/list", want: `{"prompts":[{"name":"y"},{"name":"x"}]}`},
		"have a URI of who claims its beginning": {plugins: []files{offering("a", "resources = true", itemsOf("n://x", "m://x")), offering("b", "resources = ['n://']", itemsOf("n://y", "m://y"))},
			method: "resources/list", want: `{"resources":[{"uri":"m://x","name":"n"},{"uri":"n://y","name":"n"}]}`},
		"have the templates as well": {plugins: []files{offering("a", "resources = ['n://']", itemsOf("n://{+id}", "m://{id}"))},
			method: "resources/templates/list", want: `{"resourceTemplates":[{"uriTemplate":"n://{+id}","name":"n"}]}`},
		"leave out a plugin that fails": {plugins: []files{handmade("a", crashing(), "[offers]\nprompts = true\n"), offering("b", "prompts = true", itemsOf("x"))},
			method: "prompts/list", want: `{"prompts":[{"name":"x"}]}`},
		"leave out a plugin whose list is none": {plugins: []files{offering("a", "prompts = true", `{"prompts":{}}`), offering("b", "prompts = true", itemsOf("x"))},
			method: "prompts/list", want: `{"prompts":[{"name":"x"}]}`},
		"leave out a plugin whose items have no name": {plugins: []files{offering("a", "prompts = true", `{"prompts":[{"name":"y"},{"title":"x"}]}`), offering("b", "prompts = true", itemsOf("x"))},
			method: "prompts/list", want: `{"prompts":[{"name":"x"}]}`},
		"are an error where every plugin fails": {plugins: []files{handmade("a", answering(`{"error":{"code":-32603,"message":"the store is broken"}}`), "[offers]\nprompts = true\n")},
			method: "prompts/list", want: `error {"code":-32603,"message":"the store is broken"}`},
		"keep the bytes of their items": {plugins: []files{offering("a", "prompts = true", `{"prompts":[{ "name":"x","y":9007199254740993}]}`)},
			method: "prompts/list", want: `{"prompts":[{ "name":"x","y":9007199254740993}]}`},
		"are filtered as the config says": {plugins: []files{offering("a", "prompts = true\nresources = true", itemsOf("x1", "x2", "y"))},
			config: "[[plugins]]\npath = '../plugins/a'\nallow_prompts = ['x*']\ndeny_prompts = ['x2']",
			method: "prompts/list", want: `{"prompts":[{"name":"x1"}]}`},
		"of resources are filtered by URI": {plugins: []files{offering("a", "resources = true", itemsOf("n://a/x", "n://b/x"))},
			config: "[[plugins]]\npath = '../plugins/a'\ndeny_resources = ['n://b/*']",
			method: "resources/list", want: `{"resources":[{"uri":"n://a/x","name":"n"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.plugins...)
			if c.config != "" {
				w.write(t, files{"work/bulkhead.toml": c.config})
			}
			wantEqual(t, requested(t, w.open(t, w.options()), c.method, `{}`), c.want)
		})
	}
}

func TestWhatAPluginWithFaultsHasIsSaidInTheLog(t *testing.T) {
	w := newWorld(t, handmade("a", crashing(), "[offers]\nprompts = true\n"), offering("b", "prompts = true", itemsOf("x")), offering("c", "prompts = true", itemsOf("x")))
	requested(t, w.open(t, w.options()), "prompts/list", `{}`)
	for _, want := range []string{"what the plugin has is missing in a list", "method=prompts/list reason=\"crashed", "the plugin has what is listed already"} {
		if !strings.Contains(w.log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, w.log.String())
		}
	}
}

// told is an answer to prompts/get, resources/read and completion/complete at once.
func told(text string) string {
	return `{"messages":[{"role":"user","content":{"type":"text","text":"` + text + `"}}],"contents":[{"uri":"` + text + `:x","text":""}],"completion":{"values":["` + text + `"]}}`
}

const nothing = `{"error":{"code":-32602,"message":"it is not here"}}`

func TestWhatExistsAtCallTimeIsAskedForInOrder(t *testing.T) {
	lacking := func(name string) files { return handmade(name, answering(nothing), "[offers]\nprompts = true\n") }
	having := func(name string) files { return offering(name, "prompts = true", told(name)) }
	broken := func(name string) files { return handmade(name, crashing(), "[offers]\nprompts = true\n") }
	for name, c := range map[string]struct {
		plugins []files
		want    string // contained
	}{
		"the first that has it answers":              {[]files{having("a"), having("b")}, `"text":"a"`},
		"one that has it not is passed over":         {[]files{lacking("a"), having("b")}, `"text":"b"`},
		"one that fails is passed over":              {[]files{broken("a"), having("b")}, `"text":"b"`},
		"where nobody has it a failure is told":      {[]files{broken("a"), lacking("b")}, `"code":"trap","plugin":"a"`},
		"where nobody has it the host says so":       {[]files{lacking("a"), lacking("b")}, `error {"code":-32602,"message":"Unknown prompt: it"}`},
		"where one is asked it says so itself":       {[]files{lacking("a")}, `error {"code":-32602,"message":"it is not here"}`},
		"who claims the name is the only one asked":  {[]files{having("a"), offering("b", "prompts = ['it']", told("b"))}, `"text":"b"`},
		"who claims other names is not asked":        {[]files{offering("a", "prompts = ['other']", told("a"))}, `error {"code":-32602,"message":"Unknown prompt: it"}`},
		"who offers resources only has no prompts":   {[]files{having("a"), offering("b", "resources = true", told("b"))}, `"text":"a"`},
		"a claimed name that is not there is nobody": {[]files{having("a"), handmade("b", answering(nothing), "[offers]\nprompts = ['it']\n")}, `it is not here`},
	} {
		t.Run(name, func(t *testing.T) {
			got := requested(t, newWorldHost(t, c.plugins...), "prompts/get", `{"name":"it"}`)
			if !strings.Contains(got, c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestWhatIsDeniedIsUnknown(t *testing.T) {
	w := newWorld(t, offering("a", "prompts = ['it', 'other']\nresources = ['n://']\nsubscribe = true\ncompletions = true", told("a")),
		files{"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/a'\ndeny_prompts = ['it']\ndeny_resources = ['n://secret/*']"})
	h := w.open(t, w.options())
	for _, c := range []struct{ method, params, want string }{
		{"prompts/get", `{"name":"it"}`, `error {"code":-32602,"message":"Unknown prompt: it"}`},
		{"prompts/get", `{"name":"other"}`, `{"messages":`},
		{"resources/read", `{"uri":"n://secret/x"}`, `error {"code":-32002,"message":"Resource not found: \"n://secret/x\""}`},
		{"resources/read", `{"uri":"m://x"}`, `error {"code":-32002,"message":"Resource not found: \"m://x\""}`},
		{"resources/read", `{"uri":"n://x"}`, `{"messages":`},
		{"resources/subscribe", `{"uri":"n://secret/x"}`, `error {"code":-32002,`},
		{"resources/subscribe", `{"uri":"n://x"}`, `{}`},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"it"},"argument":{"name":"x","value":""}}`, `error {"code":-32602,"message":"Invalid params: unknown reference"}`},
		{"completion/complete", `{"ref":{"type":"ref/resource","uri":"n://{+id}"},"argument":{"name":"x","value":""}}`, `{"messages":`},
		{"completion/complete", `{"ref":{"type":"ref/tool","name":"it"}}`, `error {"code":-32602,"message":"Invalid params: unknown reference"}`},
		{"completion/complete", `{}`, `error {"code":-32602,"message":"Invalid params: unknown reference"}`},
	} {
		if got := requested(t, h, c.method, c.params); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s %s: got %s, want %s", c.method, c.params, got, c.want)
		}
	}
}

func TestAClaimOfWhichSomeIsAllowedIsStillAClaim(t *testing.T) {
	w := newWorld(t, offering("a", "resources = ['n://']\nsubscribe = true", told("a")), offering("b", "resources = true", told("b")),
		files{"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/a'\nallow_resources = ['n://open/*']\n[[plugins]]\npath = '../plugins/b'\n"})
	h := w.open(t, w.options())
	for uri, want := range map[string]string{
		"n://open/x": `{"messages":[{"role":"user","content":{"type":"text","text":"a"}`,
		"n://else/x": `error {"code":-32002,`,
		"m://x":      `{"messages":[{"role":"user","content":{"type":"text","text":"b"}`,
	} {
		if got := requested(t, h, "resources/read", fmt.Sprintf(`{"uri":%q}`, uri)); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %s, want %s", uri, got, want)
		}
	}
	wantEqual(t, h.Plugins()[0].Resources, []string{"n://"})
}

func TestClaimsThatMeetEndTheStart(t *testing.T) {
	for name, c := range map[string]struct {
		one, other, config string
		want               []string // none: they do not meet
	}{
		"a prompt":                              {"prompts = ['x', 'y']", "prompts = ['y']", "", []string{`plugins "a" (`, `"b" (`, `both claim the prompt "y"`, "deny_prompts"}},
		"a URI prefix":                          {"resources = ['n://']", "resources = ['n://']", "", []string{`plugins "a" (`, `"b" (`, "claim resources that meet, n:// and n://", "deny_resources"}},
		"a prefix of a prefix":                  {"resources = ['n://a/']", "resources = ['n://']", "", []string{"claim resources that meet, n://a/ and n://"}},
		"other prefixes":                        {"resources = ['n://a/']", "resources = ['n://b/']", "", nil},
		"a claim and a dynamic name":            {"prompts = ['x']", "prompts = true", "", nil},
		"a prompt that one is denied":           {"prompts = ['x']", "prompts = ['x']", "deny_prompts = ['x']", nil},
		"resources that one is denied":          {"resources = ['n://']", "resources = ['n://']", "deny_resources = ['n://*']", nil},
		"resources that one is allowed some of": {"resources = ['n://']", "resources = ['n://']", "allow_resources = ['n://a/*']", []string{"claim resources that meet"}},
		"resources that one is allowed":         {"resources = ['n://', 'm://']", "resources = ['n://']", "allow_resources = ['m://*']", nil},
		"resources of which some denied":        {"resources = ['n://']", "resources = ['n://']", "deny_resources = ['n://x/*']", []string{"claim resources that meet"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, offering("a", c.one, "{}"), offering("b", c.other, "{}"))
			w.write(t, files{"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/a'\n" + c.config + "\n[[plugins]]\npath = '../plugins/b'\n"})
			h, err := Open(w.options())
			if c.want != nil {
				wantUsage(t, err, c.want...)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := h.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAPluginLearnsWhatOthersClaim(t *testing.T) {
	ask := operating(`{"op":"claims","params":{"prompts":["x","y"],"resources":["n://a","m://a"]}}`, done)
	w := newWorld(t, handmade("a", ask, "[offers]\nprompts = ['y']\nresources = true\n"+reads("a_reads")), offering("b", "prompts = ['x']\nresources = ['n://']", "{}"))
	h := w.open(t, w.options())
	got := h.offered.foreign(h.plugins[0], abi.Claims{Prompts: []string{"x", "y", "z"}, Resources: []string{"n://a", "m://a"}})
	wantEqual(t, got, abi.Claims{Prompts: []string{"x"}, Resources: []string{"n://a"}})
	if answer := asked(t, h, "a_reads", ""); answer.Failure != "" || answer.Error != nil {
		t.Errorf("the operation: %+v", answer)
	}
}

func TestCapabilitiesAreThoseSomePluginHas(t *testing.T) {
	server := "[server]\nchanges = false\n"
	for name, c := range map[string]struct {
		plugins []files
		want    string
	}{
		"of a plugin with tools alone":           {[]files{handmade("a", answering(done), reads("x"))}, `{"tools":{}}`},
		"of a plugin without tools":              {[]files{offering("a", "prompts = true\nresources = true\nsubscribe = true\ncompletions = true\nlist_changed = true", "{}")}, `{"completions":{},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true}}`},
		"of several plugins together":            {[]files{offering("a", "prompts = true\nlist_changed = true", "{}"), offering("b", "resources = true", "{}"), handmade("c", answering(done), reads("x"))}, `{"prompts":{"listChanged":true},"resources":{},"tools":{}}`},
		"of a plugin that keeps to itself alone": {[]files{offering("a", "prompts = true\nresources = true\nsubscribe = true\nlist_changed = true\n"+server, "{}")}, `{"prompts":{},"resources":{}}`},
		"of the same among others":               {[]files{offering("a", "prompts = true\nresources = true\nsubscribe = true\nlist_changed = true\n"+server, "{}"), handmade("c", answering(done), reads("x"))}, `{"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"tools":{}}`},
		"of a plugin that is left out":           {[]files{handmade("a", nil, "[offers]\nprompts = true\n"), handmade("c", answering(done), reads("x"))}, `{"tools":{}}`},
	} {
		t.Run(name, func(t *testing.T) {
			var got struct {
				Capabilities map[string]map[string]bool
			}
			answer := requested(t, newWorldHost(t, c.plugins...), "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
			var want map[string]map[string]bool
			if err := json.Unmarshal([]byte(answer), &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got.Capabilities); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestWhatIsDeniedAsAWholeIsNoCapability(t *testing.T) {
	for config, want := range map[string]string{
		"deny_prompts = ['*']\ndeny_resources = ['*']":        `"capabilities":{"tools":{}}`,
		"allow_prompts = []\nallow_resources = []":            `"capabilities":{"tools":{}}`,
		"deny_resources = ['n://*']":                          `"capabilities":{"prompts":{},"completions":{}}`,
		"deny_prompts = ['*']\nallow_resources = ['n://a/*']": `"capabilities":{"resources":{"subscribe":true},"completions":{}}`,
	} {
		w := newWorld(t, offering("a", "prompts = true\nresources = ['n://']\nsubscribe = true\ncompletions = true", "{}"),
			files{"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/a'\n" + config + "\n"})
		got := requested(t, w.open(t, w.options()), "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
		if !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", config, got, want)
		}
	}
}

func TestWhatIsRefusedBesideToolsIsInTheAudit(t *testing.T) {
	w := newWorld(t, offering("a", "prompts = ['it']\nresources = ['n://']\nsubscribe = true\ncompletions = true", told("a")))
	w.write(t, files{"work/bulkhead.toml": "[audit]\nfile = '" + w.dir + "/audit.jsonl'\non_failure = 'closed'\n[[plugins]]\npath = '../plugins/a'\ndeny_resources = ['n://secret/*']"})
	h := w.open(t, w.options())
	requested(t, h, "resources/subscribe", `{"uri":"n://secret/x"}`)
	requested(t, h, "resources/read", `{"uri":"n://secret/x"}`)
	requested(t, h, "completion/complete", `{"ref":{"type":"ref/prompt","name":"it"},"argument":{"name":"x","value":"private"}}`)
	log, err := os.ReadFile(w.dir + "/audit.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(log)) {
		var l struct{ Kind, Method, Tool, Outcome, Arguments string }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.Join([]string{l.Kind, l.Method, l.Tool, l.Outcome}, " "))
		if hashed := l.Arguments != ""; hashed != (l.Kind == "call") || strings.Contains(line, "private") {
			t.Errorf("arguments: %s", line)
		}
	}
	wantEqual(t, got, []string{
		"refused resources/subscribe n://secret/x denied",
		"refused resources/read n://secret/x denied",
		"call completion/complete it ok",
	})
}
