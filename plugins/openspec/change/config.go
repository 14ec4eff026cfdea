package change

import (
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/yamlvalue"
)

// Config is the content of a project's config file. What is invalid in it is left out.
type Config struct {
	Schema   string // the default workflow schema; "" if unset
	Context  string // what everybody who works on a change should know
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

// addFilled adds a list of strings without the empty ones, unless none is left.
func addFilled(to map[string][]string, key string, value yamlvalue.Value) {
	list, _ := value.Strings()
	list = slices.DeleteFunc(list, func(text string) bool { return text == "" })
	if len(list) > 0 {
		to[key] = list
	}
}
