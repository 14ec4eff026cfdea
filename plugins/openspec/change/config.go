package change

import (
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/yamlvalue"
)

// Config is the content of a project's config file without its invalid values.
type Config struct {
	Schema   string // the default workflow schema; "" if unset
	Context  string // background for everybody who works on a change
	Rules    map[string][]string
	Guidance map[string][]string // by operation
}

// maxContext bounds the context, in bytes. A longer one is left out.
const maxContext = 50 << 10

// ParseConfig parses a config file.
func ParseConfig(source string) Config {
	root, err := yamlvalue.Parse(source)
	if err != nil {
		return Config{}
	}
	config := Config{Rules: map[string][]string{}, Guidance: map[string][]string{}}
	if schema := root.Get("schema"); schema.Kind() == yamlvalue.String {
		config.Schema = schema.Text()
	}
	if context := root.Get("context"); context.Kind() == yamlvalue.String && len(context.Text()) <= maxContext {
		config.Context = context.Text()
	}
	for artifact, rules := range root.Get("rules").Pairs() {
		addFilled(config.Rules, artifact, rules)
	}
	for operation, value := range root.Get("operations").Pairs() {
		addFilled(config.Guidance, operation, value.Get("guidance"))
	}
	return config
}

// addFilled adds the strings of a list that are not empty; it adds no key if all are empty.
func addFilled(to map[string][]string, key string, value yamlvalue.Value) {
	list, _ := value.Strings()
	list = slices.DeleteFunc(list, func(text string) bool { return text == "" })
	if len(list) > 0 {
		to[key] = list
	}
}
