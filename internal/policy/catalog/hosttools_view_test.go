package catalog_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/hosttool"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
)

// word is a word that occurs in the text of one tool only.
func word(plugin, tool int) string { return fmt.Sprintf("mark%c%c", 'a'+plugin, 'p'+tool) }

// TestHostToolsKnowOnlyWhatIsGranted checks views with random rights: the host's tools answer exactly like those of a server that has no other
// tool than the granted ones, and so contain no name, text, number or order that tells of another.
func TestHostToolsKnowOnlyWhatIsGranted(t *testing.T) {
	const plugins, tools = 3, 5
	files := []hosttest.Files{}
	for p := range plugins {
		text := ""
		for i := range tools {
			access := "read"
			if i%2 == 1 {
				access = "write"
			}
			text += fmt.Sprintf("[[tools]]\nname = 'p%d_%s'\ndescription = 'Common words, and %s.%s'\naccess = '%s'\ninput_json = '{\"type\":\"object\",\"properties\":{\"%s_in\":{\"type\":\"string\"}}}'\n",
				p, word(p, i), word(p, i), strings.Repeat(" common", p*i), access, word(p, i))
		}
		files = append(files, hosttest.Plugin(fmt.Sprintf("p%d", p), nil, text), hosttest.Files{fmt.Sprintf("plugins/p%d/it.wasm", p): "\x00asm"})
	}
	w := hosttest.New(t, files...)
	random := rand.New(rand.NewPCG(1, 2))
	for range testenv.Count(20, 100, 1000) {
		readOnly, deny, allowed := random.IntN(3) == 0, []string{}, []string{}
		table := "[[clients]]\nname = 'c'\nmatch = { auth = 'any' }\n"
		for p := range plugins {
			if random.IntN(4) > 0 {
				allowed = append(allowed, fmt.Sprintf("p%d", p))
			}
			for i := range tools {
				if random.IntN(3) == 0 {
					deny = append(deny, fmt.Sprintf("p%d_%s", p, word(p, i)))
				}
			}
		}
		table += fmt.Sprintf("plugins = %s\ndeny_tools = %s\nread_only = %t\n", asArray(allowed), asArray(deny), readOnly)
		content := "[server]\nname = 's'\ntools = 'search'\n" + table
		for p := range plugins {
			content += fmt.Sprintf("[[plugins]]\npath = '../plugins/p%d'\n", p)
		}
		w.Write(t, hosttest.Files{"work/bulkhead.toml": content})
		base, err := catalog.Look(w.Options())
		if err != nil {
			t.Fatal(err)
		}
		view := base.WithKey(catalog.Key{Client: "c"})
		var model []hosttool.Plugin
		for p := range plugins {
			name := fmt.Sprintf("p%d", p)
			of := hosttool.Plugin{Name: name, Description: base.Plugins[p].Manifest.Description}
			for _, tool := range base.Plugins[p].Manifest.Tools {
				if slices.Contains(allowed, name) && !slices.Contains(deny, tool.Name) && !(readOnly && tool.Write) {
					of.Tools = append(of.Tools, gateway.Tool{Name: tool.Name, Description: tool.Description, Input: tool.Input, ReadOnly: !tool.Write})
				}
			}
			if of.Tools != nil {
				model = append(model, of)
			}
		}
		want, got := hosttool.NewSet(config.ToolsSearch, model, false), view.HostTools()
		if want, got := namesOf(want.Tools()), namesOf(got.Tools()); !slices.Equal(got, want) {
			t.Fatalf("%s\nthe host's tools are %v, want %v", table, got, want)
		}
		if want == nil {
			continue
		}
		hosttest.WantEqual(t, got.Instructions(), want.Instructions())
		ask := func(tool, arguments string) {
			t.Helper()
			expected, err := want.Answer(tool, json.RawMessage(arguments))
			answer, gotErr := got.Answer(tool, json.RawMessage(arguments))
			if err != nil || gotErr != nil || string(answer) != string(expected) {
				t.Fatalf("%s\n%s %s:\n%s (%v)\nwant\n%s (%v)", table, tool, arguments, answer, gotErr, expected, err)
			}
		}
		ask(hosttool.Find, `{"query":"common words","limit":20}`)
		for p := range plugins {
			for i := range tools {
				name := fmt.Sprintf("p%d_%s", p, word(p, i))
				ask(hosttool.Find, `{"query":"`+word(p, i)+` common","limit":20}`)
				ask(hosttool.Find, `{"query":"`+word(p, i)[:6]+`"}`)
				ask(hosttool.Describe, `{"names":["`+name+`","`+name+`x"]}`)
			}
		}
	}
}

func asArray(names []string) string {
	quoted := []string{}
	for _, name := range names {
		quoted = append(quoted, "'"+name+"'")
	}
	return "[" + strings.Join(quoted, ",") + "]"
}

func namesOf(tools []gateway.Tool) []string {
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Name+": "+tool.Description)
	}
	return names
}
