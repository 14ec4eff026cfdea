package catalog_test

import (
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

func TestListsOfSeveralPlugins(t *testing.T) {
	for name, c := range map[string]struct {
		plugins []hosttest.Files
		config  string
		method  string
		want    string
	}{
		"come in the order of the plugins, and each in its own": {plugins: []hosttest.Files{hosttest.Offering("a", "prompts = true", hosttest.ItemsOf("z", "b")), hosttest.Offering("b", "prompts = true", hosttest.ItemsOf("c", "a"))},
			method: "prompts/list", want: `{"prompts":[{"name":"z"},{"name":"b"},{"name":"c"},{"name":"a"}]}`},
		"have a name once, the first plugin's": {plugins: []hosttest.Files{hosttest.Offering("a", "prompts = true", hosttest.ItemsOf("x", "x")), hosttest.Offering("b", "prompts = true", hosttest.ItemsOf("x", "y"))},
			method: "prompts/list", want: `{"prompts":[{"name":"x"},{"name":"y"}]}`},
		"have no more of a plugin than it claims": {plugins: []hosttest.Files{hosttest.Offering("a", "prompts = ['x']", hosttest.ItemsOf("x", "y"))},
			method: "prompts/list", want: `{"prompts":[{"name":"x"}]}`},
		"have a claimed name of who claims it": {plugins: []hosttest.Files{hosttest.Offering("a", "prompts = true", hosttest.ItemsOf("x", "y")), hosttest.Offering("b", "prompts = ['x']", hosttest.ItemsOf("x"))},
			method: "prompts/list", want: `{"prompts":[{"name":"y"},{"name":"x"}]}`},
		"have a URI of who claims its beginning": {plugins: []hosttest.Files{hosttest.Offering("a", "resources = true", hosttest.ItemsOf("n://x", "m://x")), hosttest.Offering("b", "resources = ['n://']", hosttest.ItemsOf("n://y", "m://y"))},
			method: "resources/list", want: `{"resources":[{"uri":"m://x","name":"n"},{"uri":"n://y","name":"n"}]}`},
		"have the templates as well": {plugins: []hosttest.Files{hosttest.Offering("a", "resources = ['n://']", hosttest.ItemsOf("n://{+id}", "m://{id}"))},
			method: "resources/templates/list", want: `{"resourceTemplates":[{"uriTemplate":"n://{+id}","name":"n"}]}`},
		"leave out a plugin that fails": {plugins: []hosttest.Files{hosttest.Plugin("a", wasmtest.Crashing(), "[offers]\nprompts = true\n"), hosttest.Offering("b", "prompts = true", hosttest.ItemsOf("x"))},
			method: "prompts/list", want: `{"prompts":[{"name":"x"}]}`},
		"leave out a plugin whose list is none": {plugins: []hosttest.Files{hosttest.Offering("a", "prompts = true", `{"prompts":{}}`), hosttest.Offering("b", "prompts = true", hosttest.ItemsOf("x"))},
			method: "prompts/list", want: `{"prompts":[{"name":"x"}]}`},
		"leave out a plugin whose items have no name": {plugins: []hosttest.Files{hosttest.Offering("a", "prompts = true", `{"prompts":[{"name":"y"},{"title":"x"}]}`), hosttest.Offering("b", "prompts = true", hosttest.ItemsOf("x"))},
			method: "prompts/list", want: `{"prompts":[{"name":"x"}]}`},
		"are an error where every plugin fails": {plugins: []hosttest.Files{hosttest.Plugin("a", wasmtest.Answering(`{"error":{"code":-32603,"message":"the store is broken"}}`), "[offers]\nprompts = true\n")},
			method: "prompts/list", want: `error {"code":-32603,"message":"the store is broken"}`},
		"keep the bytes of their items": {plugins: []hosttest.Files{hosttest.Offering("a", "prompts = true", `{"prompts":[{ "name":"x","y":9007199254740993}]}`)},
			method: "prompts/list", want: `{"prompts":[{ "name":"x","y":9007199254740993}]}`},
		"are filtered as the config says": {plugins: []hosttest.Files{hosttest.Offering("a", "prompts = true\nresources = true", hosttest.ItemsOf("x1", "x2", "y"))},
			config: "[[plugins]]\npath = '../plugins/a'\nallow_prompts = ['x*']\ndeny_prompts = ['x2']",
			method: "prompts/list", want: `{"prompts":[{"name":"x1"}]}`},
		"of resources are filtered by URI": {plugins: []hosttest.Files{hosttest.Offering("a", "resources = true", hosttest.ItemsOf("n://a/x", "n://b/x"))},
			config: "[[plugins]]\npath = '../plugins/a'\ndeny_resources = ['n://b/*']",
			method: "resources/list", want: `{"resources":[{"uri":"n://a/x","name":"n"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t, c.plugins...)
			if c.config != "" {
				w.Write(t, hosttest.Files{"work/bulkhead.toml": c.config})
			}
			hosttest.WantEqual(t, hosttest.Request(t, w.Open(t, w.Options()), c.method, `{}`), c.want)
		})
	}
}

func TestOmittedListItemsAreLogged(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Crashing(), "[offers]\nprompts = true\n"), hosttest.Offering("b", "prompts = true", hosttest.ItemsOf("x")), hosttest.Offering("c", "prompts = true", hosttest.ItemsOf("x")))
	hosttest.Request(t, w.Open(t, w.Options()), "prompts/list", `{}`)
	for _, want := range []string{"a list lacks the items of the plugin", "method=prompts/list reason=\"crashed", "items of the plugin are duplicates of another plugin's and are not listed"} {
		if !strings.Contains(w.Log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, w.Log.String())
		}
	}
}

// A name that cannot be seen is not replaced, since clients send it back. The rest of the list is shown.
func TestItemWithHiddenNameIsLeftOut(t *testing.T) {
	for method, list := range map[string]string{
		"prompts/list":             `{"prompts":[{"name":"x\u200b"},{"name":"y","title":"\u202e"},{"name":"z","arguments":[{"name":"\u200b"}]}]}`,
		"resources/list":           `{"resources":[{"uri":"x://\u200b","name":"x"},{"uri":"y://y","name":"\u202e"}]}`,
		"resources/templates/list": `{"resourceTemplates":[{"uriTemplate":"x://\u200b{a}","name":"x"},{"uriTemplate":"y://{y}","name":"y","description":"\u202e"}]}`,
	} {
		offers := "resources = true"
		if method == "prompts/list" {
			offers = "prompts = true"
		}
		w := hosttest.New(t, hosttest.Offering("a", offers, list))
		if got := hosttest.Request(t, w.Open(t, w.Options()), method, `{}`); strings.Contains(got, "x") || !strings.Contains(got, "y") || !strings.Contains(got, "·") {
			t.Errorf("%s: got %s", method, got)
		}
		if want := "invisible characters and are not listed: method=" + method; !strings.Contains(w.Log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, w.Log.String())
		}
	}
}

func TestListWithInvalidItemIsOmitted(t *testing.T) {
	w := hosttest.New(t, hosttest.Offering("a", "prompts = true", `{"prompts":[{"name":"y","description":5}]}`), hosttest.Offering("b", "prompts = true", hosttest.ItemsOf("x")))
	hosttest.WantEqual(t, hosttest.Request(t, w.Open(t, w.Options()), "prompts/list", `{}`), `{"prompts":[{"name":"x"}]}`)
	if want := "prompts[0]: description is of the wrong type"; !strings.Contains(w.Log.String(), want) {
		t.Errorf("the log does not say %q:\n%s", want, w.Log.String())
	}
}

func TestOmittedListItemsDoNotFloodLog(t *testing.T) {
	names := make([]string, 500)
	for i := range names {
		names[i] = "x"
	}
	w := hosttest.New(t, hosttest.Offering("a", "prompts = true", hosttest.ItemsOf(names...)))
	hosttest.Request(t, w.Open(t, w.Options()), "prompts/list", `{}`)
	if got := strings.Count(w.Log.String(), "items of the plugin are duplicates of another plugin's and are not listed"); got != 1 {
		t.Errorf("%d lines of the log report duplicates, want one:\n%.500s", got, w.Log.String())
	}
	if !strings.Contains(w.Log.String(), "items=499") {
		t.Errorf("the log does not contain the number of duplicates, 499:\n%.500s", w.Log.String())
	}
}
