package host_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

// The server of the isolation test has three plugins with two tools, two prompts and two resources, of which the first has more resources than
// a page, and one with two tools that ask their client. What plugin N answers contains "pN_secret".
const (
	generalPlugins = 3
	askingPlugin   = "p3"
	itemsOfPage    = 520 // more resources than that
	longCall       = 600 // size in bytes that only a call with an answer exceeds
)

// itemsOf returns the tools, prompts and resources of a plugin.
func itemsOf(plugin string) (tools, prompts, notes []string) {
	tools = []string{plugin + "_reads", plugin + "_writes"}
	if plugin == askingPlugin {
		return tools, nil, nil
	}
	return tools, []string{plugin + "_say", plugin + "_tell"}, []string{plugin + "://x", plugin + "://y"}
}

func isolatedPlugins() (names []string) {
	for i := range generalPlugins {
		names = append(names, fmt.Sprint("p", i))
	}
	return append(names, askingPlugin)
}

// isolatedPlugin returns the files of a plugin. Calls of general ones report a change of one of the plugin's resources.
func isolatedPlugin(name string) hosttest.Files {
	tools, prompts, notes := itemsOf(name)
	secret := fmt.Sprintf(`"content":[{"type":"text","text":"%s_secret"}]`, name)
	if name == askingPlugin {
		return hosttest.Plugin(name, wasmtest.Asking(longCall, `{"ask":{"requests":{"r":{"method":"roots/list"}},"state":"s"}}`, `{"result":{`+secret+`}}`),
			"[capabilities]\nask = ['roots']\n"+hosttest.Reads(tools[0])+hosttest.Writes(tools[1]))
	}
	var more strings.Builder
	for n := range itemsOfPage {
		if name == "p0" {
			fmt.Fprintf(&more, `{"uri":"%s://%d","name":"n"},`, name, n)
		}
	}
	body := fmt.Sprintf(`{"result":{"prompts":[{"name":%q},{"name":%q}],"resources":[%s{"uri":%q,"name":"n"},{"uri":%q,"name":"n"}],"resourceTemplates":[],`+
		`"messages":[{"role":"user","content":{"type":"text","text":"%[6]s_secret"}}],"contents":[{"uri":%[4]q,"text":"%[6]s_secret"}],"completion":{"values":["%[6]s_secret"]},%[7]s}}`,
		prompts[0], prompts[1], more.String(), notes[0], notes[1], name, secret)
	return hosttest.Plugin(name, wasmtest.Operating(`{"op":"notify","params":{"method":"notifications/resources/updated","params":{"uri":"`+notes[1]+`"}}}`, body),
		fmt.Sprintf("[offers]\nprompts = ['%s', '%s']\nresources = ['%s://']\nsubscribe = true\ncompletions = true\nlist_changed = true\n", prompts[0], prompts[1], name)+
			hosttest.Reads(tools[0])+hosttest.Writes(tools[1]))
}

// right is what a table grants; the zero value grants everything.
type right struct {
	plugins, projects []string // nil: all
	readOnly          bool
	denied            []string // names of tools and prompts, and URIs
}

func randomRight(r *rand.Rand) (a right) {
	if r.IntN(2) == 0 {
		a.plugins = []string{}
	}
	for _, plugin := range isolatedPlugins() {
		if a.plugins != nil && r.IntN(3) > 0 {
			a.plugins = append(a.plugins, plugin)
		}
		tools, prompts, notes := itemsOf(plugin)
		for _, item := range slices.Concat(tools, prompts, notes) {
			if r.IntN(5) == 0 {
				a.denied = append(a.denied, item)
			}
		}
	}
	if r.IntN(3) == 0 {
		a.projects = []string{"one"}
	}
	a.readOnly = r.IntN(4) == 0
	return a
}

// table returns the right as the config has it.
func (r right) table(name string, users ...string) string {
	matched, _ := json.Marshal(users)
	text := fmt.Sprintf("[[clients]]\nname = %q\nmatch = { tokens = %s }\nread_only = %t\n", name, matched, r.readOnly)
	list := func(key string, names []string) {
		if names != nil {
			quoted, _ := json.Marshal(names)
			text += fmt.Sprintf("%s = %s\n", key, quoted)
		}
	}
	denied := func(key, separator string, ends ...string) {
		list(key, slices.DeleteFunc(slices.Clone(r.denied), func(item string) bool {
			_, end, _ := strings.Cut(item, separator)
			return !slices.Contains(ends, end)
		}))
	}
	list("plugins", r.plugins)
	list("projects", r.projects)
	denied("deny_tools", "_", "reads", "writes")
	denied("deny_prompts", "_", "say", "tell")
	denied("deny_resources", "://", "x", "y")
	return text
}

func (r right) admits(project string) bool {
	return r.projects == nil || slices.Contains(r.projects, project)
}

// has is the model: whether the right includes an item of a plugin, in a project that it admits.
func (r right) has(item string) bool {
	return (r.plugins == nil || slices.Contains(r.plugins, item[:2])) && !slices.Contains(r.denied, item) && !(r.readOnly && strings.HasSuffix(item, "_writes"))
}

// only returns those items that the right includes, sorted.
func (r right) only(items []string) []string {
	left := slices.DeleteFunc(slices.Clone(items), func(item string) bool { return !r.has(item) })
	slices.Sort(left)
	return left
}

// sees reports whether an answer may contain a name: of an item, a further resource of the first plugin, or a secret of a plugin.
func (r right) sees(name string) bool {
	if strings.HasSuffix(name, "_secret") {
		tools, prompts, notes := itemsOf(name[:2])
		return slices.ContainsFunc(slices.Concat(tools, prompts, notes), r.has)
	}
	return r.has(name)
}
