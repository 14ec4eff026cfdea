//go:build unix

package languages

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// importExtism builds one of the plugins for hyper-mcp, and imports it.
func importExtism(t *testing.T, version string) build.Imported {
	t.Helper()
	rust := languages[slices.IndexFunc(languages, func(l language) bool { return l.toolchain == "rust" })]
	dir := filepath.Join(source(t, rust), "tests", "languages", "extism")
	run(t, dir, []string{"cargo", "build", "--quiet", "--locked", "--release", "--target", "wasm32-wasip1"})
	p, err := build.Import(t.Context(), filepath.Join(dir, "target", "wasm32-wasip1", "release", "tea_"+version+".wasm"), "tea", build.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// extismWorld builds the plugins for hyper-mcp, imports one, grants it what it asks for, and opens a host with it. capabilities are
// added to the manifest, and grants to the config.
func extismWorld(t *testing.T, version, capabilities, grants string) (*hosttest.World, *host.Host) {
	t.Helper()
	p := importExtism(t, version)
	files := hosttest.Files{"work/bulkhead.toml": fmt.Sprintf("[[plugins]]\npath = \"../plugins/tea\"\n%s", grants)}
	for name, content := range p.Files {
		files["plugins/tea/"+name] = strings.Replace(string(content), "# [capabilities]", "[capabilities]\n"+capabilities, 1)
	}
	w := hosttest.New(t, files)
	if ps := build.Check(t.Context(), w.Dir+"/plugins/tea", build.Options{}); len(ps) > 0 {
		t.Fatal(ps)
	}
	return w, w.Open(t, w.Options())
}

// TestPluginOfHyperMCPUsesKernel runs a plugin written with extism-pdk for version 1 of hyper-mcp's interface.
func TestPluginOfHyperMCPUsesKernel(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/x-tea")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s %s", r.Method, r.Header.Get("X-Tea"), body)
	}))
	defer server.Close()
	w, h := extismWorld(t, "v1", fmt.Sprintf("http = [%q]\nenv = [\"API_KEY\"]", server.URL),
		fmt.Sprintf("http = [{ origin = %q, private = true }]\nenv = { API_KEY = \"k e y\" }\n", server.URL))
	large := strings.Repeat("größer\\n\\\"", 100_000)
	for _, c := range []struct{ tool, arguments, want string }{
		{"count", `{}`, `{"content":[{"type":"text","text":"1"}]}`},
		{"count", `{}`, `{"content":[{"type":"text","text":"1"}]}`}, // a variable lasts one call
		{"config", `{"key":"API_KEY"}`, `{"content":[{"type":"text","text":"k e y"}]}`},
		{"config", `{"key":"OTHER"}`, `{"content":[{"type":"text","text":"unset"}]}`},
		{"fetch", `{"url":"` + server.URL + `"}`, `{"content":[{"type":"text","text":"418 text/x-tea POST green ein Gruß"}]}`},
		{"fetch", `{"url":"https://example.com"}`, `{"isError":true}`},
		{"fail", `{}`, `{"content":[{"type":"text","text":"there is no tea"}],"isError":true}`},
		{"echo", `{"text":"` + large + `"}`, `{"content":[{"type":"text","text":"` + large + `"}]}`},
	} {
		got := hosttest.Request(t, h, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, c.tool, c.arguments))
		if err := includes(got, c.want); err != nil {
			t.Errorf("%s %.100s: %.300v\ngot  %.300s", c.tool, c.arguments, err, got)
		}
	}
	if want := "called \"count\""; !strings.Contains(w.Log.String(), want) {
		t.Errorf("the log lacks %q:\n%s", want, w.Log.String())
	}
}

// TestPluginOfHyperMCPUsesClient runs a plugin written with extism-pdk for version 2 of hyper-mcp's interface.
func TestPluginOfHyperMCPUsesClient(t *testing.T) {
	_, h := extismWorld(t, "v2", `ask = ["elicitation", "sampling", "roots"]`, "")
	for _, c := range []struct{ method, params, want string }{
		{"prompts/list", `{}`, `{"prompts":[{"name":"letter","arguments":[{"name":"to","required":true}]}]}`},
		{"prompts/get", `{"name":"letter","arguments":{"to":"Ada"}}`, `{"messages":[{"role":"user","content":{"type":"text","text":"Write to Ada"}}]}`},
		{"prompts/get", `{"name":"other"}`, `error {}`},
		{"resources/list", `{}`, `{"resources":[{"uri":"tea:green","name":"Green tea"}]}`},
		{"resources/templates/list", `{}`, `{"resourceTemplates":[{"uriTemplate":"tea:{kind}"}]}`},
		{"resources/read", `{"uri":"tea:black"}`, `{"contents":[{"uri":"tea:black","text":"80 °C"}]}`},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"letter"},"argument":{"name":"to","value":"g"}}`, `{"completion":{"values":["prompt:green"]}}`},
		{"tools/call", `{"name":"invite","arguments":{}}`, `{"content":[{"type":"text","text":"nobody: \"decline\""}]}`}, // the client cannot be asked
		{"tools/call", `{"name":"roots","arguments":{}}`, `{"content":[{"type":"text","text":"0 roots"}]}`},
	} {
		got := hosttest.Request(t, h, c.method, c.params)
		if err := includes(got, c.want); err != nil {
			t.Errorf("%s %s: %v\ngot  %s", c.method, c.params, err, got)
		}
	}

	var asked, notified []string
	client := host.Client{
		Capabilities: json.RawMessage(`{"elicitation":{},"sampling":{},"roots":{}}`),
		Answer: func(_ context.Context, q host.Question) (json.RawMessage, error) {
			asked = append(asked, q.Method)
			return json.RawMessage(map[string]string{
				abi.MethodElicit:    `{"action":"accept","content":{"name":"Ada"}}`,
				abi.MethodSample:    `{"role":"assistant","model":"m","content":{"type":"text","text":"Come!"}}`,
				abi.MethodListRoots: `{"roots":[{"uri":"file:///a"},{"uri":"file:///b"}]}`,
			}[q.Method]), nil
		},
		Notify: func(method string, params json.RawMessage) { notified = append(notified, method+" "+string(params)) },
	}
	for tool, want := range map[string]string{"invite": "Ada: Come!", "roots": "2 roots", "report": "reported"} {
		answer, err := h.Call(t.Context(), tool, json.RawMessage(`{}`), client)
		if err != nil || !strings.Contains(string(answer.Result), `"text":"`+want+`"`) {
			t.Errorf("%s: %s, %v; want %q", tool, answer.Result, err, want)
		}
	}
	slices.Sort(asked)
	if want := []string{abi.MethodElicit, abi.MethodListRoots, abi.MethodSample}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	for _, want := range []string{"notifications/progress", "the tea is getting cold"} {
		if !strings.Contains(strings.Join(notified, "\n"), want) {
			t.Errorf("no notification has %q: %q", want, notified)
		}
	}
}
